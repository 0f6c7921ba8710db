"""The devices that write to a vault: this one, and those whose logs were found in the vault."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from vault_memory.vault.device_id import device_of, is_device

OTHERS = "devices"


class Devices:
    """The devices of one vault, as this device's state folder remembers them."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._device = ""
        self._others: frozenset[str] | None = None

    @property
    def device(self) -> str:
        """The name of this device."""
        self._device = self._device or device_of(self._state)
        return self._device

    @property
    def others(self) -> frozenset[str]:
        """The names of the other devices that write to this vault."""
        if self._others is None:
            text = ""
            with suppress(OSError, ValueError):
                text = (self._state / OTHERS).read_text(encoding="ascii")
            self._others = frozenset(filter(is_device, text.split()))
        return self._others

    def meet(self, devices: Iterable[str]) -> None:
        """Remembers devices that write to this vault."""
        names = set(filter(is_device, devices))
        new_names = names - self.others - {self.device}
        if not new_names:
            return
        self._others = self.others | new_names
        text = "\n".join(sorted(self._others)) + "\n"
        # A full disk is no trouble: the next reading of the logs finds the devices again.
        with suppress(OSError):
            (self._state / OTHERS).write_text(text, encoding="ascii")
