"""The host: one process that serves and tends all vaults below a folder."""

import asyncio
import logging
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import anyio.to_thread

from vault_memory.config.sections import Config
from vault_memory.http.tokens import TokenOwner
from vault_memory.service.host_folder import host_folder, only_host
from vault_memory.service.host_report import HostReport
from vault_memory.service.residents import Residents
from vault_memory.service.sd_notify import Notify
from vault_memory.service.socket_server import SocketServer
from vault_memory.service.vault_catalog import (
    LOOK_SHARE,
    CatalogChanges,
    VaultCatalog,
    VaultTroubled,
)
from vault_memory.vault.watch.shared_watcher import SharedWatcher

logger = logging.getLogger(__name__)


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
    """Serves all vaults below a folder, between `start` and `stop`."""

    def __init__(self, catalog: VaultCatalog, config: Config) -> None:
        self.catalog = catalog
        self.config = config
        self.watcher = SharedWatcher()
        self.residents = Residents(catalog, config, self.watcher)
        self.folder = host_folder(catalog.folder, catalog.environment)
        self.report = HostReport(catalog, self.residents)
        self._notify = Notify(catalog.environment)
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
            self.residents.start()
            stack.callback(self._stop)
            self.renew()
            server = SocketServer(self.folder.socket, self.report.calls())
            stack.callback(server.close)
            self._thread.start()
            yield

    def ready(self) -> None:
        """Notifies the service manager: the host serves its vaults, and ends on SIGTERM."""
        self._notify.ready(self._doing())

    def begin_stop(self) -> None:
        """Lets no further turn begin, before the server waits for its answers."""
        self._notify.stopping()
        self.residents.begin_stop()

    def _stop(self) -> None:
        self.begin_stop()
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()
        if not self.residents.stop(END_SECONDS):
            logger.warning("some turns take long; the next start finishes their work")

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
                self.residents.take_changes(changes)

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
            self.residents.note_left()
            self.residents.check_limits()
        except Exception:
            # A bug must not end the thread: new vaults and tokens still have to be found.
            logger.exception("the vaults could not be looked through")
        # Fault: with 100,000 vaults, looks without a pause would fill a processor.
        return LOOK_SHARE * (time.thread_time() - began)

    def _pause(self) -> float:
        return min(FILES_SECONDS, self._notify.wait())

    def _doing(self) -> str:
        """Returns the state for the service manager, which every user of the machine may read."""
        vaults = self.residents.vaults()
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


def open_host(folder: Path, environment: "dict[str, str]", config: Config) -> VaultHost:
    """Returns the host of a folder of vaults. Raises VaultUnreachable, VaultInVaults."""
    return VaultHost(VaultCatalog(folder, environment), config)
