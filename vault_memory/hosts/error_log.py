"""Where a person finds out why a hook gave nothing: one line each time, which never repeats what was said."""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from vault_memory.lazy import lazy_module

TYPE_CHECKING = False  # as in `typing`, which takes time to load
if TYPE_CHECKING:
    from vault_memory.vault import state_dir
else:
    state_dir = lazy_module("vault_memory.vault.state_dir")

LARGEST = 64 << 10
"""Bytes after which a log becomes the one before, which is then let go of"""
LONGEST = 300


def tell(
    folder: Path | None,
    environment: Mapping[str, str],
    host: str,
    event: str,
    what: str,
) -> None:
    """Write down what went wrong, beside the vault's state, else where the states of all vaults lie."""
    line = f"{datetime.now().astimezone().isoformat(timespec='seconds')} {host} {event or '-'}: {' '.join(what.split())}"
    line = line[:LONGEST]
    with suppress(OSError, ValueError):
        os.write(2, f"vault-memory: {line}\n".encode("utf-8", "replace"))
    with suppress(Exception):  # nobody is left to tell
        if folder is None:
            folder = state_dir.state_root(environment)
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(state_dir.StateFolder(folder).hook_log, line)


def _write(log: Path, line: str) -> None:
    with suppress(FileNotFoundError):
        if log.stat().st_size > LARGEST:
            os.replace(log, log.with_name(f"{log.name}.1"))
    fd = os.open(
        log,
        os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC,
        0o600,
    )
    try:
        os.write(fd, f"{line}\n".encode("utf-8", "replace"))
    finally:
        os.close(fd)
