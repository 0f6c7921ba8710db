"""Detects bytes that end within a UTF-8 character, as the first half of a save may. Pure."""

_LONGEST = 4
"""Bytes of the longest UTF-8 sequence"""


def ends_within_character(raw: bytes) -> bool:
    """Whether the last bytes begin a UTF-8 sequence that is not finished."""
    for length in range(1, min(_LONGEST, len(raw) + 1)):
        byte = raw[-length]
        is_continuation = byte & 0xC0 == 0x80
        if not is_continuation:
            return length < _sequence_length(byte)
    return False


def _sequence_length(first: int) -> int:
    """Bytes of the sequence that a byte begins; 0 for ASCII and for invalid first bytes."""
    if not 0xC2 <= first < 0xF5:
        return 0
    if first < 0xE0:
        return 2
    return 3 if first < 0xF0 else 4
