"""Indexes large notes in the daemon, so that other saves and questions do not wait for them.

A worker process parses a large note, and the loop writes one slice in each turn. Meanwhile answers
name the note as stale.
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
    """The large notes of one daemon. Only the loop calls it. `wake` lets the loop take a turn."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._worker = Worker()
        self._requests: dict[str, ReadRequest] = {}
        """The newest request for each path that is not written completely"""
        self._waiting: queue.SimpleQueue[ReadRequest | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[ReadRequest, Parts | NoteTooSlow]] = (
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

    def put(
        self,
        note: Note,
        place: Place,
        state: State,
        read_ns: int,
    ) -> None:
        """Plans to index a note."""
        previous = self._requests.get(note.path)
        request = ReadRequest(note, place, state, read_ns)
        self._requests[note.path] = request
        if previous is not None and previous.note.revision == note.revision:
            # The worker has it already.
            return
        self._writing.pop(note.path, None)
        self._waiting.put(request)
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="large notes", daemon=True
            )
            self._thread.start()

    def remove(
        self,
        index: Index,
        path: str,
    ) -> bool:
        """Plans to remove a note from the index. False for a small note: remove it at once."""
        self.forget(path)
        if index.chunk_count(path) <= SLICE:
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

    def turn(self, index: Index) -> list[Finished]:
        """Writes one slice of one note. Returns the notes that are finished."""
        finished = self._take_answers(index)
        for path, writing in self._writing.items():
            delta = next(writing.steps, None)
            if delta is not None:
                self._writing[path] = replace(writing, delta=writing.delta + delta)
                break
            del self._writing[path]
            self._requests.pop(path, None)
            finished.append(
                Finished(
                    path,
                    writing.delta,
                    writing.started,
                    writing.removed,
                    writing.revision,
                )
            )
            break
        return finished

    def close(self) -> None:
        """Ends the worker, also in the middle of a note: the next start reads it again."""
        self._closed = True
        self._waiting.put(None)
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

    def _run(self) -> None:
        """Lets the worker parse one note after the other."""
        while not self._closed:
            try:
                request = self._waiting.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                # A worker process without work would occupy memory for days.
                self._worker.stop()
                request = self._waiting.get()
            if request is None:
                return
            if not self._is_newest(request):
                continue
            answer = self._parse(request)
            if not self._closed:
                self._answers.put((request, answer))
                self._wake()

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
