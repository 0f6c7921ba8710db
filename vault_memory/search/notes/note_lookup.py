"""Finds notes by their names, and the notes that link to them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.errors import NoteNotFound, UsageError
from vault_memory.index.properties import link_queries
from vault_memory.index.store import Index
from vault_memory.markdown.properties.note_properties import folded_value, link_key
from vault_memory.search.unknown_filters import near_names

if TYPE_CHECKING:
    pass

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


def find_note(index: Index, name: str) -> str:
    """Return the path of the only note with a name or an alias.

    Raises UsageError when there are several, NoteNotFound when there is none.
    """
    paths = _leading_to(index, name)
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
    near = _near(index, name)
    if near:
        error.hint = f"did you mean {' or '.join(f'`{path}`' for path in near)}?"
    raise error


def links_of(index: Index, path: str) -> NoteLinks:
    """Return the links of an indexed note, and the notes that link to it."""
    outgoing = [
        OutgoingLink(target, _target_of(index, target))
        for target in link_queries.links_in(index, path)
    ]
    return NoteLinks(path, tuple(outgoing), _linking_to(index, path))


def links_to_name(index: Index, name: str) -> NoteLinks | None:
    """Return the notes that link to a name which no note has; None when a note has it or none links."""
    if _leading_to(index, name):
        return None
    links = [
        link
        for link in link_queries.links_to_name(index, link_key(name))
        if "/" not in name or within(name, [link.value])
    ]
    if not links:
        return None
    paths = dict.fromkeys(link.path for link in links)
    return NoteLinks(links[0].value, (), tuple(paths))


def _linking_to(index: Index, path: str) -> tuple[str, ...]:
    """Return the paths of the other notes whose links lead to a note."""
    links = link_queries.links_with_name_of(index, path)
    sources = [link.path for link in links if _target_of(index, link.value) == path]
    return tuple(dict.fromkeys(sources))


def _target_of(index: Index, target: str) -> str | None:
    """Return the path that a link leads to: of several notes the one with the shortest path."""
    return min(_leading_to(index, target), key=depth_and_path, default=None)


def depth_and_path(path: str) -> tuple[int, str]:
    """Return the key by which a link leads to the first of several notes."""
    return path.count("/"), path


def _leading_to(index: Index, name: str) -> list[str]:
    """Return the paths of the notes with a name, else of those with the alias."""
    named = link_queries.paths_named(index, link_key(name))
    paths = within(name, named)
    if paths or "/" in name:
        return paths
    return link_queries.paths_with_alias(index, folded_value(name))


def within(name: str, paths: Iterable[str]) -> list[str]:
    """Return the paths whose folders end with those of a name, such as `boats/Home`."""
    # Fault: a link such as `../boats/Home.md` is relative to the folder of its note.
    below = name.removeprefix("./").replace("../", "").strip("/")
    folders = folded_value(f"/{below}".rpartition("/")[0])
    return [path for path in paths if folded_value(f"/{path}").rpartition("/")[0].endswith(folders)]


def _near(index: Index, name: str) -> list[str]:
    """Return the paths of notes with similar names."""
    by_name = {note.name: note.path for note in link_queries.named_notes(index)}
    return [by_name[near] for near in near_names(link_key(name), by_name)]
