"""How often somebody may ask: a bucket that fills evenly, from which each request takes a drop."""

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable

A_DROP = 1 - 1e-9
"""A whole one, but for what is lost in rounding times"""
MOST_KNOWN = 4096
"""Of whom a bucket is kept; whoever was away longest is forgotten first, and finds a full one"""


class RateLimiter:
    """So many in a minute, also at once when nothing was asked before."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._most = float(per_minute)
        self._rate = per_minute / 60
        self._clock = clock
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, who: Hashable) -> int:
        """0 when they may; else the whole seconds after which they may ask again."""
        now = self._clock()
        left, since = self._left.pop(who, (self._most, now))
        left = min(self._most, left + (now - since) * self._rate)
        wait = 0 if left >= A_DROP else max(1, math.ceil((1 - left) / self._rate))
        self._left[who] = (left if wait else left - 1, now)
        if len(self._left) > MOST_KNOWN:
            self._left.popitem(last=False)
        return wait
