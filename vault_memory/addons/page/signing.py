"""Signing in by a link that works once, or by a passphrase."""

import re
import time
from collections.abc import Callable

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from vault_memory.addons.page import render
from vault_memory.addons.page.browser_sessions import Rights, owner_of_token
from vault_memory.addons.page.forms import read_form
from vault_memory.addons.page.guard import NEW_LINK, Guard, SignedOut
from vault_memory.addons.page.page_answers import page_path
from vault_memory.addons.page.passphrases import Passphrases, WrongPassphrase
from vault_memory.errors import VaultMemoryError
from vault_memory.http.auth import RateLimiter

COOKIE_SECONDS = 400 * 24 * 3600
"""The longest that browsers keep a cookie. The server ends a session that was idle for a month"""
SWAP = "swap"
"""The field of the button that replaces a session of another vault or person"""
LONGEST_FORM = 8 << 10
"""Bytes; a letter of a passphrase has up to twelve"""
WRONG_LINKS = 10
"""Wrong links a minute; more are refused"""
PASSPHRASES = 30
"""Passphrases a minute that are compared, right and wrong ones; each takes 16 MiB for a moment"""
QUESTION = re.compile(r"/connection\?id=[\w-]{1,64}", re.ASCII)
"""The only place but Today where a browser goes from the sign-in"""

Failure = Callable[[VaultMemoryError, Request], Response]


class LinkSpent(SignedOut):
    """The link was used, or is too old."""

    def __init__(self) -> None:
        super().__init__("this link was used, or is too old", hint=NEW_LINK)


class TooManyLinks(VaultMemoryError):
    """Somebody tries links, or passphrases."""

    http_status = 429

    def __init__(self, wait: int) -> None:
        super().__init__("too many links were tried", hint=f"wait {wait} s")


class WrongLinks:
    """Refuses links that open nothing, and more of them after a pause."""

    def __init__(self, failure: Failure) -> None:
        self._failure = failure
        self._limiter = RateLimiter(WRONG_LINKS, time.monotonic)

    def refused(self, request: Request) -> Response:
        """Returns the refusal of one request."""
        # Fault: a program that tries keys. All clients share the limit: they share the host.
        wait = self._limiter.take("all")
        if not wait:
            return self._failure(LinkSpent(), request)
        response = self._failure(TooManyLinks(wait), request)
        response.headers["retry-after"] = str(wait)
        return response


class Signing:
    """The two steps of a link: a view with one button, and the session behind the button."""

    # Fault: programs that preview links fetch them, and would use them up. They press no
    # button.

    def __init__(
        self, guard: Guard, failure: Failure, vault: str, passphrases: Passphrases
    ) -> None:
        """`vault` is the name of the vault, for people."""
        self._guard = guard
        self._failure = failure
        self._vault = vault
        self._passphrases = passphrases
        self._wrong_links = WrongLinks(failure)
        self._limiter = RateLimiter(PASSPHRASES, time.monotonic)

    def routes(self) -> list[Route]:
        """Returns the routes that need no session."""
        return [
            Route("/open/{key}", self._show, methods=["GET"]),
            Route("/open/{key}", self._open, methods=["POST"]),
            Route("/sign-in", self._sign_in, methods=["POST"]),
            Route("/connect/{key}", self._lead_on, methods=["GET"]),
        ]

    async def _show(self, request: Request) -> Response:
        rights = self._guard.sessions.rights_of_link(request.path_params["key"])
        if rights is None:
            return self._wrong_links.refused(request)
        return self._question(request, rights)

    def _question(self, request: Request, rights: Rights, status: int = 200) -> Response:
        """Returns the view with the button; it names what the link opens, and for whom."""
        people = "everybody in it" if rights.users is None else ", ".join(rights.users)
        data = {
            "title": "Open the page",
            "vault": self._vault,
            "people": people,
            "is_signed_in": self._is_signed_in_elsewhere(request, rights),
        }
        return render.html("open.html", data, status)

    def _is_signed_in_elsewhere(self, request: Request, rights: Rights) -> bool:
        """Whether the browser has a session of another vault, or of other people."""
        token = request.cookies.get(self._guard.cookie, "")
        owner = self._guard.sessions.owner_of(rights)
        return bool(token) and owner_of_token(token) != owner

    async def _open(self, request: Request) -> Response:
        rights = self._guard.sessions.rights_of_link(request.path_params["key"])
        # Fault: somebody sends a link to a vault of their own. Behind it, a person would go on
        # writing, and the other one would read it.
        is_elsewhere = rights and self._is_signed_in_elsewhere(request, rights)
        if rights and is_elsewhere and not await _is_swap(request):
            return self._question(request, rights, 409)
        spend = self._guard.sessions.spend
        token = await anyio.to_thread.run_sync(spend, request.path_params["key"])
        if token is None:
            return self._wrong_links.refused(request)
        return self._signed_in(request, token, "/")

    async def _sign_in(self, request: Request) -> Response:
        """Signs a person in who says the passphrase."""
        try:
            form = await read_form(request, LONGEST_FORM)
            to = form.take("to")
            # Fault: a link of somebody else would lead on to a page of theirs.
            to = to if QUESTION.fullmatch(to) else "/"
            request.state.to = to
            if wait := self._limiter.take("all"):
                raise TooManyLinks(wait)
            user, passphrase = form.take("user").strip(), form.take("passphrase")
            user = await anyio.to_thread.run_sync(self._passphrases.check, user, passphrase)
        except VaultMemoryError as error:
            return self._failure(error, request)
        open_session = self._guard.sessions.open
        token = await anyio.to_thread.run_sync(open_session, Rights((user,)))
        return self._signed_in(request, token, to)

    async def _lead_on(self, request: Request) -> Response:
        """Leads a browser that another site sent here to the question of a program."""
        # Fault: a browser sends the cookie of the session only when this page leads it on.
        to = page_path("/connection", id=request.path_params["key"])
        return render.html("lead_on.html", {"title": "One moment", "to": to, "name": ""})

    def _signed_in(self, request: Request, token: str, to: str) -> Response:
        response = RedirectResponse(to, 303)
        response.set_cookie(
            self._guard.cookie,
            token,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.headers["origin"].lower().startswith("https:"),
        )
        return response


def sign_in_target(error: VaultMemoryError, request: Request) -> str:
    """Returns where a passphrase would lead after this error; "" when it does not help."""
    if isinstance(error, WrongPassphrase):
        return str(request.state.to)
    if not isinstance(error, SignedOut) or request.method != "GET":
        return ""
    path = page_path(request.url.path, id=request.query_params.get("id"))
    return path if QUESTION.fullmatch(path) else "/"


async def _is_swap(request: Request) -> bool:
    """Whether the person has pressed the button that replaces the session of the browser."""
    try:
        form = await read_form(request, LONGEST_FORM)
    except VaultMemoryError:
        # Fault: a view of before the sign-in has another form.
        return False
    return form.take(SWAP) == "yes"
