"""Reads the names, the aliases and the links of notes."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.index.filters import listed
from vault_memory.markdown.properties.note_properties import Sort

if TYPE_CHECKING:
    from vault_memory.index.store import Index

_LINKS = f"""
    FROM json_each(?1) hit
    CROSS JOIN note source ON source.id = hit.value
    CROSS JOIN property link ON link.note = source.id AND +link.sort = {Sort.LINK:d}
"""
_COLUMNS = "source.id, source.kind, link.value, target.id, target.path"
_TARGETS = f"""
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


class LinkRow(NamedTuple):
    """A link in a note, and a note that it may lead to."""

    source: int
    """The note with the link"""
    kind: str
    """The kind of this note"""
    value: str
    """The link as it is written"""
    target: int
    path: str
    """The path of the target"""


class LinkSource(NamedTuple):
    """A note with a link."""

    path: str
    value: str
    """The link as it is written"""


class NamedNote(NamedTuple):
    """A note and its folded name."""

    name: str
    path: str


def link_targets(index: "Index", scope_ids: Sequence[int], notes: Iterable[int]) -> list[LinkRow]:
    """Return the notes of these scopes that links of `notes` may lead to."""
    # Fault: a note of another scope must neither take a link nor be revealed by it.
    sql = _TARGETS.format(scopes=listed(scope_ids))
    rows = index.connection.execute(sql, (json.dumps(list(notes)),))
    return [LinkRow._make(row) for row in rows]


def links_in(index: "Index", path: str) -> list[str]:
    """Return the links of a note as they are written, in their order."""
    rows = index.connection.execute(
        "SELECT DISTINCT p.value"
        " FROM property p"
        " JOIN note n ON n.id = p.note"
        f" WHERE n.path = ? AND p.sort = {Sort.LINK:d}"
        " ORDER BY p.rowid",
        (path,),
    )
    return [row[0] for row in rows]


def links_with_name_of(index: "Index", path: str) -> list[LinkSource]:
    """Return the links of other notes that have the name or an alias of a note."""
    rows = index.connection.execute(
        "SELECT DISTINCT n.path, p.value"
        " FROM property p"
        " JOIN note n ON n.id = p.note"
        f" WHERE p.sort = {Sort.LINK:d} AND p.name = '' AND n.path <> ?1 AND p.key IN ("
        " SELECT name FROM note WHERE path = ?1"
        f" UNION SELECT a.key FROM property a WHERE a.sort = {Sort.ALIAS:d}"
        " AND a.note = (SELECT id FROM note WHERE path = ?1))"
        " ORDER BY n.path",
        (path,),
    )
    return [LinkSource._make(row) for row in rows]


def links_to_name(index: "Index", key: str) -> list[LinkSource]:
    """Return the links of notes that have a folded name, whether a note has it or not."""
    rows = index.connection.execute(
        "SELECT DISTINCT n.path, p.value"
        " FROM property p"
        " JOIN note n ON n.id = p.note"
        f" WHERE p.sort = {Sort.LINK:d} AND p.name = '' AND p.key = ?"
        " ORDER BY n.path, p.rowid",
        (key,),
    )
    return [LinkSource._make(row) for row in rows]


def paths_named(index: "Index", key: str) -> list[str]:
    """Return the paths of the notes with a folded name, sorted."""
    rows = index.connection.execute(
        "SELECT path FROM note WHERE name = ? AND name <> '' ORDER BY path", (key,)
    )
    return [row[0] for row in rows]


def paths_with_alias(index: "Index", key: str) -> list[str]:
    """Return the paths of the notes with a folded alias, sorted."""
    rows = index.connection.execute(
        "SELECT DISTINCT n.path"
        " FROM property p"
        " JOIN note n ON n.id = p.note"
        f" WHERE p.sort = {Sort.ALIAS:d} AND p.name = '' AND p.key = ?"
        " ORDER BY n.path",
        (key,),
    )
    return [row[0] for row in rows]


def named_notes(index: "Index") -> Iterator[NamedNote]:
    """Yield the notes that have a name, sorted by path."""
    rows = index.connection.execute("SELECT name, path FROM note WHERE name <> '' ORDER BY path")
    return map(NamedNote._make, rows)
