"""The host: one process that serves and tends all vaults below a folder.

It knows which of them are open: those in use, and the last used ones.
"""

import asyncio
import logging
import resource
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio.to_thread

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import VAULT, RequestState, VaultUnknown
from vault_memory.config.sections import Config
from vault_memory.http.tokens import TokenOwner
from vault_memory.service.host_folder import host_folder, only_host
from vault_memory.service.host_report import host_calls
from vault_memory.service.hosted_vault import HostedVault
from vault_memory.service.service_manager import Notify
from vault_memory.service.socket_server import SocketServer
from vault_memory.service.turn_lane import Lanes
from vault_memory.service.vault_catalog import (
    LOOK_SHARE,
    CatalogChanges,
    VaultCatalog,
    VaultTroubled,
)
from vault_memory.vault.state_dir import state_root
from vault_memory.vault.watch.shared_watcher import SharedWatcher

logger = logging.getLogger(__name__)

UPKEEP_THREADS = 4
SYNC_THREADS = 4
NIGHT_THREADS = 2
EMBEDDING_THREADS = 1
VISIT_SECONDS = 0.05
"""Pause between the first visits of two vaults after the start"""
FILES_OF_VAULT = 16
"""Open files that an open vault may need at once"""
OTHER_FILES = 200
"""Files for connections and for the host itself"""

SWITCH_SECONDS = 0.0005
"""How long a thread may keep the interpreter while another one waits for it"""
FILES_SECONDS = 2.0
"""Time between two looks at the configurations, the tokens and the drop folders"""
FOLDERS_SECONDS = 10.0
"""Time between two looks for vaults that appeared or went"""
TOKENS_SECONDS = 1.0
"""An unknown token makes the host look for new tokens, at most once in this time"""
END_SECONDS = 8.0
"""How long the end of the host waits for turns; the next start finishes the others"""


