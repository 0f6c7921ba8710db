"""What a person plainly says in one conversation is known in the next, however the first one ended."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.addons.hosts.test_hook import PAYLOADS, hook, turns
from tests.scenarios.outside import PROGRAM, Outside, until
from vault_memory import VaultMemory
from vault_memory.conversations import sessions
from vault_memory.learning.policy import at_once

MINE = "Users/mira/wren/config/USER.md"
SAID = {
    "walnuts": "I am allergic to walnuts; remember that",
    "Bergen": "I moved to Bergen last week.",
    "metric": "From now on always answer in metric units.",
    "Solveig": "My sister is called Solveig. Please remember that.",
    "surprises": "Never plan surprises for me.",
    "рыбу": "Запомни, что я не ем рыбу",
    "Nüsse": "Merk dir bitte: Ich vertrage keine Nüsse",
}
"""A word of each request → the request"""


def event(name: str, session: str, **more: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "session_id": session, **more}


def say(place: Outside, text: str, session: str = "s1", host: str = "claude-code") -> None:
    """A prompt, and an answer to it."""
    hook(place, host, event("UserPromptSubmit", session, prompt=text))
    hook(place, host, event("Stop", session, last_assistant_message="Noted."))


def block(place: Outside, session: str = "s2", **more: Any) -> str:
    """What the model of another conversation is given at its start."""
    return hook(place, "claude-code", event("SessionStart", session), **more).stdout


def learned(place: Outside) -> str:
    """All notes of the vault."""
    notes = sorted(place.vault.rglob("*.md"))
    return "\n".join(note.read_text(encoding="utf-8") for note in notes)


@pytest.fixture
def place(outside: Outside) -> Outside:
    outside.write(MINE, "# Mira\n\n- rows the heron boat\n")
    outside.quick = True
    outside.ok("index")
    return outside


@pytest.mark.sampled
@pytest.mark.parametrize("word", SAID)
def test_a_request_is_learned_when_its_answer_ends(place: Outside, word: str) -> None:
    """The window stays open for days: nothing else comes."""
    say(place, SAID[word])

    until(lambda: word in learned(place))
    assert word in block(place)


@pytest.mark.parametrize("word", ["walnuts", "Bergen"])
def test_a_request_is_known_although_its_host_was_killed_before_the_answer(
    place: Outside, word: str
) -> None:
    hook(place, "claude-code", event("UserPromptSubmit", "s1", prompt=SAID[word]))
    assert word not in learned(place)

    assert word in block(place)


@pytest.mark.parametrize("ends", ["killed", "stopped"])
def test_beside_a_daemon_the_next_conversation_knows_the_request(place: Outside, ends: str) -> None:
    prompt = event("UserPromptSubmit", "s1", prompt=SAID["walnuts"])
    with place.daemon() as running:
        if ends == "stopped":
            # Before the prompt: a daemon that learns has the lock, and a stopped one keeps it.
            running.freeze()
        hook(place, "codex", prompt)
        if ends == "killed":
            running.kill()
        assert "walnuts" in block(place)


@pytest.mark.sampled
def test_beside_a_daemon_a_request_is_learned_without_another_event(place: Outside) -> None:
    with place.daemon():
        hook(place, "codex", event("UserPromptSubmit", "s1", prompt=SAID["walnuts"]))
        until(lambda: "walnuts" in learned(place))


def test_hermes_has_its_request_learned_with_the_turn(place: Outside) -> None:
    turn = event("TurnEnd", "s1", prompt=SAID["walnuts"], reply="Noted.")
    hook(place, "hermes", turn)

    until(lambda: "walnuts" in learned(place))


BOT = """
import os, signal
from vault_memory import VaultMemory
from vault_memory.conversations import sessions
from vault_memory.learning.policy import at_once

