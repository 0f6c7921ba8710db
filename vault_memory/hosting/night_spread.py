"""Spreads the nights of many vaults, which are planned for one moment, over an hour."""

from datetime import timedelta
from hashlib import sha256

NIGHTS = timedelta(hours=1)
"""The time within which the nights of all vaults begin"""
_DIGEST_BYTES = 4


def night_delay(vault: str) -> timedelta:
    """Return how long after its planned moment the night of a vault begins.

    Fault: the nights of all people are planned for one moment, and their models answer late.
    """
    digest = sha256(f"night {vault}".encode()).digest()[:_DIGEST_BYTES]
    share = int.from_bytes(digest) / float(256**_DIGEST_BYTES)
    return NIGHTS * share
