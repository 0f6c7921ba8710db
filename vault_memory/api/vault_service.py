"""Which vault a request is for: `async with opened(service, state) as memory`.

`serve` has one vault, and each request gets it. A host has many, and the token of a request names
its vault.
"""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import DatabaseError
from vault_memory.errors import VaultMemoryError

logger = logging.getLogger(__name__)

VAULT, CALLER = "vault", "caller"
"""Keys of the state of a request: the key of its vault, and its Caller"""
RETRY_SECONDS = 5
"""When a client may ask again for a vault that cannot be opened now"""

RequestState = Mapping[str, Any]
"""What the check of the token found out: `scope["state"]` of ASGI"""


class VaultUnavailable(VaultMemoryError):
    """The vault of a request cannot be opened now. The log of the host says why."""

    exit_code = 4
    http_status = 503

    def __init__(self) -> None:
        super().__init__(
            "this vault cannot be opened now",
            hint="try again later; the log of the server says why",
        )


class VaultUnknown(VaultMemoryError):
    """The host serves no such vault. Over HTTP, the answer is that for an unknown token."""

    exit_code = 4
    http_status = 401

    def __init__(self) -> None:
        super().__init__(
            "this vault is not served here",
            hint="`vault-memory host` serves the vaults in the folder of `--vaults`",
        )


class VaultService(Protocol):
    """Gives each request its vault."""

    def vault(self, state: RequestState) -> AbstractAsyncContextManager[VaultMemory]:
        """Opens the vault that `state[VAULT]` names; it counts as in use until the end.

        Raises VaultUnknown. Any other error for people means that the vault cannot be opened.
        """


class SingleVault:
    """The service of one vault that is always open."""

    def __init__(self, memory: VaultMemory) -> None:
        self._memory = memory

    @asynccontextmanager
    async def vault(self, state: RequestState) -> AsyncIterator[VaultMemory]:
        """Gives the vault."""
        yield self._memory


@asynccontextmanager
async def opened(service: VaultService, state: RequestState) -> AsyncIterator[VaultMemory]:
    """Gives the vault of a request. Raises VaultUnknown, VaultUnavailable."""
    async with AsyncExitStack() as stack:
        try:
            memory = await stack.enter_async_context(service.vault(state))
        except (VaultUnknown, VaultUnavailable):
            raise
        except (VaultMemoryError, DatabaseError, OSError) as error:
            # Fault: the error names a folder of the machine, or another vault that holds
            # a lock. Only the log may have it.
            logger.warning("a vault cannot be opened: %s", error)
            raise VaultUnavailable from None
        yield memory
