"""What the service manager hears: ready once, signs of life as long as the loop turns, and the end."""

import fcntl
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest

from tests.every import every
from tests.scenarios.outside import Outside, until
from vault_memory.service.service_manager import Notify

WATCHDOG_SECONDS = 0.8


class Manager:
    """The receiving end, and when each datagram came."""

    def __init__(self, name: str | bytes) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name)
        self.heard: list[tuple[float, dict[str, str]]] = []

    def take(self, seconds: float) -> dict[str, str]:
        """The next datagram; an empty one when none comes."""
        self.socket.settimeout(seconds)
        try:
            lines = self.socket.recv(4096).decode().split("\n")
        except TimeoutError:
            return {}
        said = dict(line.split("=", 1) for line in lines)
        self.heard.append((time.monotonic(), said))
        return said

    def until(self, key: str, seconds: float = 120) -> dict[str, str]:
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            if key in (said := self.take(give_up - time.monotonic())):
                return said
        raise AssertionError(f"no {key} within {seconds} s: {self.heard}")

    def listen(self, seconds: float) -> list[float]:
        """When signs of life came in so many seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.take(left)
        return [at for at, said in self.heard if "WATCHDOG" in said and at > end - seconds]


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    found = Manager(str(tmp_path / "notify"))
    with found.socket:
        yield found


def environment(manager: Manager, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": str(manager.socket.getsockname()), **more}


@contextmanager
def daemon(
    outside: Outside, manager: Manager, *, stdout: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """`run` as a service manager starts it."""
    process = subprocess.Popen(
        outside.command("run"),
        env=outside.environment
        | environment(manager, WATCHDOG_USEC=str(int(WATCHDOG_SECONDS * 1e6))),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if stdout is None else stdout,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(120)


def gaps(moments: Sequence[float]) -> list[float]:
    return [after - before for before, after in pairwise(moments)]


@pytest.mark.sampled
def test_systemd_is_told_ready_then_watchdog_then_stopping(outside: Outside, manager: Manager):
    outside.write("USER.md", "- green tea\n")
    with daemon(outside, manager) as process:
        ready = manager.until("READY")
        assert ready == {"READY": "1", "STATUS": "watching (inotify)"}
        assert not any("WATCHDOG" in said for _, said in manager.heard), (
            "nobody waits for those before it is ready"
        )
        assert outside.finds("green tea")

        signs = manager.listen(2.5 * WATCHDOG_SECONDS)
        process.send_signal(signal.SIGTERM)

        assert len(signs) >= 5
        assert sorted(gaps(signs))[-2] <= WATCHDOG_SECONDS / 2, (
            "one may be late where the machine is busy"
        )
        assert manager.until("STOPPING") == {"STOPPING": "1", "STATUS": "ending"}
        assert process.wait(120) == 0
        assert manager.take(0.1) == {}


def test_a_hung_loop_sends_no_watchdog_message_until_it_recovers(
    outside: Outside, manager: Manager
):
    """Nobody reads what the daemon prints, and the pipe is full: its loop hangs where it prints the next line."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writing, b"x" * 4096)
    with daemon(outside, manager, stdout=writing) as process:
        os.close(writing)
        manager.until("WATCHDOG")

        outside.write("USER.md", "- green tea\n")
        until(
            lambda: manager.listen(WATCHDOG_SECONDS) == [], says="it goes on giving signs of life"
        )
        assert process.poll() is None
        os.read(reading, 4096)

        manager.until("WATCHDOG")
        os.close(reading)


def test_an_unreachable_vault_does_not_cause_a_restart(outside: Outside, manager: Manager):
    outside.write("USER.md", "- green tea\n")
    with daemon(outside, manager):
        manager.until("READY")
        outside.vault.rename(outside.home / "elsewhere")

        said = manager.until("STATUS")

        assert said["STATUS"] == "the vault cannot be looked at; see the log"
        manager.until("WATCHDOG")
        (outside.home / "elsewhere").rename(outside.vault)
        assert manager.until("STATUS")["STATUS"].startswith("watching")


def test_a_long_start_extends_the_start_timeout_while_it_progresses(manager: Manager):
    notify = Notify(environment(manager, WATCHDOG_USEC="1000000"))

    notify.progress(128, 5000)
    notify.progress(256, 5000)

    assert manager.take(120) == {
        "EXTEND_TIMEOUT_USEC": "120000000",
        "STATUS": "read 128 of 5000 notes",
    }
    assert manager.take(0.05) == {}, "not for every batch"


def test_a_long_scan_of_the_vault_sends_watchdog_messages(manager: Manager):
    notify = Notify(environment(manager, WATCHDOG_USEC="40000"))
    notify.ready("watching")
    manager.until("WATCHDOG")
    until(lambda: notify.wait() == 0)

    notify.progress(128, 5000)

    assert manager.take(120) == {"WATCHDOG": "1"}


def test_an_abstract_socket_is_supported():
    manager = Manager(f"\0vault-memory-{os.getpid()}".encode())
    with manager.socket:
        Notify({"NOTIFY_SOCKET": f"@vault-memory-{os.getpid()}"}).stopping()

        assert manager.take(120)["STOPPING"] == "1"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "soon"},
        {"WATCHDOG_USEC": "²"},
        {"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"},
    ],
)
def test_watchdog_messages_are_sent_only_if_systemd_expects_them(
    manager: Manager, more: dict[str, str]
):
    notify = Notify(environment(manager, **more))

    notify.ready("watching")
    notify.report_state("watching")

    assert notify.wait() == float("inf")
    assert manager.take(120) == {"READY": "1", "STATUS": "watching"}
    assert manager.take(0.05) == {}


@every("name", ["", "@", "vsock:2:1234", "relative", "/nobody/listens/here"])
def test_without_a_service_manager_notifying_does_nothing(name: str):
    notify = Notify({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "1000"})

    notify.ready("watching")
    notify.progress(1, 2)
    notify.report_state("else")
    notify.stopping()


def test_a_service_manager_that_reads_nothing_does_not_block_the_daemon(manager: Manager):
    notify = Notify(environment(manager, WATCHDOG_USEC="1"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as filler, suppress(BlockingIOError):
        filler.setblocking(False)
        while True:
            filler.sendto(b"x", manager.socket.getsockname())

    # A daemon that waited for the service manager would wait for ever.
    notify.report_state("watching")
