"""Lets pools of threads work for vaults, for each vault on one thing at a time."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

logger = logging.getLogger(__name__)


class VaultWork:
    """The vaults for which a pool works at this moment."""

    def __init__(self, changed: threading.Condition) -> None:
        """`changed` guards `busy`."""
        self._changed = changed
        self.busy: set[str] = set()
        """vaults with work in a pool"""

    def submit(self, vault: str, work: Callable[[], None], pool: ThreadPoolExecutor) -> bool:
        """Let a pool work for a vault. Return False when one does so already."""
        with self._changed:
            if vault in self.busy:
                return False
            self.busy.add(vault)

        def run() -> None:
            try:
                work()
            except Exception:
                # Fault: nobody asks the pool what came of the work.
                logger.exception("the work for a vault failed")
            finally:
                with self._changed:
                    self.busy.discard(vault)

        pool.submit(run)
        return True
