"""Where things stand that only one side has, among those that the other side has put in order."""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def interleave(
    lead: Sequence[Key],
    other: Sequence[Key],
    gives_way: Callable[[Key, Key], bool],
    earlier: Callable[[Key, Key], bool] = lambda waiting, mine: False,
    *,
    lead_first: bool = True,
) -> list[Key]:
    """All of `lead` in its order, and what only `other` has, each behind what stands before it in `other`.

    Where both have put something at one place, lead's comes first, or else other's; `gives_way(mine, waiting)` says
    whether one of lead's may stand before what waits, and what is `earlier` never waits for it. What ends `other`
    comes behind all that both have.
    """
    places = {key: place for place, key in enumerate(lead)}
    waiting = _behind(places, other)
    if not waiting:
        return list(lead)
    shared = places.keys() & set(other)
    result: list[Key] = []
    queue: list[Key] = []
    for place in range(-1, len(lead)):
        if place >= 0:
            key = lead[place]
            if queue and (
                key in shared or not lead_first or not gives_way(key, queue[0])
            ):
                result += queue
                queue = []
            while queue and earlier(queue[0], key):
                result.append(queue.pop(0))
            result.append(key)
        queue += waiting.get(place, [])
    return result + queue


def _behind(places: dict[Key, int], other: Sequence[Key]) -> dict[int, list[Key]]:
    """What only `other` has, by the place in the lead that it stands behind."""
    waiting: dict[int, list[Key]] = {}
    place = last = -1
    run: list[Key] = []
    for key in other:
        if key in places:
            if run:
                waiting.setdefault(place, []).extend(run)
                run = []
            place = places[key]
            last = max(last, place)
        else:
            run.append(key)
    if run:
        waiting.setdefault(last, []).extend(run)
    return waiting
