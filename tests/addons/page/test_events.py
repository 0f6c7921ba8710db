"""An open page learns of each change that its session may see, of no other, and of a daemon that is gone."""

import json
import os
import queue
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.cost import resident_bytes
from tests.scenarios.outside import Outside, at, outside, until
from vault_memory.addons.page import events
from vault_memory.addons.page.events import EventHub, PageEvent, since_of, stream
from vault_memory.api.daemon_changes import Changes
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.http.listen import Server, at_address

__all__ = ["outside"]

ANN = "Users/ann/bot/config/USER.md"
BO = "Users/bo/bot/config/USER.md"


@dataclass
class Page:
    """A server with nothing but `GET /events`, and the sessions that it knows."""

    outside: Outside
    memory: VaultMemory
    hub: EventHub
    server: Server
    url: str
    sessions: dict[str, list[str]]
    ended: threading.Event
    stack: ExitStack = field(default_factory=ExitStack)

    def open(self, session: str, **headers: str) -> "Tab":
        tab = Tab(f"{self.url}/events?session={session}", headers)
        self.stack.callback(tab.close)
        return tab

    def is_quiet(self) -> bool:
        """Whether nothing was told for a while: a save of an earlier test may follow late."""
        event_id = self.hub.last_id
        time.sleep(1)
        return event_id == self.hub.last_id

    def stop(self) -> float:
        """Tells the server to end; the seconds until it has."""
        began = time.monotonic()
        self.server.should_exit = True
        assert self.ended.wait(120)
        return time.monotonic() - began


class Tab:
    """One stream, as a browser reads it."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self.events: queue.SimpleQueue[tuple[str, Any, str]] = queue.SimpleQueue()
        self.text = ""
        self.is_over = threading.Event()
        self._client = httpx.Client(timeout=60)
        self._request = self._client.build_request("GET", url, headers=headers)
        self.response = self._client.send(self._request, stream=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        names: dict[str, str] = {}
        with suppress(httpx.HTTPError, httpx.StreamError):
            for line in self.response.iter_lines():
                self.text += line + "\n"
                key, _, value = line.partition(": ")
                if line and key:
                    names[key] = value
                elif not line and "event" in names:
                    data = json.loads(names["data"])
                    self.events.put((names["event"], data, names.get("id", "")))
                    names = {}
        self.is_over.set()

    def next(self, name: str, *, seconds: float = 30) -> Any:
        """The data of the next event of this name."""
        return self.next_with_id(name, seconds=seconds)[0]

    def next_with_id(self, name: str, *, seconds: float = 30) -> tuple[Any, str]:
        deadline = time.monotonic() + seconds
        while True:
            try:
                event = self.events.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"no event `{name}` came; all that came: {self.text}")
            if event[0] == name:
                return event[1], event[2]

    def until_named(self, note: str) -> str:
        """The id of the first event that names this note."""
        while True:
            data, event_id = self.next_with_id("changed")
            if note in data["notes"]:
                return event_id

    def until_told(self, note: str) -> None:
        """Waits for an event that names this note, or one that says that all may have changed."""
        deadline = time.monotonic() + 30
        while True:
            name, data, _ = self.events.get(timeout=max(0.0, deadline - time.monotonic()))
            if name == "reload" or (name == "changed" and note in data["notes"]):
                return

    def close(self) -> None:
        # `close` alone would not reach the server while the other thread reads.
        network = self.response.extensions["network_stream"]
        with suppress(OSError):
            network.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self.is_over.wait(120)
        self._client.close()


@contextmanager
def page_of(outside: Outside) -> Iterator[Page]:
    sessions = {"ann": ["user:ann"], "bo": ["user:bo"], "all": ["user:ann", "user:bo"]}
    ended = threading.Event()
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        hub = EventHub(memory)

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            hub.start()
            yield

        async def answer(request: Request) -> Response:
            session = request.query_params["session"]
            scopes = lambda: sessions.get(session)  # noqa: E731
            return stream(hub, scopes, since_of(request), session)

        app = Starlette(routes=[Route("/events", answer)], lifespan=lifespan)
        listening = at_address("127.0.0.1", 0)
        server = Server(app, stopping=hub.stop)

        def run() -> None:
            server.run(sockets=[listening])
            ended.set()

        thread = threading.Thread(target=run)
        thread.start()
        until(lambda: server.started)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        page = Page(outside, memory, hub, server, url, sessions, ended)
        try:
            with page.stack:
                yield page
        finally:
            page.stop()
            thread.join(30)
            listening.close()
            assert not thread.is_alive()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page beside a daemon."""
    outside = at(tmp_path_factory.mktemp("events"))
    outside.write(ANN, "# Ann\n\n- tea\n")
    outside.write(BO, "# Bo\n\n- coffee\n")
    with outside.daemon(), page_of(outside) as page:
        yield page


