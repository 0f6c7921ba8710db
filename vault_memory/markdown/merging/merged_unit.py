"""The values that a structural merge produces: units of the result, and conflicts."""

from typing import NamedTuple

from vault_memory.markdown.merging.block_merge import FieldConflict, Kind
from vault_memory.markdown.merging.parsed_note import ParsedNote


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
