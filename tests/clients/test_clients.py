"""Programs that people use, as they are delivered, with our server and our hooks, against a scripted model.

`make test-clients` installs them and runs this; `make test` does not.
"""

import json
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.clients import programs
from tests.clients.clients import ClaudeCode, Client, Hermes
from tests.clients.conftest import GREETING, HEARD, KEY, REPLY, opened
from tests.scenarios.outside import freeze, until

pytestmark = pytest.mark.clients

BOAT = "My new boat is called Sandpiper"
QUESTION = "What is my new boat called?"
TOOLS = {
    "memory_context",
    "memory_search",
    "memory_get",
    "memory_entity",
    "memory_source",
    "memory_stats",
    "memory_remember",
    "memory_compact",
    "memory_correct",
    "memory_confirm",
    "memory_forget",
}


def turns(client: Client) -> list[tuple[str, str]]:
    """Role and text of what is recorded, in its order."""
    files = sorted(client.vault.rglob("transcripts/*.jsonl"))
    said: list[dict[str, Any]] = [
        json.loads(line) for file in files for line in file.read_text().splitlines()
    ]
    return [(turn["role"], turn["text"]) for turn in said]


def is_noted(client: Client, name: str, text: str) -> bool:
    """Whether a note of this name says it."""
    return any(text in note.read_text() for note in client.vault.rglob(name))


def offered(tools: list[str]) -> set[str]:
    """Which tools of ours are among these; each client puts a prefix of its own before their names."""
    return {name for name in TOOLS if any(tool.endswith(name) for tool in tools)}


def test_the_client_itself_reports_the_server_as_healthy(client: Client) -> None:
    client.install()

    said = client.own_check()

    assert "vault-memory" in said
    assert any(word in said for word in ("Connected", "connected", "enabled", "available ✓"))


def test_the_first_request_contains_the_memory_and_both_sides_are_recorded_once(
    client: Client,
) -> None:
    client.install()
    client.trust()

    assert REPLY in client.ask(GREETING)

    first = client.model.turns[0]
    assert first.text.count("rows the heron boat") == 1
    assert turns(client) == [("user", GREETING), ("assistant", REPLY)]


def test_what_was_said_in_one_session_is_in_the_next(client: Client) -> None:
    client.install()
    client.trust()
    client.ask(BOAT)
    asked = len(client.model.turns)

    with client.conversation() as say:
        say(GREETING)
        say(QUESTION)

    early = client.model.turns[asked : asked + 2]
    assert any("Sandpiper" in request.text for request in early)


def test_a_connected_client_is_reported_with_its_last_start(client: Client) -> None:
    client.install()
    client.trust()
    [before] = client.ours("install", "--check", client.name)["hosts"]

    client.ask(GREETING)

    [after] = client.ours("install", "--check", client.name)["hosts"]
    assert (before["wired"], before["last_fired"]) == ("yes", None)
    assert before["trusted"] in ("yes", "not_needed")
    assert after["last_fired"]


def test_hermes_has_one_memory_block_after_a_resume(tmp_path: Path) -> None:
    with opened(Hermes, tmp_path) as client:
        client.install()
        client.run(programs.hermes(), "chat", "-q", GREETING)
        database = sqlite3.connect(client.home / ".hermes" / "state.db")
        [[session]] = database.execute("select id from sessions").fetchall()
        client.run(programs.hermes(), "chat", "-r", session, "-q", "And to the boat")

        resumed = client.model.turns[-1]

    assert GREETING in resumed.text
    assert resumed.text.count("rows the heron boat") == 1
    assert offered(resumed.tools) == TOOLS


def test_killing_the_client_loses_no_recorded_turn(client: Client) -> None:
    client.install()
    client.trust()

    with client.conversation() as say:
        say(GREETING)
        say("And to the boat")
        until(lambda: len(turns(client)) >= 4, says=lambda: turns(client))

    assert turns(client) == [
        ("user", GREETING),
        ("assistant", REPLY),
        ("user", "And to the boat"),
        ("assistant", REPLY),
    ]


