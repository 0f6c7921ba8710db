"""What a ledger refuses, and why it does not answer."""

from vault_memory.addons.fleet.ledger.contract import Lease
from vault_memory.errors import ConfigError, UsageError, VaultMemoryError


class VaultAddedTwice(UsageError):
    """The fleet has a vault of this name, id or home already. Nothing was changed."""

    http_status = 409

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the fleet has the vault `{name}` or its home already; nothing was changed",
            hint="run `vault-memory fleet status` to list the vaults;"
            " `vault-memory fleet token NAME --user NAME` makes another token",
            name=name,
        )


class UnknownVault(VaultMemoryError):
    """The ledger has no vault of this name or id."""

    http_status = 404

    def __init__(self, vault: str) -> None:
        super().__init__(
            f"the fleet has no vault `{vault}`",
            hint="run `vault-memory fleet status` to list the vaults",
        )


class TokenTaken(UsageError):
    """The token opens another vault already. Nothing was changed."""

    http_status = 409

    def __init__(self) -> None:
        super().__init__(
            "the token opens another vault already; nothing was changed",
            hint="make a new token for each vault",
        )


class LeaseLost(VaultMemoryError):
    """Another host holds the vault by now, or the lease was given back."""

    http_status = 503

    def __init__(self, lease: Lease) -> None:
        super().__init__(
            "this host does not hold the vault any more",
            hint="try again: the request then reaches the host that holds it",
            vault=lease.vault,
            epoch=lease.epoch,
        )


class LedgerAway(VaultMemoryError):
    """The database of the fleet does not answer now."""

    http_status = 503

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the ledger of the fleet does not answer: {reason}",
            hint="try again in a moment, and check the database if it stays so",
            reason=reason,
        )


CHECK_DATABASE = "check `fleet.database`, and the user, password or file that it names"


class LedgerRefused(ConfigError):
    """The database of the fleet refuses this host: its user, password, name or rights."""

    def __init__(self, reason: str, hint: str = CHECK_DATABASE) -> None:
        super().__init__(
            f"the database of the fleet refuses this host: {reason}", hint=hint, reason=reason
        )


class LedgerMissing(ConfigError):
    """The database has no ledger yet."""

    def __init__(self) -> None:
        super().__init__(
            "the database has no ledger yet", hint="make one with `vault-memory fleet init`"
        )


class LedgerTooNew(ConfigError):
    """The ledger was made or migrated by a newer version of the program. Nothing was changed."""

    def __init__(self, version: int, newest: int) -> None:
        super().__init__(
            f"the ledger has format {version}, and this version reads formats up to {newest}",
            hint="use the newer version of vault-memory on each host",
            version=version,
            newest=newest,
        )
