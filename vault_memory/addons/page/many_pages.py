"""The pages of a host: many vaults behind one address, and a session opens one of them.

The key of a sign-in link and the cookie of a session begin with the id of their vault, which shows
no name. A vault is opened only after its link or session was found in its state folder.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from vault_memory.addons.page import render
from vault_memory.addons.page.browser_sessions import BrowserSessions, key_prefix, vault_of_key
from vault_memory.addons.page.events import CallFeed, EventHub
from vault_memory.addons.page.guard import READING, Guard
from vault_memory.addons.page.page_answers import NotHere
from vault_memory.addons.page.page_app import (
    PageFailed,
    PageSettings,
    error_view,
    guard_of,
    page_application,
)
from vault_memory.addons.page.signing import LinkSpent, WrongLinks
from vault_memory.api.daemon_client import is_answered_here
from vault_memory.api.vault_service import RETRY_SECONDS, VAULT, VaultService, VaultUnknown, opened
from vault_memory.errors import VaultMemoryError
from vault_memory.http.beside_calls import running

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory

logger = logging.getLogger(__name__)

MOST_PAGES = 64
"""Pages that are open at once, each with its vault"""
IDLE_SECONDS = 60.0
"""A page without requests and open tabs is closed after so long"""
LINKS, STATIC, EVENTS = "/open/", "/static/", "/events"
NOWHERE = Path("/dev/null/vault-memory")
"""The state folder of unknown vaults: it cannot exist"""


class PagedVaults(VaultService, Protocol):
    """The vaults of a host, and where the state of each is."""

    def state_folder(self, vault: str) -> Path | None:
        """Returns the state folder of the vault with this id, without opening the vault.

        None for a vault that is not served. It must not block: each request asks for it.
        """


class PagesBusy(VaultMemoryError):
    """The pages of other vaults are in use, and no more can be opened."""

    http_status = 503

    def __init__(self) -> None:
        super().__init__("too many pages are open at once", hint="try again in a minute")


class OpenPage:
    """The page of one vault. Only the event loop uses it."""

    def __init__(
        self, vault: str, live: "Callable[[OpenPage], Coroutine[None, None, None]]"
    ) -> None:
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
        self.task = loop.create_task(live(self))
        """opens the page, and ends with it"""

    def stop_streams(self) -> None:
        """Ends the streams, which never end by themselves."""
        if self.hub is not None:
            self.hub.stop()


def _hub(memory: "VaultMemory") -> EventHub:
    """Returns a hub that asks the upkeep in this process, else the daemon of the vault."""
    is_here = is_answered_here(memory.vault.state.socket)
    return EventHub(memory, CallFeed(memory) if is_here else None)


class HostPages:
    """The ASGI app of all pages of a host: opens a page when it is asked for, and closes an idle one."""

    def __init__(
        self,
        vaults: PagedVaults,
        settings: PageSettings,
        most: int = MOST_PAGES,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._vaults = vaults
        self._settings = settings
        self._most = most
        self._idle_seconds = idle_seconds
        self._pages: dict[str, OpenPage] = {}
        """Vault → its page, the longest unused first"""
        self._is_stopped = False
        self._wrong_links = WrongLinks(_refusal)
        self._life = Starlette(lifespan=self._lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "lifespan":
                await self._life(scope, receive, send)
            case "http":
                async with AsyncExitStack() as stack:
                    app = await self._app(Request(scope, receive), stack)
                    await app(scope, receive, send)
            case _:
                await WebSocketClose(1008)(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self.stop_streams()
            pages = list(self._pages.values())
            for page in pages:
                self._end(page)
            await asyncio.gather(*(page.task for page in pages), return_exceptions=True)

    def vaults(self) -> list[str]:
        """The vaults whose pages are open."""
        return list(self._pages)

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

    # --- The pages ---

    @asynccontextmanager
    async def _page(self, vault: str, *, is_stream: bool) -> AsyncIterator[ASGIApp]:
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

    def _new_page(self, vault: str, is_stream: bool) -> OpenPage:
        self._make_room(is_stream)
        return OpenPage(vault, self._live)

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

    def _plan_end(self, page: OpenPage) -> None:
        """Ends an unused page later, unless a request comes before."""
        if page.closing is not None:
            page.closing.cancel()
            page.closing = None
        is_open = self._pages.get(page.vault) is page
        if not is_open and page.requests == 0:
            page.is_over.set()
        elif is_open and page.requests == 0 and page.streams == 0:
            loop = asyncio.get_running_loop()
            page.closing = loop.call_later(self._idle_seconds, self._end_if_unused, page)

    def _end_if_unused(self, page: OpenPage) -> None:
        if page.requests == 0 and page.streams == 0:
            self._end(page)

    def _retire(self, page: OpenPage) -> None:
        """Takes a page away from later requests, and ends it when it has no requests."""
        if self._pages.get(page.vault) is page:
            del self._pages[page.vault]
        self._plan_end(page)

    def _end(self, page: OpenPage) -> None:
        """Takes a page away from later requests, and lets it close."""
        if self._pages.get(page.vault) is page:
            del self._pages[page.vault]
        page.is_over.set()

    async def _live(self, page: OpenPage) -> None:
        """Opens the vault and its page, and closes both at the end of the page."""
        # The task that opens the vault closes it: a service may need that.
        try:
            async with opened(self._vaults, {VAULT: page.vault}) as memory:
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

    # --- Requests ---

    async def _app(self, request: Request, stack: AsyncExitStack) -> ASGIApp:
        """Returns the page for a request, or the refusal. The stack closes the request."""
        path = request.scope["path"]
        is_link = path.startswith(LINKS)
        try:
            if path.startswith(STATIC):
                return self._static(request)
            vault = self._linked(request) if is_link else self._signed_in(request)
            page = self._page(vault, is_stream=path == EVENTS)
            return await stack.enter_async_context(page)
        except LinkSpent:
            return self._wrong_links.refused(request)
        except VaultUnknown:
            # Fault: another answer than to a wrong link or cookie would tell that this vault
            # was served.
            if is_link:
                return self._wrong_links.refused(request)
            return _refusal(self._guard("").signed_out(), request)
        except VaultMemoryError as error:
            return _refusal(error, request)
        except Exception:
            logger.exception("the page of a vault cannot be opened")
            return _refusal(PageFailed(), request)

    def _guard(self, vault: str) -> Guard:
        """Returns the checks for the page of a vault, which may be unknown."""
        folder = self._vaults.state_folder(vault) if vault else None
        # Fault: a shorter way for unknown vaults would tell which ones are served.
        sessions = BrowserSessions(NOWHERE if folder is None else folder)
        return guard_of(self._settings, sessions)

    def _static(self, request: Request) -> Response:
        self._check_source(self._guard(""), request)
        name = request.scope["path"].removeprefix(STATIC)
        response = render.asset(name) if request.method in READING else None
        if response is None:
            raise NotHere
        response.headers.update(render.HEADERS)
        return response

    def _linked(self, request: Request) -> str:
        """Returns the vault of a sign-in link. Raises LinkSpent."""
        key = request.scope["path"].removeprefix(LINKS)
        vault = vault_of_key(key)
        guard = self._guard(vault)
        self._check_source(guard, request)
        if guard.sessions.rights_of_link(key) is None:
            raise LinkSpent
        return vault

    def _signed_in(self, request: Request) -> str:
        """Returns the vault of the session of a browser. Raises SignedOut."""
        cookie = self._guard("").cookie
        vault = vault_of_key(request.cookies.get(cookie, ""))
        guard = self._guard(vault)
        self._check_source(guard, request)
        guard.find_session(request)
        return vault

    def _check_source(self, guard: Guard, request: Request) -> None:
        """Checks what the page of the vault checks again. Raises WrongHost, WrongOrigin."""
        guard.check_host(request)
        guard.check_origin(request)


def _refusal(error: VaultMemoryError, request: Request) -> Response:
    """Returns the view of an error, which names no folder and no vault."""
    response = error_view(error, request)
    response.headers.update(render.HEADERS)
    if error.http_status == 503:
        response.headers["retry-after"] = str(RETRY_SECONDS)
    return response
