"""What the server says of itself without the vault: its name, its tools, its template.

One definition for both transports, as the JSON of the protocol. Cheap to import.
"""

from typing import Any

from vault_memory import __version__
from vault_memory.mcp.tools import INSTRUCTIONS, TOOLS, Tool

Json = dict[str, Any]

NAME, TITLE = "vault-memory", "Vault memory"
SERVER: Json = {"name": NAME, "title": TITLE, "version": __version__}
CAPABILITIES: Json = {
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}

SCHEME = "vault://"
TEMPLATE = SCHEME + "/{+path}"
"""With an empty host, so that no client takes the first folder for one and changes its case"""
LIKE_MARKDOWN, LIKE_TURNS = "text/markdown", "text/plain"
"""Kinds of text. Marks stand around the lines of a transcript, so it is no JSON."""

ALWAYS_LOAD, SEARCH_HINT = "anthropic/alwaysLoad", "anthropic/searchHint"
"""Claude Code leaves a tool without the first of these out of its requests until it searches it"""


def tools() -> Json:
    """The answer to `tools/list`."""
    return {"tools": [_tool(tool) for tool in TOOLS.values()]}


def templates() -> Json:
    """The answer to `resources/templates/list`."""
    template = {
        "name": "note",
        "title": "A note",
        "description": "A note of this person, by its path",
        "mimeType": LIKE_MARKDOWN,
        "uriTemplate": TEMPLATE,
    }
    return {"resourceTemplates": [template]}


def introduction() -> Json:
    """What `initialize` and `server/discover` have in common."""
    return {
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER,
        "instructions": INSTRUCTIONS,
    }


def _tool(tool: Tool) -> Json:
    hints = {
        "readOnlyHint": tool.reads_only,
        "destructiveHint": tool.destroys,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    listed: Json = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.schema(),
        "outputSchema": tool.gives,
        "annotations": hints,
    }
    if tool.search_hint:
        listed["_meta"] = {ALWAYS_LOAD: True, SEARCH_HINT: tool.search_hint}
    return listed
