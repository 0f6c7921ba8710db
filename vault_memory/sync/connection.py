"""One vault's remote, opened, with the engine that keeps both in step. One process at a time syncs a vault."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from vault_memory.config.remote_password import password_of
from vault_memory.config.sections import Remote as RemoteConfig
from vault_memory.database.connection import DatabaseError, is_damage
from vault_memory.errors import ConfigError, Locked, VaultMemoryError
from vault_memory.lazy import lazy_module
from vault_memory.remote.remote_errors import Unauthorised
from vault_memory.rules.paths.layout import Layout
from vault_memory.sync.engine import PassReport, SyncEngine
from vault_memory.sync.observe.other_clients import refuse_other_clients
from vault_memory.sync.plan.safety_limits import OLDER
from vault_memory.sync.report import Remark
from vault_memory.sync.settings import Settings
from vault_memory.sync.state_db import quarantine_state
from vault_memory.sync.status import (
    PAUSE_SECONDS,
    TRIES,
    SyncStatus,
    change_standing,
    mark_of,
    read_standing,
)
from vault_memory.sync.sync_errors import AnotherClient, NotTwoWay
from vault_memory.vault.device_id import device_of
from vault_memory.vault.reader import Folder
from vault_memory.vault.write.writer import Writer

if TYPE_CHECKING:
    from vault_memory.remote import http_transport, remotes
    from vault_memory.remote.http_transport import Account
    from vault_memory.remote.webdav import WebDav
else:
    http_transport = lazy_module("vault_memory.remote.http_transport")
    remotes = lazy_module("vault_memory.remote.remotes")

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

LOCK = "sync.lock"
MODES: "Mapping[str, str]" = {"two-way": "both", "pull": "pull", "push": "push"}
MUST_EXIST = ("user", "channel", "memory")
"""Kinds of notes whose name is their role"""
DELETES = ("delete", "trash", "remove")
"""How the words begin for what takes something away"""


class NoRemote(ConfigError):
    """The vault has no remote to sync with."""

    def __init__(self) -> None:
        super().__init__(
            "this vault has no remote", hint="`vault-memory remote add URL` sets one up"
        )


class SyncConnection:
    """A remote and a vault. Not for several threads at once."""

    def __init__(
        self,
        remote: RemoteConfig,
        folder: Folder,
        layout: Layout,
        state: Path,
        writing: Callable[[], AbstractContextManager[Writer]],
        environment: Mapping[str, str],
    ) -> None:
        """Raises NoRemote, AnotherClient, PasswordUnsafe. Nothing is asked of the server yet."""
        if not remote.url:
            raise NoRemote
        root = Path(folder.root)
        refuse_other_clients(root)
        self._state = state
        self._password = password_of(remote, environment, root)
        self._config = remote
        self._remote = open_configured(remote, self._password)
        settings = Settings(
            mode=MODES[remote.mode],  # type: ignore[arg-type]
            include=remote.include,
            exclude=remote.exclude,
            device=device_of(state),
        )

        def must_exist(path: str) -> bool:
            place = layout.place(path)
            return place is not None and place.kind in MUST_EXIST

        def open_sync() -> SyncEngine:
            return SyncEngine(
                folder,
                state,
                self._remote,
                writing,
                settings,
                must_exist=must_exist,
                insist=remote.insist,
            )

        self._open_sync = open_sync
        self._sync = open_sync()
        self._knows_nothing = False
        """whether the sync state was begun anew, so that the next pass has to ask the server"""

    def close(self) -> None:
        self._sync.close()
        self._remote.close()

    def run_pass(
        self,
        now: datetime,
        *,
        dry_run: bool = False,
        approve_deletes: bool = False,
        approve_restore: bool = False,
        refuse_restore: bool = False,
        ask: bool = True,
        resting: Mapping[str, str] | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> PassReport:
        """One pass. Raises what `SyncEngine.run_pass` raises; a password that was refused is not tried again and again."""
        standing = read_standing(self._state)
        self._heed_refusals(standing, now)
        resting = resting or {}
        options = {
            "dry_run": dry_run,
            "approve_deletes": approve_deletes,
            "approve_restore": approve_restore,
            "refuse_restore": refuse_restore,
            "resting": resting,
            "progress": progress,
        }
        try:
            report = self._pass(now, ask=ask, **options)
        except Unauthorised:
            note_refusal(self._state, self._mark(), now)
            raise
        if standing.refused:
            forget_refusals(self._state)
        told = dict(report.skipped)
        failed = {
            **{path: told.pop(path) for path in resting if path in told},
            **dict(report.failed),
        }
        return replace(
            report, skipped=tuple(told.items()), failed=tuple(sorted(failed.items()))
        )

    def _pass(self, now: datetime, *, ask: bool, **options: Any) -> PassReport:
        def run_pass() -> PassReport:
            report = self._sync.run_pass(now, ask=ask or self._knows_nothing, **options)
            self._knows_nothing = False
            return report

        return self._repairing(run_pass)

    def is_being_saved(self, now: datetime) -> bool:
        """Whether files were written here just now."""
        return self._repairing(lambda: self._sync.is_being_saved(now))

    def count_waiting(self, now: datetime) -> int:
        """How many edits here the server has not got yet."""
        return self._repairing(lambda: self._sync.count_waiting(now))

    @property
    def last_good(self) -> str:
        """When a whole pass last went well; ISO 8601, or nothing."""
        moment = self._repairing(lambda: self._sync.state.meta("last_good"))
        return moment if isinstance(moment, str) else ""

    def _repairing(self, call: Callable[[], Result]) -> Result:
        """A call of the engine. Damage of the sync state that it meets costs only what was remembered."""
        try:
            return call()
        except DatabaseError as error:
            if not is_damage(error):
                raise
            self._sync.close()
            quarantine_state(self._state)
            self._sync = self._open_sync()
            self._knows_nothing = True
            return call()

    def _mark(self) -> str:
        return mark_of(self._config.url, self._config.user, self._password)

    def _heed_refusals(self, standing: SyncStatus, now: datetime) -> None:
        if not standing.refused or standing.refused_mark != self._mark():
            return
        age = now.timestamp() - standing.refused_at
        if standing.refused >= TRIES:
            raise Unauthorised(
                f"the server refused this user and password {standing.refused} times; it is not asked again with them"
            )
        if 0 <= age < PAUSE_SECONDS:
            raise Unauthorised(
                "the server refused this user and password; it is not asked again with them for an hour"
            )


def open_configured(remote: RemoteConfig, password: str) -> "WebDav":
    """The remote that the configuration means. Raises ConfigError."""
    return remotes.open_remote(remote.url, account_of(remote, password))


def account_of(remote: RemoteConfig, password: str) -> "Account":
    authority = os.path.expanduser(remote.ca_file)
    if authority:
        _check_authority(authority)
    return http_transport.Account(remote.user, password, remote.proxy, authority)


def _check_authority(file: str) -> None:
    """Raise ConfigError when no certificates can be read from a file or folder."""
    import ssl  # only here: few servers need it, and it comes with the connection in any case

    try:
        is_folder = os.path.isdir(file)
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(
            **{"capath" if is_folder else "cafile": file}
        )
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"no certificate can be read from `{file}`: {getattr(error, 'strerror', '') or 'it holds none'}",
            hint="name a file in PEM form with `--ca-file`, or as `ca_file` in [remote]",
        ) from None


def note_refusal(state: Path, mark: str, now: datetime) -> None:
    """Remember that the server refused this password."""
    standing = read_standing(state)
    times = standing.refused + 1 if standing.refused_mark == mark else 1
    change_standing(state, refused=times, refused_at=now.timestamp(), refused_mark=mark)


def forget_refusals(state: Path) -> None:
    """The server takes the password."""
    change_standing(state, refused=0, refused_at=0.0, refused_mark="")


@contextmanager
def alone(state: Path, *, patience: float) -> Iterator[None]:
    """Nobody else syncs this vault meanwhile. Raises Locked."""
    import filelock

    lock = filelock.FileLock(state / LOCK, mode=0o600)
    try:
        lock.acquire(timeout=patience)
    except filelock.Timeout:
        raise Locked(
            "another process syncs this vault just now", hint="try again in a moment"
        ) from None
    try:
        yield
    finally:
        lock.release()


def held_of(report: PassReport) -> tuple[Remark, ...]:
    """What a brake stopped, and only a person lets go: deletes, earlier texts, or all when one side is empty."""
    held = tuple(
        Remark(path, reason)
        for path, reason in report.held
        if (reason.startswith(DELETES) and _is_braked(reason)) or reason.endswith(OLDER)
    )
    return (Remark("", report.halted), *held) if report.halted else held


def kept_back(report: PassReport) -> tuple[Remark, ...]:
    """What is not done because one side is only read."""
    return tuple(
        Remark(path, reason) for path, reason in report.held if not _is_braked(reason)
    )


def _is_braked(reason: str) -> bool:
    return not reason.endswith(" is only read")


def needs_a_person(error: Exception) -> bool:
    """Whether waiting does not help."""
    return isinstance(error, Unauthorised | AnotherClient | NotTwoWay | ConfigError)


def in_words(error: Exception) -> str:
    """An error in one line, for the status."""
    return (
        error.message
        if isinstance(error, VaultMemoryError)
        else f"{type(error).__name__}: {error}"
    )
