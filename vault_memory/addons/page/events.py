"""Events for open pages: one thread asks the daemon for changes, and a hub passes them to streams.

A stream names only notes in the scopes of its session. Its events are `changed` with the notes,
`reload` when anything may have changed, and `state` with `live` or `no daemon`.
"""

import asyncio
import json
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import aclosing, suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from vault_memory.api.daemon_changes import ChangeFeed, Changes
from vault_memory.api.daemon_client import ask
from vault_memory.contract import LONGEST_WAIT_SECONDS
from vault_memory.rules.paths.conflict_names import conflict_copy

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory

HEARTBEAT_SECONDS = 20.0
RETRY_SECONDS = 1.0
"""Pause before the next question, without a daemon or when it did not wait"""
BATCH_SECONDS = 0.05
"""Pause after a change; the changes that follow meanwhile are passed on together"""
MOST_STREAMS = 20
"""Of one session"""
MOST_EARLIER = 100
"""Earlier answers that a stream can start from"""
MOST_NOTES = 1000
"""Notes that wait for a slow client; with more of them it reads everything again"""
LIVE, NO_DAEMON = "live", "no daemon"
HEADERS = {
    "cache-control": "no-store",
    # Fault: nginx would collect events before it passes them on.
    "x-accel-buffering": "no",
}

SessionScopes = Callable[[], Collection[str] | None]
"""Returns the present scopes of a session; None after its end. It must not block."""


class CallFeed:
    """Asks the upkeep of a vault in this process for changes, as `ChangeFeed` asks a daemon."""

    def __init__(self, memory: "VaultMemory") -> None:
        self._socket = memory.vault.state.socket
        self._is_closed = False

    def ask(self, since: str = "", wait: float = 0.0) -> Changes | None:
        """Returns the changes after `since`; waits for one, at most `wait` seconds."""
        if self._is_closed:
            return None
        answer = ask(self._socket, "changes", {"since": since, "wait": wait})
        if answer is None:
            return None
        return Changes(answer["id"], tuple(answer["notes"]), answer["lost"])

    def close(self) -> None:
        """Lets each later call return None. A call that waits returns after its wait."""
        self._is_closed = True


class PageEvent(NamedTuple):
    """An event of a stream; one without a name is a heartbeat."""

    name: str = ""
    data: Mapping[str, Any] = {}
    id: str = ""

    def encode(self) -> bytes:
        """Returns the lines of the event."""
        if not self.name:
            return b": heartbeat\n\n"
        # Escapes keep the data in one line, and carry names that are not UTF-8.
        data = json.dumps(self.data)
        lines = [f"event: {self.name}", f"data: {data}"]
        if self.id:
            lines.insert(0, f"id: {self.id}")
        return "\n".join([*lines, "", ""]).encode("ascii")