# ---- what a stream says ------------------------------------------------------------------


def test_a_page_learns_of_a_save(live: Page):
    tab = live.open("ann")
    assert tab.response.headers["content-type"].startswith("text/event-stream")
    assert tab.response.headers["cache-control"] == "no-store"
    assert tab.next("state") == {"state": "live"}

    live.outside.write(ANN, "# Ann\n\n- green tea\n")

    assert tab.next("changed") == {"notes": [ANN]}


def test_the_notes_of_another_person_are_never_named(live: Page):
    ann, both = live.open("ann"), live.open("all")
    ann.next("state"), both.next("state")

    secret = "Users/bo/memories/a-party-for-ann.md"
    live.outside.write(secret, "- on friday\n")
    copy = "Users/bo/memories/a-party-for-ann (conflicted copy 2026-01-02 030405).md"
    live.outside.write(copy, "- on saturday\n")
    live.outside.write("notes of nobody.md", "- a line\n")
    both.until_named(secret)
    live.outside.write(ANN, "# Ann\n\n- white tea\n")
    both.until_named(ANN)

    assert ann.next("changed") == {"notes": [ANN]}
    assert "party" not in ann.text
    assert "nobody" not in ann.text + both.text


def test_a_conflict_copy_is_named_to_the_owner_of_its_note(live: Page):
    tab = live.open("ann")
    tab.next("state")
    copy = ANN.replace("USER", "USER (conflicted copy 2026-01-02 030405)")

    live.outside.write(copy, "# Ann\n\n- black tea\n")

    tab.until_named(copy)


def test_an_audit_record_is_told_to_the_owner_of_its_note(live: Page):
    ann, bo = live.open("ann"), live.open("bo")
    ann.next("state"), bo.next("state")

    edit = live.memory.apply(
        BO, [{"op": "append", "heading": "Drinks", "line": "tea"}], source="cli"
    )

    assert edit.audit_id
    told = until(lambda: ".audit." in bo.text and "USER.md" in bo.text)
    assert told
    assert "Users/bo" not in ann.text


def test_a_stream_that_was_cut_off_continues_where_it_ended(live: Page):
    tab = live.open("ann")
    tab.next("state")
    live.outside.write(ANN, "# Ann\n\n- first\n")
    event_id = tab.until_named(ANN)
    watching = live.open("ann")
    tab.close()
    missed = "Users/ann/memories/missed.md"
    live.outside.write(missed, "- second\n")
    watching.until_named(missed)

    again = live.open("ann", **{"last-event-id": event_id})

    assert missed in again.next("changed")["notes"]
    by_page = live.open(f"ann&since={event_id}")
    assert missed in by_page.next("changed")["notes"]


def test_a_stream_that_continues_at_the_newest_id_is_told_nothing(live: Page):
    watching = live.open("ann")
    watching.next("state")
    until(lambda: live.is_quiet())

    newest = live.hub.id_for(["user:ann"])
    tab = live.open("ann", **{"last-event-id": newest})

    _, event_id = tab.next_with_id("state")
    assert event_id == newest
    with pytest.raises(queue.Empty):
        tab.events.get(timeout=0.5)


