"""The devices that write to a vault: this one, and those whose logs were found in the vault.

The name of this device, e.g. ``laptop-3f9a1c``, is kept in the vault's state folder. It is made
from the machine, the user and the path of the state folder, so that a deleted state folder gets
the same name again. It is in each audit record, and in the names of logs once several devices
write to one vault.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from vault_memory.config import state_file

FILE = "device"
OTHERS = "devices"
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_LONGEST_HOST = 24
_DIGITS = 6
"""Hexadecimal digits at the end of a name"""


def device_of(state: Path) -> str:
    """Returns the name of the device of this state folder; the first call makes the name.

    It has letters, digits and hyphens only, because it is used in the names of files.
    """
    file = state / FILE
    saved = _read_name(file)
    if saved:
        return saved
    state_file.write(file, _make_name(state) + "\n")
    # Two processes may start at once. Both use the name that is in the file in the end.
    return _read_name(file)


def own_log(path: str, device: str) -> str:
    """``2026-11-21.jsonl`` gives ``2026-11-21.laptop-3f9a1c.jsonl``, the log of one device."""
    stem, ending = path.rsplit(".", 1)
    return f"{stem}.{device}.{ending}"


def is_device(name: str) -> bool:
    """Whether this can be the name of a device."""
    return _NAME.fullmatch(name) is not None


def _read_name(file: Path) -> str:
    try:
        name = file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
    return name if is_device(name) else ""


def _make_name(state: Path) -> str:
    host_name = os.uname().nodename.lower().split(".")[0]
    host = re.sub(r"[^a-z0-9]+", "-", host_name)[:_LONGEST_HOST].strip("-")
    user = str(os.getuid())
    identity = "\0".join(("vault-memory", _machine(), user, os.path.realpath(state)))
    digest = hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{host or 'device'}-{digest[:_DIGITS]}"


def _machine() -> str:
    """Returns an id that differs between machines of the same name; it is only ever hashed."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        # Containers often have no machine id.
        return os.uname().nodename


# --- All devices ---


class Devices:
    """The devices of one vault, as this device's state folder remembers them."""

    def __init__(self, state: Path) -> None:
        self._state = state

    @cached_property
    def device(self) -> str:
        """The name of this device."""
        return device_of(self._state)

    @cached_property
    def others(self) -> frozenset[str]:
        """The names of the other devices that write to this vault."""
        text = ""
        with suppress(OSError, ValueError):
            text = (self._state / OTHERS).read_text(encoding="ascii")
        return frozenset(filter(is_device, text.split()))

    def log_names(self, log: str) -> tuple[str, ...]:
        """Returns the names that the parts of a log have in any case."""
        return (log, *(own_log(log, name) for name in {self.device, *self.others}))

    def meet(self, devices: Iterable[str]) -> None:
        """Remembers devices that write to this vault."""
        names = set(filter(is_device, devices))
        new_names = names - self.others - {self.device}
        if not new_names:
            return
        self.others |= new_names
        text = "\n".join(sorted(self.others)) + "\n"
        # A full disk is no trouble: the next reading of the logs finds the devices again.
        with suppress(OSError):
            (self._state / OTHERS).write_text(text, encoding="ascii")
