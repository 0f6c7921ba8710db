"""Leads each request to the host that holds its vault: this one, or another one, once.

A request of a vault that another host holds is passed on with its token and body. A mark says that
it was passed on, so that it never is a second time. When the holder has moved meanwhile or has
died, the request waits for the next holder for some seconds.
"""

import hmac
import json
import logging
import time
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vault_memory.addons.fleet.ledger.contract import Holder
from vault_memory.addons.fleet.serving import passed_request
from vault_memory.addons.fleet.serving.fleet_host import FleetHost
from vault_memory.addons.fleet.serving.fleet_service import HELD, WRITES, LedgerTokens
from vault_memory.addons.fleet.serving.held_vault import HeldVault
from vault_memory.addons.fleet.serving.passed_request import (
    MARK,
    MOVED,
    HolderAway,
    HolderBroke,
    PassedAnswer,
    PassedRequest,
)
from vault_memory.api.vault_service import RETRY_SECONDS, VaultUnavailable
from vault_memory.errors import VaultMemoryError
from vault_memory.http.responses import refusal
from vault_memory.http.tokens import token_digest
from vault_memory.mcp.tools import TOOLS

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 20.0
"""For a vault that changes its holder"""
READING_SECONDS = 30.0
"""For a complete request to arrive; then the app waits as long, and refuses it"""
PAUSE_SECONDS = 0.2
MOST_ARRIVALS, MOST_OF_A_VAULT = 64, 4
"""Requests that ask for their vaults at once, and for one vault"""
MOST_PASSED, MOST_OF_A_HOST = 64, 16
"""Requests that wait for other hosts at once, and for one host"""
ALIVE_SECONDS = 20.0
"""A host that used the ledger so recently takes requests of a host that drains"""
WAIT_SECONDS = 1.0
"""For a thread, where the caller can look again whether the call is still needed"""
MCP = "/mcp"
READING = frozenset({"/v1/context", "/v1/search"})
"""Calls that send a body and write nothing"""
KEPT = frozenset({"/v1/remember", "/v1/turns"})
"""Calls that do nothing but what `AcknowledgedOp` can carry"""
KEPT_TOOLS = frozenset({"memory_remember"})


# --- Request kind ---


class RequestKind(Enum):
    """What a request does to its vault."""

    READS = "reads"
    KEEPS = "keeps"
    """its effect is an acknowledged operation"""
    WRITES = "writes"
    """its effect is on this host only, until the next flush"""


def kind_of(request: PassedRequest) -> RequestKind:
    """Return what a request does. One that cannot be read writes, as far as anybody knows."""
    path = request.target.partition("?")[0]
    if request.method == "GET" or path in READING:
        return RequestKind.READS
    if path in KEPT:
        return RequestKind.KEEPS
    if path.rstrip("/") == MCP:
        return _kind_of_message(request.body)
    return RequestKind.WRITES


def _kind_of_message(body: bytes) -> RequestKind:
    """Return what a message of MCP does."""
    try:
        message: Any = json.loads(body)
    except (ValueError, RecursionError):
        return RequestKind.WRITES
    # Several messages in one body are not part of the protocol any more.
    if not isinstance(message, dict):
        return RequestKind.WRITES
    if message.get("method") != "tools/call":
        return RequestKind.READS
    arguments = message.get("params")
    name = arguments.get("name") if isinstance(arguments, dict) else None
    if not isinstance(name, str):
        return RequestKind.WRITES
    if name in KEPT_TOOLS:
        return RequestKind.KEEPS
    tool = TOOLS.get(name)
    is_reading = tool is not None and tool.reads_only
    return RequestKind.READS if is_reading else RequestKind.WRITES


# --- Forwarding ---


