"""Calls that synchronise the vault with its remote."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypedDict, Unpack

from vault_memory import config as configuration
from vault_memory.database.connection import DatabaseError
from vault_memory.edits.calls import EditCalls, aware
from vault_memory.errors import VaultMemoryError
from vault_memory.rules.call_values import checked_calls
from vault_memory.sync import connection as sync_connection
from vault_memory.sync import pass_report, state_db, status
from vault_memory.sync import report as sync_report

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import SyncStatusJson
    from vault_memory.ingest.lifecycle import Progress
    from vault_memory.sync.connection import OpenRemote, SyncConnection
    from vault_memory.sync.pass_report import PassOptions, PassReport
    from vault_memory.sync.report import SyncReport
    from vault_memory.vault.write.writer import Writer

PATIENCE_SECONDS = 30.0
"""How long a sync waits for files that settle, and for deletions to be seen a second time"""
PAUSES = (0.6, 1.0, 1.5, 2.0, 3.0)
"""Seconds between passes while paths wait; the last one repeats"""
QUEUE_SECONDS = 120.0
"""How long a sync waits for another process that syncs this vault"""


class SyncChoices(TypedDict, total=False):
    """What a caller may choose for the passes of one sync; `PassOptions` has their meaning."""

    dry_run: bool
    approve_deletes: bool
    approve_restore: bool
    refuse_restore: bool


@checked_calls
class SyncCalls:
    """Synchronise one vault with its remote. A call of the object syncs."""

    def __init__(self, edits: EditCalls) -> None:
        self.vault = edits.vault
        self._edits = edits
        self._connection: SyncConnection | None = None
        self.open_remote: OpenRemote | None = None
        """opens the remote in another way than the configuration says"""

    def close(self) -> None:
        """Close the connections; the next pass opens new ones."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __call__(
        self,
        *,
        once: bool = True,
        progress: "Progress | None" = None,
        now: datetime | None = None,
        sleep: Callable[[float], None] = time.sleep,
        **choices: Unpack[SyncChoices],
    ) -> "SyncReport":
        """Bring the vault and its remote in step; with `once` repeat passes until nothing is left to do.

        Notes that returned to earlier texts together, on one side, are held: `approve_restore` accepts these
        texts, `refuse_restore` brings the newer ones back. `approve_deletes` allows the deletions that a safety
        limit stopped.

        Raises NoRemote, PasswordUnsafe, AnotherClient, NotTwoWay, Unauthorised and other RemoteErrors, Locked.
        """
        self.vault.check_open()
        options = pass_report.PassOptions(progress=_shown_by(progress), **choices)
        with sync_connection.alone(self.vault.state.path, patience=QUEUE_SECONDS):
            try:
                report = self._run_passes(aware(now), options, sleep, once=once)
            except (VaultMemoryError, DatabaseError, OSError) as error:
                queued = self.count_waiting(aware(now))
                self.close()
                self._store_failure(error, queued)
                raise
            if not options.dry_run:
                self._edits.process_due(aware(now))
                self._store_result(report)
        from dataclasses import replace  # here: each start of a hook would load it

        return replace(report, open_conflicts=self._open_conflicts())

    def _run_passes(
        self,
        started: datetime,
        options: "PassOptions",
        sleep: Callable[[float], None],
        *,
        once: bool,
    ) -> "SyncReport":
        """Run passes until nothing is left to do, `PATIENCE_SECONDS` are over, or no pass helps."""
        began = time.monotonic()
        is_single = options.dry_run or not once

        def moment() -> datetime:
            return started + timedelta(seconds=time.monotonic() - began)

        if not is_single:
            self._wait_for_saves(moment, sleep)
        total = sync_report.SyncReport()
        for pause in _pauses():
            report = self.connection().run_pass(moment(), options)
            total = sync_report.together(total, report)
            is_late = time.monotonic() - began > PATIENCE_SECONDS
            if is_single or is_late or _is_last(report):
                break
            if report.waiting:
                sleep(pause)
        return total

    def _wait_for_saves(
        self, moment: Callable[[], datetime], sleep: Callable[[float], None]
    ) -> None:
        """Wait until saves settle, so that one pass takes them all."""
        for pause in PAUSES:
            if not self.connection().is_being_saved(moment()):
                break
            sleep(pause)

    def _open_conflicts(self) -> tuple[str, ...]:
        """The conflict copies that wait for a person, of notes and of other files."""
        return tuple(sorted(self.vault.folder.listing(suffixes=("",)).copies))

    def status(self) -> "SyncStatusJson | None":
        """The stored state of the sync, with the keys of the JSON contract; None without a remote."""
        self.vault.check_open()
        url = self.vault.config.remote.url
        if not url:
            return None
        stored = status.read_status(self.vault.state.path)
        return status.as_status(stored, url, running=False)

    def connection(self) -> "SyncConnection":
        """The remote and the engine, opened when first needed. The caller holds the lock `alone`."""
        if self._connection is None:
            vault = self.vault
            self._connection = sync_connection.SyncConnection(
                vault.config.remote,
                sync_connection.local_vault(vault.folder, vault.layout, self._writing),
                vault.state.path,
                vault.environment,
                self.open_remote,
            )
        return self._connection

    def reset_state(self) -> None:
        """Set a damaged sync state aside; the next pass compares both sides. Raises Locked."""
        self.vault.check_open()
        with sync_connection.alone(self.vault.state.path, patience=QUEUE_SECONDS):
            self.close()
            state_db.quarantine_state(self.vault.state.path)

    def reload_remote(self) -> None:
        """Read `[remote]` of the configuration file again. Raises ConfigError."""
        self.close()
        vault = self.vault
        if vault.config_file is not None:
            current = configuration.load(vault.config_file, vault.environment)
            vault.config = vault.config._replace(remote=current.remote)

    def count_waiting(self, now: datetime) -> int | None:
        """Count the local edits that wait for the server, without asking it; None when that is unknown."""
        try:
            return self.connection().count_waiting(now)
        except (VaultMemoryError, DatabaseError, OSError):
            return None

    @contextmanager
    def _writing(self) -> "Iterator[Writer]":
        """The writer, for one write: no request to the server runs inside, so that the bot can edit meanwhile."""
        with self._edits.transaction():
            yield self._edits.editor.writer

    def _store_failure(self, error: Exception, queued: int | None) -> None:
        """Store why the sync failed, for `status`."""
        if isinstance(error, sync_connection.NoRemote):
            return
        reason = sync_connection.in_words(error)
        queue = {} if queued is None else {"queue": queued}
        status.update_status(
            self.vault.state.path,
            state="stopped" if sync_connection.needs_a_person(error) else "waiting",
            reason=reason,
            errors=(sync_report.Remark("", reason),),
            **queue,
        )

    def _store_result(self, report: "SyncReport") -> None:
        """Store the result of the sync, for `status`."""
        queue = len({remark.path for remark in (*report.waiting, *report.failed)})
        state = "waiting" if queue else "ok"
        reason = ""
        if report.held:
            state, reason = "held", report.held[0].reason
        status.update_status(
            self.vault.state.path,
            state=state,
            reason=reason,
            last_good=self.connection().last_good,
            queue=queue,
            errors=report.failed,
            held=report.held,
        )


def _is_last(report: "PassReport") -> bool:
    """Whether another pass has nothing to do, or would fail in the same way."""
    is_stuck = bool(report.failed) and not report.acted
    return report.quiet or report.settled or is_stuck


def _pauses() -> Iterator[float]:
    yield from PAUSES
    while True:
        yield PAUSES[-1]


def _shown_by(progress: "Progress | None") -> Callable[[int, int], None]:
    """Pass the progress of a pass on to the caller's display."""

    def show(finished: int, total: int) -> None:
        if progress is not None:
            progress("syncing", finished, total)

    return show
