"""What a structural merge has decided so far: its order and its text are made from this."""

from typing import NamedTuple

from vault_memory.markdown.merging.alignment import section_threads, unit_threads
from vault_memory.markdown.merging.block_merge import FieldConflict, Kind
from vault_memory.markdown.merging.matching import Matched
from vault_memory.markdown.merging.parsed_note import ParsedNote


class MergeState:
    """Three versions of a note with their threads, and the decisions about these.

    A thread is one section or one unit, followed through the base and both sides under one number.
    """

    def __init__(self, base: ParsedNote, ours: ParsedNote, theirs: ParsedNote) -> None:
        self.base = base
        self.ours = ours
        self.theirs = theirs
        our_match = Matched(base, ours)
        their_match = Matched(base, theirs)
        self.sections = section_threads(ours, theirs, len(base.sections), our_match, their_match)
        self.units = unit_threads(base, ours, theirs, our_match, their_match, self.sections)
        self.homes: dict[int, int] = {}
        """The section of each unit that stays"""
        self.merged: dict[int, MergedUnit] = {}
        """The result of each unit that stays"""
        self.beside: dict[int, list[MergedUnit]] = {}
        """Marked copies of our text, which follow their unit"""
        self.headings: dict[int, MergedUnit | None] = {}
        """The heading of each section that stays; None above the first heading"""
        self.parents: dict[int, int] = {}
        """The parent of each section that stays"""


# --- Merged unit ---

# The values that a structural merge produces: units of the result, and conflicts.


class MergedUnit(NamedTuple):
    """A unit of the result."""

    kind: str
    text: bytes
    source: ParsedNote | None
    """The version whose bytes it has, None for new text"""
    unit: int
    """Its number in the source"""
    thread: int
    """-1 for a marked copy that follows another unit"""


class SectionConflict(NamedTuple):
    """A conflict, and the name of the section that it is in."""

    kind: Kind
    section: bytes
    conflict: FieldConflict
