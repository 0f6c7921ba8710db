"""`hook` where a daemon runs: the daemon answers, so that the host waits for a small process only."""

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.test_hook import HOSTS, MINE, RECALL, hook, payload, turns
from tests.scenarios.outside import Outside, at
from vault_memory import VaultMemory
from vault_memory.daemon.exchange import exchange, setup_of
from vault_memory.hosts import hook_command

EVENTS = ("session-start", "user-prompt-submit", "session-end")


def filled(place: Outside) -> Outside:
    place.write(MINE, "# Mira\n\n- rows the heron boat\n")
    place.write(
        "Users/mira/memories/boats.md", "- The heron boat got amber spar varnish\n"
    )
    place.quick = True
    place.ok("index")
    return place


def said(place: Outside) -> list[dict[str, Any]]:
    """What was recorded, without what differs from run to run."""
    return [{**turn, "id": "", "ts": "", "device": ""} for turn in turns(place)]


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_gets_the_same_output_with_and_without_a_daemon(
    tmp_path: Path, host: str
):
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    alone.mkdir()
    beside.mkdir()
    without, with_daemon = filled(at(alone)), filled(at(beside))
    with_daemon.settings = without.settings = {**without.settings, **RECALL}

    expected = [
        hook(without, host, payload(host, event, transcript_path=None))
        for event in EVENTS
    ]
    with with_daemon.daemon():
        found = [
            hook(with_daemon, host, payload(host, event, transcript_path=None))
            for event in EVENTS
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
def daemon_that_ends(
    place: Outside, *, records: bool
) -> Iterator[list[dict[str, Any]]]:
    """A daemon that takes one question and ends without an answer, before or after the event is recorded."""
    requests: list[dict[str, Any]] = []

    def take() -> None:
        connection, _ = server.accept()
        server.close()
        with connection, connection.makefile("rb") as stream:
            request = json.loads(stream.readline())
            requests.append(request)
            if records:
                with VaultMemory.open(
                    place.vault, environment=place.environment
                ) as memory:
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


def test_a_prompt_is_recorded_although_a_daemon_with_other_settings_refuses(
    tmp_path: Path,
):
    place = filled(at(tmp_path))
    event = payload("codex", "user-prompt-submit")
    with place.daemon():
        status = os.stat(place.vault)
        setup = {
            **setup_of(place.environment),
            "vault": [status.st_dev, status.st_ino],
            "config": "",
        }
        arguments = {
            "arguments": ["codex", "--user", "mira"],
            "payload": json.dumps(event),
            "automated": False,
            "moment": [time.time(), 1],
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
        assert (
            exchange(str(place.socket), "hook", arguments, 30)["error"]["code"]
            == "other_setup"
        )
        hook(place, "codex", event, **RECALL)

    assert [turn["text"] for turn in turns(place)] == [event["prompt"]] * 2
