"""Writes and removes the unit with which a service manager runs a daemon or a host.

A unit that another program wrote, or that a person changed, stays as it is. Nothing is started or
stopped: the report names the commands for that.
"""

import hashlib
import os
import re
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from vault_memory.admin.service_templates import Job, launchd_list, systemd_unit
from vault_memory.errors import UsageError, VaultMemoryError, VaultUnreachable
from vault_memory.vault import state_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


Kind = Literal["systemd", "launchd"]
Subject = Literal["vault", "host"]
"""What a unit belongs to"""
NAME = "vault-memory"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MARK = re.compile(
    r"^.*written by vault-memory for the (?:vault|host) ([0-9a-f]{32}), sum ([0-9a-f]{16}).*\n",
    re.MULTILINE,
)
_VARIABLES_OF_UNIT = {
    "VAULT_MEMORY_VAULT",
    "VAULT_MEMORY_CONFIG",
    "VAULT_MEMORY_STATE",
    "VAULT_MEMORY_CACHE",
}
"""Variables whose values the unit contains"""


class UnitNotOurs(VaultMemoryError):
    """A unit of this name was not written for this vault or host, or was changed by hand."""

    exit_code = 5

    def __init__(self, unit: Path, reason: str, hint: str) -> None:
        super().__init__(f"`{unit}` {reason}, so it stays as it is", hint=hint, unit=str(unit))


class UnitNotWritten(VaultMemoryError):
    """The folder of the units cannot be written."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What was done with a unit, or would be in a dry run."""

    unit: Path
    state: Literal["written", "unchanged", "removed", "absent"]
    text: str
    next: tuple[str, ...]
    """Commands for the user to run"""


@dataclass(frozen=True, slots=True)
class UnitPlace:
    """Where a unit of this name belongs."""

    kind: Kind
    name: str
    folder: Path
    own: bool
    """For the service manager of the user, not for that of the machine"""

    @property
    def unit(self) -> Path:
        """Return the path of the unit."""
        suffix = ".service" if self.kind == "systemd" else ".plist"
        return self.folder / f"{self.name}{suffix}"

    @property
    def enable_link(self) -> Path:
        """Return the path of the link that `systemctl enable` creates."""
        target = "default" if self.own else "multi-user"
        return self.folder / f"{target}.target.wants" / self.unit.name


class ServiceAccount(NamedTuple):
    """Who runs a service, and where the program keeps its own files for them."""

    owner: str
    """Name for the service manager of the machine; empty for that of the user"""
    state_root: Path
    cache: Path


