"""The log of hooks that gave no answer: one line each, which never repeats what was said."""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from vault_memory import places
from vault_memory.vault import state_dir

# `typing` has the same name, but takes time to load.

LARGEST_LOG = 64 << 10
"""Bytes. A larger log replaces the previous one, and a new log begins."""
MOST_CHARACTERS = 300
"""Of one line"""


def log_failure(
    folder: Path | None, environment: Mapping[str, str], source: str, reason: str
) -> None:
    """Write one line to stderr and to the log in the vault's state folder.

    `source` names the host and the event. Without a folder, since no vault was found, the line goes
    to the folder with the states of all vaults.
    """
    time = datetime.now().astimezone().isoformat(timespec="seconds")
    line = f"{time} {source}: {' '.join(reason.split())}"[:MOST_CHARACTERS]
    # The host may have closed standard error.
    with suppress(OSError, ValueError):
        os.write(2, f"vault-memory: {line}\n".encode("utf-8", "replace"))
    # Fault: a log that cannot be written must not end the hook with an error. That
    # would stop the bot.
    with suppress(Exception):
        if folder is None:
            folder = state_dir.state_root(environment)
            places.make_private(folder)
        _append(state_dir.StateFolder(folder).hook_log, line)


def _append(log: Path, line: str) -> None:
    # Fault: another hook may have moved the log at the same moment.
    with suppress(FileNotFoundError):
        if log.stat().st_size > LARGEST_LOG:
            os.replace(log, log.with_name(f"{log.name}.1"))
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(log, flags, 0o600)
    try:
        os.write(fd, f"{line}\n".encode("utf-8", "replace"))
    finally:
        os.close(fd)
