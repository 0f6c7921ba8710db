"""JSON answers about a host of many vaults."""

from typing import Literal, TypedDict

HostedVaultState = Literal["closed", "open", "in_use", "failed", "refused"]
"""failed: it could not be opened; refused: its configuration, tokens or marker are wrong"""


class HostedVaultJson(TypedDict):
    """One vault of a host."""

    root: str
    """its folder"""
    vault: str
    """its id; empty when the marker cannot be read"""
    state: HostedVaultState
    tokens: int
    """how many bots have access"""
    polled: bool
    """whether no event reports its changes, so that they are noticed late"""
    trouble: str
    """why it cannot be served, or not for all; empty when it can"""


class VaultHostJson(TypedDict):
    """The state of a host."""

    folder: str
    """the folder of the vaults"""
    running: bool
    pid: int | None
    address: str
    """where it listens; empty when it does not"""
    vaults: list[HostedVaultJson]
