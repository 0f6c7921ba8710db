"""Gives each request a Viewer: the vault, opened a few times, with the rights of the session."""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.http.page.browser_sessions import BrowserSession, Rights
from vault_memory.http.page.viewer import Viewer
from vault_memory.rules.paths.caller import Caller

MOST_FORKS = 4
"""How often the vault is open: as many requests are answered at once"""


class Viewers:
    """The viewers of one page."""

    # A write may wait seconds for its note. A reader with a fork of its own does not
    # wait behind it.

    def __init__(
        self,
        memory: VaultMemory,
        rights: Rights,
    ) -> None:
        self._memory = memory
        self._rights = rights
        self._idle: queue.SimpleQueue[VaultMemory] = queue.SimpleQueue()
        self._forks: list[VaultMemory] = []
        self._lock = threading.Lock()
        self.limiter = anyio.CapacityLimiter(MOST_FORKS)

    def close(self) -> None:
        """Closes the forks."""
        with self._lock:
            forks, self._forks = self._forks, []
        for fork in forks:
            fork.close()

    @contextmanager
    def viewer(self, session: BrowserSession) -> Iterator[Viewer]:
        """Gives a viewer with the rights of this session. It may not be kept."""
        fork = self._borrow()
        try:
            yield Viewer(
                fork,
                self._scopes(fork, session.rights),
                session.rights.may_write and self._rights.may_write,
            )
        finally:
            self._idle.put(fork)

    def _borrow(self) -> VaultMemory:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            fork = self._memory.fork(resident=True)
            with self._lock:
                self._forks.append(fork)
            return fork

    def _scopes(
        self,
        memory: VaultMemory,
        rights: Rights,
    ) -> tuple[str, ...]:
        """Returns the scopes that a session may see, as a list of names."""
        allowed = self._rights.users
        users = rights.users if rights.users is not None else allowed
        if users is None:
            return tuple(memory.scopes())
        scopes: dict[str, None] = {}
        # Fault: a link of an earlier start may name people whom this page does not show.
        for user in users:
            if allowed is None or user in allowed:
                scopes.update(dict.fromkeys(Caller(user).reads(memory.layout)))
        return tuple(scopes)
