"""Finds the notes that the best hits of a search link to."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vault_memory.index.properties import link_queries
from vault_memory.index.store import Index
from vault_memory.search.notes.note_lookup import depth_and_path, within

DAYS = frozenset({"dated", "transcript"})
"""Kinds of notes of a day, where a link belongs to its own lines alone"""


class _Link(NamedTuple):
    """A link of a hit."""

    source: int
    """The note with the link"""
    kind: str
    """The kind of this note"""
    value: str
    """The link as it is written"""


def linked_notes(index: Index, scope_ids: Sequence[int], hits: Mapping[int, str]) -> frozenset[int]:
    """Return the notes of these scopes that other notes among the hits link to.

    `hits` has the text of the hits by their notes.
    """
    paths: dict[_Link, dict[str, int]] = {}
    targets_of_links = link_queries.link_targets(index, scope_ids, hits)
    for source, kind, value, note, target in targets_of_links:
        link = _Link(source, kind, value)
        if link.kind not in DAYS or link.value in hits[link.source]:
            paths.setdefault(link, {})[target] = note
    targets: set[int] = set()
    for link, notes in paths.items():
        path = min(within(link.value, notes), key=depth_and_path, default=None)
        if path is not None and notes[path] != link.source:
            targets.add(notes[path])
    return frozenset(targets)
