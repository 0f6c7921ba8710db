"""Finds notes by their names, and the notes that link to them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.database.connection import Connection
from vault_memory.errors import NoteNotFound, UsageError
from vault_memory.markdown.properties.note_properties import (
    Sort,
    folded_value,
    link_key,
)
from vault_memory.search.unknown_filters import near_names

if TYPE_CHECKING:
    from vault_memory.contract.answers import LinksJson

MOST_NAMED = 5
"""Notes that an error lists"""


class OutgoingLink(NamedTuple):
    """A link in a note."""

    target: str
    """as it is written"""
    note: str | None
    """the path of the note that it leads to; None when there is none"""


class NoteLinks(NamedTuple):
    """The links of a note."""

    note: str
    outgoing: tuple[OutgoingLink, ...]
    incoming: tuple[str, ...]
    """the paths of the notes that link to it"""

    @property
    def broken(self) -> tuple[str, ...]:
        """The targets that lead to no note."""
        return tuple(link.target for link in self.outgoing if link.note is None)

    def as_json(self) -> "LinksJson":
        """Return the links as the JSON contract has them."""
        return {
            "note": self.note,
            "outgoing": [
                {"target": link.target, "note": link.note} for link in self.outgoing
            ],
            "incoming": list(self.incoming),
            "broken": list(self.broken),
        }


def find_note(
    connection: Connection,
    name: str,
) -> str:
    """Return the path of the only note with a name or an alias.

    Raises UsageError when there are several, NoteNotFound when there is none.
    """
    paths = _leading_to(connection, name)
    if len(paths) == 1:
        return paths[0]
    if paths:
        listed = ", ".join(f"`{path}`" for path in paths[:MOST_NAMED])
        raise UsageError(
            f"`{name}` names {len(paths)} notes: {listed}",
            hint="give the path of one of them",
            notes=paths,
        )
    error = NoteNotFound(name)
    near = _near(connection, name)
    if near:
        error.hint = f"did you mean {' or '.join(f'`{path}`' for path in near)}?"
    raise error


def links_of(
    connection: Connection,
    path: str,
) -> NoteLinks:
    """Return the links of an indexed note, and the notes that link to it."""
    targets: list[Any] = connection.execute(
        "SELECT DISTINCT p.value"
        " FROM property p"
        " JOIN note n ON n.id = p.note"
        f" WHERE n.path = ? AND p.sort = {Sort.LINK:d}"
        " ORDER BY p.rowid",
        (path,),
    ).fetchall()
    outgoing = [
        OutgoingLink(target, _target_of(connection, target)) for (target,) in targets
    ]
    return NoteLinks(path, tuple(outgoing), _linking_to(connection, path))


def _linking_to(
    connection: Connection,
    path: str,
) -> tuple[str, ...]:
    """Return the paths of the other notes whose links lead to a note."""
    rows: list[Any] = connection.execute(
        "SELECT DISTINCT n.path, p.value"
        " FROM property p"
        " JOIN note n ON n.id = p.note"
        f" WHERE p.sort = {Sort.LINK:d} AND p.name = '' AND n.path <> ?1 AND p.key IN ("
        " SELECT name FROM note WHERE path = ?1"
        f" UNION SELECT a.key FROM property a WHERE a.sort = {Sort.ALIAS:d}"
        " AND a.note = (SELECT id FROM note WHERE path = ?1))"
        " ORDER BY n.path",
        (path,),
    ).fetchall()
    sources = [
        source for source, target in rows if _target_of(connection, target) == path
    ]
    return tuple(dict.fromkeys(sources))


def _target_of(
    connection: Connection,
    target: str,
) -> str | None:
    """Return the path that a link leads to: of several notes the one with the shortest path."""
    paths = _leading_to(connection, target)
    return min(paths, key=depth_and_path, default=None)


def depth_and_path(path: str) -> tuple[int, str]:
    """Return the key by which a link leads to the first of several notes."""
    return path.count("/"), path


def _leading_to(
    connection: Connection,
    name: str,
) -> list[str]:
    """Return the paths of the notes with a name, else of those with the alias."""
    key = link_key(name)
    rows = connection.execute(
        "SELECT path FROM note WHERE name = ? AND name <> '' ORDER BY path", (key,)
    )
    paths = within(name, [row[0] for row in rows])
    if paths or "/" in name:
        return paths
    rows = connection.execute(
        "SELECT DISTINCT n.path"
        " FROM property p"
        " JOIN note n ON n.id = p.note"
        f" WHERE p.sort = {Sort.ALIAS:d} AND p.name = '' AND p.key = ?"
        " ORDER BY n.path",
        (folded_value(name),),
    )
    return [row[0] for row in rows]


def within(
    name: str,
    paths: Iterable[str],
) -> list[str]:
    """Return the paths whose folders end with those of a name, such as `boats/Home`."""
    # Fault: a link such as `../boats/Home.md` is relative to the folder of its note.
    below = name.removeprefix("./").replace("../", "").strip("/")
    folders = folded_value(f"/{below}".rpartition("/")[0])
    return [
        path
        for path in paths
        if folded_value(f"/{path}").rpartition("/")[0].endswith(folders)
    ]


def _near(
    connection: Connection,
    name: str,
) -> list[str]:
    """Return the paths of notes with similar names."""
    rows = connection.execute(
        "SELECT name, path FROM note WHERE name <> '' ORDER BY path"
    )
    by_name = {row[0]: row[1] for row in rows}
    return [by_name[near] for near in near_names(link_key(name), by_name)]
