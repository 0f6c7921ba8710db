"""Finds the notes that the best hits of a search link to."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from vault_memory.database.connection import Connection
from vault_memory.index.filters import listed
from vault_memory.markdown.properties.note_properties import Sort
from vault_memory.search.notes.note_lookup import depth_and_path, within

DAYS = frozenset(
    {
        "dated",
        "transcript",
    }
)
"""Kinds of notes of a day, where a link belongs to its own lines alone"""

_LINKS = f"""
    FROM json_each(?1) hit
    CROSS JOIN note source ON source.id = hit.value
    CROSS JOIN property link ON link.note = source.id AND +link.sort = {Sort.LINK:d}
"""
_COLUMNS = "source.id, source.kind, link.value, target.id, target.path"
_SQL = f"""
    SELECT {_COLUMNS}
    {_LINKS}
    CROSS JOIN note target ON target.name = link.key
    WHERE target.name <> '' AND target.scope IN {{scopes}}
    UNION ALL
    SELECT {_COLUMNS}
    {_LINKS}
    CROSS JOIN property alias ON alias.sort = {Sort.ALIAS:d} AND alias.name = ''
        AND alias.key = link.key
    CROSS JOIN note target ON target.id = alias.note
    WHERE target.scope IN {{scopes}}
        AND link.value NOT LIKE '%/%'
        AND NOT EXISTS (
            SELECT 1 FROM note namesake
            WHERE namesake.name = link.key AND namesake.name <> ''
                AND namesake.scope IN {{scopes}}
        )
"""
"""The notes with the name of a link; without any, those with the alias"""


class _Link(NamedTuple):
    """A link of a hit."""

    source: int
    """The note with the link"""
    kind: str
    """The kind of this note"""
    value: str
    """The link as it is written"""


def linked_notes(
    connection: Connection,
    scope_ids: Sequence[int],
    hits: Mapping[int, str],
) -> frozenset[int]:
    """Return the notes of these scopes that other notes among the hits link to.

    `hits` has the text of the hits by their notes.
    """
    # Fault: a note of another scope must neither take a link nor be revealed by it.
    sql = _SQL.format(scopes=listed(scope_ids))
    rows: list[Any] = connection.execute(sql, (json.dumps(list(hits)),)).fetchall()
    paths: dict[_Link, dict[str, int]] = {}
    for source, kind, value, target, path in rows:
        link = _Link(source, kind, value)
        if link.kind not in DAYS or link.value in hits[link.source]:
            paths.setdefault(link, {})[path] = target
    targets: set[int] = set()
    for link, notes in paths.items():
        path = min(within(link.value, notes), key=depth_and_path, default=None)
        if path is not None and notes[path] != link.source:
            targets.add(notes[path])
    return frozenset(targets)
