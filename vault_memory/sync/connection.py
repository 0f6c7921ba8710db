"""Connects a vault with its configured remote. One process at a time syncs a vault."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from vault_memory.config.remote_password import password_of
from vault_memory.config.s3_settings import is_s3
from vault_memory.config.sections import RemoteSettings as RemoteConfig
from vault_memory.database.connection import DatabaseError, is_damage
from vault_memory.errors import ConfigError, Locked, VaultMemoryError
from vault_memory.remote import http_transport, remotes
from vault_memory.remote.remote_errors import (
    AWS_KEYS,
    PreconditionsIgnored,
    Unauthorised,
    WrongRegion,
)
from vault_memory.rules.paths import globs
from vault_memory.rules.paths.layout import Layout
from vault_memory.sync.apply.session import Writing
from vault_memory.sync.engine import DEFAULT_OPTIONS, LAST_GOOD, LocalVault, SyncEngine
from vault_memory.sync.observe.other_clients import refuse_other_clients
from vault_memory.sync.pass_report import PassOptions, PassReport
from vault_memory.sync.plan.safety_limits import OLDER, OLDER_HERE
from vault_memory.sync.report import Remark
from vault_memory.sync.settings import Mode, Settings
from vault_memory.sync.state_db import quarantine_state
from vault_memory.sync.status import (
    PAUSE_SECONDS,
    TRIES,
    SyncStatus,
    mark_of,
    read_status,
    update_status,
)
from vault_memory.sync.sync_errors import AnotherClient, NotTwoWay
from vault_memory.vault.devices import device_of
from vault_memory.vault.reader import Folder

if TYPE_CHECKING:
    from vault_memory.remote.contract import Remote
    from vault_memory.remote.http_transport import Account

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
OpenRemote = Callable[[RemoteConfig, str], "Remote"]
"""Opens a remote, given its configuration and password, without a request"""

LOCK = "sync.lock"
MODES: Mapping[str, Mode] = {"two-way": "both", "pull": "pull", "push": "push"}
MUST_EXIST = ("user", "channel", "memory")
"""Kinds of notes whose name is their role"""
DELETES = ("delete", "trash", "remove")
"""How the words of deleting actions begin"""


class NoRemote(ConfigError):
    """The vault has no remote to sync with."""

    def __init__(self) -> None:
        super().__init__(
            "this vault has no remote", hint="`vault-memory remote add URL` sets one up"
        )


def local_vault(folder: Folder, layout: Layout, writing: Writing) -> LocalVault:
    """The local side of a sync, with the layout's rule which notes must exist."""

    def must_exist(path: str) -> bool:
        place = layout.place(path)
        return place is not None and place.kind in MUST_EXIST

    return LocalVault(folder, writing, must_exist)


class SyncConnection:
    """A remote and a vault, for one thread at a time."""

    def __init__(
        self,
        config: RemoteConfig,
        vault: LocalVault,
        state_folder: Path,
        environment: Mapping[str, str],
        open_remote: "OpenRemote | None" = None,
    ) -> None:
        """Open both sides without a request. Raises NoRemote, AnotherClient, PasswordUnsafe.

        `open_remote` opens the configured remote in another way, e.g. to share one listing.
        """
        if not config.url:
            raise NoRemote
        root = Path(vault.folder.root)
        refuse_other_clients(root)
        self._config = config
        self._vault = vault
        self._state_folder = state_folder
        self._password = password_of(config, environment, root)
        self._remote = (open_remote or open_configured)(config, self._password)
        self._engine = self._open_engine()
        self._must_ask = False
        """whether the sync state is new, so that the next pass has to ask the server"""

    def _open_engine(self) -> SyncEngine:
        config = self._config
        for key, patterns in (("include", config.include), ("exclude", config.exclude)):
            problem = globs.problem_of_all(patterns)
            if problem:
                raise ConfigError(
                    f"`remote.{key}`: {problem}", hint="correct it in the configuration"
                )
        settings = Settings(
            mode=MODES[config.mode],
            include=config.include,
            exclude=config.exclude,
            device=device_of(self._state_folder),
        )
        return SyncEngine(
            self._vault, self._state_folder, self._remote, settings, insist=config.insist
        )

    def close(self) -> None:
        self._engine.close()
        self._remote.close()

    def run_pass(self, now: datetime, options: PassOptions = DEFAULT_OPTIONS) -> PassReport:
        """Run one pass. Raises the errors of `SyncEngine.run_pass`."""
        status = read_status(self._state_folder)
        self._check_refusals(status, now)

        def run() -> PassReport:
            ask = options.ask or self._must_ask
            report = self._engine.run_pass(now, replace(options, ask=ask))
            self._must_ask = False
            return report

        try:
            report = self._with_repair(run)
        except Unauthorised:
            note_refusal(self._state_folder, self._mark(), now)
            raise
        if status.refused:
            forget_refusals(self._state_folder)
        return _with_resting_failed(report, options.resting)

    def is_being_saved(self, now: datetime) -> bool:
        """Whether a program is saving a file of the vault."""
        return self._with_repair(lambda: self._engine.is_being_saved(now))

    def count_waiting(self, now: datetime) -> int:
        """Count the local edits that the server does not have yet."""
        return self._with_repair(lambda: self._engine.count_waiting(now))

    @property
    def last_good(self) -> str:
        """When a complete pass last succeeded; ISO 8601, or nothing."""
        moment = self._with_repair(lambda: self._engine.state.meta(LAST_GOOD))
        return moment if isinstance(moment, str) else ""

    def _with_repair(self, call: Callable[[], Result]) -> Result:
        """Call the engine; when the sync state is damaged, begin a new one and call again."""
        try:
            return call()
        except DatabaseError as error:
            if not is_damage(error):
                raise
            # Fault: a crash or the disk has damaged the sync state. The vault and the server still
            # have all texts.
            self._engine.close()
            quarantine_state(self._state_folder)
            self._engine = self._open_engine()
            self._must_ask = True
            return call()

    def _mark(self) -> str:
        return mark_of(self._config.url, self._config.user, self._password)

    def _check_refusals(self, status: SyncStatus, now: datetime) -> None:
        """Raise Unauthorised for a password that the server has refused."""
        # boto3 looks for the keys itself: they may be others by now.
        if is_s3(self._config.url) and not self._password:
            return
        # Fault: a server locks an account after too many requests with a wrong password.
        if not status.refused or status.refused_mark != self._mark():
            return
        age = now.timestamp() - status.refused_at
        account, hint = "this user and password", ""
        if is_s3(self._config.url):
            account, hint = "these keys", AWS_KEYS
        if status.refused >= TRIES:
            raise Unauthorised(
                f"the server refused {account} {status.refused} times; "
                "it is not asked again with them",
                hint=hint,
            )
        if 0 <= age < PAUSE_SECONDS:
            raise Unauthorised(
                f"the server refused {account}; it is not asked again with them for an hour",
                hint=hint,
            )


