"""The app of the page: static files, signing in, the views of the table and their frame."""

import logging
import queue
import threading
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, NamedTuple

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Lifespan, Message, Receive, Scope, Send

from vault_memory.addons.page import render
from vault_memory.addons.page.browser_sessions import BrowserSession, BrowserSessions, Rights
from vault_memory.addons.page.events import EventHub, since_of, stream
from vault_memory.addons.page.forms import form_fields, query_fields, read_form
from vault_memory.addons.page.guard import CSRF_FIELD, READING, Guard
from vault_memory.addons.page.navigation import NavigationTab, entries, memory_tabs, tabs_at
from vault_memory.addons.page.outside_programs import ProgramGate
from vault_memory.addons.page.page_answers import Answer, NotHere, PageView, Redirect, page_path
from vault_memory.addons.page.page_routes import ROUTES, PageRoute
from vault_memory.addons.page.passphrases import Passphrases
from vault_memory.addons.page.running import PageAddress
from vault_memory.addons.page.shared_answers import MachineSight, SharedAnswers
from vault_memory.addons.page.signing import Failure, Signing, sign_in_target
from vault_memory.addons.page.viewer import SessionAccess, Viewer
from vault_memory.addons.page.views import record_views
from vault_memory.addons.page.views.outcome import secret_question
from vault_memory.api.redact_paths import folders_of, without_paths
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.errors import UsageError, VaultMemoryError, VaultUnreachable
from vault_memory.rules.paths.scopes import Caller

logger = logging.getLogger(__name__)

Endpoint = Callable[[Request], Awaitable[Response]]
MOST_FORKS = 4
"""How often the vault is open: as many requests are answered at once"""


# --- Viewers ---


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
    def viewer(self, session: BrowserSession, *, writes: bool) -> Iterator[Viewer]:
        """Gives a viewer with the rights of this session. It may not be kept."""
        fork = self._borrow()
        # What is written depends on the notes themselves, and never on what a daemon has read.
        fork.vault.indexing.is_fresh = _never if writes else self.shared.is_fresh
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


def _never() -> bool:
    return False


class _EveryScope(frozenset[str]):
    """All scopes, those too that get their first note later."""

    def __contains__(self, scope: object) -> bool:
        return True


_EVERY_SCOPE = _EveryScope()


# --- Page app ---


class PageFailed(VaultMemoryError):
    """The page failed, which is a bug."""

    def __init__(self) -> None:
        super().__init__("the page failed, which is a bug", hint="look into the log of the server")


class PageSettings(NamedTuple):
    """How the page of a vault is served."""

    address: PageAddress
    rights: Rights = Rights()
    """the most that a session may see and do"""
    allowed_hosts: tuple[str, ...] = ()
    machine: MachineSight = MachineSight()
    connector: ProgramGate | None = None
    """asks whether programs outside may have the memory"""
    key_prefix: str = ""
    """how links and sessions begin, where one server has the pages of many vaults"""


class PageParts(NamedTuple):
    """What the requests of one page share."""

    memory: VaultMemory
    settings: PageSettings
    guard: Guard
    viewers: Viewers
    hub: EventHub
    passphrases: Passphrases


def page_application(memory: VaultMemory, settings: PageSettings, hub: EventHub) -> Starlette:
    """Returns the ASGI app of the page of one vault.

    `hub` starts and ends with the app. `hub.stop` ends its streams, which a server waits for.
    """
    state = memory.vault.state.path
    sessions = BrowserSessions(state, key_prefix=settings.key_prefix)
    guard = guard_of(settings, sessions)
    shared = SharedAnswers(hub.news, machine=settings.machine, connector=settings.connector)
    viewers = Viewers(memory, settings.rights, shared)
    passphrases = Passphrases(state)
    page = PageParts(memory, settings, guard, viewers, hub, passphrases)
    failure = partial(_failure, page)
    routes = [
        Route("/events", partial(_events, page), methods=["GET"]),
        *Signing(guard, failure, memory.root.name, passphrases).routes(),
        *_view_routes(page),
    ]
    return guarded_app(guard, failure, routes, partial(_lifespan, page))


