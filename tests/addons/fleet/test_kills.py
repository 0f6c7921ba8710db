"""A host is killed at each of its steps: what it acknowledged is in the vault once, and no word of a person is lost."""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.addons.fleet.fleets import START, USER, Faults, Fleet, Killed, append, remember, turn
from tests.effort import PART
from vault_memory.addons.fleet.acknowledged_ops import AcknowledgedOp
from vault_memory.addons.fleet.visit import Visit

Continue = Callable[[Fleet], None]


def _ops(fleet: Fleet) -> list[AcknowledgedOp]:
    replacement = [{"op": "replace", "heading": "Likes", "match": "coffee", "line": "- espresso"}]
    return [
        append("a", "- coffee", fleet.now),
        turn("b", "words of the first turn", fleet.now),
        AcknowledgedOp("c", "apply", {"note": USER, "ops": replacement}, fleet.now),
        remember("d", "the cat is called Miso", fleet.now),
        turn("e", "words of the second turn", fleet.now),
        append("f", "- cocoa", fleet.now),
    ]


def _work(fleet: Fleet, faults: Faults) -> list[AcknowledgedOp]:
    """Host one works until it is killed. Returns what it acknowledged."""
    acknowledged = []
    visit: Visit | None = None
    try:
        visit = fleet.visit("one", faults)
        for op in _ops(fleet):
            visit.run(op)
            acknowledged.append(op)
            if op.op_id == "d":
                visit.flush(fleet.now)
        visit.leave(fleet.now)
    except Killed:
        faults.at = -1
    finally:
        if visit is not None:
            visit.close()
    return acknowledged


def _steps(tmp_path: Path) -> int:
    faults = Faults()
    fleet = Fleet(tmp_path / "count")
    assert len(_work(fleet, faults)) == len(_ops(fleet))
    return faults.count


def _check(fleet: Fleet, acknowledged: list[AcknowledgedOp]) -> None:
    notes = fleet.notes()
    done = {op.op_id for op in acknowledged}
    everything = "".join(notes.values())
    user = notes[USER]
    if "c" in done:
        assert user.count("- espresso") == 1
        assert "- coffee" not in user
    elif "a" in done:
        assert user.count("- coffee") + user.count("- espresso") == 1
    if "d" in done:
        assert user.count("the cat is called Miso") == 1
    if "f" in done:
        assert user.count("- cocoa") == 1
    for op_id, words in (("b", "words of the first"), ("e", "words of the second")):
        if op_id in done:
            assert everything.count(words) == 1
    for line in START.splitlines():
        assert line in user
    ids = [
        json.loads(line)["id"]
        for path, text in notes.items()
        if ".audit." in path
        for line in text.splitlines()
    ]
    assert len(ids) == len(set(ids))
    for op in acknowledged:
        if op.call != "record":
            assert len([id_ for id_ in ids if id_.startswith(op.prefix)]) == 1
    assert not [path for path in notes if "conflict" in path.lower()]
    with suppress(IndexError):
        assert fleet.ledger.counts().waiting == 0


def _other_host(fleet: Fleet) -> None:
    with fleet.visiting("two"):
        pass


def _same_host(fleet: Fleet) -> None:
    with fleet.visiting("one"):
        pass


def _same_host_without_scratch(fleet: Fleet) -> None:
    shutil.rmtree(fleet.folder / "one")
    with fleet.visiting("one"):
        pass


def _other_and_same_host(fleet: Fleet) -> None:
    with fleet.visiting("two"):
        pass
    with fleet.visiting("one"):
        pass


# All kills, one after the other, take minutes beside other tests.
@pytest.mark.sampled
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(
    "go_on", [_other_host, _same_host, _same_host_without_scratch, _other_and_same_host]
)
@pytest.mark.parametrize("saves", [False, True])
def test_each_acknowledged_operation_is_done_once(
    tmp_path: Path, go_on: Continue, saves: bool, seeds_from: int
) -> None:
    steps = _steps(tmp_path)
    assert steps > 40
    for step in range(seeds_from % PART, steps, PART):
        fleet = Fleet(tmp_path / f"fleet-{step}")
        acknowledged = _work(fleet, Faults(at=step))
        fleet.pass_by(20)
        if saves:
            text = fleet.text().replace("- tea", "- tea\n- words of ann")
            fleet.save(USER, text)
        go_on(fleet)
        _check(fleet, acknowledged)
        if saves:
            assert fleet.text().count("- words of ann") == 1
        fleet.ledger.close()
        shutil.rmtree(fleet.folder)


def _save_of_ann(fleet: Fleet) -> None:
    text = fleet.text().replace("- tea", "- tea\n- words of ann")
    fleet.save(USER, text)


def _arrive_again(fleet: Fleet, faults: Faults) -> None:
    """Host one takes the vault with a scratch that the home lacks, until it is killed."""
    visit: Visit | None = None
    try:
        visit = fleet.visit("one", faults)
        visit.leave(fleet.now)
    except Killed:
        faults.at = -1
    finally:
        if visit is not None:
            visit.close()


@pytest.mark.sampled
@pytest.mark.parametrize("step", range(2, 16))
def test_a_host_killed_again_while_its_note_is_refused_loses_no_line(
    tmp_path: Path, step: int
) -> None:
    """A record in the home without its note would make the next host take the line for done."""
    fleet = Fleet(tmp_path)
    acknowledged = _ops(fleet)
    visit = fleet.visit("one")
    for op in acknowledged:
        visit.run(op)
    visit.close()
    fleet.pass_by(20)
    faults = Faults(at=step)
    faults.meanwhile[1] = lambda: _save_of_ann(fleet)

    _arrive_again(fleet, faults)
    fleet.pass_by(20)
    _other_and_same_host(fleet)

    _check(fleet, acknowledged)
    assert fleet.text().count("- words of ann") == 1
    assert not [path for path in fleet.notes() if path.endswith("INBOX.md")]
