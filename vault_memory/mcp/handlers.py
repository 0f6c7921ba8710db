"""The server that the SDK runs: it hands each request to a thread, with the caller it was made for."""

from importlib.metadata import version
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from vault_memory.app import VaultMemory
from vault_memory.app.callers import Caller
from vault_memory.errors import VaultMemoryError
from vault_memory.mcp import resources, tools
from vault_memory.mcp.serving import Serving

NAME = "vault-memory"


def server(memory: VaultMemory, caller: Caller) -> Server[Any]:
    """A server that speaks for one caller. To make one is cheap: over HTTP each request gets its own."""
    handlers = _Handlers(Serving(memory, caller))
    return Server(
        NAME,
        version=version("vault-memory"),
        title="Vault memory",
        instructions=tools.INSTRUCTIONS,
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
        return types.ListToolsResult(tools=_LISTED)

    async def call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            result = await anyio.to_thread.run_sync(tools.call, self._serving, params.name, params.arguments or {})
        except tools.ToolUnknown as error:
            raise MCPError(types.INVALID_PARAMS, error.message) from None
        content: list[Any] = [types.TextContent(text=result.text)]
        if result.failed:
            return types.CallToolResult(content=content, is_error=True)
        return types.CallToolResult(content=content, structured_content=result.answer)

    async def list_resources(
        self, context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = params.cursor if params else None
        page = await self._asked(resources.page, cursor)
        return types.ListResourcesResult(
            resources=[types.Resource.model_validate(resources.listed(note)) for note in page.notes],
            next_cursor=page.next,
        )

    async def list_templates(self, context: Any, params: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            name="note", title="A note", uri_template=resources.TEMPLATE, mime_type=resources.LIKE_MARKDOWN,
            description="A note of this person, by its path",
        )  # fmt: skip
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        note = await self._asked(resources.read, params.uri)
        text = types.TextResourceContents(uri=params.uri, mime_type=resources.mime_type(note.note), text=note.text)
        return types.ReadResourceResult(contents=[text])

    async def _asked(self, call: Any, argument: object) -> Any:
        """In a thread; an error is one of the protocol."""
        try:
            return await anyio.to_thread.run_sync(call, self._serving, argument)
        except VaultMemoryError as error:
            code = types.INVALID_PARAMS if error.http_status < 500 else types.INTERNAL_ERROR
            raise MCPError(code, self._serving.told(error)) from None


def _listed(tool: tools.Tool) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=tool.reads_only, destructive_hint=tool.destroys, idempotent_hint=True, open_world_hint=False
    )
    return types.Tool(
        name=tool.name, title=tool.title, description=tool.description, input_schema=tool.schema(),
        output_schema=tool.gives, annotations=hints,
    )  # fmt: skip


def _schema(name: str) -> dict[str, Any] | None:
    tool = tools.TOOLS.get(name)
    return tool.schema() if tool else None


_LISTED = [_listed(tool) for tool in tools.TOOLS.values()]
