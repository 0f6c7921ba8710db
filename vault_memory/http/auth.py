"""The door: whose token is it, has it asked too often, is the request too long. Whoever passes has a caller."""

import hashlib
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vault_memory.config.sections import Serve
from vault_memory.http.rate_limit import RateLimiter
from vault_memory.http.responses import refusal
from vault_memory.http.tokens import Tokens
from vault_memory.rules.paths.caller import Caller

WRONG_PER_MINUTE = 30
"""Wrong tokens from one address; right ones are let in all the same"""
PATIENCE_SECONDS = 30.0
"""For a request to arrive as a whole"""
DRAINED = 8
"""So many times the longest body is read and thrown away, so that the client hears why"""
MOST_BUFFERED = 64 << 20
"""Bytes of all bodies that are being read or answered"""
STRANGERS_SHARE = 4
"""Of those, requests without a token of ours get this part: a fourth"""


class Buffered:
    """Counts the bytes of all bodies at once: each may be short, and together they would fill the memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0

    @contextmanager
    def lease(self) -> Iterator[Callable[[int], bool]]:
        """Gives a function that takes room for so many more bytes, or says that there is none, until the end."""
        taken = 0

        def take(count: int) -> bool:
            nonlocal taken
            if self._bytes + count > self._most:
                return False
            self._bytes += count
            taken += count
            return True

        try:
            yield take
        finally:
            self._bytes -= taken


class Doorkeeper:
    """Puts the Caller of a request into `scope["state"]["caller"]`, or answers by itself."""

    def __init__(
        self,
        app: ASGIApp,
        tokens: Tokens,
        settings: Serve,
        *,
        local: Caller | None = None,
        own_door: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._tokens, self._local = app, tokens, local
        self._own_door = frozenset(own_door)
        self._longest = settings.max_body_bytes
        self._asked = RateLimiter(settings.requests_per_minute, clock)
        self._wrong = RateLimiter(WRONG_PER_MINUTE, clock)
        most = max(MOST_BUFFERED, STRANGERS_SHARE * self._longest)
        self._callers_bytes = Buffered(most - most // STRANGERS_SHARE)
        self._strangers_bytes = Buffered(most // STRANGERS_SHARE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        entered = None if scope["path"] in self._own_door else self._enter(scope)
        if isinstance(entered, Response):
            await entered(scope, receive, send)
            return
        if entered and (connection := scope.get("state", {}).get("connection")):
            connection.trusted = True
        with (
            self._callers_bytes if entered else self._strangers_bytes
        ).lease() as lease:
            body = await self._body(scope, receive, lease)
            if isinstance(body, Response):
                await body(scope, receive, send)
                return
            state = {
                **scope.get("state", {}),
                **({"caller": entered} if entered else {}),
            }
            await self._app({**scope, "state": state}, _given(body, receive), send)

    def _enter(self, scope: Scope) -> Caller | Response:
        said = Headers(scope=scope).getlist("authorization")
        scheme, _, bearer = said[0].partition(" ") if len(said) == 1 else ("", "", "")
        bearer = bearer.strip() if scheme.lower() == "bearer" else ""
        caller = (
            self._tokens.caller(bearer) if bearer else self._local if not said else None
        )
        if caller is None:
            return self._unknown(scope, given=bool(said))
        if wait := self._asked.take(hashlib.sha256(bearer.encode()).digest()):
            return _too_often(wait)
        return caller

    def _unknown(self, scope: Scope, *, given: bool) -> Response:
        if given and (
            wait := self._wrong.take((scope.get("client") or ("socket",))[0])
        ):
            return _too_often(wait)
        challenge = 'Bearer realm="vault-memory"' + (
            ', error="invalid_token"' if given else ""
        )
        return refusal(
            401,
            "unauthorised",
            "this token is not known here" if given else "a token is needed",
            "send `Authorization: Bearer TOKEN`; `[[serve.tokens]]` of the configuration names their files",
            {"www-authenticate": challenge},
        )

    async def _body(
        self, scope: Scope, receive: Receive, take: Callable[[int], bool]
    ) -> bytes | Response:
        """All of it, so that no call begins before it is known to be whole and not too long."""
        told = Headers(scope=scope).get("content-length", "0")
        longest = self._longest
        too_long = told.isdecimal() and int(told) > longest
        body = bytearray()
        size = 0
        with anyio.move_on_after(PATIENCE_SECONDS):
            while size <= longest * DRAINED:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return refusal(400, "cut_off", "the request is not whole")
                part: Any = message.get("body", b"")
                size += len(part)
                too_long = too_long or size > longest
                if not too_long:
                    if not take(len(part)):
                        return _busy()
                    body += part
                if not message.get("more_body"):
                    return _too_long(longest) if too_long else bytes(body)
            return _too_long(longest)
        return refusal(
            408, "too_slow", "the request did not arrive in time", "send it again"
        )


def _given(body: bytes, receive: Receive) -> Receive:
    """Hands out the body that was read already; after it, whatever comes."""
    waiting = [body]

    async def next_message() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return next_message


def _too_often(wait: int) -> Response:
    hint = (
        f"ask again in {wait} s; `serve.requests_per_minute` says how often a token may"
    )
    return refusal(
        429, "too_often", "that is asked too often", hint, {"retry-after": str(wait)}
    )


def _busy() -> Response:
    return refusal(
        503,
        "busy",
        "too much is being sent at once",
        "try again later",
        {"connection": "close", "retry-after": "1"},
    )


def _too_long(longest: int) -> Response:
    hint = "`serve.max_body_bytes` says how long it may be"
    return refusal(
        413,
        "too_long",
        f"a request has {longest} bytes at most",
        hint,
        {"connection": "close"},
    )
