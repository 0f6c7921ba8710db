"""What a host does about a vault that cannot be opened, learned from or brought home."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from vault_memory.addons.fleet.home_link import is_away
from vault_memory.addons.fleet.ledger.contract import Lease
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.errors import VaultMemoryError

logger = logging.getLogger(__name__)

FIRST_BACKOFF = timedelta(seconds=30)
LONGEST_BACKOFF = timedelta(hours=1)
LONGEST_AWAY = timedelta(minutes=5)
"""For a home that does not answer: operations may wait for it"""


def give_back_troubled(ledger: Ledger, lease: Lease, error: Exception) -> None:
    """End a lease that ends with trouble. The vault is due again later."""
    trouble = getattr(error, "code", "internal")
    longest = LONGEST_AWAY if is_away(error) else LONGEST_BACKOFF
    pause = min(longest, FIRST_BACKOFF * 2 ** min(lease.tries, 10))
    try:
        ledger.give_back(lease, datetime.now(UTC) + pause, trouble)
    except VaultMemoryError as failure:
        logger.warning("a lease runs out by itself: %s", failure.code)


@contextmanager
def logged_trouble() -> Iterator[None]:
    """Log what goes wrong in one vault, so that the others go on."""
    try:
        yield
    except VaultMemoryError as error:
        logger.warning("a due vault waits: %s", error.code)
    except Exception:
        logger.exception("a visit failed")
