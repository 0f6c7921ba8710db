"""Results of the calls about sessions, trash and `doctor`, with the names of the JSON contract."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of what a session told."""

    committed: tuple[str, ...]
    """ids of what was remembered at once"""
    held: tuple[str, ...]
    """ids of what the person said, which waits for the night"""
    dropped: tuple[str, ...]
    """ids of what is not to be remembered"""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that `doctor` looked at."""

    name: str
    state: Literal["ok", "warn", "fail"]
    reason: str
    fix: str


@dataclass(frozen=True, slots=True)
class ThrownNote:
    """A note or a conflict copy in the trash."""

    id: str
    note: str
    ts: str
    """when it was thrown away; ISO 8601"""
    bytes: int
    revision: str
    outcome: str = "in the trash"
    """of a restore: restored, beside (another stands under its name), or pending"""
    why: str = ""
