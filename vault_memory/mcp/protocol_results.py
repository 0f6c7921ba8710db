"""Results that need the vault, as the JSON of the protocol, for both transports."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vault_memory.errors import VaultMemoryError
from vault_memory.mcp import read_tools, resources, write_tools
from vault_memory.mcp.http_session import Serving
from vault_memory.mcp.tools import TOOLS, ToolUnknown, read_arguments

Json = dict[str, Any]
logger = logging.getLogger(__name__)

FUNCTIONS: Mapping[str, Callable[[Serving, Any], tuple[dict[str, Any], str]]] = {
    "memory_search": read_tools.search,
    "memory_get": read_tools.get,
    "memory_context": read_tools.context,
    "memory_remember": write_tools.remember,
    "memory_compact": write_tools.compact,
    "memory_correct": write_tools.correct,
    "memory_confirm": write_tools.confirm,
    "memory_forget": write_tools.forget,
    "memory_entity": read_tools.entity,
    "memory_source": read_tools.source,
    "memory_stats": read_tools.stats,
}


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
    note, text = resources.read(serving, uri)
    return {"contents": [{"uri": uri, "mimeType": resources.mime_type(note), "text": text}]}


# --- Tool calls ---

# Calls of tools: the function behind each, and what comes back of it.


@dataclass(frozen=True, slots=True)
class ToolResult:
    """An answer of the contract with its text for a model, or only the words of an error."""

    text: str
    answer: dict[str, Any] | None = None

    @property
    def failed(self) -> bool:
        return self.answer is None


def call(serving: Serving, name: str, arguments: Mapping[str, Any]) -> ToolResult:
    """Call a tool for a caller. An error comes back in words. Raises only ToolUnknown."""
    tool = TOOLS.get(name)
    if tool is None:
        raise ToolUnknown(name)
    try:
        answer, text = FUNCTIONS[name](serving, read_arguments(tool, arguments))
    except VaultMemoryError as error:
        return ToolResult(f"error: {serving.explain(error)}")
    except Exception as error:
        # Its message may be text of a note, which must not be in a log.
        logger.error(
            "%s failed: %s", name, type(error).__name__, exc_info=logger.isEnabledFor(logging.INFO)
        )
        return ToolResult(
            "error: the memory cannot do this now\n\n"
            "hint: try again later; the server's log says why"
        )
    return ToolResult(text, answer)
