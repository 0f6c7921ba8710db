"""Bulk uploads: many new notes in one request, where the server takes that.

Such a request has no precondition. So it carries only notes that the listing of this pass did not have.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NoReturn, Protocol, TypeVar

from vault_memory.remote.contract import PutResult
from vault_memory.remote.remote_errors import (
    OutcomeUnknown,
    Refused,
    RemoteBusy,
    RemoteError,
)
from vault_memory.sync.actions import Action, Upload
from vault_memory.sync.apply.session import SyncSession
from vault_memory.vault.reader import Note

MANY = 10
"""Fewer new notes go up one by one, each with a precondition"""
LARGEST = 2**20
"""Bytes of the notes in one request"""
PAUSE_SECONDS = 3600.0
"""For which notes go up one by one after the server did not take a bulk upload, or did not answer it"""
_FACT = "bulk_failed"

Batch = list[tuple[Upload, Note]]
T = TypeVar("T")


class Attempt(Protocol):
    """Does a step of an action, and files what goes wrong with it."""

    def __call__(self, action: Action, work: Callable[[], T]) -> T | None: ...


class Bulk:
    """For one vault and one remote."""

    def __init__(self, session: SyncSession) -> None:
        self._session = session

    def batches(
        self, ready: Sequence[tuple[Upload, Note]], now: datetime
    ) -> Iterator[Batch]:
        """What goes up in bulk, a request at a time, for as long as the server takes it."""
        if not (self._session.asked and self._session.remote.traits.bulk):
            return
        chosen = self._new_notes(ready)
        while len(chosen) >= MANY and not self._is_paused(now):
            batch: Batch = []
            size = 0
            while chosen and (not batch or size + len(chosen[0][1].raw) <= LARGEST):
                size += len(chosen[0][1].raw)
                batch.append(chosen.pop(0))
            yield batch

    def send(
        self, batch: Batch, attempt: Attempt, now: datetime
    ) -> Mapping[str, PutResult | None]:
        """Returns what was stored, and None where nobody knows. What is left out is to be sent by itself."""
        try:
            answers = self._session.remote.put_new(
                [(action.path, note.raw) for action, note in batch]
            )
        except Refused:
            self._pause(now)
            return {}
        except OutcomeUnknown as error:
            # Each stays in the journal: the next pass compares it with what the server holds.
            self._pause(now)
            for action, _ in batch:
                attempt(
                    action, partial(_fail, OutcomeUnknown(action.path, error.reason))
                )
            return {action.path: None for action, _ in batch}
        except RemoteBusy as error:
            for action, _ in batch:
                attempt(action, partial(_fail, error))
            return {action.path: None for action, _ in batch}
        if len(answers) >= MANY and all(
            stored is None or stored.replaced for stored in answers.values()
        ):
            # Every file has to be looked at on its own: that costs more than it saves.
            self._pause(now)
        for action, _ in batch:
            if action.path in answers and answers[action.path] is None:
                attempt(
                    action,
                    partial(
                        _fail,
                        OutcomeUnknown(action.path, "the answer does not name it"),
                    ),
                )
        return answers

    def _new_notes(self, ready: Sequence[tuple[Upload, Note]]) -> Batch:
        """Notes that the server does not have, in folders that it has."""
        entries = self._session.state.entries()
        folders = {"", *(path for path, entry in entries.items() if entry.is_folder)}
        return [
            (action, note)
            for action, note in ready
            if action.tag is None
            and action.path not in entries
            and action.path.rpartition("/")[0] in folders
            and len(note.raw) <= LARGEST
        ]

    def _is_paused(self, now: datetime) -> bool:
        since = self._session.state.meta(_FACT)
        return (
            isinstance(since, int | float)
            and 0 <= now.timestamp() - since < PAUSE_SECONDS
        )

    def _pause(self, now: datetime) -> None:
        with self._session.state.transaction():
            self._session.state.set_meta(_FACT, now.timestamp())


def _fail(error: RemoteError) -> NoReturn:
    raise error
