"""Recognizes large notes, and limits how many of them a query indexes before it answers."""

from vault_memory.index.store import Index
from vault_memory.vault.reader import Note

LARGE, VERY_LARGE = 64 << 10, 256 << 10
"""Bytes: below the first no note is large; from the second on each is"""
MANY_LINES = 6000
LONG_LINE = 8 << 10
"""In bytes; deep nesting in one line takes longest"""
BYTES_OF_A_STEP = 64
"""Indexing so many bytes of text takes about as long as parsing one short item"""
STEPS_OF_A_QUESTION = 100_000
"""Less than a second of CPU time. 1 MiB has some 28,000 steps; 276,000 if its lines are `- b`"""


def is_large(raw: bytes) -> bool:
    """Whether parsing these bytes could delay others."""
    if len(raw) < LARGE:
        return False
    if len(raw) >= VERY_LARGE or raw.count(b"\n") > MANY_LINES:
        return True
    longest_line = max(map(len, raw.split(b"\n")))
    return longest_line > LONG_LINE


def is_heavy(index: Index, note: Note) -> bool:
    """Whether indexing this note, or removing its old chunks, could delay others."""
    if is_large(note.raw):
        return True
    # A large note that was emptied: deleting its chunks takes as long as writing them
    # did.
    indexed = index.bytes_of(note.path)
    return indexed >= LARGE and 2 * len(note.raw) < indexed


class Allowance:
    """Limits the large notes that one query indexes. Others wait for the next query."""

    def __init__(self) -> None:
        self._steps = STEPS_OF_A_QUESTION

    def leaves(self, index: Index, note: Note) -> bool:
        """Whether the query is answered without the newest text of this note."""
        if not is_heavy(index, note):
            return False
        # Fault (H122): a hostile note of 260,000 bullets takes a second, and a folder
        # may have many of them.
        line_count = note.raw.count(b"\n")
        steps = line_count + len(note.raw) // BYTES_OF_A_STEP
        if steps > self._steps:
            return True
        self._steps -= steps
        return False
