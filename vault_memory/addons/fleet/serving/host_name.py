"""How a host appears in the ledger, and how much it holds."""

from typing import NamedTuple

IDLE_SECONDS = 60.0
"""A vault without requests is given back after so long"""


class HostName(NamedTuple):
    """How the other hosts know this one."""

    name: str
    address: str
    most_open: int = 200
    idle_seconds: float = IDLE_SECONDS