@pytest.mark.sampled
@pytest.mark.parametrize("event_id", ["0", "deadbeef-4", "x" * 5000, "-", "é"])
def test_a_stream_with_an_unknown_id_reads_everything_again(live: Page, event_id: str):
    tab = live.open(f"ann&since={event_id}")

    assert tab.next("reload") == {}


def test_a_session_that_ends_ends_its_streams(live: Page):
    live.sessions["cleo"] = ["user:ann"]
    tab = live.open("cleo")
    tab.next("state")

    del live.sessions["cleo"]
    live.outside.write(ANN, "# Ann\n\n- the end\n")

    assert tab.is_over.wait(120)
    assert "changed" not in tab.text


def test_a_heartbeat_comes_although_nothing_changes(live: Page, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.3)
    tab = live.open("ann")

    until(lambda: tab.text.count(": heartbeat") >= 2)


@pytest.mark.sampled
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="memory is read from /proc")
def test_a_page_that_is_open_for_hours_costs_no_more_at_their_end(
    live: Page, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.002)
    tab = live.open("ann")

    def used_after(heartbeats: int) -> tuple[int, int, int]:
        until(lambda: tab.text.count(": heartbeat") >= heartbeats, seconds=120, pause=0.2)
        files = len(os.listdir("/proc/self/fd"))
        return threading.active_count(), files, resident_bytes(os.getpid())

    threads, files, memory = used_after(100)
    threads_at_end, files_at_end, memory_at_end = used_after(1_100)

    assert threads_at_end <= threads
    # A file that was open for a moment at the first count may be closed by now.
    assert files_at_end <= files
    # The text that this test keeps of the stream is part of it.
    assert memory_at_end - memory < 3_000_000


def test_a_page_that_is_closed_is_forgotten(live: Page):
    tabs = [live.open("ann") for _ in range(3)]
    for tab in tabs:
        tab.next("state")
    before = live.hub.streams

    for tab in tabs:
        tab.close()

    # Well before the next heartbeat.
    until(lambda: live.hub.streams <= before - 3, seconds=120)


