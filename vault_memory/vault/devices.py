"""Which devices write to a vault: this one, and those that were met in what they wrote."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from vault_memory.vault.device_id import device_of, is_device

OTHERS = "devices"


class Devices:
    """As the state folder of this one remembers them."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._device = ""
        self._others: frozenset[str] | None = None

    @property
    def device(self) -> str:
        """The name of this one."""
        self._device = self._device or device_of(self._state)
        return self._device

    @property
    def others(self) -> frozenset[str]:
        """The names of the other devices that are known to write to this vault."""
        if self._others is None:
            kept = ""
            with suppress(OSError, ValueError):
                kept = (self._state / OTHERS).read_text(encoding="ascii")
            self._others = frozenset(name for name in kept.split() if is_device(name))
        return self._others

    def meet(self, devices: Iterable[str]) -> None:
        """These write to this vault: remember those that are news."""
        fresh = (
            {name for name in devices if is_device(name)} - self.others - {self.device}
        )
        if fresh:
            self._others = self.others | fresh
            with suppress(OSError):  # they are met again
                (self._state / OTHERS).write_text(
                    "\n".join(sorted(self._others)) + "\n", encoding="ascii"
                )