class VaultHost:
    """Serves all vaults below a folder, between `start` and `stop`. Any thread may use it."""

    def __init__(self, folder: Path, environment: Mapping[str, str], config: Config) -> None:
        """Raises VaultUnreachable, VaultInVaults."""
        self.catalog = VaultCatalog(folder, environment)
        self.config = config
        self.watcher = SharedWatcher()
        self.lanes = Lanes.with_threads(
            UPKEEP_THREADS, SYNC_THREADS, NIGHT_THREADS, EMBEDDING_THREADS
        )
        self.states = state_root(self.catalog.environment)
        """The folder of all state folders"""
        self.folder = host_folder(self.catalog.folder, self.catalog.environment)
        self.address = ""
        """Where it listens; empty when it does not"""
        self.tell_reopening: Callable[[str], None] = lambda vault: None
        """Receives the id of a vault that is closed once nobody uses it"""
        self.is_stopping = False
        self._vaults: dict[str, HostedVault] = {}
        self._leaving: dict[str, HostedVault] = {}
        """Removed vaults that are still open"""
        self._notify = Notify(self.catalog.environment)
        self._renewing = threading.Lock()
        self._asking = asyncio.Lock()
        """of the requests with an unknown token, one looks for new tokens"""
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="host", daemon=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Tends the vaults within this. Raises HostRuns."""
        _allow_open_files()
        with ExitStack() as stack:
            stack.enter_context(only_host(self.catalog.folder, self.folder))
            stack.enter_context(_short_switches())
            stack.callback(self.watcher.stop)
            self.lanes.start()
            stack.callback(self._stop)
            self.renew()
            server = SocketServer(self.folder.socket, host_calls(self))
            stack.callback(server.close)
            self._thread.start()
            yield

    def ready(self) -> None:
        """Notifies the service manager: the host serves its vaults, and ends on SIGTERM."""
        self._notify.ready(self._doing())

    def begin_stop(self) -> None:
        """Lets no further turn begin, and ends those that run soon.

        Called before the server waits for its answers.
        """
        self._notify.stopping()
        self.is_stopping = True
        for vault in self._all():
            vault.refuse_waiting()
            if vault.open_vault is not None:
                vault.open_vault.syncing.stop()
        self.lanes.stop()

    def _stop(self) -> None:
        """Ends all turns and closes all vaults; a turn that takes longer stays as it is."""
        self.begin_stop()
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()
        if not self.lanes.join(END_SECONDS):
            logger.warning("some turns take long; the next start finishes their work")
            return
        for vault in self._all():
            vault.close_at_end()

    # --- For requests ---

    @asynccontextmanager
    async def vault(self, state: RequestState) -> AsyncIterator[VaultMemory]:
        """Opens the vault that `state` names; it counts as in use until the end.

        Raises VaultUnknown, VaultTroubled, and what opening it raises.
        """
        vault = self._vaults.get(state[VAULT])
        if vault is None:
            if reason := self.catalog.trouble(state[VAULT]):
                raise VaultTroubled(reason)
            raise VaultUnknown
        opening = vault.begin_use()
        try:
            # A large vault is read for minutes when it is first opened. No thread waits for it.
            await asyncio.wrap_future(opening)
            yield vault.memory()
        finally:
            vault.end_use()

    def state_folder(self, vault: str) -> Path | None:
        """Returns the state folder of a vault of this host, without opening it."""
        # Fault: a browser that is signed in would be signed out, and not told what is wrong.
        is_known = vault in self._vaults or self.catalog.trouble(vault)
        return self.states / vault if is_known else None

    # --- For the host ---

    def vaults(self) -> list[HostedVault]:
        """Returns all vaults that are served."""
        return list(self._vaults.values())

    def find(self, vault: str) -> HostedVault | None:
        """Returns a vault by its id."""
        return self._vaults.get(vault)

    def open_vaults(self) -> list[HostedVault]:
        """Returns the open vaults, the longest unused first."""
        return sorted(
            (vault for vault in self.vaults() if vault.is_open), key=lambda vault: vault.used_at
        )

    # --- The catalog ---

    def renew(self) -> None:
        """Takes over the vaults that appeared or went, and what changed in their files."""
        self._renew(self.catalog.renew)

    def renew_tokens(self) -> None:
        """Takes over new tokens."""
        self._renew(self.catalog.renew_files)

    async def owner(self, digest: bytes) -> TokenOwner | None:
        """Returns the owner of the token with this digest, or None.

        Raises VaultTroubled for the token of a vault that cannot be served.
        """
        owner = await self._current_owner(digest)
        reason = "" if owner else self.catalog.refusal(digest)
        # Fault: a bot with a valid token would be told that it has a wrong one.
        if reason:
            raise VaultTroubled(reason)
        return owner

    async def _current_owner(self, digest: bytes) -> TokenOwner | None:
        owner = await self.catalog.tokens.owner(digest)
        if owner is not None or self.catalog.is_recent(TOKENS_SECONDS):
            return owner
        # Fault: many requests with wrong tokens would take the threads of all calls.
        async with self._asking:
            # The token may have been made a moment ago.
            if not self.catalog.is_recent(TOKENS_SECONDS):
                await anyio.to_thread.run_sync(self.renew_tokens)
        return await self.catalog.tokens.owner(digest)

    def _renew(self, renew: Callable[[], CatalogChanges]) -> None:
        # Fault: of two renewals at once, the older result could be taken over last.
        with self._renewing:
            changes = renew()
            if changes:
                self._take_changes(changes)

    # --- The vaults ---

    def _take_changes(self, changes: CatalogChanges) -> None:
        """Takes over what a renewal of the catalog found."""
        for vault_id in changes.removed:
            self._leaving[vault_id] = self._vaults.pop(vault_id)
            self._leaving[vault_id].remove()
        changed = [self._vaults[vault_id] for vault_id in changes.changed]
        # The watches of all old folders end before a new one begins.
        for vault in changed:
            self._replace_entry(vault)
        for vault in changed:
            vault.open_again()
        for number, vault_id in enumerate(sorted(changes.added)):
            self._add(vault_id, VISIT_SECONDS * number)
        self._leaving = {
            vault_id: vault for vault_id, vault in self._leaving.items() if not vault.is_at_rest
        }

    def _add(self, vault_id: str, seconds: float) -> None:
        """Serves a vault, and visits it in so many seconds."""
        entry = self.catalog.entry(vault_id)
        if entry is None:
            return
        vault = self._leaving.pop(vault_id, None)
        if vault is None:
            vault = HostedVault(entry, self)
        else:
            # Fault: beside a second object for a vault that is still open, the host would take
            # itself for another daemon, and tend the vault no more.
            vault.replace_entry(entry)
        self._vaults[vault_id] = vault
        # Its files may have changed while no host ran.
        vault.visit(seconds)

    def _replace_entry(self, vault: HostedVault) -> None:
        entry = self.catalog.entry(vault.entry.vault)
        if entry is not None:
            vault.replace_entry(entry)

    def _note_left(self) -> None:
        """Visits the vaults in whose state folders other processes left something."""
        for vault in self.vaults():
            vault.look_for_leftovers()

    def make_room(self) -> None:
        """Closes the vaults that were not used for longest, if there are too many."""
        most = min(self.config.host.most_open, _most_by_files())
        excess = sum(vault.is_open for vault in self.vaults()) - most
        if excess > 0:
            unused = [vault for vault in self.open_vaults() if not vault.users]
            for vault in unused[:excess]:
                vault.ask_to_close()

    def _all(self) -> list[HostedVault]:
        """Returns the vaults that are served, and those that are still open."""
        return [*self._vaults.values(), *self._leaving.values()]

    # --- The thread ---

    def _run(self) -> None:
        next_files = next_folders = 0.0
        while not self._is_over.wait(self._pause()):
            now = time.monotonic()
            if now >= next_folders:
                pause = self._look(self.renew)
                next_folders = now + max(FOLDERS_SECONDS, pause)
                next_files = now + max(FILES_SECONDS, pause)
            elif now >= next_files:
                pause = self._look(self.renew_tokens)
                next_folders = max(next_folders, now + pause)
                next_files = now + max(FILES_SECONDS, pause)
            self._notify.report_state(self._doing())

    def _look(self, renew: Callable[[], None]) -> float:
        """Looks for changes. Returns for how many seconds it must not look again."""
        began = time.thread_time()
        try:
            renew()
            self._note_left()
            # Fault: a vault that was in use when others were closed for a new one would stay open.
            self.make_room()
        except Exception:
            # A bug must not end the thread: new vaults and tokens still have to be found.
            logger.exception("the vaults could not be looked through")
        # Fault: with 100,000 vaults, looks without a pause would fill a processor.
        return LOOK_SHARE * (time.thread_time() - began)

    def _pause(self) -> float:
        return min(FILES_SECONDS, self._notify.wait())

    def _doing(self) -> str:
        """Returns the state for the service manager, which every user of the machine may read."""
        vaults = self.vaults()
        count_open = sum(vault.is_open for vault in vaults)
        return f"serving {len(vaults)} vaults, {count_open} of them open"


@contextmanager
def _short_switches() -> Iterator[None]:
    """Lets threads take turns often: one that reads a large vault delays searches less."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _allow_open_files() -> None:
    """Raises the number of open files to the limit of the system.

    An open vault needs a few of them, and the usual limit is 1024.
    """
    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _most_by_files() -> int:
    """Returns how many vaults the system's limit of open files allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, (soft - OTHER_FILES) // FILES_OF_VAULT)
