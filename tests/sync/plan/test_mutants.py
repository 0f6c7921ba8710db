"""The tests are tested: planners and engines that are broken on purpose are found out, and soon."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from tests.every import every
from tests.sync.histories import try_racing, try_random
from tests.sync.pretend import Planner
from vault_memory.sync.actions import (
    Action,
    DeleteRemote,
    Download,
    ForgetBase,
    KeepBoth,
    MakeLocalDir,
    MakeRemoteDir,
    Merge,
    MoveLocal,
    MoveRemote,
    TrashLocal,
    Upload,
)
from vault_memory.sync.plan import decision_table, per_path, renames
from vault_memory.sync.plan.decision_table import Decision
from vault_memory.sync.plan.planner import SyncPlan, plan

SOON = 1_000
"""Within as many seeds"""


def altering(change: Callable[[Action], Action | None]) -> Planner:
    """A planner whose actions are changed, or left out."""

    def planner(*trees: object) -> SyncPlan:
        made = plan(*trees)  # type: ignore[arg-type]
        return replace(
            made,
            actions=tuple(each for action in made.actions if (each := change(action)) is not None),
        )

    return planner


def delete_beats_edit(action: Action) -> Action | None:
    if isinstance(action, Download) and action.row == "9":
        return DeleteRemote(path=action.path, tag=action.tag)
    if isinstance(action, Upload) and action.row == "10":
        return TrashLocal(path=action.path, hash=action.hash)
    return action


def last_writer_wins(action: Action) -> Action | None:
    return (
        Upload(path=action.path, hash=action.hash, tag=action.tag)
        if isinstance(action, Merge)
        else action
    )


def server_wins(action: Action) -> Action | None:
    return (
        Download(path=action.path, hash=action.hash, tag=action.tag)
        if isinstance(action, Merge)
        else action
    )


def keeps_one(action: Action) -> Action | None:
    if not isinstance(action, KeepBoth):
        return action
    if action.side == "remote":
        return DeleteRemote(path=action.path, tag=action.tag)
    return TrashLocal(path=action.path, hash=action.hash or "")


def without(*kinds: type) -> Callable[[Action], Action | None]:
    return lambda action: None if isinstance(action, kinds) else action


def no_record_of_moves(action: Action) -> Action | None:
    return replace(action, record="") if isinstance(action, MoveLocal | MoveRemote) else action


PLANNERS: dict[str, Callable[[Action], Action | None]] = {
    "a delete beats an edit": delete_beats_edit,
    "the last writer wins": last_writer_wins,
    "the server wins": server_wins,
    "of a file and a folder one is kept": keeps_one,
    "no directories are made": without(MakeLocalDir, MakeRemoteDir),
    "deletes are left out": without(DeleteRemote, TrashLocal),
    "the record keeps what is gone": without(ForgetBase),
    "renames are not recorded": no_record_of_moves,
}


def seeds_until_caught(tries: Iterable[Callable[[int], object]]) -> int | None:
    """The first seed with which one of these fails."""
    for seed in range(SOON):
        for attempt in tries:
            try:
                attempt(seed)
            except AssertionError:
                return seed
    return None


@pytest.mark.sampled
@every("mutant", PLANNERS)
def test_a_broken_planner_is_caught_by_random_histories(mutant: str) -> None:
    broken = altering(PLANNERS[mutant])

    assert seeds_until_caught([lambda seed: try_random(seed, broken, failing=0.0)]) is not None


@pytest.mark.sampled
def test_an_engine_that_acts_without_a_second_check_is_caught() -> None:
    assert seeds_until_caught([lambda seed: try_racing(seed, careless=True)]) is not None


WRONG: list[tuple[str, tuple[str, str], Decision]] = [
    ("file", ("≠", "≠"), Decision.UPLOAD),
    ("file", ("≠", "≠"), Decision.DOWNLOAD),
    ("file", ("-", "≠"), Decision.DELETE_REMOTE),
    ("file", ("≠", "-"), Decision.TRASH_LOCAL),
    ("file", ("≠", "="), Decision.DOWNLOAD),
    ("file", ("=", "≠"), Decision.UPLOAD),
    ("file", ("=", "≠"), Decision.ADOPT),
    ("file", ("-", "="), Decision.CREATE_LOCAL),
    ("file", ("≠", "D"), Decision.TRASH_LOCAL),
    ("none", ("F", "F"), Decision.ADOPT),
    ("none", ("F", "D"), Decision.TRASH_LOCAL),
    ("none", ("D", "F"), Decision.DELETE_REMOTE),
    ("none", ("F", "-"), Decision.TRASH_LOCAL),
    ("none", ("-", "F"), Decision.NOTHING),
    ("dir", ("-", "="), Decision.NOTHING),
    ("dir", ("=", "-"), Decision.CREATE_REMOTE),
    ("dir", ("F", "-"), Decision.TRASH_LOCAL),
    ("dir", ("F", "F"), Decision.ADOPT),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("was", "cell", "outcome"), WRONG)
def test_a_wrong_table_cell_is_caught_by_random_histories(
    was: str, cell: tuple[str, str], outcome: Decision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(decision_table.TABLES[was], cell, ("wrong", outcome))  # type: ignore[index]

    assert seeds_until_caught([lambda seed: try_random(seed, failing=0.0)]) is not None


def test_a_planner_that_trusts_tags_too_much_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(per_path, "unchanged", lambda was, node: node.hash in (None, was.hash))

    assert seeds_until_caught([lambda seed: try_random(seed, failing=0.0)]) is not None


def test_a_planner_that_moves_onto_an_existing_file_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(renames, "_onto_nothing", lambda renamed, view: renamed)
    monkeypatch.setattr(renames, "_has_room", lambda *_: True)

    assert seeds_until_caught([lambda seed: try_random(seed, failing=0.0)]) is not None
