"""In step with the remote, in the background: a thread of its own, with its own connections and index.

Trouble with the server is no trouble for anything else, and the loop never waits for it.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import ConfigError, Locked, VaultMemoryError
from vault_memory.lazy import lazy_module
from vault_memory.sync.report import Remark
from vault_memory.sync.status import as_status, read_status, update_status

if TYPE_CHECKING:
    from vault_memory.daemon import backoff
    from vault_memory.daemon.backoff import PathBackoff, SyncBackoff
    from vault_memory.sync import connection, pass_options
    from vault_memory.sync.pass_report import PassReport
else:
    backoff = lazy_module("vault_memory.daemon.backoff")
    connection = lazy_module("vault_memory.sync.connection")
    pass_options = lazy_module("vault_memory.sync.pass_options")

logger = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""Between two looks whether the configuration or the password file is another"""
TURN_SECONDS = 0.3
"""Between two tries while another process syncs"""
PATIENCE_SECONDS = 0.8
"""For the request at hand when the daemon ends"""
KEEP_SECONDS = 60.0
"""How old what is written down of a sync that goes well may become"""
Signature = tuple[tuple[int, int, int] | None, ...]


class Ending(Exception):
    """The daemon ends: the pass is left where it is, which costs nothing."""


class Syncing:
    """Passes over one vault and its remote, whenever they are due."""

    def __init__(
        self,
        memory: VaultMemory,
        *,
        tell: Callable[["PassReport"], None] = lambda report: None,
    ) -> None:
        self._memory, self._tell = memory, tell
        self._standing = replace(
            read_status(memory.vault.state.path),
            state="working",
            reason="",
            next_try="",
        )
        self._woken, self._stop = threading.Event(), threading.Event()
        self._heard: float | None = None
        self._wanted = False
        self._is_count_old = False
        """whether something was saved since the edits that wait were counted"""
        self._pace: SyncBackoff | None = None
        self._resting: PathBackoff | None = None
        self._written = float("-inf")
        self._known = self._signature()
        self._thread = threading.Thread(target=self._run, name="syncing", daemon=True)
        self._thread.start()

    def heard(self) -> None:
        """Something in the vault may have changed. Cheap, and from any thread."""
        self._heard = time.monotonic()
        self._woken.set()

    def now(self, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Make a pass as soon as it may be; what is known until then."""
        self._wanted = True
        self._woken.set()
        return {"sync": self.status()}

    def status(self) -> Mapping[str, Any] | None:
        """How the sync stands; None without a remote."""
        url = self._memory.vault.config.remote.url
        return as_status(self._standing, url, running=True) if url else None

    def close(self) -> None:
        """End, between two requests if that is soon enough."""
        self._stop.set()
        self._woken.set()
        self._thread.join(PATIENCE_SECONDS)
        if not self._thread.is_alive():
            self._memory.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                if (fresh := self._signature()) != self._known:
                    self._known = fresh
                    self._renew()
                wait = self._turn()
            except Ending:
                break
            except Exception:
                logger.exception("syncing failed")
                wait = 60.0
            self._woken.wait(min(wait, LOOK_SECONDS))
            self._woken.clear()
        if self._memory.vault.config.remote.url:
            self._keep()

    def _renew(self) -> None:
        """The configuration or the password file was changed: begin anew."""
        self._pace = self._resting = None
        try:
            self._memory.sync.reload_remote()
        except (ConfigError, DatabaseError) as error:
            logger.warning("%s", error)

    def _turn(self) -> float:
        """A pass, if one is due; gives the seconds until the next."""
        if not self._memory.vault.config.remote.url:
            return LOOK_SECONDS
        pace, resting = self._paced()
        when, ask = pace.next()
        if (wait := when - time.monotonic()) > 0:
            if self._is_count_old and self._standing.state in ("waiting", "stopped"):
                self._become(
                    queue=self._count_waiting()
                )  # saves pile up while the server is away
            return wait
        started = time.monotonic()
        self._standing = (
            replace(self._standing, state="working") if ask else self._standing
        )
        try:
            report = self._pass(pace, resting, ask)
        except Locked:
            return TURN_SECONDS
        except (VaultMemoryError, DatabaseError, OSError) as error:
            self._give_up(error, pace)
        else:
            resting.note(dict(report.failed), time.monotonic())
            if report.moved:
                resting.start_again(time.monotonic())
            pace.done(report, time.monotonic(), asked=ask)
            pace.ask_by(resting.next())
            self._note(report, pace)
            if self._standing.held:
                self._memory.sync.close()  # so that the server is asked who it is, and a yes is heard
            if report.acted:
                logger.info(
                    "synced in %.1f s: %s", time.monotonic() - started, _counts(report)
                )
                self._tell(report)
        return 0.0

    def _paced(self) -> "tuple[SyncBackoff, PathBackoff]":
        if self._pace is None or self._resting is None:
            self._pace = backoff.SyncBackoff(
                self._memory.vault.config.remote.poll_seconds, time.monotonic()
            )
            self._resting = backoff.PathBackoff()
        heard, self._heard = self._heard, None
        if heard is not None:
            self._pace.heard(heard)
            self._is_count_old = True
        if self._wanted:
            self._wanted = False
            self._pace.ask_by(time.monotonic())
        return self._pace, self._resting

    def _pass(
        self, pace: "SyncBackoff", resting: "PathBackoff", ask: bool
    ) -> "PassReport":
        def go_on(done: int, total: int) -> None:
            if self._stop.is_set():
                raise Ending
            if total > 1:
                self._standing = replace(self._standing, queue=total - done)

        with connection.alone(self._memory.vault.state.path, patience=0.0):
            if self._signature() != self._known:
                raise Locked("the remote was changed just now")
            pace.begin()
            now = datetime.now(UTC).astimezone()
            options = pass_options.PassOptions(
                ask=ask, resting=resting.at(time.monotonic()), progress=go_on
            )
            report = self._memory.sync.connection().run_pass(now, options)
            if report.acted:
                self._memory.edits.process_due(now)
            return report

    def _note(self, report: "PassReport", pace: "SyncBackoff") -> None:
        held = connection.held_of(report)
        if held and held[0].reason != self._standing.reason:
            logger.warning(
                "held until you answer: %s; `vault-memory sync --once` tells how",
                held[0].reason,
            )
        waiting = len({path for path, _ in (*report.waiting, *report.failed)})
        self._become(
            state="held" if held else "waiting" if waiting else "ok",
            reason=held[0].reason if held else "",
            last_good=self._memory.sync.connection().last_good,
            queue=waiting,
            errors=tuple(Remark(path, reason) for path, reason in report.failed),
            held=held,
            next_try=_moment_of(pace.next()[0]),
        )

    def _give_up(self, error: Exception, pace: "SyncBackoff") -> None:
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
        """How many edits here wait for the server; as last counted while another process syncs."""
        self._is_count_old = False
        try:
            with connection.alone(self._memory.vault.state.path, patience=0.0):
                waiting = self._memory.sync.count_waiting(
                    datetime.now(UTC).astimezone()
                )
        except Locked:
            waiting = None
        return self._standing.queue if waiting is None else waiting

    def _become(self, **changes: Any) -> None:
        """What is told from now on; it goes to the disk when it says something new, else now and then."""
        before, self._standing = self._standing, replace(self._standing, **changes)
        said = [
            (one.reason, one.queue, one.errors, one.held)
            for one in (before, self._standing)
        ]
        if said[0] != said[1] or time.monotonic() - self._written > KEEP_SECONDS:
            self._keep()

    def _keep(self) -> None:
        self._written = time.monotonic()
        now = self._standing
        try:
            update_status(
                self._memory.vault.state.path,
                state=now.state,
                reason=now.reason,
                last_good=now.last_good,
                queue=now.queue,
                errors=now.errors,
                held=now.held,
                next_try=now.next_try,
            )
        except OSError as error:
            logger.warning("how the sync stands cannot be written down: %s", error)

    def _signature(self) -> Signature:
        """Of the files that say where the remote is, and with which password."""
        file = self._memory.vault.config_file
        named = self._memory.vault.config.remote.password_file
        return (_seen(str(file) if file else ""), _seen(named))


def _seen(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(os.path.expanduser(path)) if path else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ino, found.st_size) if found else None


def _moment_of(at: float) -> str:
    """A time of the monotonic clock as one of the wall's."""
    later = timedelta(seconds=min(max(0.0, at - time.monotonic()), 1e6))
    return (datetime.now(UTC).astimezone() + later).isoformat(timespec="seconds")


def _counts(report: "PassReport") -> str:
    told = {
        name: value
        for name, value in asdict(report).items()
        if isinstance(value, int) and value
    }
    return ", ".join(
        f"{value} {name.replace('_', ' ')}" for name, value in told.items()
    )
