"""The record of a running page: who started another one finds it here."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from vault_memory.config import state_file
from vault_memory.errors import ConfigError, Locked
from vault_memory.http.page.browser_sessions import Rights

FILE = "web.json"
LOCK = "web.lock"
OPENER = "web-open.html"


class RunningPage(msgspec.Struct, frozen=True):
    """A page that is served now."""

    url: str
    rights: Rights


class NoPage(ConfigError):
    """No page is served."""

    def __init__(self) -> None:
        super().__init__(
            "the page does not run", hint="start it with `vault-memory web`"
        )


@contextmanager
def announced(
    state: Path,
    page: RunningPage,
) -> Iterator[None]:
    """Tells other processes of this page while it runs. Raises Locked when another one runs."""
    # Fault: a process that was killed deletes no file. The system frees its lock.
    try:
        with state_file.lock(state / LOCK, patience=0):
            state_file.write(state / FILE, msgspec.json.encode(page).decode())
            try:
                yield
            finally:
                (state / FILE).unlink(missing_ok=True)
                (state / OPENER).unlink(missing_ok=True)
    except state_file.LockTaken:
        raise Locked(
            "the page of this vault runs already",
            hint="`vault-memory web --link` prints a new link to it",
        ) from None


def find_running(state: Path) -> RunningPage | None:
    """Returns the page that is served now; None without one."""
    try:
        with state_file.lock(state / LOCK, patience=0):
            return None
    except state_file.LockTaken:
        pass
    value: Any = state_file.read_json(state / FILE)
    try:
        return msgspec.convert(value, RunningPage)
    except msgspec.ValidationError:
        # It starts or stops just now.
        return None


def write_opener(
    state: Path,
    link: str,
) -> Path:
    """Writes a file that leads a browser to a link. Only the owner can read it.

    Fault: other users of the machine can read the arguments of the browser. They hold the name of
    this file, not the key.
    """
    file = state / OPENER
    text = f'<!doctype html><meta http-equiv="refresh" content="0;url={link}"><title>Opening</title>'
    state_file.write(file, text)
    return file