def guarded_app(
    guard: Guard, failure: Failure, routes: Sequence[Route], lifespan: Lifespan[Starlette]
) -> Starlette:
    """Returns an app that checks each request, and answers with the headers of the page."""
    app = Starlette(
        routes=[Route("/static/{name}", _static, methods=["GET"]), *routes],
        middleware=[Middleware(_Headers), Middleware(_Checks, guard=guard, failure=failure)],
        lifespan=lifespan,
        exception_handlers={
            HTTPException: partial(_http_error, failure),
            Exception: partial(_bug, failure),
        },
    )
    app.router.redirect_slashes = False
    return app


def guard_of(settings: PageSettings, sessions: BrowserSessions) -> Guard:
    """Returns the checks of a page with these sessions."""
    hosts = {settings.address.host, *settings.allowed_hosts}
    cookie = f"vm_{settings.address.port}"
    return Guard(frozenset(hosts), cookie, sessions, settings.rights.may_write)


@asynccontextmanager
async def _lifespan(page: PageParts, app: Starlette) -> AsyncIterator[None]:
    page.hub.start()
    try:
        yield
    finally:
        page.hub.stop()
        page.viewers.close()


def _view_routes(page: PageParts) -> list[Route]:
    return [
        Route(
            route.path.replace("}", ":path}"),
            partial(_answer, page, route),
            methods=[route.method],
            name=f"{route.method} {route.path}",
        )
        for route in ROUTES
    ]


async def _static(request: Request) -> Response:
    response = render.asset(request.path_params["name"])
    if response is None:
        raise HTTPException(404)
    return response


async def _events(page: PageParts, request: Request) -> Response:
    """Returns the stream of what changes, until the session ends."""
    token = request.cookies[page.guard.cookie]

    def scopes_now() -> Collection[str] | None:
        session = page.guard.sessions.find(token)
        return None if session is None else page.viewers.readable(session.rights)

    return stream(page.hub, scopes_now, since_of(request), token)


async def _answer(page: PageParts, route: PageRoute, request: Request) -> Response:
    """Returns the answer of one view or action."""
    session: BrowserSession = request.scope["state"]["session"]
    try:
        if route.method in READING:
            query = request.query_params.multi_items()
            # An open tab asks whether the note that it edits is another one by now.
            if base := request.headers.get("x-base"):
                query.append(("base", base))
            fields = query_fields(query, request.path_params, route.takes)
        else:
            form = await read_form(request, route.longest)
            page.guard.check_form(session, form.take(CSRF_FIELD))
            fields = form_fields(form, request.path_params, route.takes)
        # Vaults are files, and files block: the view runs in a thread.
        call = partial(_call, page, route, session, request, fields)
        return await anyio.to_thread.run_sync(call, limiter=page.viewers.limiter)
    except VaultMemoryError as error:
        return await anyio.to_thread.run_sync(_failure, page, error, request)
    except (DatabaseError, OSError) as error:
        logger.warning("%s: %s", route.path, error)
        unreachable = VaultUnreachable(
            "the disk or the index does not answer now", hint="try again later"
        )
        return await anyio.to_thread.run_sync(_failure, page, unreachable, request)


def _call(
    page: PageParts, route: PageRoute, session: BrowserSession, request: Request, fields: object
) -> Response:
    # Before the view reads the vault: its stream repeats what changes from here on.
    event_id = page.hub.id_for(page.viewers.readable(session.rights))
    with page.viewers.viewer(session, writes=route.method not in READING) as viewer:
        question = secret_question(viewer, route.path, fields)
        answer: Answer = question or route.view(viewer, fields)
        # Fault: the next view would show the counts of before.
        if route.method not in READING:
            viewer.shared.forget()
        if isinstance(answer, Redirect):
            return RedirectResponse(answer.location(), 303)
        return _rendered(viewer, session, request, answer, event_id)


def _rendered(
    viewer: Viewer, session: BrowserSession, request: Request, view: PageView, event_id: str
) -> Response:
    record_id = request.query_params.get("done", "")
    path = request.url.path
    around = frame(viewer, session, path, view.data.get("tab", path), record_id)
    data = {**around, **view.data, "title": view.title, "event_id": event_id}
    return render.html(view.template, data, view.status)


