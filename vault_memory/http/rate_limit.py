"""Limits how often a client may make requests: a token bucket for each."""

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable

ONE_REQUEST = 1 - 1e-9
"""The cost of a request, less the rounding error of a refill"""
MOST_KNOWN = 4096
"""Number of buckets; a client whose bucket was dropped starts with a full one"""


class RateLimiter:
    """Allows so many requests a minute, also all at once after a pause."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._capacity = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        """Client → requests left, and when they were counted; the longest unused client first"""

    def take(self, client: Hashable) -> int:
        """Counts a request. Returns 0 when it is allowed, else the seconds to wait."""
        now = self._clock()
        left, counted_at = self._buckets.pop(client, (self._capacity, now))
        refill = (now - counted_at) * self._per_second
        left = min(self._capacity, left + refill)
        wait = 0
        if left >= ONE_REQUEST:
            left -= 1
        else:
            wait = max(1, math.ceil((1 - left) / self._per_second))
        self._buckets[client] = (left, now)
        # Fault: clients may invent tokens without end. Their buckets must not fill the
        # memory.
        if len(self._buckets) > MOST_KNOWN:
            self._buckets.popitem(last=False)
        return wait
