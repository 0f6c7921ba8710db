"""What the commands return that manage a fleet."""

from typing import Any, TypedDict

from vault_memory.contract.fields import Count


class FleetMadeJson(TypedDict):
    """The ledger that `fleet init` made or found."""

    fleet: str


class VaultAddedJson(TypedDict):
    """A vault of the fleet, and its token, which is shown once."""

    vault: str
    token: str


class FleetHostJson(TypedDict):
    """A host that used the ledger in the last week."""

    name: str
    address: str
    silent_seconds: float
    draining: bool
    vaults: Count


class FleetVaultJson(TypedDict):
    """A vault of the fleet; `holder` is empty while no host holds it."""

    name: str
    vault: str
    home: str
    holder: str
    due: str
    tries: Count
    trouble: str
    waiting: Count


class FleetStatusJson(TypedDict):
    """The hosts and vaults of a fleet, and totals of the vaults."""

    fleet: str
    hosts: list[FleetHostJson]
    vaults: list[FleetVaultJson]
    leased: Count
    due: Count
    troubled: Count
    waiting: Count


class FleetDrainedJson(TypedDict):
    """A host that has given back its vaults."""

    host: str


class FleetExportedJson(TypedDict):
    """A folder with the files of a vault."""

    folder: str
    files: Count


class FleetForgottenJson(TypedDict):
    """What was removed of a text in the vault, and beyond the vault.

    `versions` are earlier versions in the home that were deleted, `hosts` those whose local copy
    was deleted. `unreached` names what may still have the text.
    """

    forgotten: dict[str, Any]
    versions: Count
    hosts: list[str]
    unreached: list[str]