def test_streams_have_a_limit(live: Page, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(events, "MOST_STREAMS", 0)

    assert live.open("ann").response.status_code == 503


def test_the_limit_of_streams_is_that_of_one_session(live: Page, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(events, "MOST_STREAMS", 2)
    live.sessions["dora"] = live.sessions["emil"] = ["user:bo"]
    tabs = [live.open("dora") for _ in range(2)]
    for tab in tabs:
        tab.next("state")

    assert live.open("dora").response.status_code == 503
    assert live.open("emil").response.status_code == 200


def test_the_id_of_a_session_says_nothing_of_what_others_write(live: Page):
    both = live.open("all")
    both.next("state")
    until(lambda: live.is_quiet())
    before = live.hub.id_for(["user:ann"])

    live.outside.write("Users/bo/memories/quiet.md", "- a line\n")
    both.until_named("Users/bo/memories/quiet.md")

    assert live.hub.id_for(["user:ann"]) == before
    tab = live.open(f"ann&since={before}")
    assert tab.next_with_id("state")[1] == before
    assert live.hub.id_for(["user:bo"]) != before
    # Nor how much they wrote before: an id has no number.
    live.outside.write(ANN, "# Ann\n\n- mint tea\n")
    event_id = tab.until_named(ANN)
    assert len(event_id) == len(before) == 16
    assert live.hub.last_id not in (event_id, before)


def test_the_name_of_a_note_cannot_end_an_event():
    name = 'memory/a\n\nevent: state\ndata: {"x": 1}\r.md'

    text = PageEvent("changed", {"notes": [name, "\udcff.md"]}, "a-1").encode()

    assert text.count(b"\n") == 4
    assert b"\r" not in text
    data = text.decode().splitlines()[2].removeprefix("data: ")
    assert json.loads(data) == {"notes": [name, "\udcff.md"]}


def test_a_save_between_a_page_and_its_stream_is_told(outside: Outside):
    outside.write(ANN, "- tea\n")
    with outside.daemon() as daemon, page_of(outside) as page:
        until(lambda: page.hub.last_id)
        event_id = page.hub.id_for(["user:ann"])
        outside.write(ANN, "- a whimbrel\n")
        daemon.until_found("whimbrel")

        tab = page.open(f"ann&since={event_id}")

        # A page that is as old as the connection to the daemon is read again as a whole.
        tab.until_told(ANN)


# ---- the daemon comes and goes -----------------------------------------------------------


def test_a_page_learns_that_the_daemon_is_gone_and_is_back(outside: Outside):
    outside.write(ANN, "- tea\n")
    with outside.daemon() as first, page_of(outside) as page:
        tab = page.open("ann")
        assert tab.next("state") == {"state": "live"}
        first.kill()
        assert tab.next("state") == {"state": "no daemon"}
        outside.write(ANN, "- saved while no daemon ran\n")
        with outside.daemon():
            # Its first id is not one of the earlier daemon.
            until(lambda: "event: reload" in tab.text)
            until(lambda: tab.text.count("live") == 2)
            outside.write(ANN, "- green tea\n")
            tab.until_named(ANN)


def test_a_page_without_a_daemon_says_so_and_learns_when_there_is_one(outside: Outside):
    outside.write(ANN, "- tea\n")
    with page_of(outside) as page:
        tab = page.open("ann")
        assert tab.next("state") == {"state": "no daemon"}
        with outside.daemon():
            assert tab.next("state") == {"state": "live"}


def test_without_an_open_page_the_daemon_is_not_asked(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
):
    outside.write(ANN, "- tea\n")
    with page_of(outside) as page:
        until(lambda: page.hub._state)
        asked = []
        ask = page.hub._feed.ask
        monkeypatch.setattr(
            page.hub._feed, "ask", lambda since, wait: asked.append(since) or ask(since, wait)
        )
        time.sleep(1.5)
        assert not asked
        tab = page.open("ann")
        until(lambda: asked)
        tab.close()
        until(lambda: not page.hub.streams)
        time.sleep(1.2)
        asked.clear()
        time.sleep(1.5)
        assert not asked


@pytest.mark.sampled
@pytest.mark.parametrize("has_daemon", [True, False])
def test_a_server_with_twelve_open_pages_ends_at_once(outside: Outside, has_daemon: bool):
    outside.write(ANN, "- tea\n")
    with ExitStack() as stack:
        if has_daemon:
            stack.enter_context(outside.daemon())
        page = stack.enter_context(page_of(outside))
        tabs = [page.open("ann") for _ in range(12)]
        for tab in tabs:
            tab.next("state")

        seconds = page.stop()

        assert all(tab.is_over.wait(120) for tab in tabs)
    print(f"ended after {seconds:.2f} s")
    assert seconds < 9, "uvicorn itself would wait ten seconds for the streams"


# ---- the parts ---------------------------------------------------------------------------


def test_answers_that_a_slow_client_missed_become_one():
    merged = events.merged([Changes("a-1", ("x", "y"), False), Changes("a-2", ("y", "z"), False)])

    assert merged == Changes("a-2", ("x", "y", "z"), False)


def test_too_many_missed_notes_become_a_reload(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(events, "MOST_NOTES", 2)

    merged = events.merged([Changes("a-1", ("x", "y", "z"), False)])

    assert merged == Changes("a-1", (), True)


def test_a_daemon_that_does_not_wait_is_not_asked_without_a_pause():
    now = time.monotonic()

    assert events._pause_after(Changes("a-1", (), False), "a-1", now) >= 1
    assert events._pause_after(None, "a-1", now) >= 1
    assert events._pause_after(Changes("a-1", (), False), "", now) == 0
    assert events._pause_after(Changes("a-1", (), False), "a-1", now - 15) == 0
