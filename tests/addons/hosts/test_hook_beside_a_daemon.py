"""`hook` where a daemon runs: the daemon answers, so that the host waits for a small process only."""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.addons.hosts.test_hook import HOSTS, MINE, RECALL, hook, payload, turns
from tests.scenarios.outside import Outside, at, until
from tests.warm import PATIENT_SECONDS
from vault_memory import VaultMemory, __version__
from vault_memory.addons.hosts import hook_command
from vault_memory.api.exchange import exchange, setup_of

EVENTS = ("session-start", "user-prompt-submit", "session-end")


def filled(place: Outside) -> Outside:
    place.write(MINE, "# Mira\n\n- rows the heron boat\n")
    place.write("Users/mira/memories/boats.md", "- The heron boat got amber spar varnish\n")
    place.quick = True
    place.ok("index")
    return place


def said(place: Outside) -> list[dict[str, Any]]:
    """What was recorded, without what differs from run to run."""
    return [{**turn, "id": "", "ts": "", "device": ""} for turn in turns(place)]


@pytest.mark.sampled
@pytest.mark.parametrize("host", HOSTS)
def test_a_host_gets_the_same_output_with_and_without_a_daemon(tmp_path: Path, host: str):
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    alone.mkdir()
    beside.mkdir()
    without, with_daemon = filled(at(alone)), filled(at(beside))
    with_daemon.settings = without.settings = {**without.settings, **RECALL}

    expected = [hook(without, host, payload(host, event, transcript_path=None)) for event in EVENTS]
    with with_daemon.daemon():
        found = [
            hook(with_daemon, host, payload(host, event, transcript_path=None)) for event in EVENTS
        ]
        wrong = hook(with_daemon, host, b"no json")

    assert [(done.stdout, done.stderr) for done in found] == [
        (done.stdout, done.stderr) for done in expected
    ]
    assert "rows the heron boat" in found[0].stdout
    assert "amber spar varnish" in found[1].stdout
    assert said(with_daemon) == said(without) != []
    assert "not_an_event: what came on standard input is no JSON" in wrong.stderr


