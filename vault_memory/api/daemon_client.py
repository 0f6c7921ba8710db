"""Asks a running daemon over a socket that only its owner can open: one JSON line each way.

A host keeps many vaults in one process. It answers the questions of that process itself, without a
socket: `answered_here`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vault_memory.api.exchange import NotAnswered, exchange
from vault_memory.errors import UsageError, VaultMemoryError

PATIENCE_SECONDS = 20.0
Call = Callable[[dict[str, Any]], Mapping[str, Any]]
"""Answers one question; raises VaultMemoryError"""

_calls_here: dict[str, Mapping[str, Call]] = {}
"""Path of a socket → the calls that this process answers in its place"""
BEHIND = "behind"
"""Code of a refusal: the index of the daemon is behind the vault, and the caller reads it itself"""


class DaemonRefused(VaultMemoryError):
    """The daemon answered with an error, which is passed on unchanged."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(
            str(error.get("message", "the daemon failed")), hint=str(error.get("hint", ""))
        )
        self._error = dict(error)
        self.exit_code = int(self._error.pop("exit_code", 1))

    @property
    def code(self) -> str:
        return str(self._error.get("code", "daemon_refused"))

    def as_json(self) -> dict[str, object]:
        return self._error


def ask(
    path: Path, call: str, arguments: Mapping[str, Any], patience: float = PATIENCE_SECONDS
) -> dict[str, Any] | None:
    """Returns the answer of the daemon behind the socket at `path`; None without a daemon.

    After `patience` seconds without an answer, it returns None.

    Raises DaemonRefused.
    """
    calls = _calls_here.get(str(path))
    if calls is not None:
        return _answer_here(calls, call, arguments)
    try:
        answer: dict[str, Any] | None = exchange(str(path), call, arguments, patience)
    except NotAnswered:
        # A question changes nothing: its caller can answer it again.
        return None
    if answer is not None and "error" in answer:
        raise DaemonRefused(answer["error"])
    return answer


@contextmanager
def answered_here(path: Path, calls: Mapping[str, Call]) -> Iterator[None]:
    """Answers the questions of this process for the socket at `path` by these calls."""
    _calls_here[str(path)] = calls
    try:
        yield
    finally:
        del _calls_here[str(path)]


def is_answered_here(path: Path) -> bool:
    """Returns whether this process itself answers for the socket at `path`."""
    return str(path) in _calls_here


def _answer_here(
    calls: Mapping[str, Call], call: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns what a socket would. Raises DaemonRefused."""
    try:
        if call not in calls:
            raise UsageError(f"the host knows no call `{call}`")
        return dict(calls[call](dict(arguments)))
    except VaultMemoryError as error:
        refusal = {**error.as_json(), "exit_code": error.exit_code}
        raise DaemonRefused(refusal) from None
