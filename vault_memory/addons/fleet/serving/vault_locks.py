"""Lets one thread at a time take a vault or give it back."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class VaultLocks:
    """A lock for each vault, for as long as a thread wants it."""

    def __init__(self, changed: threading.Condition) -> None:
        """`changed` guards `taken`, and is notified when a lock is free again."""
        self._changed = changed
        self.taken: set[str] = set()
        """the vaults whose lock a thread has"""

    @contextmanager
    def lock(self, vault: str) -> Iterator[None]:
        """Wait for the lock of the vault, and keep it."""
        with self._changed:
            while vault in self.taken:
                self._changed.wait()
            self.taken.add(vault)
        try:
            yield
        finally:
            with self._changed:
                self.taken.discard(vault)
                self._changed.notify_all()
