"""Large notes: which are, and how many of them a question takes in before it is answered."""

from vault_memory.index.store import Index
from vault_memory.vault.reader import Note

LARGE, VERY_LARGE = 64 << 10, 256 << 10
"""Bytes: below the first no note is large; from the second on each is"""
MANY_LINES = 6000
LONG_LINE = 8 << 10
"""In bytes; levels of nesting in one line take longest"""
BYTES_OF_A_STEP = 64
"""To write so many bytes of text into the index takes about as long as to parse one short item"""
STEPS_OF_A_QUESTION = 100_000
"""Less than a second of CPU time. A note of 1 MiB has some 28,000 steps, or 276,000 when its lines are `- b`."""


def is_large(raw: bytes) -> bool:
    """Whether reading these bytes could keep others waiting."""
    if len(raw) < LARGE:
        return False
    return (
        len(raw) >= VERY_LARGE
        or raw.count(b"\n") > MANY_LINES
        or max(map(len, raw.split(b"\n"))) > LONG_LINE
    )


def is_heavy(index: Index, note: Note) -> bool:
    """Whether this note, or taking out what the index has of it, could keep others waiting."""
    before = index.bytes_of(note.path)
    return is_large(note.raw) or (before >= LARGE and 2 * len(note.raw) < before)


class Allowance:
    """The large notes that one question takes in. The others wait for the next question, `index` or a daemon."""

    def __init__(self) -> None:
        self._steps = STEPS_OF_A_QUESTION

    def leaves(self, index: Index, note: Note) -> bool:
        """Whether the question is answered without the newest text of this note."""
        if not is_heavy(index, note):
            return False
        # A hostile note of 260,000 bullets takes a second by itself, and a folder may hold many of them.
        steps = note.raw.count(b"\n") + len(note.raw) // BYTES_OF_A_STEP
        if steps > self._steps:
            return True
        self._steps -= steps
        return False
