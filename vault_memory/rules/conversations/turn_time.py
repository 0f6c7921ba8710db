"""Reads the time of a turn from its id. Pure."""

import re
from datetime import UTC, datetime

_TIME_DIGITS = 8
"""Digits in base 36 of the milliseconds since 1970, from 1972 to 2059"""
_ID = re.compile(rf"([0-9a-z]{{{_TIME_DIGITS}}})[0-9a-z]{{6}}")


def time_of_id(turn_id: str) -> datetime | None:
    """Returns when a turn was recorded; None for an id that another program chose."""
    match = _ID.fullmatch(turn_id)
    if match is None:
        return None
    milliseconds = int(match[1], 36)
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
