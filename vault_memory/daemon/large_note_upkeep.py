"""Large notes in the daemon: taken apart by a worker process, and written in slices between the turns of the loop.

What comes and goes here is named as stale meanwhile, and nobody who saves or asks for other notes waits for it.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from vault_memory.index.chunk_rows import Delta
from vault_memory.index.slices import SLICE, put_in_slices, remove_in_slices
from vault_memory.index.store import Index, State
from vault_memory.ingest.note import Parts, entry_from, held_of
from vault_memory.ingest.worker import NoteTooSlow, Worker
from vault_memory.rules.paths.layout import Place
from vault_memory.vault.reader import Note

logger = logging.getLogger(__name__)

IDLE_SECONDS = 10.0
"""After which a worker without work ends"""


@dataclass(frozen=True, slots=True)
class Request:
    """A note to be taken apart."""

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
    """What became of a large note."""

    path: str
    delta: Delta = field(default_factory=Delta)
    started: float = 0.0
    removed: bool = False
    revision: str = ""
    failure: str = ""
    """why it cannot be taken apart; empty when it was"""


class LargeNotes:
    """For one daemon. All calls but those of its own thread come from the loop. `wake` lets the loop take a turn."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._worker = Worker()
        self._requests: dict[str, Request] = {}
        """the newest of each path that is not written yet"""
        self._asked: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[Request, Parts | NoteTooSlow]] = (
            queue.SimpleQueue()
        )
        self._writing: dict[str, Writing] = {}
        self._thread: threading.Thread | None = None
        self._closed = False

    def __contains__(self, path: str) -> bool:
        return path in self._requests or path in self._writing

    @property
    def has_work(self) -> bool:
        """Whether the loop should take its next turn at once."""
        return bool(self._writing) or not self._answers.empty()

    def put(self, note: Note, place: Place, state: State, read_ns: int) -> None:
        """Let the index say what the note says, soon."""
        known = self._requests.get(note.path)
        fresh = Request(note, place, state, read_ns)
        self._requests[note.path] = fresh
        if known is not None and known.note.revision == note.revision:
            return  # it is on its way
        self._writing.pop(note.path, None)
        self._asked.put(fresh)
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="large notes", daemon=True
            )
            self._thread.start()

    def remove(self, index: Index, path: str) -> bool:
        """Let the index forget a note, soon; False when it is small, and can be forgotten at once."""
        self.forget(path)
        if index.chunk_count(path) <= SLICE:
            return False
        self._writing[path] = Writing(
            remove_in_slices(index, path), time.perf_counter(), removed=True
        )
        return True

    def forget(self, path: str) -> None:
        """What was begun for a note is not wanted any more."""
        self._requests.pop(path, None)
        self._writing.pop(path, None)

    def forget_all(self) -> None:
        """Another index serves, or this one had trouble."""
        self._requests.clear()
        self._writing.clear()

    def turn(self, index: Index) -> list[Finished]:
        """One slice of one note; returns the notes that are done."""
        done = self._take_answers(index)
        for path, writing in self._writing.items():
            delta = next(writing.steps, None)
            if delta is not None:
                self._writing[path] = replace(writing, delta=writing.delta + delta)
                break
            del self._writing[path]
            self._requests.pop(path, None)
            done.append(
                Finished(
                    path,
                    writing.delta,
                    writing.started,
                    writing.removed,
                    writing.revision,
                )
            )
            break
        return done

    def close(self) -> None:
        """End the worker in the middle of a note: the next start reads it."""
        self._closed = True
        self._asked.put(None)
        self._worker.stop()

    def _take_answers(self, index: Index) -> list[Finished]:
        failures = []
        while not self._answers.empty():
            asked, parts = self._answers.get()
            request = self._requests.get(asked.note.path)
            if request is None or request.note.revision != asked.note.revision:
                continue  # it was saved again, or taken away
            path, revision = request.note.path, request.note.revision
            if isinstance(parts, NoteTooSlow):
                self.forget(path)
                failures.append(Finished(path, failure=parts.message))
                continue
            held = held_of(request.note, request.state, read_ns=request.read_ns)
            entry = entry_from(request.note, request.place, parts, held)
            self._writing[path] = Writing(
                put_in_slices(index, entry), time.perf_counter(), revision=revision
            )
        return failures

    def _run(self) -> None:
        while not self._closed:
            try:
                request = self._asked.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                self._worker.stop()
                request = self._asked.get()
            if request is None:
                return
            if not self._is_wanted(request):
                continue
            try:
                answer: Parts | NoteTooSlow = self._worker.parts_of(
                    request.note.raw, request.place
                )
            except NoteTooSlow as error:
                answer = error
            except Exception:
                logger.exception("%s cannot be taken in", request.note.path)
                answer = NoteTooSlow("it cannot be taken in; this is a bug")
            if not self._closed:
                self._answers.put((request, answer))
                self._wake()

    def _is_wanted(self, request: Request) -> bool:
        newest = self._requests.get(request.note.path)
        return newest is not None and newest.note.revision == request.note.revision
