"""The calls of VaultMemory that keep the vault in step with its remote."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory import config as configuration
from vault_memory.database.connection import DatabaseError
from vault_memory.edits.calls import aware
from vault_memory.edits.conflict_calls import ConflictCalls
from vault_memory.errors import VaultMemoryError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.ingest.lifecycle import Progress
    from vault_memory.sync import connection, state_db, status
    from vault_memory.sync import report as sync_report
    from vault_memory.sync.connection import SyncConnection
    from vault_memory.sync.report import SyncReport
    from vault_memory.vault.write.writer import Writer
else:
    connection = lazy_module("vault_memory.sync.connection")
    sync_report = lazy_module("vault_memory.sync.report")
    state_db = lazy_module("vault_memory.sync.state_db")
    status = lazy_module("vault_memory.sync.status")

PATIENCE_SECONDS = 30.0
"""For what has to settle, and for deletions to be seen a second time, before a sync ends with something waiting"""
PAUSES = (0.6, 1.0, 1.5, 2.0, 3.0)
"""Seconds between passes while something waits; the last one again and again"""
QUEUE_SECONDS = 120.0
"""For another process that syncs this vault just now"""


class SyncCalls(ConflictCalls):
    """What VaultMemory is made of besides."""

    environment: Mapping[str, str] = os.environ
    config_file: Path | None = None
    """where the configuration came from, and is read again when it changes"""
    _exchange: "SyncConnection | None" = None

    def sync(
        self,
        *,
        once: bool = True,
        dry_run: bool = False,
        approve_deletes: bool = False,
        approve_restore: bool = False,
        refuse_restore: bool = False,
        progress: "Progress | None" = None,
        now: datetime | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> "SyncReport":
        """Bring the vault and its remote in step; with `once`, pass after pass until nothing is left that will settle.

        A server whose notes went back to earlier texts is held: `approve_restore` takes these over, `refuse_restore`
        puts the texts from here up again.

        Raises NoRemote, PasswordUnsafe, AnotherClient, NotTwoWay, Unauthorised and other RemoteErrors, Locked.
        """
        with connection.alone(self.state.path, patience=QUEUE_SECONDS):
            try:
                answers = {
                    "approve_deletes": approve_deletes,
                    "approve_restore": approve_restore,
                    "refuse_restore": refuse_restore,
                }
                whole = self._passes(
                    aware(now), progress, sleep, once, dry_run, answers
                )
            except (VaultMemoryError, DatabaseError, OSError) as error:
                waiting = self.count_waiting(aware(now))
                self.end_exchange()
                self._note_trouble(error, waiting)
                raise
            if not dry_run:
                self.tend(aware(now))
                self._note_end(whole)
        from dataclasses import replace

        return replace(whole, open_conflicts=self._open_conflicts())

    def _passes(
        self,
        started: datetime,
        progress: "Progress | None",
        sleep: Callable[[float], None],
        once: bool,
        dry_run: bool,
        answers: Mapping[str, Any],
    ) -> "SyncReport":
        began = time.monotonic()
        tell = (
            (lambda done, total: progress("syncing", done, total))
            if progress
            else (lambda done, total: None)
        )
        whole = sync_report.SyncReport()
        for pause in PAUSES if once and not dry_run else ():
            if not self.exchange().is_being_saved(
                started + timedelta(seconds=time.monotonic() - began)
            ):
                break
            sleep(
                pause
            )  # what was saved just now is to be in the first pass, so that there need not be a second
        for pause in _pauses():
            at = started + timedelta(seconds=time.monotonic() - began)
            report = self.exchange().turn(at, dry_run=dry_run, progress=tell, **answers)
            whole = sync_report.together(whole, report)
            late = time.monotonic() - began > PATIENCE_SECONDS
            if (
                dry_run
                or not once
                or report.quiet
                or report.settled
                or late
                or (report.failed and not report.acted)
            ):
                break
            if report.waiting:
                sleep(pause)
        return whole

    def _open_conflicts(self) -> tuple[str, ...]:
        """The conflict copies that wait for a person, of notes and of other files."""
        return tuple(sorted(self.folder.listing(suffixes=("",)).copies))

    def sync_status(self) -> Mapping[str, Any] | None:
        """How the sync stands, as far as it was written down; None without a remote."""
        if not self.config.remote.url:
            return None
        return status.as_status(
            status.read_standing(self.state.path), self.config.remote.url, running=False
        )

    def exchange(self) -> "SyncConnection":
        """The remote and the engine, opened when first needed. Who uses it holds the lock `alone`."""
        if self._exchange is None:
            self._exchange = connection.SyncConnection(
                self.config.remote,
                self.folder,
                self.layout,
                self.state.path,
                self._writing,
                self.environment,
            )
        return self._exchange

    def end_exchange(self) -> None:
        """Close the connections; the next pass opens new ones."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.close()

    def begin_sync_state_anew(self) -> None:
        """Put a damaged sync state aside; the next pass compares both sides. Raises Locked."""
        with connection.alone(self.state.path, patience=QUEUE_SECONDS):
            self.end_exchange()
            state_db.begin_anew(self.state.path)

    def reload_remote(self) -> None:
        """Read `[remote]` anew. Raises ConfigError."""
        self.end_exchange()
        if self.config_file is not None:
            fresh = configuration.load(self.config_file, self.environment)
            self.config = self.config._replace(remote=fresh.remote)

    @contextmanager
    def _writing(self) -> "Iterator[Writer]":
        """The writer, for the moment of one write: the server is never waited for within."""
        with self._there():
            yield self.curator.writer

    def count_waiting(self, now: datetime) -> int | None:
        """How many edits here wait for the server, without asking it; None when that cannot be told."""
        try:
            return self.exchange().count_waiting(now)
        except (VaultMemoryError, DatabaseError, OSError):
            return None

    def _note_trouble(self, error: Exception, waiting: int | None) -> None:
        if not isinstance(error, connection.NoRemote):
            state = "stopped" if connection.needs_a_person(error) else "waiting"
            reason = connection.in_words(error)
            queue = {} if waiting is None else {"queue": waiting}
            status.change_standing(
                self.state.path,
                state=state,
                reason=reason,
                errors=(sync_report.Remark("", reason),),
                **queue,
            )

    def _note_end(self, report: "SyncReport") -> None:
        """For `status` of whoever asks later."""
        waiting = len({remark.path for remark in (*report.waiting, *report.failed)})
        status.change_standing(
            self.state.path,
            state="held" if report.held else "waiting" if waiting else "ok",
            reason=report.held[0].reason if report.held else "",
            last_good=self.exchange().last_good,
            queue=waiting,
            errors=report.failed,
            held=report.held,
        )

    def _close_editing(self) -> None:
        self.end_exchange()
        super()._close_editing()


def _pauses() -> Iterator[float]:
    yield from PAUSES
    while True:
        yield PAUSES[-1]
