"""Hands the daemon of a vault to the service manager of the machine: its unit is written, and taken out again.

A unit that somebody else wrote, or changed by hand, is left as it is. What comes next is said, not done.
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
from typing import TYPE_CHECKING, Literal

from vault_memory.admin.service_templates import Job, launchd_list, systemd_unit
from vault_memory.errors import UsageError, VaultMemoryError, VaultUnreachable
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vault_memory.vault import state_dir
else:
    state_dir = lazy_module("vault_memory.vault.state_dir")

Kind = Literal["systemd", "launchd"]
NAME = "vault-memory"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MARK = re.compile(
    r"^.*written by vault-memory for the vault ([0-9a-f]{32}), sum ([0-9a-f]{16}).*\n",
    re.MULTILINE,
)
_CARRIED = {
    "VAULT_MEMORY_VAULT",
    "VAULT_MEMORY_CONFIG",
    "VAULT_MEMORY_STATE",
    "VAULT_MEMORY_CACHE",
}


class UnitNotOurs(VaultMemoryError):
    """A unit of this name is there that was not written for this vault, or was changed by hand since."""

    exit_code = 5

    def __init__(self, unit: Path, reason: str, hint: str) -> None:
        super().__init__(
            f"`{unit}` {reason}, and is left as it is", hint=hint, unit=str(unit)
        )


class UnitNotWritten(VaultMemoryError):
    """The folder of the units cannot be written."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What was done, or would be."""

    unit: Path
    state: Literal["written", "unchanged", "removed", "absent"]
    text: str
    next: tuple[str, ...]
    """commands for the person to run"""
    left_out: tuple[str, ...] = ()
    """variables that are set here, and not in the unit"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a unit of this name belongs."""

    kind: Kind
    name: str
    folder: Path
    own: bool
    """of the person's own service manager, not the machine's"""

    @property
    def unit(self) -> Path:
        return self.folder / (
            self.name + (".service" if self.kind == "systemd" else ".plist")
        )

    @property
    def wanted(self) -> Path:
        """What `systemctl enable` makes."""
        return (
            self.folder
            / f"{'default' if self.own else 'multi-user'}.target.wants"
            / self.unit.name
        )


def place_of(
    name: str,
    *,
    own: bool,
    kind: Kind | None,
    environment: Mapping[str, str],
    folder: Path | None = None,
) -> Place:
    """Raises UsageError for a name that no unit can have."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"`{name}` cannot be the name of a unit",
            hint="letters, digits and . _ - are taken",
        )
    kind = kind or ("launchd" if sys.platform == "darwin" else "systemd")
    home = Path(environment.get("HOME") or Path.home())
    if kind == "launchd":
        usual = home / "Library/LaunchAgents" if own else Path("/Library/LaunchDaemons")
    elif own:
        usual = (
            Path(environment.get("XDG_CONFIG_HOME", "").strip() or home / ".config")
            / "systemd/user"
        )
    else:
        usual = Path("/etc/systemd/system")
    return Place(kind, name, folder or usual, own)


def job_of(
    place: Place,
    vault: Path,
    vault_id: str,
    config: Path | None,
    environment: Mapping[str, str],
) -> Job:
    """The daemon as it is to be run. Raises VaultUnreachable when the vault was never used by its owner."""
    states, cache = (
        Path(os.path.abspath(root))
        for root in (
            state_dir.state_root(environment),
            state_dir.cache_root(environment),
        )
    )
    owner = ""
    if not place.own:
        import pwd

        person = pwd.getpwuid(vault.stat().st_uid)
        owner = person.pw_name
        if (
            person.pw_uid != os.getuid()
        ):  # the usual folders are theirs, not those of who installs
            named = {
                name: value
                for name, value in environment.items()
                if not name.startswith("XDG_")
            }
            states, cache = (
                _at_home(root, named, person.pw_dir)
                for root in (state_dir.state_root, state_dir.cache_root)
            )
    state = states / vault_id
    if not state.is_dir():
        raise VaultUnreachable(
            f"there is no state folder `{state}` of the vault yet",
            hint=f"run `vault-memory status --vault {shlex.quote(str(vault))}` once as {owner or 'yourself'}",
        )
    config = Path(os.path.abspath(config)) if config else None
    return Job(
        place.name,
        Path(os.path.realpath(vault)),
        _program(),
        config,
        states,
        state,
        cache,
        owner,
    )


def install(place: Place, job: Job, vault_id: str, *, dry_run: bool) -> Installed:
    """Write the unit. Raises UnitNotOurs, UnitNotWritten, PathNotTaken."""
    text = _marked(
        systemd_unit(job) if place.kind == "systemd" else launchd_list(job),
        place.kind,
        vault_id,
    )
    before = _own(place, vault_id)
    if before != text and not dry_run:
        _write(place.unit, text)
    state: Literal["unchanged", "written"] = (
        "unchanged" if before == text else "written"
    )
    return Installed(
        place.unit,
        state,
        text,
        tuple(_after_install(place, again=before not in (None, text))),
    )


def uninstall(place: Place, vault_id: str, *, dry_run: bool) -> Installed:
    """Take out the unit that was written for this vault, and no other. Raises UnitNotOurs, UnitNotWritten."""
    text = _own(place, vault_id)
    if text is None:
        return Installed(place.unit, "absent", "", ())
    if not dry_run:
        try:
            if (
                place.wanted.is_symlink()
                and Path(os.readlink(place.wanted)).name == place.unit.name
            ):
                place.wanted.unlink()
            place.unit.unlink()
        except OSError as error:
            raise _unwritten(place.unit, error) from None
    return Installed(place.unit, "removed", text, tuple(_after_uninstall(place)))


def left_out(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Settings of this terminal that the daemon will not have."""
    return tuple(
        sorted(
            name
            for name in environment
            if name.startswith("VAULT_MEMORY_") and name not in _CARRIED
        )
    )


