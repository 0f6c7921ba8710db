"""A daemon that sleeps ends as soon as it is told to."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from vault_memory.service.daemon import StopRequest


@pytest.fixture
def restored_signal_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


def test_a_stop_request_wakes_a_sleeping_loop(restored_signal_handler: None) -> None:
    awake = threading.Event()
    request = StopRequest(awake.set)
    signal.signal(signal.SIGUSR1, lambda *_: request.make())

    with request.waking():
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

    request = StopRequest(wake)
    signal.signal(signal.SIGUSR1, lambda *_: request.make())
    with request.waking():
        with lock:
            signal.raise_signal(signal.SIGUSR1)
        assert awake.wait(120)


def test_a_stop_request_before_the_start_is_honoured() -> None:
    awake = threading.Event()
    request = StopRequest(awake.set)
    request.make()

    with request.waking():
        request.wait(120)
        assert awake.wait(120)


def test_stop_requests_leak_no_file_descriptors() -> None:
    request = StopRequest(lambda: None)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with request.waking():
            request.make()

    assert len(os.listdir("/proc/self/fd")) == before
    request.make()
