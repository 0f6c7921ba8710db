"""Indexes large notes in the daemon, so that other saves and questions do not wait for them.

A worker process parses a large note, and the loop writes one slice in each turn. Meanwhile answers
name the note as stale.
"""

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from vault_memory.index.chunk_rows import Delta
from vault_memory.index.slices import SLICE, chunk_count, put_in_slices, remove_in_slices
from vault_memory.index.store import Index, State
from vault_memory.ingest.note import Parts, entry_from, indexed_file
from vault_memory.ingest.worker import NoteTooSlow, Worker
from vault_memory.rules.paths.layout import Place
from vault_memory.vault.reader import Note

logger = logging.getLogger(__name__)

IDLE_SECONDS = 10.0
"""Time after which a worker without work ends"""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A note to be parsed."""

    note: Note
    place: Place
    state: State
    read_ns: int


@dataclass(frozen=True, slots=True)
class Writing:
    """A note that is being written into the index, or removed from it."""

    steps: Iterator[Delta]
    started: float
    removed: bool = False
    revision: str = ""
    delta: Delta = field(default_factory=Delta)


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a large note."""

    path: str
    delta: Delta = field(default_factory=Delta)
    started: float = 0.0
    removed: bool = False
    revision: str = ""
    failure: str = ""
    """Why it cannot be parsed; "" when it was"""


class LargeNotes:
    """The large notes of one vault. Only the loop calls it. `wake` lets the loop take a turn."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._worker = Worker()
        self._lock = threading.Lock()
        """Guards the next three fields"""
        self._waiting: deque[ReadRequest] = deque()
        self._is_parsing = False
        self._idle_since: float | None = None
        """Since when the worker process has no work; None without a worker process"""
        self._requests: dict[str, ReadRequest] = {}
        """The newest request for each path that is not written completely"""
        self._answers: queue.SimpleQueue[tuple[ReadRequest, Parts | NoteTooSlow]] = (
            queue.SimpleQueue()
        )
        self._writing: dict[str, Writing] = {}
        self._closed = False

    def __contains__(self, path: str) -> bool:
        return path in self._requests or path in self._writing

    def wait(self) -> float:
        """Returns how many seconds the loop may sleep before the next turn."""
        if self._writing or not self._answers.empty():
            return 0.0
        idle_since = self._idle_since
        if idle_since is None:
            return float("inf")
        return max(0.0, idle_since + IDLE_SECONDS - time.monotonic())

    def put(self, note: Note, place: Place, state: State, read_ns: int) -> None:
        """Plans to index a note."""
        previous = self._requests.get(note.path)
        request = ReadRequest(note, place, state, read_ns)
        self._requests[note.path] = request
        if previous is not None and previous.note.revision == note.revision:
            # The worker has it already.
            return
        self._writing.pop(note.path, None)
        with self._lock:
            self._waiting.append(request)
            self._idle_since = None
            if self._is_parsing:
                return
            self._is_parsing = True
        # It ends when no note waits to be parsed.
        threading.Thread(target=self._parse_waiting, name="large notes", daemon=True).start()

    def remove(self, index: Index, path: str) -> bool:
        """Plans to remove a note from the index. False for a small note: remove it at once."""
        self.forget(path)
        if chunk_count(index, path) <= SLICE:
            return False
        self._writing[path] = Writing(
            remove_in_slices(index, path), time.perf_counter(), removed=True
        )
        return True

    def forget(self, path: str) -> None:
        """Drops what was begun for a note."""
        self._requests.pop(path, None)
        self._writing.pop(path, None)

    def forget_all(self) -> None:
        """Drops everything, when another index serves, or this one failed."""
        self._requests.clear()
        self._writing.clear()

    def write_slice(self, index: Index) -> list[Finished]:
        """Writes one slice of one note. Returns the notes that are finished."""
        self._stop_idle_worker()
        finished = self._take_answers(index)
        for path, writing in self._writing.items():
            delta = next(writing.steps, None)
            if delta is not None:
                self._writing[path] = replace(writing, delta=writing.delta + delta)
                break
            del self._writing[path]
            self._requests.pop(path, None)
            finished.append(
                Finished(path, writing.delta, writing.started, writing.removed, writing.revision)
            )
            break
        return finished

    def close(self) -> None:
        """Ends the worker, also in the middle of a note: the next start reads it again."""
        self._closed = True
        self._worker.stop()

    def _stop_idle_worker(self) -> None:
        with self._lock:
            idle_since = self._idle_since
            if idle_since is None or time.monotonic() < idle_since + IDLE_SECONDS:
                return
            self._idle_since = None
        # A worker process without work would occupy memory for days.
        self._worker.stop()

    def _take_answers(self, index: Index) -> list[Finished]:
        failures = []
        while not self._answers.empty():
            parsed, answer = self._answers.get()
            request = self._requests.get(parsed.note.path)
            if request is None or request.note.revision != parsed.note.revision:
                # Fault: the note was saved again, or deleted, while the worker parsed
                # it.
                continue
            path, revision = request.note.path, request.note.revision
            if isinstance(answer, NoteTooSlow):
                self.forget(path)
                failures.append(Finished(path, failure=answer.message))
                continue
            file = indexed_file(request.note, request.state, read_ns=request.read_ns)
            entry = entry_from(request.note, request.place, answer, file)
            self._writing[path] = Writing(
                put_in_slices(index, entry), time.perf_counter(), revision=revision
            )
        return failures

    def _parse_waiting(self) -> None:
        """Lets the worker parse one note after the other, until none waits."""
        while True:
            request = self._next_waiting()
            if request is None:
                break
            if not self._is_newest(request):
                continue
            answer = self._parse(request)
            if not self._closed:
                self._answers.put((request, answer))
                self._wake()
        if self._closed:
            # Fault: the worker may have been started after `close` stopped it.
            self._worker.stop()

    def _next_waiting(self) -> ReadRequest | None:
        """Returns the next request; None ends the parser."""
        with self._lock:
            if self._waiting and not self._closed:
                return self._waiting.popleft()
            self._is_parsing = False
            self._idle_since = time.monotonic()
            return None

    def _parse(self, request: ReadRequest) -> Parts | NoteTooSlow:
        try:
            return self._worker.parts_of(request.note.raw, request.place)
        except NoteTooSlow as error:
            return error
        except Exception:
            # Fault (H122): a note that triggers a bug must not end the thread. The
            # other notes need it.
            logger.exception("%s cannot be indexed", request.note.path)
            return NoteTooSlow("it cannot be indexed; this is a bug")

    def _is_newest(self, request: ReadRequest) -> bool:
        newest = self._requests.get(request.note.path)
        return newest is not None and newest.note.revision == request.note.revision
