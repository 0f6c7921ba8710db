"""Results that need the vault, as the JSON of the protocol, for both transports."""

from typing import TYPE_CHECKING, Any

from vault_memory.mcp import resources
from vault_memory.mcp.http_session import Serving
from vault_memory.mcp.tool_calls import call

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]


def of_call(serving: Serving, name: str, arguments: "Mapping[str, Any]") -> Json:
    """The result of `tools/call`. Raises ToolUnknown."""
    result = call(serving, name, arguments)
    content = [{"type": "text", "text": result.text}]
    if result.failed:
        return {"content": content, "isError": True}
    return {"content": content, "structuredContent": result.answer, "isError": False}


def of_resources(serving: Serving, cursor: str | None) -> Json:
    """The result of `resources/list`."""
    page = resources.page(serving, cursor)
    listed: Json = {"resources": [resources.listed(note) for note in page.notes]}
    if page.next is not None:
        listed["nextCursor"] = page.next
    return listed


def of_resource(serving: Serving, uri: str) -> Json:
    """The result of `resources/read`. Raises ResourceUnknown."""
    note = resources.read(serving, uri)
    return {
        "contents": [{"uri": uri, "mimeType": resources.mime_type(note.note), "text": note.text}]
    }
