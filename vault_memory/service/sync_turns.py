"""Syncs one vault with its remote, turn by turn. Each turn makes a pass if one is due."""

import logging
import os
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import ConfigError, Locked, VaultMemoryError
from vault_memory.service import backoff
from vault_memory.sync import connection, pass_report
from vault_memory.sync.report import Remark
from vault_memory.sync.status import SyncStatus, as_status, read_status, update_status

if TYPE_CHECKING:
    from vault_memory.contract.setup_answers import SyncRequestedJson
    from vault_memory.contract.status_answers import SyncStatusJson
    from vault_memory.service.backoff import PathBackoff, SyncBackoff
    from vault_memory.sync.pass_report import PassReport


logger = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""Time between two checks of the configuration and the password file of a vault that is alone"""
PATIENCE_SECONDS = 0.8
"""How long the end of a process waits for the current request"""
TURN_SECONDS = 0.3
"""Time between two tries while another process syncs"""
BUG_SECONDS = 60.0
"""Pause after an error that is a bug"""
NEVER = float("inf")
KEEP_SECONDS = 60.0
"""Time after which an unchanged status is written again"""
Signature = tuple[tuple[int, int, int] | None, ...]


class Ending(Exception):
    """The turn ends, and leaves the pass incomplete: the next pass compares again."""


class SyncTurns:
    """The turns of one vault. Any thread may take one, one at a time.

    `note_vault_change`, `now`, `status` and `stop` may be called meanwhile. The first two call
    `wake`, because the next turn is due earlier then.
    """

    def __init__(
        self,
        memory: VaultMemory,
        *,
        tell: Callable[["PassReport"], None] = lambda report: None,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._memory = memory
        self._tell = tell
        self._wake = wake
        self._standing = replace(
            read_status(memory.vault.state.path), state="working", reason="", next_try=""
        )
        self._is_stopped = False
        self._last_hint: float | None = None
        self._is_requested = False
        """Whether a call asked for a pass"""
        self._is_count_old = False
        """Whether something was saved since the waiting edits were counted"""
        self._backoff: SyncBackoff | None = None
        self._path_backoff: PathBackoff | None = None
        self._written_at = float("-inf")
        self._config_signature = self._signature()

    @property
    def has_remote(self) -> bool:
        """Whether the configuration names a remote. Without one a turn does nothing."""
        return bool(self._memory.vault.config.remote.url)

    def note_vault_change(self) -> None:
        """Notes that something in the vault may have changed. Any thread may call it."""
        self._last_hint = time.monotonic()
        # Each save is told here, also where nothing is synced.
        if self.has_remote:
            self._wake()

    def now(self) -> "SyncRequestedJson":
        """Requests a pass as soon as possible. Returns the status until then."""
        self._is_requested = True
        self._wake()
        return {"sync": self.status()}

    def status(self) -> "SyncStatusJson | None":
        """Returns the status of sync; None without a remote."""
        url = self._memory.vault.config.remote.url
        if not url:
            return None
        return as_status(self._standing, url, running=True)

    def sync_turn(self) -> float:
        """Makes a pass if one is due. Returns the seconds until the next, without new hints.

        It does not raise: `status` names the reason of a failure.
        """
        try:
            signature = self._signature()
            if signature != self._config_signature:
                self._config_signature = signature
                self._reload()
            return self._turn()
        except Ending:
            return NEVER
        except Exception:
            # A bug must not end all turns: a later pass may succeed.
            logger.exception("syncing failed")
            return BUG_SECONDS

    def stop(self) -> None:
        """Ends the current turn between two requests. No later turn makes a pass."""
        self._is_stopped = True

    def close(self) -> None:
        """Stores the status and closes the vault, between two turns."""
        if self.has_remote:
            self._keep()
        self._memory.close()

    def _reload(self) -> None:
        """Starts again after a change of the configuration or of the password file."""
        self._backoff = None
        self._path_backoff = None
        try:
            self._memory.sync.reload_remote()
        except (ConfigError, DatabaseError) as error:
            logger.warning("%s", error)

    def _turn(self) -> float:
        """Makes a pass, if one is due. Returns the seconds until the next."""
        if self._is_stopped or not self.has_remote:
            return NEVER
        pace, path_backoff = self._current_backoff()
        due, lists_server = pace.next()
        wait = due - time.monotonic()
        if wait > 0:
            self._renew_count()
            return wait
        start = time.monotonic()
        if lists_server:
            self._standing = replace(self._standing, state="working")
        try:
            report = self._pass(pace, path_backoff, lists_server)
        except Locked:
            # Another process syncs this vault at this moment.
            return TURN_SECONDS
        except (VaultMemoryError, DatabaseError, OSError) as error:
            self._note_failure(error, pace)
            return 0.0
        now = time.monotonic()
        path_backoff.note(dict(report.failed), now)
        if report.server_changed:
            path_backoff.start_again(now)
        pace.succeeded(report, now, listed=lists_server)
        pace.list_by(path_backoff.next())
        self._note(report, pace)
        if self._standing.held:
            # The next connection asks the server who it is, and reads the person's approval.
            self._memory.sync.close()
        if report.acted:
            seconds = time.monotonic() - start
            logger.info("synced in %.1f s: %s", seconds, pass_counts(report))
            self._tell(report)
        return 0.0

    def _renew_count(self) -> None:
        """Counts the waiting edits again while the server does not answer."""
        is_away = self._standing.state in ("waiting", "stopped")
        if is_away and self._is_count_old:
            self._become(queue=self._count_waiting())

    def _current_backoff(self) -> "tuple[SyncBackoff, PathBackoff]":
        """Returns the plans of the next passes, with what was heard since the last turn."""
        if self._backoff is None or self._path_backoff is None:
            poll_seconds = self._memory.vault.config.remote.poll_seconds
            self._backoff = backoff.SyncBackoff(poll_seconds, time.monotonic())
            self._path_backoff = backoff.PathBackoff()
        last_hint, self._last_hint = self._last_hint, None
        if last_hint is not None:
            self._backoff.note_local_edit(last_hint)
            self._is_count_old = True
        if self._is_requested:
            self._is_requested = False
            self._backoff.list_by(time.monotonic())
        return self._backoff, self._path_backoff

    def _pass(
        self, pace: "SyncBackoff", path_backoff: "PathBackoff", lists_server: bool
    ) -> "PassReport":
        """Makes a pass.

        Raises Locked while another process syncs, and Ending after `stop`.
        """

        def report_progress(finished: int, total: int) -> None:
            if self._is_stopped:
                raise Ending
            if total > 1:
                self._standing = replace(self._standing, queue=total - finished)

        with connection.alone(self._memory.vault.state.path, patience=0.0):
            # Fault (E95): another command may have changed the remote before this
            # thread got the lock. Its listing would be compared with that of another
            # account.
            if self._signature() != self._config_signature:
                raise Locked("the remote was changed just now")
            pace.begin()
            now = datetime.now(UTC).astimezone()
            options = pass_report.PassOptions(
                ask=lists_server,
                resting=path_backoff.paused(time.monotonic()),
                progress=report_progress,
            )
            report = self._memory.sync.connection().run_pass(now, options)
            if report.acted:
                self._memory.edits.process_due(now)
            return report

    def _note(self, report: "PassReport", pace: "SyncBackoff") -> None:
        remarks = connection.held_of(report)
        reason = remarks[0].reason if remarks else ""
        if remarks and reason != self._standing.reason:
            logger.warning(
                "held until you answer: %s; `vault-memory sync --once` tells how", reason
            )
        waiting = len({path for path, _ in (*report.waiting, *report.failed)})
        state = "ok"
        if remarks:
            state = "held"
        elif waiting:
            state = "waiting"
        self._become(
            state=state,
            reason=reason,
            last_good=self._memory.sync.connection().last_good,
            queue=waiting,
            errors=tuple(Remark(path, reason) for path, reason in report.failed),
            held=remarks,
            next_try=_moment_of(pace.next()[0]),
        )

    def _note_failure(self, error: Exception, pace: "SyncBackoff") -> None:
        waiting = self._count_waiting()
        self._memory.sync.close()
        pace.failed(error, time.monotonic())
        reason = connection.in_words(error)
        if reason != self._standing.reason:
            logger.warning("not in step: %s", reason)
        self._become(
            state="stopped" if connection.needs_a_person(error) else "waiting",
            reason=reason,
            queue=waiting,
            errors=(Remark("", reason),),
            next_try=_moment_of(pace.next()[0]),
        )

    def _count_waiting(self) -> int:
        """Returns how many local edits wait for the server.

        While another process syncs, this is the last count.
        """
        self._is_count_old = False
        try:
            with connection.alone(self._memory.vault.state.path, patience=0.0):
                waiting = self._memory.sync.count_waiting(datetime.now(UTC).astimezone())
        except Locked:
            # Another process syncs: the number changes while it is counted.
            waiting = None
        return self._standing.queue if waiting is None else waiting

    def _become(self, **changes: Any) -> None:
        """Changes the status. A new status is written at once, an unchanged one periodically."""
        previous = self._standing
        self._standing = replace(previous, **changes)
        is_new = _content_of(previous) != _content_of(self._standing)
        if is_new or time.monotonic() - self._written_at > KEEP_SECONDS:
            self._keep()

    def _keep(self) -> None:
        self._written_at = time.monotonic()
        status = self._standing
        try:
            update_status(
                self._memory.vault.state.path,
                state=status.state,
                reason=status.reason,
                last_good=status.last_good,
                queue=status.queue,
                errors=status.errors,
                held=status.held,
                next_try=status.next_try,
            )
        except OSError as error:
            # Fault (B39): a full disk of the state folder must not stop the sync.
            logger.warning("how the sync stands cannot be written down: %s", error)

    def _signature(self) -> Signature:
        """Returns a value that changes with the files of the configuration and of the password."""
        file = self._memory.vault.config_file
        remote = self._memory.vault.config.remote
        password_file = remote.password_file or remote.credentials_file
        return _file_signature(str(file) if file else ""), _file_signature(password_file)


def _content_of(status: SyncStatus) -> tuple[object, ...]:
    return status.reason, status.queue, status.errors, status.held


def _file_signature(path: str) -> tuple[int, int, int] | None:
    if not path:
        return None
    try:
        stat = os.stat(os.path.expanduser(path))
    except OSError:
        # The file does not exist yet, or not any more: that is a state, too.
        return None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size


def _moment_of(at: float) -> str:
    """Returns a moment of the monotonic clock as date and time."""
    seconds = max(0.0, at - time.monotonic())
    # Fault: a pass that is never due has no date. `datetime` ends at the year 9999.
    later = timedelta(seconds=min(seconds, 1e6))
    moment = datetime.now(UTC).astimezone() + later
    return moment.isoformat(timespec="seconds")


def pass_counts(report: "PassReport") -> str:
    """Returns what a pass did, as `2 uploaded, 1 merged`."""
    counts = {
        name: value
        for name, value in asdict(report).items()
        if isinstance(value, int) and value and not isinstance(value, bool)
    }
    return ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in counts.items())
