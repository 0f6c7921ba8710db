"""Puts the keys that only one side has among the keys that the other side has ordered."""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def interleave(
    lead: Sequence[Key],
    follower: Sequence[Key],
    gives_way: Callable[[Key, Key], bool],
    earlier: Callable[[Key, Key], bool] = lambda waiting, mine: False,
    *,
    lead_first: bool = True,
) -> list[Key]:
    """Return all of `lead` in its order, with the keys that only `follower` has.

    Such a key comes behind the key that it follows in `follower`. Where both have new keys at one
    position, those of the lead come first, unless `lead_first` is false. `gives_way(mine, waiting)`
    tells whether a waiting key lets one of the lead pass; a key that is `earlier(waiting, mine)`
    never waits for it. Keys at the end of `follower` come behind all keys that both have.
    """
    positions = {key: position for position, key in enumerate(lead)}
    waiting = _keys_behind(positions, follower)
    if not waiting:
        return list(lead)
    shared = positions.keys() & set(follower)
    result: list[Key] = []
    queue = list(waiting.get(-1, ()))
    for position, key in enumerate(lead):
        if queue:
            lets_pass = lead_first and key not in shared and gives_way(key, queue[0])
            if not lets_pass:
                result += queue
                queue = []
            while queue and earlier(queue[0], key):
                result.append(queue.pop(0))
        result.append(key)
        queue += waiting.get(position, ())
    return result + queue


def _keys_behind(positions: dict[Key, int], follower: Sequence[Key]) -> dict[int, list[Key]]:
    """Return the keys that only `follower` has, by the position in the lead that they follow."""
    waiting: dict[int, list[Key]] = {}
    position = last = -1
    run: list[Key] = []
    for key in follower:
        if key not in positions:
            run.append(key)
            continue
        if run:
            waiting.setdefault(position, []).extend(run)
            run = []
        position = positions[key]
        last = max(last, position)
    if run:
        waiting.setdefault(last, []).extend(run)
    return waiting
