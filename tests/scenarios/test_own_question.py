"""Through each face, a bot that searches does not find the conversation that it is in."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import pytest

from tests.addons.hosts.test_hook import hook, payload
from tests.http.served import MIRA, serving
from tests.mcp.vaults import answer
from tests.scenarios.outside import Outside
from vault_memory import VaultMemory
from vault_memory.conversations.calls import JUST_NOW
from vault_memory.errors import UsageError
from vault_memory.rules.paths.scopes import Caller
from vault_memory.service.socket_server import SocketServer

ME = Caller("mira")
NOTE = "Users/mira/memories/varnish.md"
ANSWER = "- The spar of the heron boat has amber varnish\n"
PROMPT = "Please look up which varnish the spar of my heron boat has, I stand in the shop."


@pytest.fixture
def memory(outside: Outside) -> Iterator[VaultMemory]:
    outside.write(NOTE, ANSWER)
    with VaultMemory.open(outside.vault, environment=outside.environment) as opened:
        opened.index(embed=False)
        yield opened


def record_prompt(
    memory: VaultMemory, *, session: str = "s1", ago: timedelta = timedelta()
) -> None:
    now = datetime.now(UTC) - ago
    memory.record_turn(session=session, role="user", text=PROMPT, user="mira", now=now)


def notes(found: dict[str, object]) -> list[str]:
    hits = found["hits"]
    assert isinstance(hits, list)
    return [hit["note"] for hit in hits]


@pytest.mark.sampled
def test_a_search_tool_does_not_return_the_prompt_its_hook_just_recorded(
    outside: Outside, memory: VaultMemory
) -> None:
    hook(outside, "claude-code", payload("claude-code", "user-prompt-submit", prompt=PROMPT))
    memory.refresh()

    assert notes(answer(memory, "memory_search", ME, query="varnish of the heron boat")) == [NOTE]
    found = answer(memory, "memory_context", ME, prompt="which varnish has the heron boat?")
    assert "I stand in the shop" not in found["text"]
    assert "amber varnish" in found["text"]


def test_a_search_tool_finds_a_conversation_of_an_hour_ago(memory: VaultMemory) -> None:
    record_prompt(memory, ago=2 * JUST_NOW)

    assert len(notes(answer(memory, "memory_search", ME, query="varnish of the heron boat"))) == 2


def test_a_search_tool_finds_a_conversation_that_ended(memory: VaultMemory) -> None:
    record_prompt(memory)
    memory.end_session("s1", user="mira")

    assert len(notes(answer(memory, "memory_search", ME, query="varnish of the heron boat"))) == 2


def test_a_search_tool_finds_another_conversation_of_the_same_person(memory: VaultMemory) -> None:
    memory.record_turn(
        session="s2", role="user", text="The heron boat needs new varnish in May.", user="mira"
    )
    record_prompt(memory)

    texts = str(answer(memory, "memory_search", ME, query="varnish of the heron boat"))
    assert "needs new varnish in May" in texts
    assert "I stand in the shop" not in texts


def test_a_search_tool_finds_what_another_person_just_said(memory: VaultMemory) -> None:
    memory.record_turn(session="s9", role="user", text=PROMPT, user="tomas", channel="harbour")

    found = answer(
        memory, "memory_search", Caller("mira", "harbour"), query="varnish of the heron boat"
    )

    [note] = notes(found)
    assert note.startswith("Channels/harbour/transcripts/")


def test_over_http_the_conversation_named_by_the_bot_is_excluded(memory: VaultMemory) -> None:
    record_prompt(memory)
    asked = {"query": "varnish of the heron boat"}
    with serving(memory) as served:
        client = served.client(MIRA)
        assert len(notes(client.post("/v1/search", json=asked).json())) == 2
        assert notes(client.post("/v1/search", json={**asked, "session": "s1"}).json()) == [NOTE]


def test_on_the_command_line_the_named_conversation_is_excluded(
    outside: Outside, memory: VaultMemory
) -> None:
    record_prompt(memory)
    query = "varnish of the heron boat"

    assert len(notes(outside.search(query))) == 2
    assert notes(outside.search(query, "--session", "s1")) == [NOTE]


def test_a_daemon_not_restarted_after_an_update_blocks_no_search(memory: VaultMemory) -> None:
    record_prompt(memory)

    def refuse(arguments: Mapping[str, object]) -> dict[str, object]:
        raise UsageError(f"`search` takes query, scopes, not {', '.join(sorted(arguments))}")

    daemon = SocketServer(memory.vault.state.socket, {"search": refuse})
    try:
        found = answer(memory, "memory_search", ME, query="varnish of the heron boat")
    finally:
        daemon.close()

    assert notes(found) == [NOTE]


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_the_block_of_a_hook_does_not_quote_the_current_prompt(
    outside: Outside, memory: VaultMemory, host: str
) -> None:
    said = payload(
        host, "user-prompt-submit", prompt="Which varnish has the spar of the heron boat?"
    )
    other = {
        **said,
        "session_id": "another-one",
        "prompt": "the heron boat: which varnish has its spar?",
    }
    again = {**said, "prompt_id": "again", "turn_id": "again"}
    recall = {"VAULT_MEMORY_MEMORY_SEARCH_AUTO_RECALL": "true"}
    given = [hook(outside, host, one, **recall).stdout for one in (said, other, again)]

    for text in given:
        block = json.loads(text)["hookSpecificOutput"]["additionalContext"]
        assert "amber varnish" in block
        assert "transcripts/" not in block
