"""In which order a plan is done: batches, each of which may be done in any order or at once.

Records first, then directories from the top, files, renames one by one, deletes, and emptied directories from the
bottom. An action that fails takes nothing else with it: the others find their preconditions broken, or hold.
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
    """The actions in batches to be done one after the other. Within one, actions commute."""
    found: dict[tuple[int, int], list[Action]] = {}
    for number, action in enumerate(actions):
        found.setdefault(_place(action, number), []).append(action)
    return tuple(tuple(found[place]) for place in sorted(found))


def _place(action: Action, number: int) -> tuple[int, int]:
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
    """The same actions, one by one."""
    return tuple(action for batch in batches(actions) for action in batch)
