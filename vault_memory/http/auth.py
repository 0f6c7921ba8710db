"""Checks each request: host and origin first, then its token, its rate and its length.

An accepted request has a caller.
"""

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import anyio
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from vault_memory.api.vault_service import CALLER, VAULT, VaultUnavailable
from vault_memory.config import LOOPBACK_HOSTS
from vault_memory.config.server_sections import Serve
from vault_memory.http.responses import refusal, unavailable
from vault_memory.http.tokens import TokenOwner, TokenTable, token_digest
from vault_memory.rules.paths.scopes import Caller

# --- Host and origin ---

BODILESS = ("GET", "HEAD")


class Gate:
    """Refuses requests to another host name, of an unknown web page, or with an unclear end."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str], origins: Iterable[str]) -> None:
        self._app = app
        self._hosts = {*LOOPBACK_HOSTS, *map(host_name, hosts)}
        self._origins = {origin.rstrip("/").lower() for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._refusal(scope) or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Returns the refusal of a request, or None."""
        match scope["type"]:
            case "lifespan":
                return None
            case "http":
                headers = Headers(scope=scope)
                return (
                    self._host_refusal(headers)
                    or self._origin_refusal(headers)
                    or _framing_refusal(scope["method"], headers)
                )
            case _:
                return WebSocketClose(1008)

    def _host_refusal(self, headers: Headers) -> ASGIApp | None:
        # Fault: DNS rebinding. A page lets its own name point at this machine.
        if host_name(headers.get("host", "")) in self._hosts:
            return None
        return refusal(
            421,
            "wrong_host",
            "this server has another name",
            "add the name to `serve.allowed_hosts`",
        )

    def _origin_refusal(self, headers: Headers) -> ASGIApp | None:
        # Fault: a foreign page can post here although it cannot read the answer. A page of this
        # server has the server's own name, which was looked at before.
        own = {f"{scheme}{headers.get('host')}".lower() for scheme in ("http://", "https://")}
        if {origin.lower() for origin in headers.getlist("origin")} <= self._origins | own:
            return None
        return refusal(
            403,
            "wrong_origin",
            "this page may not call here",
            "add the page to `serve.allowed_origins`",
        )


def _framing_refusal(method: str, headers: Headers) -> ASGIApp | None:
    # Fault: request smuggling. A proxy that sees the end of the request at another
    # place takes its last bytes for another request.
    is_encoded = "transfer-encoding" in headers
    has_body = is_encoded or headers.get("content-length", "0") != "0"
    if is_encoded and "content-length" in headers:
        message = "a request has either Content-Length or Transfer-Encoding"
    elif has_body and method in BODILESS:
        message = f"a {method} request has no body"
    else:
        return None
    return refusal(400, "wrong_framing", message, "send it again without", {"connection": "close"})


def host_name(host: str) -> str:
    """Returns the name in a Host header, without its port and the brackets of IPv6."""
    name = host.strip().lower()
    before_port, _, port = name.rpartition(":")
    # Without brackets, the last group of an IPv6 address looks like a port.
    is_port = ":" not in before_port or before_port.endswith("]")
    if before_port and port.isdecimal() and is_port:
        name = before_port
    return name.removeprefix("[").removesuffix("]").removesuffix(".")


# --- Rate limit ---

# A token bucket for each client.

ONE_REQUEST = 0.999_999_999
"""The cost of a request, less the rounding error of a refill"""
MOST_KNOWN = 4096
"""Number of buckets; a client whose bucket was dropped starts with a full one"""


