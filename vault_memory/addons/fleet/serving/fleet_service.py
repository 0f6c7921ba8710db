"""What the HTTP app of a host asks a fleet: who owns a token, and the vault of a request."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import anyio

from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.ledger.ledger_errors import LeaseLost
from vault_memory.addons.fleet.serving.held_vault import AcknowledgedMemory, HeldVault
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import VAULT, RequestState, VaultUnavailable, VaultUnknown
from vault_memory.errors import VaultMemoryError
from vault_memory.http.tokens import TokenOwner

HELD, WRITES = "held_vault", "writes"
"""Keys of the state of a request: its HeldVault, and whether its call may write"""
FRESH_SECONDS = 5.0
"""A token that was removed from the ledger opens its vault for so long"""
MOST_TOKENS = 10_000
MOST_LOOKUPS = 4
"""Tokens that the ledger is asked for at once"""


class LedgerTokens:
    """The tokens of all vaults. Only the event loop may ask it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._owners: dict[bytes, tuple[TokenOwner, float]] = {}
        """Digest → its owner, and when the ledger said so"""
        self._lookups: anyio.CapacityLimiter | None = None

    async def owner(self, digest: bytes) -> TokenOwner | None:
        """Return the owner of a token, or None. Raises VaultUnavailable."""
        cached, asked_at = self._owners.get(digest, (None, 0.0))
        now = time.monotonic()
        if cached is not None and now - asked_at < FRESH_SECONDS:
            return cached
        # Fault: many wrong tokens would take the threads of all calls, and all connections to
        # the database, which renew the leases.
        if self._lookups is None:
            self._lookups = anyio.CapacityLimiter(MOST_LOOKUPS)
        try:
            row = await anyio.to_thread.run_sync(self._ledger.caller, digest, limiter=self._lookups)
        except VaultMemoryError:
            # Fault: the database is away. Reads go on until the leases end.
            if cached and now - asked_at < self._ledger.lease_seconds:
                return cached
            raise VaultUnavailable from None
        self._owners.pop(digest, None)
        if row is None:
            return None
        if len(self._owners) >= MOST_TOKENS:
            del self._owners[next(iter(self._owners))]
        owner = TokenOwner(row.caller, row.vault)
        self._owners[digest] = (owner, now)
        return owner


class HeldVaults:
    """Gives each request the vault that this host holds for it."""

    @asynccontextmanager
    async def vault(self, state: RequestState) -> AsyncIterator[VaultMemory]:
        """Give the vault. At the end, what a request wrote is safe. Raises VaultUnavailable, Pending."""
        entry = state.get(HELD)
        # Fault: the request of one token must never reach the vault of another.
        if not isinstance(entry, HeldVault) or entry.visit.lease.vault != state[VAULT]:
            raise VaultUnknown
        try:
            memory = AcknowledgedMemory(entry)
        except LeaseLost:
            # Fault: a flush learned just now that another host has the vault.
            raise VaultUnavailable from None
        yield cast(VaultMemory, memory)
        # Without its home, a vault takes operations only, and the ledger has them.
        is_flushed = memory.is_durable or entry.visit.away is not None
        if state.get(WRITES) and not is_flushed:
            await anyio.to_thread.run_sync(entry.make_durable)
