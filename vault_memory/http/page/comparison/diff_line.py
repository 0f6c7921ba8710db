"""One line of a diff, with signs and words for what became of it."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["added", "removed", "same", "gap"]
Part = tuple[str, bool]
"""A text, and whether it is a changed word within its line"""
Line = tuple[Part, ...]

_SIGNS = {
    "added": "+",
    "removed": "−",
    "same": "",
    "gap": "…",
}
_WORDS = {
    "added": "added",
    "removed": "removed",
    "same": "",
    "gap": "",
}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff."""

    kind: Kind
    old_number: int | None
    """From 1; None for an added line"""
    new_number: int | None
    """From 1; None for a removed line"""
    parts: Line

    @property
    def sign(self) -> str:
        """The sign before the line."""
        return _SIGNS[self.kind]

    @property
    def word(self) -> str:
        """The same in a word."""
        return _WORDS[self.kind]

    @property
    def text(self) -> str:
        """The whole line."""
        return "".join(text for text, _ in self.parts)


def unmarked(line: str) -> Line:
    """Return a line as one part, without its line end."""
    return ((line.rstrip("\r\n"), False),)
