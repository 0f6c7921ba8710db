"""What a request does to its vault: it reads, it leaves an operation, or it writes in another way."""

import json
from enum import Enum
from typing import Any

from vault_memory.addons.fleet.serving.passed_request import PassedRequest
from vault_memory.mcp.tools import TOOLS

MCP = "/mcp"
READING = frozenset({"/v1/context", "/v1/search"})
"""Calls that send a body and write nothing"""
KEPT = frozenset({"/v1/remember", "/v1/turns"})
"""Calls that do nothing but what `AcknowledgedOp` can carry"""
KEPT_TOOLS = frozenset({"memory_remember"})


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
