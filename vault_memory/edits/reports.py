"""Results of the calls about sessions, trash and `doctor`, with the names of the JSON contract."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from vault_memory.contract.answers import CommittedJson, DroppedJson, HeldReasonJson


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of what a session told."""

    committed: "tuple[CommittedJson, ...]" = ()
    """`id`, `note` and `kind` of what was written"""
    held: "tuple[HeldReasonJson, ...]" = ()
    """`id`, `reason` and `needs` of what waits for more turns"""
    dropped: "tuple[DroppedJson, ...]" = ()
    """`ref`, the id of the turn, and `reason` of what is not kept"""
    waiting: tuple[str, ...] = ()
    """ids of own turns that the model, or the night, has not read"""


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
    """when it was deleted; ISO 8601"""
    bytes: int
    revision: str
    outcome: str = "in the trash"
    """of a restore: restored, beside (another stands under its name), or pending"""
    why: str = ""
