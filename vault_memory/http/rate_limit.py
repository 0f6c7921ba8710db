"""Limits how often a client may make requests: a token bucket for each."""

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable

ONE_REQUEST = 1 - 1e-9
"""What a request takes from a bucket, less the rounding error of its refill"""
MOST_KNOWN = 4096
"""Buckets that are kept; a client whose bucket was dropped starts with a full one"""


class RateLimiter:
    """Allows so many requests a minute, also all at once after a pause."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._capacity = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        """the requests left for each client, and when they were counted; longest unused first"""

    def take(self, client: Hashable) -> int:
        """Count a request. Returns 0 when it is allowed, else the seconds until the next one is."""
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
        # Fault this guards against: tokens that are made up fill the memory.
        if len(self._buckets) > MOST_KNOWN:
            self._buckets.popitem(last=False)
        return wait
