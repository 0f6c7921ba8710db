"""Asks a running daemon over a socket that only its owner can open: one JSON line each way."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vault_memory.daemon.exchange import NotAnswered, exchange
from vault_memory.errors import VaultMemoryError

PATIENCE_SECONDS = 20.0
BEHIND = "behind"
"""Code of a refusal: the index of the daemon is behind the vault, and the caller reads it itself"""


class DaemonRefused(VaultMemoryError):
    """The daemon answered with an error, which is passed on unchanged."""

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


def ask(
    path: Path,
    call: str,
    arguments: Mapping[str, Any],
) -> dict[str, Any] | None:
    """Returns the answer of the daemon behind the socket at `path`; None without a daemon.

    Raises DaemonRefused.
    """
    try:
        answer: dict[str, Any] | None = exchange(
            str(path), call, arguments, PATIENCE_SECONDS
        )
    except NotAnswered:
        # A question changes nothing: its caller can answer it again.
        return None
    if answer is not None and "error" in answer:
        raise DaemonRefused(answer["error"])
    return answer
