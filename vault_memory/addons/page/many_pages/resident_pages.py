"""The pages that browsers use now. Each keeps its vault open; an idle one is closed."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from vault_memory.addons.page.browser_sessions import key_prefix
from vault_memory.addons.page.events import EventHub
from vault_memory.addons.page.page_app import PageSettings, page_application
from vault_memory.api.daemon_changes import Changes
from vault_memory.api.daemon_client import ask, is_answered_here
from vault_memory.api.vault_service import VAULT, VaultService, opened
from vault_memory.errors import VaultMemoryError
from vault_memory.http.lifespan import running

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory

logger = logging.getLogger(__name__)

MOST_PAGES = 64
"""Pages that are open at once, each with its vault"""
IDLE_SECONDS = 60.0
"""A page without requests and open tabs is closed after so long"""


class PagesBusy(VaultMemoryError):
    """The pages of other vaults are in use, and no more can be opened."""

    http_status = 503

    def __init__(self) -> None:
        super().__init__("too many pages are open at once", hint="try again in a minute")


class ResidentPage:
    """The page of one vault. Only the event loop uses it."""

    def __init__(self, vault: str) -> None:
        self.vault = vault
        loop = asyncio.get_running_loop()
        self.app: asyncio.Future[ASGIApp] = loop.create_future()
        self.hub: EventHub | None = None
        self.requests = 0
        """those that are being answered; the streams of open tabs are not among them"""
        self.streams = 0
        self.is_over = asyncio.Event()
        self.closing: asyncio.TimerHandle | None = None
        self.loop = loop
        self.task: asyncio.Task[None] | None = None

    def stop_streams(self) -> None:
        """Ends the streams, which never end by themselves."""
        if self.hub is not None:
            self.hub.stop()


def _hub(memory: "VaultMemory") -> EventHub:
    """Returns a hub that asks the upkeep in this process, else the daemon of the vault."""
    is_here = is_answered_here(memory.vault.state.socket)
    return EventHub(memory, CallFeed(memory) if is_here else None)


class ResidentPages:
    """Opens the page of a vault when it is asked for, and closes an idle one."""

    def __init__(
        self,
        service: VaultService,
        settings: PageSettings,
        most: int = MOST_PAGES,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._service = service
        self._settings = settings
        self._most = most
        self._idle_seconds = idle_seconds
        self._pages: dict[str, ResidentPage] = {}
        """Vault → its page, the longest unused first"""
        self._is_stopped = False

    def vaults(self) -> list[str]:
        """The vaults whose pages are open."""
        return list(self._pages)

    @asynccontextmanager
    async def page(self, vault: str, *, is_stream: bool) -> AsyncIterator[ASGIApp]:
        """Gives the page of a vault for one request.

        Raises VaultUnknown, VaultUnavailable, PagesBusy.
        """
        page = self._pages.pop(vault, None) or self._new_page(vault, is_stream)
        # The end of the dictionary is the place of the last used page.
        self._pages[vault] = page
        page.requests += 1
        try:
            app = await asyncio.shield(page.app)
            if not is_stream:
                yield app
                return
        finally:
            page.requests -= 1
            self._plan_end(page)
        page.streams += 1
        try:
            yield app
        finally:
            page.streams -= 1
            self._plan_end(page)

    def stop_streams(self) -> None:
        """Ends the streams of all pages, before the server waits for its answers."""
        self._is_stopped = True
        for page in self._pages.values():
            page.stop_streams()

    def end_soon(self, vault: str) -> None:
        """Ends the page of a vault after its requests, so that the host can close the vault.

        Any thread may call it. The streams of open tabs end too, and the tabs ask again.
        """
        page = self._pages.get(vault)
        if page is not None:
            # The loop is closed at the end of the server.
            with suppress(RuntimeError):
                page.loop.call_soon_threadsafe(self._retire, page)

    async def _close(self, vault: str) -> None:
        page = self._pages.get(vault)
        if page is not None:
            self._end(page)
            await _ended(page)

    async def close_all(self) -> None:
        """Closes all pages."""
        self.stop_streams()
        for vault in self.vaults():
            await self._close(vault)

    def _new_page(self, vault: str, is_stream: bool) -> ResidentPage:
        self._make_room(is_stream)
        page = ResidentPage(vault)
        page.task = asyncio.create_task(self._live(page))
        return page

    def _make_room(self, is_stream: bool) -> None:
        """Closes the page that was not used for longest, if there are too many.

        A page with an open tab is closed last. Its tab asks again, and only a request may
        close such a page: two tabs would close each other's pages forever. Raises PagesBusy.
        """
        if len(self._pages) < self._most:
            return
        unused = [page for page in self._pages.values() if page.requests == 0]
        without_tabs = [page for page in unused if page.streams == 0]
        closable = without_tabs if is_stream else without_tabs or unused
        if not closable:
            raise PagesBusy
        self._end(closable[0])

    def _plan_end(self, page: ResidentPage) -> None:
        """Ends an unused page later, unless a request comes before."""
        if page.closing is not None:
            page.closing.cancel()
            page.closing = None
        is_resident = self._pages.get(page.vault) is page
        if not is_resident and page.requests == 0:
            page.is_over.set()
        elif is_resident and page.requests == 0 and page.streams == 0:
            loop = asyncio.get_running_loop()
            page.closing = loop.call_later(self._idle_seconds, self._end_if_unused, page)

    def _end_if_unused(self, page: ResidentPage) -> None:
        if page.requests == 0 and page.streams == 0:
            self._end(page)

    def _retire(self, page: ResidentPage) -> None:
        """Takes a page away from later requests, and ends it when it has no requests."""
        if self._pages.get(page.vault) is page:
            del self._pages[page.vault]
        self._plan_end(page)

    def _end(self, page: ResidentPage) -> None:
        """Takes a page away from later requests, and lets it close."""
        if self._pages.get(page.vault) is page:
            del self._pages[page.vault]
        page.is_over.set()

    async def _live(self, page: ResidentPage) -> None:
        """Opens the vault and its page, and closes both at the end of the page."""
        # The task that opens the vault closes it: a service may need that.
        try:
            async with opened(self._service, {VAULT: page.vault}) as memory:
                hub = _hub(memory)
                prefix = key_prefix(page.vault)
                settings = self._settings._replace(key_prefix=prefix)
                app = page_application(memory, settings, hub)
                async with running(app):
                    page.hub = hub
                    if self._is_stopped:
                        hub.stop()
                    page.app.set_result(app)
                    await page.is_over.wait()
        except Exception as error:
            if page.app.done():
                logger.exception("a page did not close")
            else:
                page.app.set_exception(error)
                # Without a request that still waits, the loop would report the error.
                page.app.exception()
        finally:
            self._end(page)


async def _ended(page: ResidentPage) -> None:
    if page.task is not None:
        await asyncio.wait([page.task])


# --- Call feed ---

# Waits for changes of a vault whose upkeep is in this process, without a socket.


class CallFeed:
    """Asks the calls of a vault in this process, as `ChangeFeed` asks a daemon."""

    def __init__(self, memory: "VaultMemory") -> None:
        self._socket = memory.vault.state.socket
        self._is_closed = False

    def ask(self, since: str = "", wait: float = 0.0) -> Changes | None:
        """Returns the changes after `since`; waits for one, at most `wait` seconds."""
        if self._is_closed:
            return None
        answer = ask(self._socket, "changes", {"since": since, "wait": wait})
        if answer is None:
            return None
        return Changes(answer["id"], tuple(answer["notes"]), answer["lost"])

    def close(self) -> None:
        """Lets each later call return None. A call that waits returns after its wait."""
        self._is_closed = True