def listening(place: Outside) -> socket.socket:
    """A socket where the daemon would listen."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.settimeout(60)
    found.bind(os.path.relpath(place.socket))
    found.listen(1)
    return found


@contextmanager
def daemon_that_ends(place: Outside, *, records: bool) -> Iterator[list[dict[str, Any]]]:
    """A daemon that takes one question and ends without an answer, before or after the event is recorded."""
    requests: list[dict[str, Any]] = []

    def take() -> None:
        connection, _ = server.accept()
        server.close()
        with connection, connection.makefile("rb") as stream:
            request = json.loads(stream.readline())
            requests.append(request)
            if records:
                with VaultMemory.open(place.vault, environment=place.environment) as memory:
                    hook_command.serve(memory, request["arguments"])

    server = listening(place)
    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    try:
        yield requests
    finally:
        thread.join(60)
        place.socket.unlink()


@pytest.mark.parametrize("records", [False, True])
def test_a_prompt_is_recorded_once_when_the_daemon_dies_before_answering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: bool
):
    place = filled(at(tmp_path))
    monkeypatch.chdir(place.state)
    event = payload("codex", "user-prompt-submit")
    with daemon_that_ends(place, records=records) as requests:
        done = hook(place, "codex", event, **RECALL)

    assert [request["call"] for request in requests] == ["hook"]
    assert "amber spar varnish" in done.stdout
    assert [turn["text"] for turn in turns(place)] == [event["prompt"]]


def test_a_prompt_is_recorded_although_a_daemon_with_other_settings_refuses(tmp_path: Path):
    place = filled(at(tmp_path))
    event = payload("codex", "user-prompt-submit")
    with place.daemon():
        status = os.stat(place.vault)
        setup = {
            **setup_of(__version__, place.environment),
            "vault": [status.st_dev, status.st_ino],
            "config": "",
        }
        arguments = {
            "arguments": ["codex", "--user", "mira"],
            "payload": json.dumps(event),
            "automated": False,
            "moment": [time.time()],
            "setup": setup,
        }
        for name, value in (
            ("version", "0.0"),
            ("zone", "Asia/Tokyo"),
            ("settings", {}),
            ("vault", [0, 0]),
            ("config", "/x"),
        ):
            other = {**arguments, "setup": {**setup, name: value}}
            answer = exchange(str(place.socket), "hook", other, 30)
            assert answer["error"]["code"] == "other_setup", name
        assert turns(place) == []

        answer = exchange(str(place.socket), "hook", arguments, 30)
        assert "recalled 1 memory" in answer["text"]
        place.state.joinpath("vault-memory.toml").write_text(
            "[memory_search]\nauto_recall_limit = 4\n"
        )
        assert exchange(str(place.socket), "hook", arguments, 30)["error"]["code"] == "other_setup"
        hook(place, "codex", event, **RECALL)

    assert [turn["text"] for turn in turns(place)] == [event["prompt"]]


PROMPT_BESIDE_A_HANGING_DAEMON = "Which varnish did the heron boat get?"


def event_of(name: str, session: str = "s1") -> dict[str, Any]:
    """An event of a host that gives no ids."""
    return {
        "hook_event_name": name,
        "session_id": session,
        "prompt": PROMPT_BESIDE_A_HANGING_DAEMON,
        "last_assistant_message": "It got amber spar varnish.",
    }


@pytest.mark.parametrize("host", HOSTS)
def test_a_daemon_that_hangs_costs_a_prompt_neither_time_nor_memory(tmp_path: Path, host: str):
    place = filled(at(tmp_path))
    with place.daemon(MEMORY_SEARCH_AUTO_RECALL="true") as running:
        running.freeze()
        started = time.monotonic()
        begun = hook(place, host, event_of("SessionStart"), **RECALL)
        asked = hook(place, host, event_of("UserPromptSubmit"), **RECALL)
        answered = hook(place, host, event_of("Stop"), **RECALL)
        seconds = time.monotonic() - started

        os.kill(running.pid, signal.SIGCONT)
        # The daemon carries out what it was asked before; then it answers this.
        for event in ("SessionStart", "UserPromptSubmit", "Stop"):
            hook(place, host, event_of(event, "s2"), **RECALL)
        until(lambda: len(turns(place)) >= 4)

    assert "rows the heron boat" in begun.stdout
    assert "amber spar varnish" in asked.stdout
    assert (begun.stderr, asked.stderr, answered.stderr) == ("", "", "")
    assert seconds < PATIENT_SECONDS, "each would take all of its time"
    of_session = [turn for turn in turns(place) if turn["session"] == "s1"]
    assert [(turn["role"], turn["text"]) for turn in of_session] == [
        ("user", PROMPT_BESIDE_A_HANGING_DAEMON),
        ("assistant", "It got amber spar varnish."),
    ]


def test_a_daemon_that_hangs_is_asked_once_for_each_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = filled(at(tmp_path))
    monkeypatch.chdir(place.state)
    server = listening(place)
    calls: list[str] = []

    def take() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            open_connections.append(connection)
            with connection.makefile("rb") as stream:
                request = stream.readline()
            if not request:
                return
            calls.append(json.loads(request)["call"])

    open_connections: list[socket.socket] = []
    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    asked = hook(place, "codex", event_of("UserPromptSubmit"), **RECALL)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as last:
        last.connect(os.path.relpath(place.socket))
    thread.join(60)
    for connection in (server, *open_connections):
        connection.close()

    assert calls == ["hook"]
    assert "amber spar varnish" in asked.stdout


def test_what_a_daemon_records_later_has_the_id_that_the_hook_gave(tmp_path: Path):
    """The daemon hung while the conversation went on, and then carries out all events."""
    place = filled(at(tmp_path))
    words = ["claude-code", "--vault", str(place.vault), "--user", "mira"]
    texts = [("prompt", "Good morning"), ("prompt", "Good morning"), ("prompt", "Tea?")]
    moment = time.time()
    events = [
        (moment + number, {**event_of("UserPromptSubmit"), "prompt": text})
        for number, (_, text) in enumerate(texts)
    ]
    events.append((moment + 3, event_of("Stop")))

    with VaultMemory.open(place.vault, environment=place.environment) as memory:
        for _ in range(2):
            for moment, event in events:
                request = {
                    "arguments": words,
                    "payload": json.dumps(event),
                    "automated": False,
                    "moment": [moment],
                }
                hook_command.serve(memory, request)

    assert [turn["text"] for turn in turns(place)] == [
        "Good morning",
        "Tea?",
        "It got amber spar varnish.",
    ]
