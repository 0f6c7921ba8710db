"""What a flush brought home."""

from typing import NamedTuple


class FlushReport(NamedTuple):
    """What a flush did."""

    is_complete: bool
    """whether the home has all that the scratch has"""
    uploaded: int = 0
    stored_bundle: bool = False
