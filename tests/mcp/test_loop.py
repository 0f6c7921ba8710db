"""The loop behind `mcp`, on pipes of this process: calls that last, cancellations, and lines cut anywhere."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.mcp.pipes import request
from tests.mcp.vaults import ALICE
from vault_memory import VaultMemory
from vault_memory.mcp import json_lines, stdio
from vault_memory.mcp.http_session import Serving
from vault_memory.mcp.json_lines import LineWriter, TooLong, read_lines
from vault_memory.mcp.protocol import Conversation
from vault_memory.mcp.stdio import Loop

STATS = {"name": "memory_stats", "arguments": {}}


class Talk:
    """A loop in a thread, and the host's ends of its pipes."""

    def __init__(self, serving: Callable[[], Serving]) -> None:
        self.source, self.to_loop = os.pipe()
        from_loop, self.sink = os.pipe()
        self.loop = Loop(Conversation(serving), LineWriter(self.sink))
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        self._answers = os.fdopen(from_loop, "rb")

    def _run(self) -> None:
        self.loop.run(self.source)
        os.close(self.sink)

    def send(self, *messages: object) -> None:
        for message in messages:
            os.write(self.to_loop, json.dumps(message).encode() + b"\n")

    def next(self) -> Any:
        return json.loads(self._answers.readline())

    def end(self) -> list[Any]:
        """What it still says after the input has ended."""
        os.close(self.to_loop)
        rest = [json.loads(line) for line in self._answers]
        self.thread.join(30)
        assert not self.thread.is_alive()
        self._answers.close()
        os.close(self.source)
        return rest


@contextmanager
def blocked_loop(
    memory: VaultMemory,
) -> Iterator[tuple[Talk, threading.Event, threading.Semaphore]]:
    """A loop whose calls wait for the event; the semaphore counts those that have begun."""
    go, begun = threading.Event(), threading.Semaphore(0)

    def serving() -> Serving:
        begun.release()
        assert go.wait(120)
        return Serving(memory, ALICE)

    yield Talk(serving), go, begun
    go.set()


def cancellation(id_: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}


def test_a_cancelled_call_gets_no_answer_and_delays_no_other(shelf: VaultMemory):
    with blocked_loop(shelf) as (talk, go, begun):
        talk.send(request("tools/call", 1, **STATS), request("tools/call", "1", **STATS))
        for _ in range(2):
            assert begun.acquire(timeout=120)
        talk.send(cancellation(1), cancellation(77), cancellation(True), request("ping", 2))
        assert talk.next() == {"jsonrpc": "2.0", "id": 2, "result": {}}
        go.set()
        rest = talk.end()

    assert [answer["id"] for answer in rest] == ["1"]
    assert "result" in rest[0]


def test_a_queued_call_is_not_started_after_its_cancellation(shelf: VaultMemory):
    with blocked_loop(shelf) as (talk, go, begun):
        running = range(stdio.MOST_THREADS)
        talk.send(*(request("tools/call", number, **STATS) for number in running))
        for _ in running:
            assert begun.acquire(timeout=120)
        talk.send(request("tools/call", 100, **STATS), cancellation(100), request("ping", 101))
        assert talk.next()["id"] == 101
        go.set()
        rest = talk.end()
        begun_later = begun.acquire(blocking=False)

    assert sorted(answer["id"] for answer in rest) == list(running)
    assert not begun_later


def test_a_reused_id_and_too_many_calls_are_refused(
    shelf: VaultMemory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stdio, "MOST_WAITING", 3)
    with blocked_loop(shelf) as (talk, go, _):
        talk.send(*(request("tools/call", number, **STATS) for number in (1, 2, 2, 3, 4)))
        refused = {(answer["id"], answer["error"]["code"]) for answer in (talk.next(), talk.next())}
        go.set()
        rest = talk.end()

    assert refused == {(2, -32600), (4, -32000)}
    assert sorted(answer["id"] for answer in rest) == [1, 2, 3]


def test_a_stop_drops_queued_calls_and_finishes_the_running_one(shelf: VaultMemory):
    with blocked_loop(shelf) as (talk, go, begun):
        talk.send(request("tools/call", 1, **STATS))
        assert begun.acquire(timeout=120)
        stopping = threading.Thread(target=talk.loop.stop, daemon=True)
        stopping.start()
        go.set()
        stopping.join(30)

        assert not stopping.is_alive()
        assert talk.end() == []


def test_a_host_with_non_blocking_pipes_is_served(shelf: VaultMemory):
    talk = Talk(lambda: Serving(shelf, ALICE))
    os.set_blocking(talk.source, False)
    os.set_blocking(talk.sink, False)

    talk.send(request("tools/list", 1), *(request("tools/list", number) for number in range(2, 12)))

    assert [talk.next()["id"] for _ in range(11)] == list(range(1, 12))
    assert talk.end() == []


def lines_of(blocks: list[bytes]) -> list[bytes | TooLong]:
    """What is read when the blocks come one after the other."""
    source, sink = os.pipe()
    found: list[bytes | TooLong] = []
    reader = threading.Thread(target=lambda: found.extend(read_lines(source)))
    reader.start()
    for block in blocks:
        os.write(sink, block)
    os.close(sink)
    reader.join(30)
    os.close(source)
    return found


PIECES = st.lists(
    st.sampled_from([b"a", b"bcd", b"\n", b"\n\n", b"e" * 7, b"f" * 40, b'{"id": 5,']), max_size=12
)


@given(pieces=PIECES)
@settings(
    max_examples=cases(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_lines_are_read_the_same_however_they_are_split(
    pieces: list[bytes], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(json_lines, "LARGEST", 20)
    whole = b"".join(pieces)
    expected = whole.split(b"\n")
    if not expected[-1]:
        expected.pop()

    found = lines_of(pieces)

    assert [isinstance(line, TooLong) for line in found] == [len(line) > 20 for line in expected]
    for line, text in zip(found, expected, strict=True):
        if isinstance(line, TooLong):
            assert line.front[:21] == text[:21]
            assert line.end[-20:] == text[-20:]
        else:
            assert line == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
IDS = st.integers() | st.text(max_size=5) | JSON
METHODS = st.sampled_from(
    [
        "initialize",
        "ping",
        "tools/list",
        "tools/call",
        "resources/read",
        "notifications/cancelled",
        "server/discover",
    ]
)
MESSAGES = (
    JSON
    | st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0"), "method": METHODS}, optional={"id": IDS, "params": JSON}
    )
    | st.lists(
        st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "method": METHODS, "id": IDS}), max_size=3
    )
)


@given(messages=st.lists(MESSAGES, max_size=6))
@settings(
    max_examples=cases(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_after_any_messages_the_next_request_is_still_answered(
    shelf: VaultMemory, messages: list[Any]
):
    talk = Talk(lambda: Serving(shelf, ALICE))
    talk.send(*messages, request("ping", "last"))
    answers = talk.end()

    single = [
        answer for found in answers for answer in (found if isinstance(found, list) else [found])
    ]
    assert {"jsonrpc": "2.0", "id": "last", "result": {}} in single
    assert all(
        answer["jsonrpc"] == "2.0" and ("result" in answer) != ("error" in answer)
        for answer in single
    )
    for message in messages:
        if (
            isinstance(message, dict)
            and message.get("jsonrpc") == "2.0"
            and isinstance(message.get("id"), str)
        ):
            assert message["id"] in {answer["id"] for answer in single}
