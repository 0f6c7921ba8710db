"""May the clock be believed where something is let go because of its age? One that leapt may be wrong. Pure.

A computer that was off for a month, and one whose clock jumped ahead by a month, look the same. So after a leap, and
after going back, nothing is old until the clock has gone on for a week.
"""

from dataclasses import dataclass

LEAP = 8 * 86400.0
"""Seconds from one look to the next that may have passed without doubt"""
BACK = 3600.0
"""Seconds by which a clock may be set back without doubt"""
HOLD = 7 * 86400.0
"""Seconds for which a clock that leapt must have gone on before it is believed"""


@dataclass(frozen=True, slots=True)
class Clock:
    """What is remembered of the looks at it. In seconds since 1970."""

    seen: float
    """at the last look"""
    doubted_until: float = float("-inf")

    def looked(self, now: float) -> "Clock":
        """After one more look."""
        if now - self.seen > LEAP or now < self.seen - BACK:
            return Clock(now, now + HOLD)
        return Clock(max(now, self.seen), self.doubted_until)

    @property
    def believed(self) -> bool:
        """Whether what it says is old is old."""
        return self.seen >= self.doubted_until
