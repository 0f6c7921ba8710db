"""MCP over HTTP, behind the token check of `vault_memory.http`."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import CALLER, VaultService, opened
from vault_memory.errors import VaultMemoryError
from vault_memory.mcp import protocol_results, tools
from vault_memory.mcp.http_session import Serving
from vault_memory.mcp.protocol import code_of
from vault_memory.mcp.tools import TOOLS, ToolUnknown
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


# --- SDK server ---


def server(memory: VaultMemory, caller: Caller) -> Server[Any]:
    """Returns a server for one caller. It is cheap: over HTTP each request gets its own."""
    handlers = _Handlers(Serving(memory, caller))
    return Server(
        tools.NAME,
        version=tools.SERVER["version"],
        title=tools.TITLE,
        # Which program calls is unknown here: its hooks may give it nothing.
        instructions=tools.instructions(has_hooks=False),
        get_tool_input_schema=_schema,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


class _Handlers:
    """What the SDK calls."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    async def list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        return _TOOLS

    async def call_tool(
        self, context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        result = await self._in_thread(
            protocol_results.of_call, params.name, params.arguments or {}
        )
        return types.CallToolResult.model_validate(result)

    async def list_resources(
        self, context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        page = await self._in_thread(
            protocol_results.of_resources, params.cursor if params else None
        )
        return types.ListResourcesResult.model_validate(page)

    async def list_templates(self, context: Any, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult.model_validate(tools.list_templates())

    async def read_resource(
        self, context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return types.ReadResourceResult.model_validate(
            await self._in_thread(protocol_results.of_resource, params.uri)
        )

    async def _in_thread(
        self, call: Callable[..., dict[str, Any]], *arguments: object
    ) -> dict[str, Any]:
        """Returns the result of the call; an error becomes one of the protocol."""
        try:
            return await anyio.to_thread.run_sync(call, self._serving, *arguments)
        except ToolUnknown as error:
            raise MCPError(types.INVALID_PARAMS, error.message) from None
        except VaultMemoryError as error:
            raise MCPError(code_of(error), self._serving.explain(error)) from None


def _schema(name: str) -> dict[str, Any] | None:
    tool = TOOLS.get(name)
    return tools.schema_of(tool) if tool else None


_TOOLS = types.ListToolsResult.model_validate(tools.list_tools())
