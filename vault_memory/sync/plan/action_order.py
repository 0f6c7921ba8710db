"""Orders the actions of a plan in batches. Within a batch, the order does not matter.

Records come first, then directories from the top, files, renames one by one, deletions, and emptied
directories from the bottom. A failed action harms no other: its dependants find a broken precondition.
"""

from collections.abc import Sequence

from vault_memory.sync.actions import (
    Action,
    DeleteRemote,
    MakeLocalDir,
    MakeRemoteDir,
    MoveLocal,
    MoveRemote,
    RemoveLocalDir,
    RemoveRemoteDir,
    TrashLocal,
    changes,
)
from vault_memory.sync.trees import depth

RECORDS, DIRECTORIES, FILES, RENAMES, DELETES, EMPTIED = range(6)


def batches(actions: Sequence[Action]) -> tuple[tuple[Action, ...], ...]:
    """Group the actions into batches that are done one after the other."""
    by_place: dict[tuple[int, int], list[Action]] = {}
    for number, action in enumerate(actions):
        by_place.setdefault(_place(action, number), []).append(action)
    return tuple(tuple(by_place[place]) for place in sorted(by_place))


def _place(action: Action, number: int) -> tuple[int, int]:
    """The batch of an action: its kind, and its place among batches of that kind."""
    match action:
        case MakeLocalDir() | MakeRemoteDir():
            return DIRECTORIES, depth(action.path)
        case MoveLocal() | MoveRemote():
            return RENAMES, number
        case DeleteRemote() | TrashLocal():
            return DELETES, 0
        case RemoveLocalDir() | RemoveRemoteDir():
            return EMPTIED, -depth(action.path)
        case _:
            return (FILES if changes(action) else RECORDS), 0


def in_order(actions: Sequence[Action]) -> tuple[Action, ...]:
    """Return the actions in the order of their batches."""
    return tuple(action for batch in batches(actions) for action in batch)
