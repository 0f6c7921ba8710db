"""The bots of docs/examples: payloads as Telegram, Slack and Discord send them go in, replies come out."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vault_memory import AsyncVaultMemory, VaultMemory

EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples"
sys.path.insert(0, str(EXAMPLES))

import chat_bots  # noqa: E402

TEXT = "My new boat is called Sandpiper"


def telegram(text: str, *, group: bool = False, **sender: Any) -> dict[str, Any]:
    chat = {"id": -100123, "title": "Crew", "type": "supergroup"}
    person = {"id": 4711, "is_bot": False, "first_name": "Ann", "language_code": "en"}
    return {
        "update_id": 10000,
        "message": {
            "message_id": 1365,
            "from": person | sender,
            "chat": chat if group else {"id": 4711, "type": "private"},
            "date": 1441645532,
            "text": text,
        },
    }


def slack(text: str, *, group: bool = False, **event: Any) -> dict[str, Any]:
    return {
        "token": "x",
        "team_id": "T123ABC456",
        "api_app_id": "A123ABC456",
        "event": {
            "type": "message",
            "channel": "C123ABC456" if group else "D024BE91L",
            "channel_type": "channel" if group else "im",
            "user": "U2147483697",
            "text": text,
            "ts": "1355517523.000005",
            "event_ts": "1355517523.000005",
        }
        | event,
        "type": "event_callback",
        "event_id": "Ev123ABC456",
        "event_time": 1355517523,
    }


def discord(text: str, *, group: bool = False, **author: Any) -> dict[str, Any]:
    data = {
        "id": "334385199974967042",
        "channel_id": "290926798999357250",
        "author": {"id": "53908099506183680", "username": "ann"} | author,
        "content": text,
        "timestamp": "2017-07-11T17:27:07.299000+00:00",
        "mentions": [],
    }
    if group:
        data["guild_id"] = "290926798626357999"
    return {"op": 0, "t": "MESSAGE_CREATE", "s": 42, "d": data}


SERVICES = {
    "telegram": (telegram, chat_bots.from_telegram),
    "slack": (slack, chat_bots.from_slack),
    "discord": (discord, chat_bots.from_discord),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULT_MEMORY_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("VAULT_MEMORY_EMBEDDING_KIND", "off")
    vault = tmp_path / "vault"
    vault.mkdir()
    return vault


def talk(folder: Path, *messages: chat_bots.Message | None) -> list[str]:
    """The prompts that the model got for the messages."""
    prompts = []

    def answer(chat: list[dict[str, str]]) -> str:
        prompts.append(chat[-1]["content"])
        return "All right."

    async def run() -> None:
        async with AsyncVaultMemory.open(folder) as memory:
            for message in messages:
                assert message is not None
                assert await chat_bots.reply(memory, message, answer) == "All right."

    asyncio.run(run())
    return prompts


@pytest.mark.parametrize("service", SERVICES)
def test_a_direct_message_is_remembered_for_the_person(folder: Path, service: str):
    payload, read = SERVICES[service]
    talk(folder, read(payload(TEXT)))

    with VaultMemory.open(folder) as memory:
        [scope] = [name for name in memory.scopes() if name.startswith("user:")]
        assert scope.startswith(f"user:{service}-")
        assert memory.search("boat", scopes=[scope]).hits


@pytest.mark.parametrize("service", SERVICES)
def test_what_is_said_in_a_group_belongs_to_the_group(folder: Path, service: str):
    payload, read = SERVICES[service]
    talk(folder, read(payload(TEXT, group=True)))

    with VaultMemory.open(folder) as memory:
        assert memory.scopes()[0].startswith(f"channel:{service}-")


@pytest.mark.parametrize("service", SERVICES)
def test_a_group_gets_nothing_of_a_direct_message(folder: Path, service: str):
    payload, read = SERVICES[service]

    prompts = talk(
        folder, read(payload(TEXT)), read(payload("What is my boat called?", group=True))
    )

    assert "Sandpiper" not in prompts[1]


@pytest.mark.parametrize(
    "message",
    [
        chat_bots.from_telegram(telegram("hello", is_bot=True)),
        chat_bots.from_telegram({"update_id": 1, "edited_message": {}}),
        chat_bots.from_slack(slack("hello", bot_id="B1")),
        chat_bots.from_slack(slack("hello", subtype="message_changed")),
        chat_bots.from_slack({"type": "url_verification", "challenge": "x"}),
        chat_bots.from_discord(discord("hello", bot=True)),
        chat_bots.from_discord({"op": 10, "d": {"heartbeat_interval": 41250}}),
    ],
)
def test_what_is_no_text_of_a_person_gets_no_reply(message: object):
    assert message is None


@pytest.mark.sampled
def test_the_examples_are_typed_strictly():
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *map(str, EXAMPLES.glob("*.py"))],
        capture_output=True,
        text=True,
        cwd=EXAMPLES.parents[1],
    )

    assert done.returncode == 0, done.stdout
