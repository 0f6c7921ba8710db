"""The devices that write to a vault: this one, and those whose logs were found in the vault."""

from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from vault_memory.vault.device_id import device_of, is_device, own_log

OTHERS = "devices"


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
