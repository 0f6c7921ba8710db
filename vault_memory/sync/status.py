"""The status of the sync, stored in the state folder: any process can report it without asking the server.

It also counts refused passwords, so that no process repeats one. It contains no secret: of a refused
password, it has only a slow hash.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.sync.report import Remark

if TYPE_CHECKING:
    from vault_memory.contract import SyncState
    from vault_memory.contract.status_answers import PathRemarkJson, SyncStatusJson

FILE = "sync.json"
TRIES = 3
"""How often a refused password is tried in all"""
PAUSE_SECONDS = 3600.0
"""Between two such tries"""


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """The status between two passes."""

    state: "SyncState" = "off"
    reason: str = ""
    last_good: str = ""
    """when a complete pass last succeeded; ISO 8601"""
    queue: int = 0
    """paths that wait or failed"""
    errors: tuple[Remark, ...] = ()
    held: tuple[Remark, ...] = ()
    next_try: str = ""
    refused: int = 0
    """times the password was refused"""
    refused_at: float = 0.0
    refused_mark: str = ""
    """a hash of the refused account and password"""


def read_status(state_folder: Path) -> SyncStatus:
    """Read the stored status; an empty one when none is stored or readable."""
    try:
        payload = json.loads((state_folder / FILE).read_text(encoding="utf-8"))
        values = {
            field.name: payload[field.name] for field in fields(SyncStatus) if field.name in payload
        }
        for name in ("errors", "held"):
            remarks = values.get(name, ())
            values[name] = tuple(Remark(**remark) for remark in remarks)
        return SyncStatus(**values)
    except (OSError, ValueError, TypeError, AttributeError):
        return SyncStatus()


def update_status(state_folder: Path, **changes: Any) -> None:
    """Change fields of the stored status."""
    # Fault: a crash in the middle of a write, or a reader at that moment. So the file is replaced.
    status = replace(read_status(state_folder), **changes)
    temporary = state_folder / f"{FILE}.{os.urandom(6).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as stream:
        json.dump(asdict(status), stream)
    os.replace(temporary, state_folder / FILE)


def mark_of(url: str, user: str, password: str) -> str:
    """A slow hash of an account and its password."""
    salt = hashlib.sha256(f"vault-memory\0{url}\0{user}".encode()).digest()
    digest = hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1, dklen=16)
    return digest.hex()


def as_status(status: SyncStatus, server: str, *, running: bool) -> "SyncStatusJson":
    """The key `sync` of the command `status`. `running`: the daemon runs."""
    state, reason = status.state, status.reason
    if not running and state != "stopped":
        state = "off"
        reason = "no daemon: `vault-memory run` or `vault-memory sync` syncs"
    return {
        "state": state,
        "reason": reason,
        "last_good": status.last_good or None,
        "queue": status.queue,
        "errors": _remarks(status.errors),
        "held": _remarks(status.held),
        "next_try": (status.next_try or None) if running else None,
        "server": server,
    }


def _remarks(remarks: Iterable[Remark]) -> "list[PathRemarkJson]":
    return [{"path": remark.path, "reason": remark.reason} for remark in remarks]
