"""Gives each request a Viewer: the vault, opened a few times, with the rights of the session."""

import queue
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

import anyio

from vault_memory.addons.page.browser_sessions import BrowserSession, Rights
from vault_memory.addons.page.shared_answers import SharedAnswers
from vault_memory.addons.page.viewer import SessionAccess, Viewer
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.rules.paths.caller import Caller

MOST_FORKS = 4
"""How often the vault is open: as many requests are answered at once"""


class Viewers:
    """The viewers of one page."""

    # A write may wait seconds for its note. A reader with a fork of its own does not
    # wait behind it.

    def __init__(self, memory: VaultMemory, rights: Rights, shared: SharedAnswers) -> None:
        self._memory = memory
        self._rights = rights
        self.shared = shared
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
            access = SessionAccess(
                self._scopes(fork, session.rights),
                session.rights.may_write and self._rights.may_write,
                session.csrf,
                sees_all=self._users(session.rights) is None,
            )
            yield Viewer(fork, access, self.shared)
        finally:
            self._idle.put(fork)

    def readable(self, rights: Rights) -> Collection[str]:
        """Returns the scopes that a session may see, without reading the vault."""
        users = self._users(rights)
        return _EVERY_SCOPE if users is None else self._scopes_of(users)

    def _borrow(self) -> VaultMemory:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            fork = self._memory.fork(resident=True)
            with self._lock:
                self._forks.append(fork)
            return fork

    def _scopes(self, memory: VaultMemory, rights: Rights) -> tuple[str, ...]:
        """Returns the scopes that a session may see, as a list of names."""
        users = self._users(rights)
        return tuple(memory.scopes()) if users is None else self._scopes_of(users)

    def _users(self, rights: Rights) -> tuple[str, ...] | None:
        """Returns the people whose notes a session may see; None for all scopes."""
        allowed = self._rights.users
        if allowed is None:
            return rights.users
        if rights.users is None:
            return allowed
        # Fault: a link of an earlier start may name people whom this page does not show.
        return tuple(user for user in rights.users if user in allowed)

    def _scopes_of(self, users: Iterable[str]) -> tuple[str, ...]:
        scopes: dict[str, None] = {}
        for user in users:
            scopes.update(dict.fromkeys(Caller(user).reads(self._memory.layout)))
        return tuple(scopes)


class _EveryScope(frozenset[str]):
    """All scopes, those too that get their first note later."""

    def __contains__(self, scope: object) -> bool:
        return True


_EVERY_SCOPE = _EveryScope()
