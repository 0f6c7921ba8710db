"""Decides whether the clock is trustworthy where data is deleted because of its age. Pure.

A computer that was off for a month and a computer whose clock jumped ahead by a month look the
same. So after a jump, in either direction, nothing counts as old until the clock ran for a week.
"""

from dataclasses import dataclass

LEAP = 8 * 86400.0
"""Seconds between two readings that raise no doubt"""
BACK = 3600.0
"""Seconds that a clock may be set back without doubt"""
HOLD = 7 * 86400.0
"""Seconds that a clock must run after a jump before it is believed"""


@dataclass(frozen=True, slots=True)
class Clock:
    """The readings of the clock so far, in seconds since 1970."""

    seen: float
    """The last reading"""
    doubted_until: float = float("-inf")

    def looked(self, now: float) -> "Clock":
        """Returns the state after one more reading."""
        # Fault (B50): a computer that was off and a clock that jumped look the same.
        # Nothing counts as old until the clock ran for a week.
        has_leapt = now - self.seen > LEAP
        was_set_back = now < self.seen - BACK
        if has_leapt or was_set_back:
            return Clock(now, now + HOLD)
        return Clock(max(now, self.seen), self.doubted_until)

    @property
    def believed(self) -> bool:
        """Whether an age that this clock computes is true."""
        return self.seen >= self.doubted_until
