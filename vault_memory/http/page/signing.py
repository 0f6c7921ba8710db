"""Signing in by a link that works once."""

import time
from collections.abc import Callable

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from vault_memory.errors import VaultMemoryError
from vault_memory.http.page import render
from vault_memory.http.page.guard import NEW_LINK, Guard, SignedOut
from vault_memory.http.rate_limit import RateLimiter

COOKIE_SECONDS = 400 * 24 * 3600
"""The longest that browsers keep a cookie. The server ends a session that was idle for a month"""
WRONG_LINKS = 10
"""Wrong links a minute; more are refused"""

Failure = Callable[[VaultMemoryError, Request], Response]


class LinkSpent(SignedOut):
    """The link was used, or is too old."""

    def __init__(self) -> None:
        super().__init__("this link was used, or is too old", hint=NEW_LINK)


class TooManyLinks(VaultMemoryError):
    """Somebody tries links."""

    http_status = 429


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
        error = TooManyLinks("too many links were tried", hint=f"wait {wait} s")
        response = self._failure(error, request)
        response.headers["retry-after"] = str(wait)
        return response


class Signing:
    """The two steps of a link: a view with one button, and the session behind the button."""

    # Fault: programs that preview links fetch them, and would use them up. They press no
    # button.

    def __init__(
        self,
        guard: Guard,
        failure: Failure,
    ) -> None:
        self._guard = guard
        self._wrong_links = WrongLinks(failure)

    def routes(self) -> list[Route]:
        """Returns the routes that need no session."""
        return [
            Route("/open/{key}", self._show, methods=["GET"]),
            Route("/open/{key}", self._open, methods=["POST"]),
        ]

    async def _show(self, request: Request) -> Response:
        if not self._guard.sessions.has_link(request.path_params["key"]):
            return self._wrong_links.refused(request)
        return render.html("open.html", {"title": "Open the page"})

    async def _open(self, request: Request) -> Response:
        spend = self._guard.sessions.spend
        token = await anyio.to_thread.run_sync(spend, request.path_params["key"])
        if token is None:
            return self._wrong_links.refused(request)
        response = RedirectResponse("/", 303)
        response.set_cookie(
            self._guard.cookie,
            token,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.headers["origin"].lower().startswith("https:"),
        )
        return response