class RateLimiter:
    """Allows so many requests a minute, also all at once after a pause."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._capacity = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        """Client → requests left, and when they were counted; the longest unused client first"""

    def take(self, client: Hashable) -> int:
        """Counts a request. Returns 0 when it is allowed, else the seconds to wait."""
        now = self._clock()
        left, counted_at = self._buckets.pop(client, (self._capacity, now))
        left = min(self._capacity, left + (now - counted_at) * self._per_second)
        wait = 0
        if left >= ONE_REQUEST:
            left -= 1
        else:
            wait = max(1, math.ceil((1 - left) / self._per_second))
        self._buckets[client] = (left, now)
        # Fault: clients may invent tokens without end. Their buckets must not fill the
        # memory.
        if len(self._buckets) > MOST_KNOWN:
            self._buckets.popitem(last=False)
        return wait


# --- Callers ---

REQUESTS_PER_MINUTE = 600
"""Requests of one token"""
MAX_BODY_BYTES = 1 << 20
WRONG_PER_MINUTE = 30
"""Wrong tokens from one address; right ones are accepted all the same"""
PATIENCE_SECONDS = 30.0
"""For a complete request to arrive"""
MOST_DRAINED = 8
"""A body that is too long is read up to so many times the limit: the client then sees the refusal"""
MOST_BUFFERED = 64 << 20
"""Bytes of all bodies that are being read or answered"""
UNKNOWN_SHARE = 4
"""Requests without a token of ours get a fourth of these bytes"""
VAULT_SHARE = 8
"""One of many vaults gets an eighth of the room for bodies"""

Lease = Callable[[int], bool]
"""Reserves room for so many more bytes; False when the buffer is full"""


class BodyBuffer:
    """Counts the bytes of all bodies at once, and those of each vault."""

    # Many bodies, each short enough, could fill the memory together.

    def __init__(self, capacity: int, of_vault: int = 0) -> None:
        self._capacity = capacity
        self._of_vault = of_vault
        self._used: Counter[str] = Counter()
        """Vault → bytes of its bodies"""

    @contextmanager
    def lease(self, vault: str) -> Iterator[Lease]:
        """Gives a function that reserves room for a body; the end frees it."""
        leased = 0

        def take(count: int) -> bool:
            nonlocal leased
            # Fault: the bots of one vault could take the room of all others. A server with one
            # vault names none.
            if vault and self._used[vault] + count > self._of_vault:
                return False
            if self._used.total() + count > self._capacity:
                return False
            self._used[vault] += count
            leased += count
            return True

        try:
            yield take
        finally:
            self._used[vault] -= leased
            if not self._used[vault]:
                del self._used[vault]


REALM = 'realm="vault-memory"'


class Access(NamedTuple):
    """Who may ask, and how much."""

    tokens: TokenTable
    settings: Serve
    local: Caller | None = None
    """a client without a token"""
    challenge: str = REALM
    """what a client without a token is told"""
    requests_per_minute: int = REQUESTS_PER_MINUTE
    max_body_bytes: int = MAX_BODY_BYTES


class Doorkeeper:
    """Puts the Caller of a request, and the key of its vault, into `scope["state"]`.

    It refuses requests without a caller.
    """

    def __init__(self, app: ASGIApp, access: Access, open_paths: Collection[str] = ()) -> None:
        self._app = app
        self._access = access
        self._open_paths = open_paths
        self._requests = RateLimiter(access.requests_per_minute, time.monotonic)
        self._wrong_tokens = RateLimiter(WRONG_PER_MINUTE, time.monotonic)
        longest = access.max_body_bytes
        capacity = max(MOST_BUFFERED, UNKNOWN_SHARE * longest)
        of_unknown = capacity // UNKNOWN_SHARE
        of_callers = capacity - of_unknown
        # A body of the greatest length always has room.
        of_vault = max(longest, of_callers // VAULT_SHARE)
        self._callers_buffer = BodyBuffer(of_callers, of_vault)
        self._unknown_buffer = BodyBuffer(of_unknown)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        is_open = scope["path"] in self._open_paths
        owner = None if is_open else await self._identify(scope)
        if isinstance(owner, Response):
            await owner(scope, receive, send)
            return
        state = dict(scope.get("state", {}))
        buffer, vault = self._unknown_buffer, ""
        if owner is not None:
            buffer, vault = self._callers_buffer, owner.vault
            state[CALLER] = owner.caller
            state[VAULT] = owner.vault
            if connection := state.get("connection"):
                connection.trusted = True
        with buffer.lease(vault) as lease:
            body = await self._read_body(scope, receive, lease)
            if isinstance(body, Response):
                await body(scope, receive, send)
                return
            await self._app({**scope, "state": state}, _replay(body, receive), send)

    async def _identify(self, scope: Scope) -> TokenOwner | Response:
        """Returns the owner of the token of a request, or the refusal."""
        headers = Headers(scope=scope).getlist("authorization")
        # Fault: with two headers, a proxy may have checked one, and this server would
        # take the other.
        token = _bearer(headers[0]) if len(headers) == 1 else ""
        digest = token_digest(token)
        owner = None
        if token:
            try:
                owner = await self._access.tokens.owner(digest)
            except VaultUnavailable as error:
                return unavailable(error)
        # Fault: a wrong token must not fall back to the rights of the owner's socket.
        elif self._access.local is not None and not headers:
            owner = TokenOwner(self._access.local)
        if owner is None:
            return self._unknown(scope, has_token=bool(headers))
        if wait := self._requests.take(digest):
            return _too_often(wait)
        return owner

    def _unknown(self, scope: Scope, *, has_token: bool) -> Response:
        """Returns the refusal of a request without a token, or with an unknown one."""
        # Fault: a client that guesses tokens is slowed down, by its address.
        address = (scope.get("client") or ("socket",))[0]
        if has_token and (wait := self._wrong_tokens.take(address)):
            return _too_often(wait)
        return unauthorised(has_token=has_token, challenge=self._access.challenge)

    async def _read_body(self, scope: Scope, receive: Receive, take: Lease) -> bytes | Response:
        """Returns the complete body, or the refusal."""
        # Fault: a call must not begin with half of its arguments. So the body is read
        # before it.
        announced = Headers(scope=scope).get("content-length", "0")
        longest = self._access.max_body_bytes
        is_too_long = announced.isdecimal() and int(announced) > longest
        body = bytearray()
        size = 0
        with anyio.move_on_after(PATIENCE_SECONDS):
            while size <= longest * MOST_DRAINED:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return refusal(400, "cut_off", "the request is incomplete")
                block: Any = message.get("body", b"")
                size += len(block)
                is_too_long = is_too_long or size > longest
                if not is_too_long:
                    # Fault: many bodies, each short enough, could fill the memory
                    # together.
                    if not take(len(block)):
                        return busy()
                    body += block
                if not message.get("more_body"):
                    return _too_long(longest) if is_too_long else bytes(body)
            return _too_long(longest)
        return refusal(408, "too_slow", "the request did not arrive in time", "send it again")


def unauthorised(*, has_token: bool, challenge: str = REALM) -> Response:
    """Returns the refusal of a request without a token, or with an unknown one."""
    message = "a token is needed"
    if has_token:
        challenge += ', error="invalid_token"'
        message = "this token is not known here"
    return refusal(
        401,
        "unauthorised",
        message,
        "send `Authorization: Bearer TOKEN`; `[[serve.tokens]]` of the configuration names the "
        "files of tokens",
        {"www-authenticate": f"Bearer {challenge}"},
    )


def _bearer(header: str) -> str:
    """Returns the token of an Authorization header; "" for another scheme."""
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _replay(body: bytes, receive: Receive) -> Receive:
    """Gives the app the body that was read, and then every later message."""
    bodies = [body]

    async def next_message() -> Message:
        if bodies:
            return {"type": "http.request", "body": bodies.pop(), "more_body": False}
        return await receive()

    return next_message


def _too_often(wait: int) -> Response:
    return refusal(
        429, "too_often", "too many requests", f"try again in {wait} s", {"retry-after": str(wait)}
    )


def busy() -> Response:
    """Returns the refusal of a request for which there is no room now."""
    return refusal(
        503,
        "busy",
        "too much is being sent at once",
        "try again later",
        {"connection": "close", "retry-after": "1"},
    )


def _too_long(longest: int) -> Response:
    return refusal(
        413,
        "too_long",
        f"a request has {longest} bytes at most",
        "send less, in several requests",
        {"connection": "close"},
    )
