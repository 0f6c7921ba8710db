"""Files outside of notes, history and index that may say a forgotten text: what is kept for later, and old names."""

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
ON_SERVER = "the server had a file of this name at the last pass; run `vault-memory sync --once`, and `forget` again"
_PUT_ASIDE = ("nights/*.open.json", "drop/*.rejected", "sessions/*/*", "hook.log*")
"""What is lost with them: a night is begun anew, a refused line was none of ours, a session is begun anew"""


def damaged_files(state: Path) -> list[Path]:
    """Databases that were set aside, with their logs. They cannot be read, so nobody can say what is in them.

    The index has its own way with old files.
    """
    found = (file for _, file in files_below(state) if DAMAGED in file.name)
    return sorted(file for file in found if file.parent.name != "index")


def quarantine(state: Path, sought: "TextMatcher") -> list[Path]:
    """Files that are kept for later or for a look, and that hold it."""
    files = (
        file for pattern in _PUT_ASIDE for file in state.glob(pattern) if file.is_file()
    )
    return sorted(file for file in files if sought.is_in_bytes(_read(file)))


def orphaned_audits(root: Path, sought: "TextMatcher") -> Iterator[tuple[str, str]]:
    """Audit files named after a note that is gone, where the name holds it: path, and the path without it.

    Somebody renamed the note alone. Its records stay, under a name that says nothing.
    """
    for path, file in files_below(root):
        stem, mark, _ = file.name.partition(AUDIT)
        masked = sought.masked(path)
        if not mark or not file.name.endswith(".jsonl") or masked == path:
            continue
        is_named_so = sought.hides(path.rpartition("/")[2]) and not sought.hides(
            path.rpartition("/")[0]
        )
        if (
            is_named_so
            and not (file.parent / stem).exists()
            and not (root / masked).exists()
        ):
            yield path, masked


def running_daemon(state: Path) -> int | None:
    """The process id of a daemon of this vault, other than this process."""
    try:
        pid = int((state / "daemon.pid").read_text(encoding="ascii"))
        os.kill(pid, 0)
    except PermissionError:  # it runs as somebody else
        return pid
    except (OSError, ValueError, OverflowError):
        return None
    return None if pid == os.getpid() else pid


def rename(root: Path, path: str, to: str) -> None:
    """Durably."""
    os.rename(root / path, root / to)
    sync_folder((root / to).parent)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # taken away meanwhile
        return b""
