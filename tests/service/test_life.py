"""A daemon's life: one per vault, over soon when told, and deaf to nobody because of somebody's nonsense."""

import json
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.every import every
from tests.scenarios.outside import Outside, Running, at, until
from vault_memory.vault.socket_names import short_name


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One daemon for the tests that leave it as it was."""
    outside = at(tmp_path_factory.mktemp("life"))
    outside.write("USER.md", "# Me\n\n- green tea in the morning\n")
    with outside.daemon() as daemon:
        yield daemon


def connect(client: socket.socket, outside: Outside) -> None:
    with short_name(outside.socket) as name:
        client.connect(name)


@pytest.mark.scenario("A26")
def test_a_second_daemon_refuses_and_names_the_first(running: Running):
    outside = running.outside

    done = outside.run("run", "--json")

    assert done.code == 6
    assert done.error["code"] == "locked"
    assert done.error["pid"] == running.pid
    assert f"process {running.pid}" in outside.run("run").err
    assert running.finds("green tea")


@pytest.mark.scenario("A26")
def test_the_lock_of_a_killed_daemon_is_released(outside: Outside):
    outside.write("USER.md", "- tea\n")
    with outside.daemon() as first:
        first.kill()
        assert outside.socket.exists(), "it had no time to clean up"
        assert outside.finds("tea"), "a dead socket keeps nobody from searching"
        assert outside.ok("status")["daemon"] == {"running": False, "pid": None}
        with outside.daemon() as second:
            assert outside.ok("status")["daemon"]["pid"] == second.pid != first.pid


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_daemon_told_to_stop_ends_and_leaves_no_socket(outside: Outside, number: signal.Signals):
    outside.write("USER.md", "- tea\n")
    with outside.daemon() as daemon:
        code, _ = daemon.stop(number)

        assert code == 0
        assert not outside.socket.exists()
        assert not (outside.state / "daemon.pid").exists()


@pytest.mark.parametrize("is_used_again", [False, True])
def test_a_daemon_whose_state_folder_is_deleted_stops_and_says_why(
    outside: Outside, is_used_again: bool
):
    note = outside.write("USER.md", "- tea\n")
    with outside.daemon() as daemon:
        state = outside.state.rename(
            outside.home / "deleted"
        )  # in one step: nothing is written into it meanwhile
        shutil.rmtree(state, ignore_errors=True)
        if is_used_again:
            assert outside.finds("tea"), "a command makes the folder anew"

        code = daemon.process.wait(120)

        until(
            lambda: any(str(outside.state) in line for line in daemon.errors),
            says=lambda: daemon.errors,
        )
        assert code == 1
        assert not [line for line in daemon.errors if "Traceback" in line]
    assert note.read_text() == "- tea\n"
    with outside.daemon() as daemon:
        assert daemon.finds("tea")


def test_only_the_owner_can_access_the_socket_and_the_state(running: Running):
    outside = running.outside

    assert stat.S_IMODE(outside.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(outside.state.stat().st_mode) == 0o700
    assert stat.S_IMODE((outside.state / "index").stat().st_mode) == 0o700


def test_the_daemon_gives_the_same_answers_as_the_command(outside: Outside):
    """A stopped daemon takes the question and does not answer it; one that ran alone would answer at once."""
    outside.write("USER.md", "- tea\n")
    with outside.daemon() as daemon:
        daemon.freeze()
        command = subprocess.Popen(
            outside.command("search", "tea", "--json"),
            env=outside.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        until(lambda: _is_connected(command.pid), says="the command does not ask")
        assert command.poll() is None
        os.kill(daemon.pid, signal.SIGCONT)
        said, _ = command.communicate(timeout=120)

    assert json.loads(said)["freshness"]["reason"] == "switched off in the configuration"


def _is_connected(pid: int) -> bool:
    try:
        return any(
            os.readlink(link).startswith("socket:") for link in Path(f"/proc/{pid}/fd").iterdir()
        )
    except OSError:
        return False


GARBAGE = {
    "nothing": b"",
    "half a line": b'{"call": "sea',
    "no json": b"GET / HTTP/1.1\r\n\r\n",
    "a number": b"42\n",
    "a list": b"[]\n",
    "null": b"null\n",
    "deep": b"[" * 200_000 + b"\n",
    "no call": b"{}\n",
    "unknown call": b'{"call": "rm", "arguments": {}}\n',
    "call is a list": b'{"call": [1], "arguments": {}}\n',
    "no arguments": b'{"call": "search"}\n',
    "wrong arguments": b'{"call": "search", "arguments": {"nope": 1}}\n',
    "arguments are a list": b'{"call": "search", "arguments": [1]}\n',
    "no scopes": b'{"call": "search", "arguments": {"query": "tea"}}\n',
    "scopes are text": b'{"call": "search", "arguments": {"query": "tea", "scopes": "user:main"}}\n',
    "query is a number": b'{"call": "search", "arguments": {"query": 1, "scopes": []}}\n',
    "scopes are numbers": b'{"call": "search", "arguments": {"query": "tea", "scopes": [1, null]}}\n',
    "limit is text": b'{"call": "search", "arguments": {"query": "tea", "scopes": ["user:main"], "limit": "x"}}\n',
    "date is none": b'{"call": "search", "arguments": {"query": "tea", "scopes": ["user:main"], "since": "x"}}\n',
    "no utf-8": b"\xff\xfe\x00\n",
    "ten megabytes": b"x" * 10_000_000 + b"\n",
}


@every("sent", GARBAGE.values(), ids=GARBAGE.keys())
def test_an_invalid_request_gets_an_error_and_other_clients_are_served(
    running: Running, sent: bytes
):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(10)
        connect(client, running.outside)
        try:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            answer = client.makefile("rb").readline()
        except OSError:
            answer = b""

    if answer:
        error = json.loads(answer)["error"]
        assert set(error) >= {"code", "message", "hint"}
        assert error["code"] != "internal", error
    assert running.finds("green tea")


def test_a_silent_client_does_not_delay_others(running: Running):
    silent = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(30)]
    try:
        for client in silent:
            connect(client, running.outside)
        assert running.finds("green tea")
    finally:
        for client in silent:
            client.close()


def test_a_client_that_disconnects_before_its_answer_does_no_harm(running: Running):
    request = b'{"call": "search", "arguments": {"query": "tea", "scopes": ["user:main"]}}\n'
    for _ in range(20):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            connect(client, running.outside)
            client.sendall(request)
    assert running.finds("green tea")


def test_twenty_clients_at_once_are_all_answered(running: Running):
    scopes = running.ask("scopes")["scopes"]
    answers: list[bool] = []

    def client() -> None:
        for _ in range(5):
            found = running.search("green tea", scopes=scopes)
            answers.append("green tea" in found["hits"][0]["text"])

    threads = [threading.Thread(target=client) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert answers == [True] * 100


@pytest.mark.scenario("C65")
def test_a_daemon_that_ran_out_of_file_descriptors_recovers(outside: Outside):
    outside.write("USER.md", "- tea\n")
    with outside.daemon(WATCH_SWEEP_SECONDS="2") as daemon:
        before = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
        scopes = daemon.ask("scopes")["scopes"]
        opened = len(list(Path(f"/proc/{daemon.pid}/fd").iterdir()))
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (opened, before[1]))
        waiting = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(5)]
        for client in waiting:
            connect(client, outside)
        outside.write("memory/a.md", "- coffee\n")
        until(lambda: _is_idle(daemon.pid), says="it is busy")
        for client in waiting:
            client.close()
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, before)

        assert daemon.search("tea", scopes=scopes)["hits"]
        daemon.until_found("coffee")


def _is_idle(pid: int) -> bool:
    """Hardly any processor time in a fifth of a second."""

    def cpu_ticks() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        return int(fields[11]) + int(fields[12])

    before = cpu_ticks()
    time.sleep(0.2)
    return cpu_ticks() - before <= 2


@pytest.mark.sampled
@pytest.mark.scenario("D70")
def test_an_automatic_merge_is_printed_with_its_undo_command(outside: Outside):
    outside.write("USER.md", "# Me\n\n## Tea\n\n- green\n")
    with outside.daemon() as daemon:
        daemon.until_found("green")
        outside.write(
            "USER (conflicted copy 2026-11-21 203312).md", "# Me\n\n## Tea\n\n- green\n- oolong\n"
        )
        daemon.until_found("oolong")

        until(lambda: any("merged the conflict copy" in line for line in daemon.lines))

    [record] = outside.ok("log", "USER.md")["records"]
    line = next(line for line in daemon.lines if "conflict copy" in line)
    assert line.rstrip() == (
        "USER.md  merged the conflict copy `USER (conflicted copy 2026-11-21 203312).md`;"
        f" `vault-memory undo {record['id']}` takes it back"
    )
