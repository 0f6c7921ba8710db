"""The two ways to a server: a pipe to the program that started it, and HTTP behind the doorkeeper of the web room."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import Context
from typing import Any, Self

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from vault_memory.app import VaultMemory
from vault_memory.app.callers import Caller
from vault_memory.mcp.handlers import server

LARGEST_BODY = 1 << 20
"""In bytes, of a request"""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def over_stdio(memory: VaultMemory, caller: Caller) -> None:
    """Serve until standard input ends. What is printed meanwhile goes to standard error: stdout is the protocol's."""

    async def serve() -> None:
        serving = server(memory, caller)
        async with stdio_server() as (incoming, outgoing):
            messages = Messages(incoming, outgoing)
            await serving.run(messages, outgoing, serving.create_initialization_options())

    anyio.run(serve)


class Messages:
    """The lines of a client as messages. A line that is none is answered with an error, and the next one is read.

    The SDK drops such a line without a word, and the client waits for an answer for ever.
    """

    def __init__(self, incoming: ReadStream[SessionMessage | Exception], outgoing: WriteStream[SessionMessage]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    @property
    def last_context(self) -> Context | None:
        """The context of the sender, which the SDK looks up here."""
        return getattr(self._incoming, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while isinstance(message := await self._incoming.receive(), ValidationError):
            if error := _error_of(message):
                answer = JSONRPCError(jsonrpc="2.0", id=None, error=error)
                await self._outgoing.send(SessionMessage(answer))
        return message

    async def aclose(self) -> None:
        await self._incoming.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _error_of(invalid: ValidationError) -> ErrorData | None:
    """None for a blank line, which asks nothing."""
    problem = invalid.errors(include_url=False)[0]
    if problem["type"] != "json_invalid":
        return ErrorData(code=INVALID_REQUEST, message="this is not a JSON-RPC message")
    if not str(problem["input"]).strip():
        return None
    return ErrorData(code=PARSE_ERROR, message="this line is not JSON")


def application(memory: VaultMemory) -> App:
    """An ASGI app for streamable HTTP: each request is answered by itself, in JSON, for the caller it came from.

    The caller stands in `scope["state"]["caller"]`, where whoever checked the token put it, as they did hosts and
    origins; without one nothing is answered.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif not isinstance(caller := scope.get("state", {}).get("caller"), Caller):
            await _refuse(send, 401, "unauthorised", "nobody let this request in")
        elif scope["method"] != "POST":
            await _refuse(send, 405, "method_not_allowed", "send requests as POST", (b"allow", b"POST"))
        else:
            await _answer(server(memory, caller), scope, receive, send)

    return serve


async def _answer(serving: Server[Any], scope: Scope, receive: Receive, send: Send) -> None:
    manager = StreamableHTTPSessionManager(
        serving, json_response=True, stateless=True, max_request_body_size=LARGEST_BODY
    )  # fmt: skip
    async with manager.run():
        await manager.handle_request(scope, receive, send)


async def _live(receive: Receive, send: Send) -> None:
    """There is nothing to start or stop: a request brings all that it needs."""
    while True:
        told = (await receive())["type"]
        await send({"type": f"{told}.complete"})
        if told == "lifespan.shutdown":
            return


async def _refuse(send: Send, status: int, code: str, message: str, *headers: tuple[bytes, bytes]) -> None:
    body = json.dumps({"error": {"code": code, "message": message, "hint": ""}}).encode()
    told = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})
