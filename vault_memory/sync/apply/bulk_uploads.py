"""Bulk uploads: many new notes in one request, where the server supports that.

Such a request has no precondition. So it has only notes that the listing of this pass did not have.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NoReturn, Protocol, TypeVar

from vault_memory.remote.contract import PutResult
from vault_memory.remote.remote_errors import OutcomeUnknown, Refused, RemoteBusy, RemoteError
from vault_memory.sync.actions import Action, Upload
from vault_memory.sync.apply.session import SyncSession
from vault_memory.vault.reader import Note

MANY = 10
"""Fewer new notes are uploaded singly, each with a precondition"""
LARGEST = 2**20
"""Bytes of the notes in one request"""
PAUSE_SECONDS = 3600.0
"""How long notes are uploaded singly after the server refused a bulk upload or did not answer"""
_FACT = "bulk_failed"

Batch = list[tuple[Upload, Note]]
Answers = Mapping[str, PutResult | None]
"""What was stored, by path; None where the outcome is unknown"""
T = TypeVar("T")


class Attempt(Protocol):
    """Runs a step of an action and records its error; returns None when the step failed."""

    def __call__(self, action: Action, work: Callable[[], T]) -> T | None: ...


class BulkUploads:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session

    def batches(self, ready: Sequence[tuple[Upload, Note]], now: datetime) -> Iterator[Batch]:
        """Yield the notes of one request after another, as long as the server takes bulk uploads."""
        session = self._session
        if not (session.scanned_server and session.remote.traits.bulk):
            return
        new_notes = self._new_notes(ready)
        while len(new_notes) >= MANY and not self._is_paused(now):
            count = _count_for_request(new_notes)
            yield new_notes[:count]
            new_notes = new_notes[count:]

    def send(self, batch: Batch, attempt: Attempt, now: datetime) -> Answers:
        """Upload a batch. A path that the answers lack was not stored."""
        files = [(action.path, note.raw) for action, note in batch]
        try:
            answers = self._session.remote.put_new(files)
        except Refused:
            self._pause(now)
            return {}
        except OutcomeUnknown as error:
            # Each upload stays open: the next pass compares it with the server's file.
            self._pause(now)
            _record_unknown(batch, error.reason, attempt)
            return _all_unknown(batch)
        except RemoteBusy as error:
            for action, _ in batch:
                attempt(action, partial(_fail, error))
            return _all_unknown(batch)
        if _are_useless(answers):
            self._pause(now)
        unnamed = [
            (action, note)
            for action, note in batch
            if action.path in answers and answers[action.path] is None
        ]
        _record_unknown(unnamed, "the answer does not name it", attempt)
        return answers

    def _new_notes(self, ready: Sequence[tuple[Upload, Note]]) -> Batch:
        """Notes that the server does not have, in folders that it has."""
        entries = self._session.state.entries()
        folders = {"", *(path for path, entry in entries.items() if entry.is_folder)}

        def is_new(action: Upload) -> bool:
            folder = action.path.rpartition("/")[0]
            is_listed = action.path in entries
            return action.tag is None and not is_listed and folder in folders

        return [
            (action, note) for action, note in ready if is_new(action) and len(note.raw) <= LARGEST
        ]

    def _is_paused(self, now: datetime) -> bool:
        since = self._session.state.meta(_FACT)
        if not isinstance(since, int | float):
            return False
        return 0 <= now.timestamp() - since < PAUSE_SECONDS

    def _pause(self, now: datetime) -> None:
        with self._session.state.transaction():
            self._session.state.set_meta(_FACT, now.timestamp())


def _count_for_request(batch: Batch) -> int:
    """How many of the first notes fit into one request; at least one."""
    size = 0
    for index, (_, note) in enumerate(batch):
        size += len(note.raw)
        if index and size > LARGEST:
            return index
    return len(batch)


def _are_useless(answers: Answers) -> bool:
    """Whether every file of many must be checked singly: then bulk uploads cost more than they save."""
    if len(answers) < MANY:
        return False
    return all(stored is None or stored.replaced for stored in answers.values())


def _all_unknown(batch: Batch) -> Answers:
    return {action.path: None for action, _ in batch}


def _record_unknown(batch: Batch, reason: str, attempt: Attempt) -> None:
    for action, _ in batch:
        error = OutcomeUnknown(action.path, reason)
        attempt(action, partial(_fail, error))


def _fail(error: RemoteError) -> NoReturn:
    raise error