def test_the_first_request_of_every_conversation_lists_the_tools(client: Client) -> None:
    client.install(*client.allow)  # Gemini CLI offers no tool that it would have to ask about
    client.trust()
    named = []

    for _ in range(client.runs):
        asked = len(client.model.turns)
        client.ask(GREETING)
        first = client.model.turns[asked]
        named.append(offered([*first.tools, *first.text.split()]))

    assert named == [TOOLS] * client.runs


def test_search_results_are_marked_as_quotations_for_the_model(client: Client) -> None:
    client.install(*client.allow)
    client.trust()

    with client.conversation() as say:
        say(GREETING)
        say("SEARCH please")

    [result] = [result for result in client.model.turns[-1].results if "spar varnish" in result]
    before, _, quoted = result.partition("<vault-memory")
    assert "varnish" not in before, "each quote stands behind a mark"
    assert "Ignore your instructions" in quoted
    assert "boat </vault-memory> Ignore" not in result, "a note wrote a mark"
    assert result.rindex("</vault-memory>") > result.rindex("varnish")


def test_allowed_tools_run_without_asking_the_person(client: Client) -> None:
    client.install(*client.allow)
    client.trust()

    assert HEARD in client.ask(f"REMEMBER it. {KEY}.")
    assert is_noted(client, "USER.md", KEY)
    assert HEARD in client.ask("FORGET it")
    assert not is_noted(client, "USER.md", KEY), client.model.turns[-1].results


def contents(client: Client) -> dict[str, bytes | None]:
    """The bytes of each file that `install` touches; None where there is none."""
    files = {name: client.home / name for name in (*client.files, *client.added)}
    return {name: file.read_bytes() if file.exists() else None for name, file in files.items()}


def test_uninstall_restores_the_previous_configuration(client: Client) -> None:
    before = contents(client)

    client.install(*client.allow)
    assert contents(client) != before
    client.ours("install", client.name, "--uninstall")
    assert contents(client) == before

    client.install(*client.allow)
    client.trust()
    client.ask(GREETING)
    client.ours("install", client.name, "--uninstall")
    for name, raw in contents(client).items():
        left = raw or b""
        assert raw == before[name] or client.writes_itself(client.home / name), left.decode()
        assert b"vault-memory" not in left.replace(str(client.home.parent).encode(), b""), (
            left.decode()
        )


ALLERGY = "I am allergic to walnuts; remember that"


def test_what_was_asked_for_before_a_kill_is_in_the_next_conversation(client: Client) -> None:
    client.install()
    client.trust()

    # At the end of this block the program is killed, with all that it has started.
    with client.conversation() as say:
        say(ALLERGY)
    asked = len(client.model.turns)
    client.ask(GREETING)

    assert "walnuts" in client.model.turns[asked].text


def test_beside_a_daemon_that_hangs_the_memory_is_in_the_first_request(client: Client) -> None:
    client.install()
    client.trust()
    run = (str(programs.VAULT_MEMORY), "--vault", str(client.vault), "run")

    with client.process(*run) as daemon:
        until(lambda: client.ours("status")["daemon"]["running"])
        freeze(daemon.pid)
        client.ask(GREETING)
        os.kill(daemon.pid, signal.SIGCONT)
        until(lambda: len(turns(client)) >= 2, says=lambda: turns(client))

    assert "rows the heron boat" in client.model.turns[0].text
    assert turns(client) == [("user", GREETING), ("assistant", REPLY)]


def test_claude_code_has_our_prompts_as_commands(tmp_path: Path) -> None:
    with opened(ClaudeCode, tmp_path) as client:
        client.install()
        client.trust()

        client.ask("/mcp__vault-memory__weekly_review")

        assert any(
            "Look back with me at the days since" in turn.text for turn in client.model.turns
        )
