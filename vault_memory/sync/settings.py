"""The inputs of a plan apart from the trees: configuration, approvals, and observations of the engine."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from vault_memory.rules.paths.filenames import MARKDOWN

MERGED = (*MARKDOWN, ".jsonl")
"""Files of these kinds are merged when both sides changed them; of others both copies stay"""

Mode = Literal["both", "pull", "push", "read-only"]


@dataclass(frozen=True, slots=True)
class Names:
    """Which names one side can store."""

    folds_case: bool = False
    """`Tee.md` and `tee.md` are one file there"""
    folds_unicode: bool = False
    """names are stored in the composed form (NFC) there"""
    refuses: Callable[[str], str | None] | None = None
    """returns why a path can never exist there; None when that is unknown"""
    strict: bool = False
    """names that Windows cannot hold are refused there"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one plan."""

    mode: Mode = "both"
    """pull and push write to one side only; read-only writes nothing, not even the sync state"""
    approve_deletes: bool = False
    """a person approved many deletions at once"""
    approve_restore: bool = False
    """a person accepted the earlier texts"""
    gone_back: frozenset[str] = frozenset()
    """notes whose text on the server is an earlier version, or that B9 stopped before"""
    folder_gone_back: bool = False
    """all notes of a folder on the server are earlier versions"""
    older_here: frozenset[str] = frozenset()
    """local notes that returned to earlier texts together with all others of a folder"""
    restored_before: bool = False
    """B9 stopped notes in an earlier pass, and no person has answered since"""
    no_deletes: str = ""
    """why nothing may be deleted in this pass; empty: deletions are allowed"""
    must_exist: frozenset[str] = frozenset()
    """notes whose name is their role, e.g. USER.md: never renamed, and only a long absence counts"""
    fights: frozenset[str] = frozenset()
    """paths that two writers keep rewriting in turns; see `safety_limits.fights`"""
    include: tuple[str, ...] = ()
    """patterns of the paths that are synced; none: all paths"""
    exclude: tuple[str, ...] = ()
    """patterns of the paths that are not synced; they win over `include`"""
    largest: int = 8 * 1024 * 1024
    """in bytes: larger files are not synced"""
    local_names: Names = Names()
    remote_names: Names = Names()
    has_folders: bool = True
    """the server has folders that can be renamed; False: only files with long names"""
    alike: frozenset[tuple[str, str]] = frozenset()
    """pairs of a path in the base and a new local path that has half of its lines or more"""
    stamp: str = "0000-00-00 000000"
    """the date in the names of copies; see `safety_limits.stamp`"""
    device: str = "device"
    """the name of this device in the names of copies"""
