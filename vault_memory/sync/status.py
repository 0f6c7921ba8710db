"""How the sync stands, kept in the state folder, so that every process can tell, and none asks with a refused password.

Nothing here is secret: of a refused password only a mark is kept, made slow to try others against.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from vault_memory.sync.report import Remark

FILE = "sync.json"
TRIES = 3
"""Requests in all with a password that the server refuses, before only another password helps"""
PAUSE_SECONDS = 3600.0
"""Between two of them"""

State = Literal["ok", "working", "waiting", "held", "stopped", "off"]


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """Between two passes."""

    state: State = "off"
    reason: str = ""
    last_good: str = ""
    """when both sides were last seen to be the same as far as they could be made; ISO 8601"""
    queue: int = 0
    """paths that wait or failed"""
    errors: tuple[Remark, ...] = ()
    held: tuple[Remark, ...] = ()
    next_try: str = ""
    refused: int = 0
    """times the password was refused"""
    refused_at: float = 0.0
    refused_mark: str = ""
    """of the account and password that were refused"""


def read_standing(state: Path) -> SyncStatus:
    """As last written; the empty one when there is none."""
    try:
        said = json.loads((state / FILE).read_text(encoding="utf-8"))
        known = {
            field.name: said[field.name]
            for field in fields(SyncStatus)
            if field.name in said
        }
        for name in ("errors", "held"):
            known[name] = tuple(Remark(**one) for one in known.get(name, ()))
        return SyncStatus(**known)
    except (OSError, ValueError, TypeError, AttributeError):
        return SyncStatus()


def change_standing(folder: Path, **changes: Any) -> None:
    """Write it anew, whole or not at all, with these fields changed."""
    standing = replace(read_standing(folder), **changes)
    fresh = folder / f"{FILE}.{os.urandom(6).hex()}"
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as stream:
        json.dump(asdict(standing), stream)
    os.replace(fresh, folder / FILE)


def mark_of(url: str, user: str, password: str) -> str:
    """The same for the same account and password."""
    salt = hashlib.sha256(f"vault-memory\0{url}\0{user}".encode()).digest()
    return hashlib.scrypt(
        password.encode(), salt=salt, n=2**14, r=8, p=1, dklen=16
    ).hex()


def as_status(standing: SyncStatus, server: str, *, running: bool) -> Mapping[str, Any]:
    """`sync` in `status`."""
    state, reason = standing.state, standing.reason
    if not running and state != "stopped":
        state, reason = (
            "off",
            "no daemon: `vault-memory run` or `vault-memory sync` syncs",
        )
    return {
        "state": state,
        "reason": reason,
        "last_good": standing.last_good or None,
        "queue": standing.queue,
        "errors": [asdict(one) for one in standing.errors],
        "held": [asdict(one) for one in standing.held],
        "next_try": (standing.next_try or None) if running else None,
        "server": server,
    }
