"""What a host of a fleet takes a request for: only what certainly writes nothing counts as reading."""

import json

import pytest

from vault_memory.addons.fleet.serving.forwarding import RequestKind, kind_of
from vault_memory.addons.fleet.serving.passed_request import PassedRequest
from vault_memory.contract.calls import ROUTES
from vault_memory.mcp.tools import TOOLS

READING_CALLS = {"context", "search", "list_held", "list_notes", "read_note"}
READING_CALLS |= {"list_facts", "source"}


def _called(tool: object) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}
    ).encode()


def _kind(method: str, target: str, body: bytes = b"") -> RequestKind:
    return kind_of(PassedRequest(method, target, [], body))


@pytest.mark.parametrize("call", ROUTES, ids=lambda call: call.name)
def test_a_call_reads_leaves_an_operation_or_writes(call: object) -> None:
    name = call.name  # type: ignore[attr-defined]
    kind = _kind(call.method, call.path + "?x=1")  # type: ignore[attr-defined]
    if name in READING_CALLS:
        assert kind is RequestKind.READS
    elif name in ("record_turn", "remember"):
        assert kind is RequestKind.KEEPS
    else:
        assert kind is RequestKind.WRITES


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_a_tool_that_writes_never_counts_as_reading(tool: object) -> None:
    name = tool.name  # type: ignore[attr-defined]
    kind = _kind("POST", "/mcp", _called(name))
    if tool.reads_only:  # type: ignore[attr-defined]
        assert kind is RequestKind.READS
    elif name == "memory_remember":
        assert kind is RequestKind.KEEPS
    else:
        assert kind is RequestKind.WRITES


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[" + _called("memory_search") + b"]",
        _called("unknown"),
        _called(["memory_search"]),
        b'{"method": "tools/call", "params": []}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_a_message_that_cannot_be_read_counts_as_writing(body: bytes) -> None:
    assert _kind("POST", "/mcp", body) is RequestKind.WRITES


def test_other_messages_and_unknown_calls() -> None:
    assert _kind("POST", "/mcp/", b'{"method": "tools/list"}') is RequestKind.READS
    assert _kind("POST", "/v1/searches") is RequestKind.WRITES
    assert _kind("DELETE", "/v1/search/x") is RequestKind.WRITES