def _with_resting_failed(report: PassReport, resting: Mapping[str, str]) -> PassReport:
    """Report the paths that were left alone as failed, not as skipped."""
    skipped = dict(report.skipped)
    failed = {path: skipped.pop(path) for path in resting if path in skipped}
    failed |= dict(report.failed)
    return replace(report, skipped=tuple(skipped.items()), failed=tuple(sorted(failed.items())))


def open_configured(remote: RemoteConfig, password: str) -> "Remote":
    """Open the configured remote, without a request. Raises ConfigError."""
    return remotes.open_remote(
        remote.url, account_of(remote, password), endpoint=remote.endpoint, region=remote.region
    )


def account_of(remote: RemoteConfig, password: str) -> "Account":
    authority = os.path.expanduser(remote.ca_file)
    if authority:
        _check_authority(authority)
    return http_transport.Account(remote.user, password, remote.proxy, authority)


def _check_authority(file: str) -> None:
    """Raise ConfigError when no certificates can be read from a file or folder."""
    import ssl  # only here: few servers need it, and it comes with the connection in any case

    source = "capath" if os.path.isdir(file) else "cafile"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(**{source: file})
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", "") or "it contains none"
        raise ConfigError(
            f"no certificate can be read from `{file}`: {reason}",
            hint="name a file in PEM form with `--ca-file`, or as `ca_file` in [remote]",
        ) from None


def note_refusal(state_folder: Path, mark: str, now: datetime) -> None:
    """Record that the server refused a password."""
    status = read_status(state_folder)
    times = status.refused + 1 if status.refused_mark == mark else 1
    update_status(state_folder, refused=times, refused_at=now.timestamp(), refused_mark=mark)


def forget_refusals(state_folder: Path) -> None:
    """Record that the server accepts the password."""
    update_status(state_folder, refused=0, refused_at=0.0, refused_mark="")


@contextmanager
def alone(state_folder: Path, *, patience: float) -> Iterator[None]:
    """Hold the lock of this vault's sync. Raises Locked after `patience` seconds."""
    import filelock

    lock = filelock.FileLock(state_folder / LOCK, mode=0o600)
    try:
        lock.acquire(timeout=patience)
    except filelock.Timeout:
        raise Locked(
            "another process syncs this vault at the moment", hint="try again in a moment"
        ) from None
    try:
        yield
    finally:
        lock.release()


def held_of(report: PassReport) -> tuple[Remark, ...]:
    """What a safety limit stopped until a person approves it."""
    remarks = [Remark("", report.halted)] if report.halted else []
    for path, reason in report.held:
        is_delete = reason.startswith(DELETES) and not _is_read_only(reason)
        if is_delete or reason.endswith((OLDER, OLDER_HERE)):
            remarks.append(Remark(path, reason))
    return tuple(remarks)


def kept_back(report: PassReport) -> tuple[Remark, ...]:
    """What is not done because one side is only read."""
    return tuple(Remark(path, reason) for path, reason in report.held if _is_read_only(reason))


def _is_read_only(reason: str) -> bool:
    return reason.endswith(" is only read")


def needs_a_person(error: Exception) -> bool:
    """Whether only a person can resolve the error; waiting does not help."""
    return isinstance(
        error,
        Unauthorised | AnotherClient | NotTwoWay | ConfigError | PreconditionsIgnored | WrongRegion,
    )


def in_words(error: Exception) -> str:
    """An error in one line, for the status."""
    if isinstance(error, VaultMemoryError):
        return error.message
    return f"{type(error).__name__}: {error}"
