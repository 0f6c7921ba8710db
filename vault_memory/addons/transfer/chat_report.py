"""What an import of conversations is asked to do, and what it did."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from typing import Literal, TypedDict

from vault_memory.addons.transfer.import_report import Skipped
from vault_memory.contract.fields import Count
from vault_memory.contract.status_answers import PathRemarkJson

Program = Literal["chatgpt", "claude"]


@dataclass(slots=True)
class ChatReport:
    """What an import of conversations added, or would add in a dry run."""

    conversations: int = 0
    """number of conversations with a turn"""
    turns: int = 0
    """number of added turns"""
    known: int = 0
    """number of turns that were recorded before"""
    first: date | None = None
    """the day of the first turn of the export"""
    last: date | None = None
    left: Counter[str] = field(default_factory=Counter)
    """number of messages that are no turns, by reason"""
    skipped: list[Skipped] = field(default_factory=list)
    """files and conversations that could not be read"""

    def skip(self, path: str, reason: str) -> None:
        """Add what could not be imported, each reason once."""
        skipped = Skipped(path, reason)
        if skipped not in self.skipped:
            self.skipped.append(skipped)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Which conversations to import, and whose they are."""

    program: Program
    user: str
    channel: str
    dry_run: bool

    @property
    def scope(self) -> str:
        """The scope of the transcripts."""
        return f"channel:{self.channel}" if self.channel else f"user:{self.user}"


class ChatImportJson(TypedDict):
    """The conversations that were imported, or would be in a dry run."""

    conversations: Count
    turns: Count
    known: Count
    first: str | None
    last: str | None
    left: dict[str, Count]
    skipped: list[PathRemarkJson]
