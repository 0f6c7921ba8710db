"""Leads each browser to the page of its vault.

The key of a sign-in link and the cookie of a session begin with the id of their vault, which shows
no name. A vault is opened only after its link or session was found in its state folder.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from vault_memory.addons.page import render
from vault_memory.addons.page.browser_sessions import BrowserSessions, vault_of_key
from vault_memory.addons.page.guard import READING, Guard
from vault_memory.addons.page.many_pages.resident_pages import ResidentPages
from vault_memory.addons.page.page_answers import NotHere
from vault_memory.addons.page.page_app import PageFailed, PageSettings, error_view, guard_of
from vault_memory.addons.page.signing import LinkSpent, WrongLinks
from vault_memory.api.vault_service import RETRY_SECONDS, VaultUnknown
from vault_memory.errors import VaultMemoryError

logger = logging.getLogger(__name__)

LINKS, STATIC, EVENTS = "/open/", "/static/", "/events"
NOWHERE = Path("/dev/null/vault-memory")
"""The state folder of unknown vaults: it cannot exist"""


class StateFolders(Protocol):
    """Finds the state folder of each vault of a host."""

    def state_folder(self, vault: str) -> Path | None:
        """Returns the state folder of the vault with this id, without opening the vault.

        None for a vault that is not served. It must not block: each request asks for it.
        """


class PageRouter:
    """The ASGI app of all pages of a host."""

    def __init__(self, folders: StateFolders, pages: ResidentPages, settings: PageSettings) -> None:
        self._folders = folders
        self._pages = pages
        self._settings = settings
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
            await self._pages.close_all()

    async def _app(self, request: Request, stack: AsyncExitStack) -> ASGIApp:
        """Returns the page for a request, or the refusal. The stack closes the request."""
        path = request.scope["path"]
        is_link = path.startswith(LINKS)
        try:
            if path.startswith(STATIC):
                return self._static(request)
            vault = self._linked(request) if is_link else self._signed_in(request)
            page = self._pages.page(vault, is_stream=path == EVENTS)
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
        folder = self._folders.state_folder(vault) if vault else None
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
        if not guard.sessions.has_link(key):
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