class Subscriber:
    """One stream: the changes and the state that it was not sent yet. Only the event loop uses it."""

    def __init__(self, missed: Changes | None) -> None:
        self._pending = missed
        self._sent_state = ""
        self._ready = asyncio.Event()

    def add(self, changes: Changes) -> None:
        """Adds changes to those that wait for the client."""
        earlier = [] if self._pending is None else [self._pending]
        self._pending = merged([*earlier, changes])

    def wake(self) -> None:
        """Ends a wait."""
        self._ready.set()

    async def wait(self, seconds: float) -> None:
        """Waits until there may be something to send."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ready.wait(), seconds)
        self._ready.clear()

    def take_state(self, state: str) -> bool:
        """Returns whether the client does not know this state yet."""
        is_new = state != self._sent_state
        self._sent_state = state
        return is_new

    def take(self) -> Changes | None:
        """Returns the changes that wait for the client."""
        pending, self._pending = self._pending, None
        return pending


class News(NamedTuple):
    """What the hub knows of changes."""

    change: str = ""
    """the id of the newest change"""
    copy_change: str = ""
    """the id of the newest one that may have added or removed a conflict copy"""
    is_complete: bool = False
    """whether the hub learns of each change at once"""


class EventHub:
    """Asks the daemon while there are streams, in one thread for all of them.

    `start` runs in the event loop of the server, which then makes all other calls but `stop`.
    """

    def __init__(self, memory: "VaultMemory", feed: CallFeed | None = None) -> None:
        """`feed` asks the upkeep of the vault in this process, in place of the daemon."""
        self._layout = memory.layout
        self._feed = feed or ChangeFeed(memory)
        self._subscribers: set[Subscriber] = set()
        self._of_session: Counter[str] = Counter()
        """Session → its open streams"""
        self._newest: dict[str, tuple[int, str]] = {}
        """Scope → the number and the id of the newest change in it"""
        self._lost = (0, "")
        """of the newest change that may be in any scope"""
        self._count = 0
        self._secret = secrets.token_bytes(16)
        self._earlier: deque[Changes] = deque(maxlen=MOST_EARLIER)
        self._copy_change = ""
        self._state = ""
        self._is_wanted = threading.Event()
        self._is_stopped = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def last_id(self) -> str:
        """The id of the newest change that the hub knows of; "" before the first."""
        return self._earlier[-1].id if self._earlier else ""

    def id_for(self, scopes: Collection[str]) -> str:
        """Returns the id of the newest change in these scopes; "" before the first.

        A page names the id that it read before its data. Its stream then starts there. Any thread
        may call it.
        """
        own = (mark for scope, mark in list(self._newest.items()) if scope in scopes)
        _, change = max((self._lost, *own))
        return self._shown(change)

    def _shown(self, change: str) -> str:
        """Returns the id of a change as a session sees it."""
        # Fault: the number in it would tell how much other people write.
        if not change:
            return ""
        return blake2b(change.encode(), key=self._secret, digest_size=8).hexdigest()

    def news(self) -> News:
        """Returns what the hub knows now. Any thread may call it."""
        is_complete = self._state == LIVE and bool(self._subscribers)
        return News(self.last_id, self._copy_change, is_complete)

    @property
    def streams(self) -> int:
        """The number of open streams."""
        return len(self._subscribers)

    def start(self) -> None:
        """Starts the thread."""
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name="page events", daemon=True).start()

    def stop(self) -> None:
        """Ends the thread and all streams at once. Any thread may call it."""
        self._is_stopped.set()
        self._is_wanted.set()
        self._feed.close()
        self._call(self._wake_all)

    # --- Streams ---

    async def subscribe(
        self, scopes_of: SessionScopes, since: str = "", session: str = ""
    ) -> AsyncGenerator[PageEvent, None]:
        """Yields the events of one session after the id `since`, until the session or hub ends."""
        subscriber = Subscriber(self._missed(since, scopes_of() or ()))
        self._subscribers.add(subscriber)
        self._of_session[session] += 1
        self._is_wanted.set()
        heartbeat_at = time.monotonic() + HEARTBEAT_SECONDS
        try:
            while not self._is_stopped.is_set():
                scopes = scopes_of()
                if scopes is None:
                    return
                for event in self._events(subscriber, scopes):
                    yield event
                # Fault: a heartbeat after each change would show that another person
                # writes.
                if time.monotonic() >= heartbeat_at:
                    heartbeat_at = time.monotonic() + HEARTBEAT_SECONDS
                    yield PageEvent()
                await subscriber.wait(heartbeat_at - time.monotonic())
        finally:
            self._subscribers.discard(subscriber)
            self._of_session[session] -= 1
            if not self._of_session[session]:
                del self._of_session[session]
            if not self._subscribers and not self._is_stopped.is_set():
                self._is_wanted.clear()

    def _missed(self, since: str, scopes: Collection[str]) -> Changes | None:
        """Returns what changed since an id of an earlier stream; None without such an id."""
        if since in ("", self.id_for(scopes)):
            return None
        ids = [self._shown(changes.id) for changes in self._earlier]
        if since not in ids:
            return Changes(self.last_id, (), lost=True)
        return merged(list(self._earlier)[ids.index(since) + 1 :])

    def _events(self, subscriber: Subscriber, scopes: Collection[str]) -> Iterable[PageEvent]:
        """Returns what a session with these scopes may know."""
        if self._state and subscriber.take_state(self._state):
            yield PageEvent("state", {"state": self._state}, self.id_for(scopes))
        changes = subscriber.take()
        if changes is None:
            return
        notes = [path for path in changes.notes if self._scope_of(path) in scopes]
        if changes.lost:
            yield PageEvent("reload", {}, self.id_for(scopes))
        elif notes:
            yield PageEvent("changed", {"notes": notes}, self.id_for(scopes))

    def _scope_of(self, path: str) -> str | None:
        """Returns the scope of a path. A conflict copy is in that of its note."""
        folder, slash, name = path.rpartition("/")
        original = conflict_copy(name)
        if original is not None:
            path = folder + slash + original
        place = self._layout.place(path)
        return None if place is None else place.scope

    # --- The thread ---

    def _run(self) -> None:
        # The first page names this id, and so misses no change until its stream is open.
        since = self._ask("")
        while not self._is_stopped.is_set():
            self._is_wanted.wait()
            since = self._ask(since)

    def _ask(self, since: str) -> str:
        """Asks once, and passes the answer on. Returns the id to ask with the next time."""
        asked_at = time.monotonic()
        wait = LONGEST_WAIT_SECONDS if since else 0
        changes = self._feed.ask(since, wait)
        self._call(self._receive, changes)
        self._is_stopped.wait(_pause_after(changes, since, asked_at))
        return since if changes is None else changes.id

    def _call(self, call: Callable[..., None], *arguments: object) -> None:
        """Calls in the event loop."""
        # The loop may have ended before the thread.
        with suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(call, *arguments)

    def _receive(self, changes: Changes | None) -> None:
        """Takes an answer of the daemon, in the event loop."""
        state = NO_DAEMON if changes is None else LIVE
        is_news = state != self._state
        self._state = state
        if changes is not None and changes.id != self.last_id:
            is_news = True
            if changes.lost or not self._earlier or _has_copy(changes.notes):
                self._copy_change = changes.id
            self._note_scopes(changes)
            self._earlier.append(changes)
            for subscriber in self._subscribers:
                subscriber.add(changes)
        if is_news:
            self._wake_all()

    def _note_scopes(self, changes: Changes) -> None:
        """Notes in which scopes something changed."""
        self._count += 1
        mark = (self._count, changes.id)
        # The first answer has no notes: all that the pages read is from before it.
        if changes.lost or not self._earlier:
            self._lost = mark
        for path in changes.notes:
            scope = self._scope_of(path)
            if scope is not None:
                self._newest[scope] = mark

    def streams_of(self, session: str) -> int:
        """Returns the number of open streams of a session."""
        return self._of_session[session]

    def _wake_all(self) -> None:
        for subscriber in self._subscribers:
            subscriber.wake()


def _has_copy(paths: Iterable[str]) -> bool:
    """Returns whether a path may be that of a conflict copy."""
    return any(conflict_copy(path.rpartition("/")[2]) is not None for path in paths)


def _pause_after(changes: Changes | None, since: str, asked_at: float) -> float:
    """Returns the seconds until the next question."""
    if changes is None:
        return RETRY_SECONDS
    if changes.notes or changes.lost:
        return BATCH_SECONDS
    # Fault: a daemon with too many clients answers at once, and would be asked without a pause.
    is_early = time.monotonic() - asked_at < RETRY_SECONDS
    return RETRY_SECONDS if since and is_early else 0.0


def merged(answers: Collection[Changes]) -> Changes | None:
    """Returns consecutive answers as one; None without any."""
    if not answers:
        return None
    notes = dict.fromkeys(note for answer in answers for note in answer.notes)
    is_lost = any(answer.lost for answer in answers) or len(notes) > MOST_NOTES
    *_, last = answers
    return Changes(last.id, () if is_lost else tuple(notes), is_lost)


# --- HTTP ---


def stream(
    hub: EventHub, session_scopes: SessionScopes, since: str = "", session: str = ""
) -> Response:
    """Returns the answer of `GET /events`; `since` is that of the request (`since_of`).

    `session` tells the streams of one browser from those of another.
    """
    # Fault: each stream occupies a connection for hours, and one browser could take those of all.
    if hub.streams_of(session) >= MOST_STREAMS:
        return Response(status_code=503, headers=HEADERS)
    lines = _lines(hub, session_scopes, since, session)
    return StreamingResponse(lines, headers=HEADERS, media_type="text/event-stream")


def since_of(request: Request) -> str:
    """Returns the id that a stream continues after: that of the last event, or of the page."""
    of_page = request.query_params.get("since", "")
    return request.headers.get("last-event-id") or of_page


async def _lines(
    hub: EventHub, session_scopes: SessionScopes, since: str, session: str
) -> AsyncIterator[bytes]:
    async with aclosing(hub.subscribe(session_scopes, since, session)) as events:
        async for event in events:
            yield event.encode()