def place_of(
    name: str,
    *,
    own: bool,
    kind: Kind | None,
    environment: Mapping[str, str],
    folder: Path | None = None,
) -> UnitPlace:
    """Return the place of a unit. Raises UsageError for a name that no unit can have."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"`{name}` cannot be the name of a unit",
            hint="use letters, digits and . _ -, and begin with a letter or a digit",
        )
    if kind is None:
        kind = "launchd" if sys.platform == "darwin" else "systemd"
    return UnitPlace(kind, name, folder or _usual_folder(kind, own, environment), own)


def _usual_folder(kind: Kind, own: bool, environment: Mapping[str, str]) -> Path:
    home = Path(environment.get("HOME") or Path.home())
    match kind, own:
        case "launchd", True:
            return home / "Library/LaunchAgents"
        case "launchd", False:
            return Path("/Library/LaunchDaemons")
        case "systemd", True:
            settings = environment.get("XDG_CONFIG_HOME", "").strip()
            return Path(settings or home / ".config") / "systemd/user"
        case _:
            return Path("/etc/systemd/system")


def job_of(
    place: UnitPlace,
    vault: Path,
    vault_id: str,
    config: Path | None,
    environment: Mapping[str, str],
) -> Job:
    """Return the daemon of a vault as a service.

    Raises VaultUnreachable when the vault was never used by its owner.
    """
    account = account_of(place, vault, environment)
    owner = account.owner
    state = account.state_root / vault_id
    if not state.is_dir():
        raise VaultUnreachable(
            f"the vault has no state folder `{state}` yet",
            hint=f"run `vault-memory status --vault {shlex.quote(str(vault))}` once"
            f" as {owner or 'yourself'}",
        )
    root = os.path.realpath(vault)
    return Job(
        name=place.name,
        title=root,
        program=program(),
        arguments=("run", "--vault", root),
        config=absolute(config),
        state_root=account.state_root,
        folders=(Path(root), state),
        log=state / "daemon.log",
        cache=account.cache,
        owner=owner,
    )


def account_of(place: UnitPlace, folder: Path, environment: Mapping[str, str]) -> ServiceAccount:
    """Return the account of a service that writes to a folder, and its own folders."""
    state_root = Path(os.path.abspath(state_dir.state_root(environment)))
    cache = Path(os.path.abspath(state_dir.cache_root(environment)))
    if place.own:
        return ServiceAccount("", state_root, cache)
    import pwd

    person = pwd.getpwuid(folder.stat().st_uid)
    # With sudo, the usual folders must be those of the owner of the folder.
    if person.pw_uid != os.getuid():
        named = _without_xdg(environment)
        state_root = _at_home(state_dir.state_root, named, person.pw_dir)
        cache = _at_home(state_dir.cache_root, named, person.pw_dir)
    return ServiceAccount(person.pw_name, state_root, cache)


def absolute(path: Path | None) -> Path | None:
    """Return the absolute path of a file; None without a file."""
    return Path(os.path.abspath(path)) if path else None


def install(place: UnitPlace, job: Job, owner_id: str, *, dry_run: bool) -> Installed:
    """Write the unit. Raises UnitNotOurs, UnitNotWritten, PathNotTaken.

    `owner_id` is that of the vault or of the host.
    """
    unit = systemd_unit(job) if place.kind == "systemd" else launchd_list(job)
    subject: Subject = "host" if job.is_host else "vault"
    text = _marked(unit, place.kind, f"{subject} {owner_id}")
    previous = _read_own_unit(place, owner_id)
    is_update = previous is not None and previous != text
    next_steps = tuple(_after_install(place, is_update=is_update))
    if previous == text:
        return Installed(place.unit, "unchanged", text, next_steps)
    if not dry_run:
        _write(place.unit, text)
    return Installed(place.unit, "written", text, next_steps)


def uninstall(place: UnitPlace, owner_id: str, *, dry_run: bool) -> Installed:
    """Remove the unit of this vault or host. Raises UnitNotOurs, UnitNotWritten."""
    text = _read_own_unit(place, owner_id)
    if text is None:
        return Installed(place.unit, "absent", "", ())
    if not dry_run:
        try:
            _unlink_enable_link(place)
            place.unit.unlink()
        except OSError as error:
            raise _unwritten(place.unit, error) from None
    return Installed(place.unit, "removed", text, tuple(_after_uninstall(place)))


def _unlink_enable_link(place: UnitPlace) -> None:
    link = place.enable_link
    if link.is_symlink() and Path(os.readlink(link)).name == place.unit.name:
        link.unlink()


def ignored_variables(environment: Mapping[str, str]) -> list[str]:
    """Return the settings of this terminal that the daemon will not have, sorted."""
    return sorted(name for name in environment if _is_ignored(name))


def environment_of_service(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the settings that the service will not have."""
    return {name: value for name, value in environment.items() if not _is_ignored(name)}


def _is_ignored(name: str) -> bool:
    return name.startswith("VAULT_MEMORY_") and name not in _VARIABLES_OF_UNIT


def _without_xdg(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith("XDG_")}


