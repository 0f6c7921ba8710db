"""Files outside of notes, history and index that may contain a forgotten text, or be named after it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.config.durable import sync_folder
from vault_memory.forgetting.residue import files_below

if TYPE_CHECKING:
    from vault_memory.rules.forgetting.matcher import TextMatcher

AUDIT = ".audit"
DAMAGED = ".damaged"
ON_SERVER = (
    "the server had a file of this name at the last pass;"
    " run `vault-memory sync --once`, and `forget` again"
)
_PUT_ASIDE = ("nights/*.open.json", "drop/*.rejected", "sessions/*/*", "hook.log*", "as-of-*/**/*")
"""Files that can be deleted: a night and a session start again, a rejected line was never recorded,
and a past day is rebuilt"""


def damaged_files(state: Path) -> list[Path]:
    """Returns databases that were set aside, with their logs: their rows cannot be searched.

    Damaged files of the index are handled with its superseded generations.
    """
    return sorted(
        file
        for _, file in files_below(state)
        if DAMAGED in file.name and file.parent.name != "index"
    )


def files_put_aside(state: Path, matcher: "TextMatcher") -> list[Path]:
    """Returns the files stored for later, or for a look by a person, that contain the text."""
    files = (file for pattern in _PUT_ASIDE for file in state.glob(pattern))
    return sorted(
        file for file in files if file.is_file() and matcher.is_in_bytes(_read_or_empty(file))
    )


def orphaned_audits(root: Path, matcher: "TextMatcher") -> Iterator[tuple[str, str]]:
    """Yields audit files whose names have the text, each with its path without the text.

    Their notes are missing: a person renamed a note without its audit. The records stay.
    """
    for path, file in files_below(root):
        stem, mark, _ = file.name.partition(AUDIT)
        is_audit = bool(mark) and file.name.endswith(".jsonl")
        if not is_audit or not _is_only_in_name(path, matcher):
            continue
        masked = matcher.masked(path)
        note = file.parent / stem
        # Fault: a rename must not replace another audit file.
        is_free = masked != path and not (root / masked).exists()
        if is_free and not note.exists():
            yield path, masked


def _is_only_in_name(path: str, matcher: "TextMatcher") -> bool:
    folder, _, name = path.rpartition("/")
    return matcher.hides(name) and not matcher.hides(folder)


def running_daemon(state: Path) -> int | None:
    """Returns the process id of a daemon of this vault that is not this process."""
    try:
        pid = int((state / "daemon.pid").read_text(encoding="ascii"))
        os.kill(pid, 0)
    except PermissionError:
        # Fault: the process belongs to another user. It may still have the text.
        return pid
    except (OSError, ValueError, OverflowError):
        # Fault (A26): a daemon that was killed leaves its file, with the id of no
        # process.
        return None
    return None if pid == os.getpid() else pid


def rename(root: Path, path: str, new_path: str) -> None:
    """Renames a file durably."""
    os.rename(root / path, root / new_path)
    sync_folder((root / new_path).parent)


def _read_or_empty(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        # Another process deleted it meanwhile.
        return b""
