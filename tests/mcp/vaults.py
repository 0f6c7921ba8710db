"""A vault of two people, two channels, a group and a workspace. What each of them knows has a word of its own in it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from tests.scenarios.outside import Outside
from vault_memory import VaultMemory
from vault_memory.api.vault_service import CALLER, SingleVault
from vault_memory.mcp.streamable_http import application
from vault_memory.rules.paths.scopes import Caller

WORDS = {
    "user:alice": "albatross",
    "user:bob": "bittern",
    "channel:harbour": "cormorant",
    "channel:kitchen": "dunlin",
    "group:crew": "egret",
    "group:main": "fulmar",
}
ALICE = Caller("alice", "harbour", ("crew",), private=True)
BOB = Caller("bob", "kitchen", private=True)
PLAN = "Users/alice/memories/plan.md"

Gained = TypeVar("Gained")


def pages(scope: str, word: str) -> dict[str, str]:
    """The notes of a scope: each says its word, and the words that all say."""
    kind, _, name = scope.partition(":")
    folder = {"user": f"Users/{name}/lantern/config/", "channel": f"Channels/{name}/"}.get(
        kind, f"groups/{name}/"
    )
    folder = "" if scope == "group:main" else folder
    notes = {"user": f"Users/{name}/memories/", "channel": f"Channels/{name}/memories/"}.get(
        kind, f"{folder}memory/"
    )
    said = {
        "user": f"Users/{name}/transcripts/",
        "channel": f"Channels/{name}/transcripts/",
        "group": "transcripts/",
    }
    top = {"user": "USER.md", "channel": "CHANNEL.md"}.get(kind, "MEMORY.md")
    turn = (
        f'{{"id": "{word}1", "ts": "2026-03-01T10:00:00+00:00", "session": "s", "role": "assistant", '
        + (f'"user": "{name}", "text": "the ferry carries a {word}"}}\n')
    )
    found = {
        f"{folder}{top}": f"# About\n\n## About\n\n- The ferry's secret is a {word}\n",
        f"{notes}2026-03-01.md": f"# The day\n\n## Ferry\n\n- The ferry brought a {word}\n",
        f"{folder}FACTS.md": f"## ferry\n\n- carries: {word}\n- is_a: boat\n",
        f"{folder}INBOX.md": f"- [ ] the ferry and the {word}\n",
    }
    if kind == "user":
        found[f"{notes}plan.md"] = (
            f"# Plan\n\n## Plan\n\n- Paint the ferry like a {word}\n- Buy rope\n- Sleep\n- Sing\n"
        )
        found[f"{folder}RULES.md"] = f"# Rules\n\n## Always\n\n- Say {word} first\n"
    if kind != "group" or not folder:
        found[f"{said[kind]}2026-03-01.jsonl"] = turn
    return found


def fill(outside: Outside) -> None:
    """Write all pages of all scopes."""
    for scope, word in WORDS.items():
        for note, text in pages(scope, word).items():
            outside.write(note, text)


def opened(outside: Outside) -> VaultMemory:
    return VaultMemory.open(outside.vault, environment=outside.environment)


@asynccontextmanager
async def connected(memory: VaultMemory, caller: Caller, **options: Any) -> AsyncIterator[Client]:
    """A client of the app for HTTP within this process, whose token is known already."""
    app = application(SingleVault(memory))

    async def with_caller(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "state": {CALLER: caller}}, receive, send)

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(with_caller)) as carrier:
        transport = streamable_http_client("http://localhost/mcp", http_client=carrier)
        async with Client(transport, **options) as client:
            yield client


def talk(
    memory: VaultMemory,
    chat: Callable[[Client], Awaitable[Gained]],
    caller: Caller = ALICE,
    **options: Any,
) -> Gained:
    """What a chat with a server for this caller gives; within this process."""

    async def run() -> Gained:
        async with connected(memory, caller, **options) as client:
            return await chat(client)

    return anyio.run(run)


def call(
    memory: VaultMemory, tool: str, caller: Caller = ALICE, **arguments: Any
) -> CallToolResult:
    """One call of a tool, checked by the client against the shapes that the server lists."""

    async def chat(client: Client) -> CallToolResult:
        await client.list_tools()
        return await client.call_tool(tool, arguments)

    return talk(memory, chat, caller)


def answer(
    memory: VaultMemory, tool: str, caller: Caller = ALICE, **arguments: Any
) -> dict[str, Any]:
    """The answer of a call that must end well."""
    result = call(memory, tool, caller, **arguments)
    assert not result.is_error, words(result)
    return dict(result.structured_content)


def refusal(memory: VaultMemory, tool: str, caller: Caller = ALICE, **arguments: Any) -> str:
    """The words of a call that must not end well."""
    result = call(memory, tool, caller, **arguments)
    assert result.is_error, words(result)
    assert result.structured_content is None
    return words(result)


def words(result: CallToolResult) -> str:
    """What a model reads."""
    return "\n".join(part.text for part in result.content)


def contents(outside: Outside, hidden_from: Sequence[str]) -> dict[str, bytes]:
    """The bytes of all notes of scopes that a caller does not have."""
    mine = {note for scope in hidden_from for note in pages(scope, WORDS[scope])}
    return {note: (outside.vault / note).read_bytes() for note in mine}