def _at_home(
    root_of: "Callable[[Mapping[str, str]], Path]", environment: Mapping[str, str], home: str
) -> Path:
    """Return a folder of the program for the user with this home folder."""
    root = Path(os.path.abspath(root_of(environment)))
    usual = root_of({})
    own_home = Path.home()
    if root == usual and usual.is_relative_to(own_home):
        return Path(home, usual.relative_to(own_home))
    return root


def program() -> tuple[str, ...]:
    """Return the words that start this program, with a path that stays."""
    script = Path(sys.executable).with_name("vault-memory")
    if os.access(script, os.X_OK):
        return (str(script),)
    return (sys.executable, "-m", "vault_memory")


def _read_own_unit(place: UnitPlace, owner_id: str) -> str | None:
    """Return the text of the unit; None without a unit. Raises UnitNotOurs."""
    unit = place.unit
    if not os.path.lexists(unit):
        return None
    try:
        text = "" if unit.is_symlink() else unit.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    mark = _MARK.search(text)
    if mark is None:
        raise UnitNotOurs(
            unit,
            "was not written by vault-memory",
            "move it away, or choose another name with `--name`",
        )
    if mark[1] != owner_id:
        raise UnitNotOurs(
            unit, "belongs to another vault or host", "choose another name with `--name`"
        )
    if mark[2] != _checksum(text.replace(mark[0], "", 1)):
        hint = "move it away"
        if place.kind == "systemd":
            hint += "; `systemctl edit` keeps your changes in a separate file"
        raise UnitNotOurs(unit, "was changed by hand", hint)
    return text


def _marked(text: str, kind: Kind, owner: str) -> str:
    """Return the text with a mark that says for which vault or host it was written."""
    mark = f"written by vault-memory for the {owner}, sum {_checksum(text)}"
    if kind == "systemd":
        return f"# {mark}; `vault-memory service uninstall` takes it out\n{text}"
    declaration, _, remaining = text.partition("\n")
    return f"{declaration}\n<!-- {mark} -->\n{remaining}"


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _write(unit: Path, text: str) -> None:
    temporary = unit.with_name(f".{unit.name}.{os.urandom(6).hex()}")
    try:
        unit.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(temporary, unit)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise _unwritten(unit, error) from None


def _unwritten(unit: Path, error: OSError) -> UnitNotWritten:
    hint = "use `--user` for your own service manager, or sudo for that of the machine"
    return UnitNotWritten(f"`{unit}` cannot be written: {error.strerror}", hint=hint)


def _after_install(place: UnitPlace, *, is_update: bool) -> "Sequence[str]":
    """Return the commands that start the daemon, or restart it with the new unit."""
    if place.kind == "launchd":
        stop = [_bootout(place)] if is_update else []
        domain, sudo = _launchd_domain(place)
        unit = shlex.quote(str(place.unit))
        return [*stop, f"{sudo}launchctl bootstrap {domain} {unit}"]
    systemctl = _systemctl(place)
    steps = [f"{systemctl} daemon-reload", f"{systemctl} enable --now {place.unit.name}"]
    if is_update:
        steps.append(f"{systemctl} restart {place.unit.name}")
    if place.own:
        steps.append("loginctl enable-linger")
    return steps


def _after_uninstall(place: UnitPlace) -> "Sequence[str]":
    """Return the commands that stop the daemon."""
    if place.kind == "launchd":
        return [_bootout(place)]
    systemctl = _systemctl(place)
    return [f"{systemctl} stop {place.unit.name}", f"{systemctl} daemon-reload"]


def _systemctl(place: UnitPlace) -> str:
    return "systemctl --user" if place.own else "sudo systemctl"


def _launchd_domain(place: UnitPlace) -> tuple[str, str]:
    if place.own:
        return ("gui/$(id -u)", "")
    return ("system", "sudo ")


def _bootout(place: UnitPlace) -> str:
    domain, sudo = _launchd_domain(place)
    return f"{sudo}launchctl bootout {domain}/{place.name}"
