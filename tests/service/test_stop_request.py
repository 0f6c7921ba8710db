"""A daemon that sleeps ends as soon as it is told to."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from tests.scenarios.outside import Outside
from vault_memory.service.service_manager import StopRequest


@pytest.fixture
def restored_signal_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


def test_a_stop_request_wakes_a_sleeping_loop(restored_signal_handler: None) -> None:
    awake = threading.Event()
    request = StopRequest()
    signal.signal(signal.SIGUSR1, lambda *_: request.make())

    with request.waking(awake.set):
        assert not request.is_made()
        os.kill(os.getpid(), signal.SIGUSR1)
        assert awake.wait(120)

    assert request.is_made()


def test_a_signal_during_the_wake_lock_does_not_deadlock(restored_signal_handler: None) -> None:
    lock = threading.Lock()
    awake = threading.Event()

    def wake() -> None:
        with lock:
            awake.set()

    request = StopRequest()
    signal.signal(signal.SIGUSR1, lambda *_: request.make())
    with request.waking(wake):
        with lock:
            signal.raise_signal(signal.SIGUSR1)
        assert awake.wait(120)


def test_a_stop_request_before_the_start_is_honoured() -> None:
    awake = threading.Event()
    request = StopRequest()
    request.make()

    with request.waking(awake.set):
        request.wait(120)
        assert awake.wait(120)


def test_stop_requests_leak_no_file_descriptors() -> None:
    request = StopRequest()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with request.waking():
            request.make()

    assert len(os.listdir("/proc/self/fd")) == before
    request.make()


SIGNALS_UNDER_LOCKS = """
import runpy, signal, sys, threading

def interrupted(method):
    signals = [signal.SIGTERM]
    def call(self, *arguments):
        # A thread that starts makes the main thread wait, too.
        is_start = sys._getframe(2).f_code.co_name == "start"
        is_main = threading.get_ident() == threading.main_thread().ident
        if is_main and not is_start and callable(signal.getsignal(signal.SIGTERM)) and signals:
            signal.raise_signal(signals.pop())
        return method(self, *arguments)
    return call

threading.Condition.wait = interrupted(threading.Condition.wait)
threading.Condition.notify_all = interrupted(threading.Condition.notify_all)
runpy.run_module("vault_memory", run_name="__main__")
"""
"""Runs a command whose main thread gets a signal each time it first holds the lock of a condition"""


@pytest.mark.parametrize("command", [("run",), ("sync",), ("host", "--no-http", "--vaults", "..")])
def test_a_signal_while_a_command_holds_a_lock_ends_it(
    outside: Outside, command: tuple[str, ...]
) -> None:
    outside.write("memory/a.md", "# A\n\n- tea\n")
    outside.settings["VAULT_MEMORY_REMOTE_URL"] = "http://127.0.0.1:9/dav/"
    place = () if command[0] == "host" else ("--vault", str(outside.vault))

    done = subprocess.run(
        [sys.executable, "-c", SIGNALS_UNDER_LOCKS, *place, *command],
        env=outside.environment,
        cwd=outside.vault,
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert done.returncode == 0, done.stderr
