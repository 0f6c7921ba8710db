"""What an import is asked to do, and what it did."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or a text that could not be imported or exported."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """Which scopes to import, and when."""

    scopes: Collection[str] | None
    """None means all scopes of the source"""
    now: datetime
    dry_run: bool

    def includes(self, scope: str) -> bool:
        """Return whether to import this scope."""
        return self.scopes is None or scope in self.scopes


@dataclass(slots=True)
class ImportReport:
    """What was imported, or would be in a dry run."""

    facts: int = 0
    items: int = 0
    known: int = 0
    """number of facts, items and files that the vault had before"""
    notes: list[str] = field(default_factory=list)
    """paths of the changed notes"""
    copies: list[str] = field(default_factory=list)
    """paths of conflict copies beside notes with another text"""
    left: list[str] = field(default_factory=list)
    """files of a workspace that are not memory"""
    skipped: list[Skipped] = field(default_factory=list)
    moved: int = 0
    """number of sections that moved from one note to another"""
    diff: str = ""
    """diff of the notes between which sections moved"""

    def skip(self, path: str, reason: str) -> None:
        """Add a file or a text that could not be imported."""
        self.skipped.append(Skipped(path, reason))