class Forwarding:
    """Around the ASGI app of a host."""

    def __init__(
        self, app: ASGIApp, host: FleetHost, tokens: LedgerTokens, longest_body: int
    ) -> None:
        self._app = app
        self._host = host
        self._tokens = tokens
        self._secret = host.ledger.secret
        self._longest = longest_body
        # Fault: requests that wait for a vault, or for a host that is paused, could take the
        # threads of those for other vaults.
        self._arrivals = FairThreads(MOST_ARRIVALS, MOST_OF_A_VAULT)
        self._passed = FairThreads(MOST_PASSED, MOST_OF_A_HOST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            vault = await self._vault_of(scope) if scope["type"] == "http" else None
        except VaultUnavailable as error:
            # Fault: the app asks the ledger again, which may answer by now. Without the vault of
            # this request, it would take a valid token for a wrong one.
            await _refuse(send, error.code, error.message)
            return
        if vault is None:
            # The app itself refuses what has no valid token.
            await self._app(scope, receive, send)
            return
        body, receive, is_complete = await self._read_body(receive)
        if not is_complete:
            # Fault: a body that is too long would be asked for again and again. The app
            # refuses it before it asks for the vault, and one that comes too slowly.
            await self._app(scope, receive, send)
            return
        request = _request_of(scope, body)
        mark = self._mark_of(request)
        marks = [value for name, value in request.headers if name == MARK]
        is_passed = any(hmac.compare_digest(value, mark) for value in marks)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                place = await self._acquire(vault)
                if isinstance(place, HeldVault):
                    kind = kind_of(request)
                    await self._answer(place, kind, scope, receive, send)
                    return
            except VaultMemoryError as error:
                await _refuse(send, error.code, error.message)
                return
            if is_passed:
                await _refuse(send, "vault_moved", "another host has the vault", MOVED)
                return
            answer = await self._passed_on(place, request, mark)
            if answer is not None:
                self._host.counts.add("forwarded")
                await _send_answer(send, answer)
                return
            if time.monotonic() > deadline:
                await _refuse(send, "vault_moving", "the vault has no host now")
                return
            await anyio.sleep(PAUSE_SECONDS)

    async def _acquire(self, vault: str) -> HeldVault | Holder | None:
        place: HeldVault | Holder | None = await self._arrivals.run(
            vault, self._host.acquire, vault
        )
        return place

    async def _vault_of(self, scope: Scope) -> str | None:
        """Return the vault of a token; None without a valid one. Raises VaultUnavailable."""
        headers = Headers(scope=scope).getlist("authorization")
        if len(headers) != 1:
            return None
        scheme, _, token = headers[0].partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return None
        owner = await self._tokens.owner(token_digest(token.strip()))
        return None if owner is None else owner.vault

    async def _read_body(self, receive: Receive) -> tuple[bytes, Receive, bool]:
        """Return the body, how the app gets it once more, and whether it is complete."""
        messages: list[Message] = []
        size = 0
        is_complete = False
        # Fault: a client that never sends its body would keep its connection for ever.
        with anyio.move_on_after(READING_SECONDS):
            while size <= self._longest:
                message = await receive()
                messages.append(message)
                size += len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body"):
                    is_complete = message["type"] == "http.request"
                    break
        body = b"".join(message.get("body", b"") for message in messages)
        waiting = iter(messages)

        async def replay() -> Message:
            for message in waiting:
                return message
            return await receive()

        return body, replay, is_complete

    def _mark_of(self, request: PassedRequest) -> bytes:
        tokens = [value for name, value in request.headers if name == b"authorization"]
        return passed_request.mark_of(self._secret, request.target, tokens[0])

    async def _answer(
        self, entry: HeldVault, kind: RequestKind, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a request here. An answer about a write waits until the write is safe.

        Raises VaultUnavailable for a write that would be on this host only.
        """
        if kind is RequestKind.WRITES and entry.visit.away is not None:
            self._host.release(entry)
            raise VaultUnavailable
        is_write = kind is not RequestKind.READS
        state = {**scope.get("state", {}), HELD: entry, WRITES: is_write}
        last_answer: list[Message] = []

        async def collect(message: Message) -> None:
            # Fault: the app answers, and then the home refuses the write. The later
            # answer counts.
            if message["type"] == "http.response.start":
                last_answer.clear()
            last_answer.append(message)

        try:
            answer = collect if is_write else send
            await self._app({**scope, "state": state}, receive, answer)
        finally:
            self._host.release(entry)
        for message in last_answer:
            await send(message)

    async def _passed_on(
        self, holder: Holder | None, request: PassedRequest, mark: bytes
    ) -> PassedAnswer | None:
        """Return the answer of the holder; None when it has not seen the request."""
        address = holder.address if holder else await self._other_address()
        if not address or address == self._host.own.address:
            return None
        try:
            answer: PassedAnswer = await self._passed.run(
                address, passed_request.pass_on, address, request, mark, patience=WAIT_SECONDS
            )
        except (HolderAway, NoThread):
            return None
        except HolderBroke:
            logger.warning("the host at %s broke a connection off", address)
            # Fault: it may have done what was asked. A second time would do it twice.
            if kind_of(request) is RequestKind.READS:
                return None
            response = refusal(
                503,
                "pending",
                "the host that has this vault ended meanwhile",
                "look whether it was done before you ask again",
                {"retry-after": str(RETRY_SECONDS)},
            )
            return PassedAnswer(503, response.raw_headers, bytes(response.body))
        return None if answer.has_moved else answer

    async def _other_address(self) -> str:
        """The address of a host that takes vaults, for one that drains."""
        for host in await anyio.to_thread.run_sync(self._host.ledger.hosts):
            is_alive = host.silent_seconds < ALIVE_SECONDS and not host.draining
            if host.address and is_alive and host.name != self._host.own.name:
                return host.address
        return ""


def _request_of(scope: Scope, body: bytes) -> PassedRequest:
    target = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
    if scope["query_string"]:
        target += "?" + scope["query_string"].decode("latin-1")
    return PassedRequest(scope["method"], target, scope["headers"], body)


async def _send_answer(send: Send, answer: PassedAnswer) -> None:
    headers = list(answer.headers)
    status = answer.status
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _refuse(send: Send, code: str, message: str, mark: bytes = b"") -> None:
    headers = {"retry-after": str(RETRY_SECONDS)}
    response = refusal(503, code, message, "try again in a moment", headers)
    marks = [(mark, b"1")] if mark else []
    await _send_answer(
        send, PassedAnswer(503, [*response.raw_headers, *marks], bytes(response.body))
    )


# --- Fair threads ---

# Threads for calls that may take long: calls of one kind leave threads to the others.


class NoThread(Exception):
    """All threads for calls of this kind are in use."""


class FairThreads:
    """Runs calls in threads. Only the event loop may ask it."""

    def __init__(self, most: int, most_of_a_kind: int) -> None:
        """At most so many calls run at once, and so many of one kind."""
        self._most = most
        self._most_of_a_kind = most_of_a_kind
        self._all: anyio.CapacityLimiter | None = None
        self._kinds: dict[str, anyio.CapacityLimiter] = {}
        """for kinds with calls that run or wait"""

    async def run(
        self,
        kind: str,
        call: Callable[..., Any],
        *arguments: object,
        patience: float = float("inf"),
    ) -> Any:
        """Run a call. Raises NoThread when its kind has none for so many seconds."""
        if self._all is None:
            self._all = anyio.CapacityLimiter(self._most)
        if kind not in self._kinds:
            self._kinds[kind] = anyio.CapacityLimiter(self._most_of_a_kind)
        of_a_kind = self._kinds[kind]
        owner = object()
        try:
            with anyio.move_on_after(patience) as waiting:
                await of_a_kind.acquire_on_behalf_of(owner)
            if waiting.cancelled_caught:
                raise NoThread
            try:
                return await anyio.to_thread.run_sync(partial(call, *arguments), limiter=self._all)
            finally:
                of_a_kind.release_on_behalf_of(owner)
        finally:
            usage = of_a_kind.statistics()
            if not usage.borrowed_tokens and not usage.tasks_waiting:
                self._kinds.pop(kind, None)
