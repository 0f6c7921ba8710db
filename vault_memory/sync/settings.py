"""What a person has set, and what the engine has noticed, that bears on a plan."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

MERGED = (".md", ".jsonl")
"""Files of these kinds are merged where both sides changed them; of others both copies stay"""

Mode = Literal["both", "pull", "push", "read-only"]


@dataclass(frozen=True, slots=True)
class Names:
    """Which names one side can hold."""

    folds_case: bool = False
    """`Tee.md` and `tee.md` are one file there"""
    folds_unicode: bool = False
    """names are kept in the composed form (NFC) there, whatever form they came in"""
    refuses: Callable[[str], str | None] | None = None
    """why a path can never be there; None: nothing is known beforehand"""
    strict: bool = False
    """names that Windows cannot hold are refused there"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that is not in the trees."""

    mode: Mode = "both"
    """pull and push write to one side only; read-only writes nothing at all, the record included"""
    approve_deletes: bool = False
    """A person has said that many deletes at once are meant"""
    approve_restore: bool = False
    """A person has said that the older texts of the server are meant"""
    gone_back: frozenset[str] = frozenset()
    """notes that are, on the server, what they once were here, or that the brake on these held before"""
    restored_before: bool = False
    """The brake on notes that go back held some in an earlier pass, and nobody has answered since"""
    no_deletes: str = ""
    """why nothing may be deleted in this pass, e.g. the server was restored from a backup"""
    must_exist: frozenset[str] = frozenset()
    """notes whose name is their role, e.g. USER.md: not renamed by following, and their absence believed late"""
    fights: frozenset[str] = frozenset()
    """paths that two writers keep rewriting in turns; see `brakes.fights`"""
    include: tuple[str, ...] = ()
    """patterns of what travels; none: everything"""
    exclude: tuple[str, ...] = ()
    """patterns of what does not travel, which win over `include`"""
    largest: int = 8 * 1024 * 1024
    """files of more bytes are left alone"""
    local_names: Names = Names()
    remote_names: Names = Names()
    alike: frozenset[tuple[str, str]] = frozenset()
    """pairs of a path in the base and a local path whose texts share half of their items or more"""
    stamp: str = "0000-00-00 000000"
    """goes into the names of copies; see `brakes.stamp`"""
    device: str = "device"
    """goes into the names of copies"""
