"""Errors of a fleet: what a host finds in the home of a vault and must not go on with."""

from vault_memory.api.vault_service import VaultUnavailable
from vault_memory.errors import VaultMemoryError


class BundleNewer(VaultMemoryError):
    """The bundle of a vault was written by a newer version of the program."""

    exit_code = 3
    http_status = 503

    def __init__(self, number: int, supported: int) -> None:
        super().__init__(
            f"the bundle of this vault has format {number},"
            f" and this version reads formats up to {supported}",
            hint="update this host; nothing was changed",
            found=number,
            known=supported,
        )


class AnotherFleet(VaultMemoryError):
    """The home of a vault is used by another fleet."""

    exit_code = 3
    http_status = 503

    def __init__(self) -> None:
        super().__init__(
            "the home of this vault belongs to another fleet:"
            " two fleets must not write to one bucket",
            hint="give each fleet homes of its own; nothing was changed",
        )


class BundleDamaged(VaultMemoryError):
    """The bundle of a vault is incomplete, or another program changed it."""

    exit_code = 4
    http_status = 503

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the bundle of this vault cannot be used: {reason}",
            hint="restore an earlier version of the object `.vault-memory.~bundle`;"
            " the notes are not affected",
            reason=reason,
        )


class HomeChanged(VaultMemoryError):
    """The home of a vault is not the one of the last visit, or not as it was."""

    exit_code = 5
    http_status = 503

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"nothing is written to the home of this vault: {reason}",
            hint="check the address of the home, and whether it was restored from a backup",
            reason=reason,
        )


class VaultInUse(VaultMemoryError):
    """A host holds the vault, and does not give it back."""

    http_status = 503

    def __init__(self, name: str, host: str) -> None:
        super().__init__(
            f"the host `{host}` holds the vault `{name}`",
            hint="try again when no bot uses it, or drain that host",
            name=name,
            host=host,
        )


class HostsSilent(VaultMemoryError):
    """A host does not do in time what it was asked to do."""

    http_status = 503

    def __init__(self, hosts: list[str]) -> None:
        names = ", ".join(f"`{host}`" for host in hosts)
        super().__init__(
            f"a host does not answer in time: {names}",
            hint="see its log; its leases end by themselves if it does not run",
            hosts=hosts,
        )


class Pending(VaultUnavailable):
    """A write is on one host only, because its home or the ledger does not answer."""

    exit_code = 75

    def __init__(self, reason: str) -> None:
        VaultMemoryError.__init__(
            self,
            f"the write is not safe yet: {reason}",
            hint="look whether it was done before you ask again",
            reason=reason,
        )


class HostFull(VaultUnavailable):
    """The host holds as many vaults as it may."""
