"""Coding bots as they are delivered, connected in one folder of code."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.clients import ClaudeCode, Client, Codex, GeminiCli, Opencode
from tests.clients.conftest import GREETING, HEARD, REPLY, opened
from tests.clients.test_clients import turns

pytestmark = pytest.mark.clients

DECISION = "We decided to build the heron with pnpm"


class TrustingCodex(Codex):
    """Codex reads the configuration of a folder only where the person trusts it."""

    def settle(self) -> None:
        super().settle()
        file = self.home / ".codex" / "config.toml"
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f'\n[projects."{self.work}"]\ntrust_level = "trusted"\n')


@pytest.fixture(
    params=(ClaudeCode, TrustingCodex, GeminiCli, Opencode), ids=lambda client: client.name
)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    with opened(request.param, tmp_path) as started:
        yield started


def test_a_bot_beside_the_code_has_the_memory_of_the_project(client: Client) -> None:
    client.install("--project", str(client.work), *client.allow)
    client.trust()

    assert REPLY in client.ask(DECISION)
    assert HEARD in client.ask("SEARCH please")
    asked = len(client.model.turns)
    client.ask("What did we decide to build the heron with?")

    assert "rows the heron boat" in client.model.turns[0].text
    assert any("spar varnish" in text for text in client.model.turns[asked - 1].results)
    assert "pnpm" in client.model.turns[asked].text
    assert turns(client)[:2] == [("user", DECISION), ("assistant", REPLY)]
    recorded = client.vault.rglob("transcripts/*.jsonl")
    assert {file.parent.parent.name for file in recorded} == {"work"}


def test_hooks_of_projects_are_silent_in_other_folders(client: Client) -> None:
    elsewhere = client.home / "elsewhere"
    elsewhere.mkdir()
    client.install("--project", str(elsewhere))
    client.trust()

    client.ask(GREETING)

    assert "rows the heron boat" not in client.model.turns[0].text
    assert turns(client) == []