def _failure(page: PageParts, error: VaultMemoryError, request: Request) -> Response:
    target = sign_in_target(error, request) if page.passphrases.any() else ""
    return error_view(error, request, folders_of(page.memory.vault), target)


def error_view(
    error: VaultMemoryError, request: Request, folders: Sequence[str] = (), sign_in: str = ""
) -> Response:
    """Returns the view of an error, without folders of the machine.

    `sign_in` is where a passphrase leads, if the view asks for one.
    """
    if error.http_status >= 500:
        logger.warning("%s: %s", error.code, error)
    # Fault: an error names a folder of the machine, and the page may be read from afar.
    data = {
        "title": ERROR_TITLES.get(error.http_status, "Not done"),
        "code": error.code,
        "message": without_paths(error.message, folders),
        "hint": without_paths(error.hint, folders),
        "is_signed_in": "session" in request.scope.get("state", {}),
        "sign_in": sign_in,
    }
    status = error.http_status
    # An id in the address of a view is the name of a thing that is not here.
    if isinstance(error, UnclearId) and request.method in READING:
        status = 404
    return render.html("error.html", data, status)


async def _http_error(failure: Failure, request: Request, error: Exception) -> Response:
    """Returns the view of an error that the router found."""
    assert isinstance(error, HTTPException)
    refusal = NotHere()
    refusal.http_status = error.status_code
    response = failure(refusal, request)
    response.headers.update(error.headers or {})
    return response


async def _bug(failure: Failure, request: Request, error: Exception) -> Response:
    """Returns the view of an error that nobody expected; the log has its traceback."""
    response = failure(PageFailed(), request)
    # This answer passes no middleware.
    response.headers.update(render.HEADERS)
    return response


class _Headers:
    """Adds the headers of the page to each answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [
                    (name.encode(), value.encode()) for name, value in render.HEADERS.items()
                ]
                message["headers"] = [*message.get("headers", ()), *headers]
            await send(message)

        await self._app(scope, receive, send_with_headers)


class _Checks:
    """Lets a request pass to the routes when its host, origin and session are right."""

    OPEN = ("/static/", "/open/", "/sign-in", "/connect/")
    """Paths that need no session"""

    def __init__(self, app: ASGIApp, guard: Guard, failure: Failure) -> None:
        self._app = app
        self._guard = guard
        self._failure = failure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            self._check(request)
        except VaultMemoryError as error:
            response = self._failure(error, request)
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check(self, request: Request) -> None:
        guard = self._guard
        guard.check_host(request)
        guard.check_origin(request)
        if request.url.path.startswith(self.OPEN):
            return
        session = guard.find_session(request)
        request.scope["state"] = {**request.scope.get("state", {}), "session": session}
        # Fault: the bytes of a surrogate in a path are not UTF-8, and no file has them.
        if "\ufffd" in request.url.path:
            raise UsageError("the path is not UTF-8", hint="follow a link of the page")


ERROR_TITLES: Mapping[int, str] = {
    400: "Not understood",
    401: "Sign in",
    403: "Not allowed",
    404: "Not here",
    405: "Not here",
    409: "Not done",
    413: "Too long",
    415: "Not understood",
    421: "Another server",
    429: "Too often",
    503: "Not now",
}
"""Status → the title of the view of an error"""


def frame(
    viewer: Viewer, session: BrowserSession, path: str, tab: str, record_id: str
) -> dict[str, Any]:
    """Returns what the template `base.html` shows around the view at `path`, within a tab."""
    counts = viewer.counts()
    settings = [NavigationTab("/sync", "Sync")]
    if viewer.sees_all:
        settings.insert(0, NavigationTab("/setup", "Vault"))
        settings.append(NavigationTab("/doctor", "Health"))
    if viewer.has_connections():
        settings.append(NavigationTab("/connections", "Connections"))
    memory = memory_tabs(viewer.people(), viewer.names("channel"))
    places = entries(counts.proposals + counts.conflicts, memory, settings)
    return {
        "vault": viewer.vault_name(),
        "entries": places,
        "tabs": tabs_at(path, tab, places),
        "path": path,
        "here": page_path(path),
        "csrf": session.csrf,
        "may_write": viewer.may_write,
        "state": viewer.state(),
        "notice": record_views.notice(viewer, record_id) if record_id else None,
    }