def _at_home(
    root: "Callable[[Mapping[str, str]], Path]",
    environment: Mapping[str, str],
    home: str,
) -> Path:
    """A folder as the program names it, for the person of this home."""
    found, here = Path(os.path.abspath(root(environment))), Path.home()
    usual = root({})
    return (
        Path(home, usual.relative_to(here))
        if found == usual and usual.is_relative_to(here)
        else found
    )


def _program() -> tuple[str, ...]:
    """What runs just now, by a path that stays."""
    script = Path(sys.executable).with_name("vault-memory")
    return (
        (str(script),)
        if os.access(script, os.X_OK)
        else (sys.executable, "-m", "vault_memory")
    )


def _own(place: Place, vault_id: str) -> str | None:
    """The unit as it stands; None when there is none. Raises UnitNotOurs."""
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
            "move it away, or give this one a `--name`",
        )
    if mark[1] != vault_id:
        raise UnitNotOurs(unit, "is of another vault", "give this one a `--name`")
    if mark[2] != _sum(text.replace(mark[0], "", 1)):
        hint = "move it away; `systemctl edit` keeps changes in a file of their own"
        raise UnitNotOurs(
            unit,
            "was changed by hand",
            hint if place.kind == "systemd" else "move it away",
        )
    return text


def _marked(text: str, kind: Kind, vault_id: str) -> str:
    mark = f"written by vault-memory for the vault {vault_id}, sum {_sum(text)}"
    if kind == "systemd":
        return f"# {mark}; `vault-memory service uninstall` takes it out\n{text}"
    first, _, rest = text.partition("\n")
    return f"{first}\n<!-- {mark} -->\n{rest}"


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _write(unit: Path, text: str) -> None:
    fresh = unit.with_name(f".{unit.name}.{os.urandom(6).hex()}")
    try:
        unit.parent.mkdir(parents=True, exist_ok=True)
        with open(
            os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644),
            "w",
            encoding="utf-8",
        ) as stream:
            stream.write(text)
        os.replace(fresh, unit)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink()
        raise _unwritten(unit, error) from None


def _unwritten(unit: Path, error: OSError) -> UnitNotWritten:
    hint = "use --user for a service of your own, or sudo for one of the machine"
    return UnitNotWritten(f"`{unit}` cannot be written: {error.strerror}", hint=hint)


def _after_install(place: Place, *, again: bool) -> "Sequence[str]":
    if place.kind == "launchd":
        domain, sudo = ("gui/$(id -u)", "") if place.own else ("system", "sudo ")
        first = [f"{sudo}launchctl bootout {domain}/{place.name}"] if again else []
        return [
            *first,
            f"{sudo}launchctl bootstrap {domain} {shlex.quote(str(place.unit))}",
        ]
    systemctl = "systemctl --user" if place.own else "sudo systemctl"
    linger = ["loginctl enable-linger"] if place.own else []
    then = [f"{systemctl} restart {place.unit.name}"] if again else []
    return [
        f"{systemctl} daemon-reload",
        f"{systemctl} enable --now {place.unit.name}",
        *then,
        *linger,
    ]


def _after_uninstall(place: Place) -> "Sequence[str]":
    if place.kind == "launchd":
        domain, sudo = ("gui/$(id -u)", "") if place.own else ("system", "sudo ")
        return [f"{sudo}launchctl bootout {domain}/{place.name}"]
    systemctl = "systemctl --user" if place.own else "sudo systemctl"
    return [f"{systemctl} stop {place.unit.name}", f"{systemctl} daemon-reload"]
