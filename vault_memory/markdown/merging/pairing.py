"""Pairs numbers of a base and of a side in several passes; each takes part in at most one pair."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable

Key = Callable[[int], Hashable]


class Pairing:
    """Numbers that are paired, and those that are left."""

    def __init__(self, base_count: int, side: list[int]) -> None:
        """Begin with the pairs in `side`: for each number of the side that of the base, or -1."""
        self.side = side
        paired = set(side)
        self.base_left = [number for number in range(base_count) if number not in paired]
        self.side_left = [number for number, base in enumerate(side) if base < 0]

    def keep_base(self, condition: Callable[[int], bool]) -> None:
        """Leave out the numbers of the base that do not meet a condition."""
        self.base_left = list(filter(condition, self.base_left))

    def keep_side(self, condition: Callable[[int], bool]) -> None:
        """Leave out the numbers of the side that do not meet a condition."""
        self.side_left = list(filter(condition, self.side_left))

    def pair(
        self,
        base_key: Key,
        side_key: Key,
        fits: Callable[[int, int], bool] = lambda old_count, new_count: True,
    ) -> None:
        """Pair numbers with equal keys in their order; a key of None is never equal.

        `fits` decides from the counts of both sides whether the numbers of one key are paired.
        """
        if not self.base_left or not self.side_left:
            return
        olds: defaultdict[Hashable, list[int]] = defaultdict(list)
        for number in self.base_left:
            key = base_key(number)
            if key is not None:
                olds[key].append(number)
        news: defaultdict[Hashable, list[int]] = defaultdict(list)
        for number in self.side_left:
            key = side_key(number)
            if key in olds:
                news[key].append(number)
        for key, numbers in news.items():
            if fits(len(olds[key]), len(numbers)):
                self.take(zip(olds[key], numbers, strict=False))
        self.forget()

    def take(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Record pairs of a number of the base and one of the side."""
        for base, side in pairs:
            self.side[side] = base

    def forget(self) -> None:
        """Remove the recorded pairs from the numbers that are left."""
        paired = set(self.side)
        self.base_left = [number for number in self.base_left if number not in paired]
        self.side_left = [number for number in self.side_left if self.side[number] < 0]
