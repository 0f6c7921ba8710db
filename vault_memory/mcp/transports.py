"""MCP over HTTP, behind the token check of `vault_memory.http`."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from vault_memory.api.vault_service import CALLER, VaultService, opened
from vault_memory.mcp.sdk_server import server
from vault_memory.rules.paths.caller import Caller

LARGEST_BODY = 1 << 20
"""In bytes, of a request"""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def application(service: VaultService) -> App:
    """Returns an ASGI app for streamable HTTP, which answers each request by itself, in JSON.

    The check of the token puts the caller into `scope["state"]["caller"]`. The app refuses a
    request without a caller. It raises VaultUnknown and VaultUnavailable before it answers: the
    app that it is mounted in has the words.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif not isinstance(caller := scope.get("state", {}).get(CALLER), Caller):
            await _refuse(send, 401, "unauthorised", "this request has no caller")
        elif scope["method"] != "POST":
            await _refuse(
                send, 405, "method_not_allowed", "send requests as POST", (b"allow", b"POST")
            )
        else:
            async with opened(service, scope["state"]) as memory:
                await _answer(server(memory, caller), scope, receive, send)

    return serve


async def _answer(serving: Server[Any], scope: Scope, receive: Receive, send: Send) -> None:
    manager = StreamableHTTPSessionManager(
        serving, json_response=True, stateless=True, max_request_body_size=LARGEST_BODY
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)


async def _live(receive: Receive, send: Send) -> None:
    """Answers the events of the lifespan. Nothing has to be started or stopped."""
    while True:
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return


async def _refuse(
    send: Send, status: int, code: str, message: str, *headers: tuple[bytes, bytes]
) -> None:
    body = json.dumps({"error": {"code": code, "message": message, "hint": ""}}).encode()
    response_headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": response_headers})
    await send({"type": "http.response.body", "body": body})