memory = VaultMemory.open({vault!r})
memory.record_turn(session="s1", role="user", user="mira", text={text!r})
os.kill(os.getpid(), signal.SIGKILL)
"""


def by_command(place: Outside, text: str, session: str = "s1") -> None:
    said = ("--user", "mira", "--session", session, "--role", "user", text)
    place.ok("record", *said)


def by_python(place: Outside, text: str) -> None:
    """A bot of its own, killed right after it has recorded a prompt."""
    script = BOT.format(vault=str(place.vault), text=text)
    done = subprocess.run([sys.executable, "-c", script], env=place.environment)
    assert done.returncode == -signal.SIGKILL


def block_by_command(place: Outside) -> str:
    asked = ("--user", "mira", "--session", "s2", "Tea?")
    return str(place.ok("context", *asked)["text"])


def block_by_python(place: Outside) -> str:
    with VaultMemory.open(place.vault, environment=place.environment) as memory:
        return memory.context("Tea?", scopes=["user:mira"], session="s2").text


@pytest.mark.sampled
@pytest.mark.parametrize("word", ["walnuts", "Bergen", "metric", "рыбу"])
@pytest.mark.parametrize("asks", [block_by_command, block_by_python])
@pytest.mark.parametrize("says", [by_command, by_python])
def test_a_bot_without_hooks_knows_the_request_in_its_next_conversation(
    place: Outside, says: Callable[[Outside, str], None], asks: Callable[[Outside], str], word: str
) -> None:
    says(place, SAID[word])

    assert word in asks(place)


def test_a_request_of_one_person_is_not_learned_for_the_block_of_another(place: Outside) -> None:
    by_command(place, SAID["walnuts"])

    with VaultMemory.open(place.vault, environment=place.environment) as memory:
        memory.context("Tea?", scopes=["user:bo"], session="s2")
        memory.context("Tea?", scopes=["user:mira"], session="s1")
        memory.context("Tea?", scopes=["user:mira"])

    assert "walnuts" not in learned(place)


@pytest.mark.sampled
def test_long_turns_cost_the_next_conversation_no_memory(place: Outside) -> None:
    """What was pasted takes longer to judge than a conversation waits for its beginning."""
    for session in ("s3", "s4"):
        pasted = f"I am allergic to {session} pollen; remember that. " + "log " * 250_000
        hook(place, "claude-code", event("UserPromptSubmit", session, prompt=pasted))
    hook(place, "claude-code", event("UserPromptSubmit", "s1", prompt=SAID["Bergen"]))

    begun = block(place, waits=0.1)

    assert "rows the heron boat" in begun
    until(lambda: "Bergen" in learned(place))
    until(lambda: "s3 pollen" in learned(place) and "s4 pollen" in learned(place))


@pytest.mark.parametrize("lock", ["sessions/.judging", "curate.lock"])
def test_a_process_that_holds_a_lock_costs_no_conversation_its_block(
    place: Outside, lock: str
) -> None:
    hook(place, "claude-code", event("UserPromptSubmit", "s1", prompt=SAID["Bergen"]))
    file = place.state / lock
    with file.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "rows the heron boat" in block(place, waits=0.1)

    # The learner of the first block may have the lock now, for as long as a busy computer needs.
    block(place, "s3")
    until(lambda: "Bergen" in learned(place))
    assert "Bergen" in block(place, "s4")


@pytest.mark.sampled
def test_what_is_learned_is_written_once_however_often_it_is_read(place: Outside) -> None:
    for text in SAID.values():
        say(place, text)
    until(lambda: "рыбу" in learned(place))

    for _ in range(2):
        block(place)
        say(place, "Thanks!")
    with place.daemon():
        say(place, "Thanks a lot!")
        block(place)
    hook(place, "claude-code", event("SessionEnd", "s1"))
    until(lambda: list((place.state / "sessions").rglob("*.ended")))

    # The episode of the conversation quotes it, too.
    lines = learned(place).split("\n")
    items = [line for line in lines if line.startswith("- ") and "[episode]" not in line]
    own = [re.sub(r" \(.*", "", line) for line in items]
    assert sorted(own) == sorted(set(own))
    rules = next(place.vault.rglob("RULES.md")).read_text(encoding="utf-8")
    assert rules.count("metric") == rules.count("surprises") == 1
    facts = next(place.vault.rglob("*FACTS.md")).read_text(encoding="utf-8")
    assert facts.count("walnuts") == 1


def test_a_line_that_the_person_deleted_does_not_come_back_with_the_next_turn(
    place: Outside,
) -> None:
    say(place, SAID["metric"])
    rules = until(lambda: next(iter(place.vault.rglob("RULES.md")), None))
    rules.write_text(rules.read_text().replace("metric", "imperial"))

    say(place, "Thanks!")
    block(place)

    assert "metric" not in rules.read_text()


def test_a_turn_is_judged_once_by_all_processes(place: Outside) -> None:
    say(place, SAID["walnuts"])
    until(lambda: "walnuts" in learned(place))

    with VaultMemory.open(place.vault, environment=place.environment) as memory:
        assert memory.conversations.sessions.unjudged() == []
        assert memory.learning.commit_at_once() == []
        memory.record_turn(session="s1", role="user", text="Tea?", user="mira")
        [session] = memory.conversations.sessions.unjudged()
        [outcome] = memory.learning.commit_at_once()

    assert session.id == "s1"
    assert outcome["gathered"] == 1


def judge(memory: VaultMemory) -> None:
    memory.learning.commit_at_once()


def begin(memory: VaultMemory) -> None:
    memory.context("Tea?", scopes=["user:mira"], session="s9")


@pytest.mark.parametrize("learn", [judge, begin])
def test_what_is_recorded_while_another_process_judges_is_judged_by_it(
    place: Outside, monkeypatch: pytest.MonkeyPatch, learn: Callable[[VaultMemory], None]
) -> None:
    monkeypatch.setattr(sessions, "JUDGING_SECONDS", 0.0)
    commit = at_once.commit_at_once
    said = iter([SAID["Bergen"]])

    def interrupted(*arguments: Any, **options: Any) -> Any:
        for text in said:
            by_command(place, text, session="s3")
            with VaultMemory.open(place.vault, environment=place.environment) as other:
                assert other.learning.commit_at_once() == []
        return commit(*arguments, **options)

    by_command(place, SAID["walnuts"])
    with VaultMemory.open(place.vault, environment=place.environment) as memory:
        monkeypatch.setattr(at_once, "commit_at_once", interrupted)
        learn(memory)
        assert memory.conversations.sessions.unjudged() == []

    assert "walnuts" in learned(place)
    assert "Bergen" in learned(place)


def test_the_rest_is_learned_when_another_conversation_begins(place: Outside) -> None:
    """A reflection of the first conversation needs no night: its end is the beginning of the next."""
    say(place, "My dentist is called Dr. Hansen and works in Bergen.")
    say(place, "Which varnish is best?", session="s2")

    with VaultMemory.open(place.vault, environment=place.environment) as memory:
        until(
            lambda: (
                "s1" not in {session.id for session in memory.conversations.sessions.unlearned()}
            )
        )
        ended = {session.id for session in memory.conversations.sessions.ended()}
    assert ended == {"s1"}


def test_beside_a_daemon_the_rest_is_learned_when_another_conversation_begins(
    place: Outside,
) -> None:
    with place.daemon():
        say(place, "My dentist is called Dr. Hansen and works in Bergen.")
        say(place, "Which varnish is best?", session="s2")
        with VaultMemory.open(place.vault, environment=place.environment) as memory:
            own = memory.conversations.sessions
            until(lambda: own.ended() and not own.unlearned())


@pytest.mark.sampled
def test_the_end_of_a_conversation_is_carried_out_after_its_host_was_killed(place: Outside) -> None:
    """Another process writes to the transcript for longer than a host waits, and the host is killed."""
    hook(place, "codex", event("UserPromptSubmit", "s1", prompt=SAID["walnuts"]))
    place.write("Users/mira/transcripts/2026-05-01.jsonl", "")
    answers = str(PAYLOADS / "codex.jsonl")
    words = ["hook", "codex", "--vault", str(place.vault), "--user", "mira"]
    with (place.vault / "Users/mira/transcripts/2026-05-01.jsonl").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        process = subprocess.Popen(
            [*PROGRAM, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=place.environment,
            start_new_session=True,
        )
        end = json.dumps(event("SessionEnd", "s1", transcript_path=answers)).encode()
        out, _ = process.communicate(end, timeout=60)
        assert (process.returncode, out) == (0, b"")
        # A host that is killed takes the processes of its group along.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        assert list((place.state / "sessions").rglob("*.open"))

    until(lambda: list((place.state / "sessions").rglob("*.ended")))
    texts = [turn["text"] for turn in turns(place)]
    assert "It got amber spar varnish, two coats." in texts
    until(lambda: "walnuts" in learned(place))


def test_what_an_opencode_run_puts_in_quotes_is_learned(place: Outside) -> None:
    say(place, f'"{SAID["walnuts"]}"', host="opencode")

    until(lambda: "walnuts" in learned(place))


def test_a_job_and_a_channel_teach_nothing_at_once(place: Outside) -> None:
    prompt = event("UserPromptSubmit", "s1", prompt=SAID["walnuts"])
    stop = event("Stop", "s1", last_assistant_message="Noted.")
    for said in (prompt, stop):
        hook(place, "codex", said, VAULT_MEMORY_AUTOMATED="1")
        hook(place, "codex", said, "--channel", "kitchen")

    assert "walnuts" not in block(place)
