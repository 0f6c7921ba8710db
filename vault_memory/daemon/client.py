"""Asking a running daemon, over a socket that only its owner can open: one JSON line there, one back."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vault_memory.daemon.exchange import LONGEST_NAME, NotAnswered, exchange
from vault_memory.errors import VaultMemoryError

PATIENCE_SECONDS = 20.0
BEHIND = "behind"
"""The code of a refusal: the daemon has not caught up with the vault, and whoever asks does better without it"""


class DaemonRefused(VaultMemoryError):
    """The daemon answered with an error; it is given on as it came."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(
            str(error.get("message", "the daemon failed")),
            hint=str(error.get("hint", "")),
        )
        self._error = dict(error)
        self.exit_code = int(self._error.pop("exit_code", 1))

    @property
    def code(self) -> str:
        return str(self._error.get("code", "daemon_refused"))

    def as_json(self) -> dict[str, object]:
        return self._error


def ask(path: Path, call: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the daemon behind the socket at `path` answers; None when there is no daemon. Raises DaemonRefused."""
    try:
        answer: dict[str, Any] | None = exchange(
            str(path), call, arguments, PATIENCE_SECONDS
        )
    except NotAnswered:
        return None
    if answer is not None and "error" in answer:
        raise DaemonRefused(answer["error"])
    return answer


@contextmanager
def short_name(path: Path) -> Iterator[str]:
    """A name for the socket that the system takes, however deep it lies."""
    if len(os.fsencode(path)) <= LONGEST_NAME:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
