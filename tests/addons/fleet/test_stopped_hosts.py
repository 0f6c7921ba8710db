"""A host is stopped for longer than its lease: it acknowledges nothing, and no answer is called fresh that is not."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from tests.addons.fleet.fleets import USER, Faults, Fleet, append, remember, turn
from vault_memory.addons.fleet.acknowledged_ops import AcknowledgedOp
from vault_memory.addons.fleet.ledger.ledger_errors import LeaseLost
from vault_memory.addons.fleet.visit import Visit
from vault_memory.remote.remote_errors import RemoteBusy
from vault_memory.search.freshness import SearchAnswer

WORD = "heron"
OPS = {
    "append": lambda now: append("late", f"- a {WORD}", now),
    "remember": lambda now: remember("late", f"a {WORD} was here", now),
    "turn": lambda now: turn("late", f"I saw a {WORD}", now),
}


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def search(visit: Visit) -> SearchAnswer:
    return visit.memory.search(WORD, scopes=["user:ann"])


@pytest.fixture(params=OPS.values(), ids=OPS.keys())
def op(request: pytest.FixtureRequest) -> Callable[..., AcknowledgedOp]:
    return request.param  # type: ignore[no-any-return]


@pytest.mark.sampled
def test_a_host_that_was_stopped_before_its_answer_acknowledges_nothing(
    fleet: Fleet, op: Callable[..., AcknowledgedOp]
) -> None:
    faults = Faults()
    stopped = fleet.visit("one", faults)
    taken: list[Visit] = []
    late = op(fleet.now)

    # The words are in its scratch, and the next step is the one that makes them safe.
    faults.meanwhile[faults.count] = lambda: taken.append(fleet.visit("two"))
    with pytest.raises(LeaseLost):
        stopped.run(late)

    assert fleet.ledger.counts().waiting == 0
    [holder] = taken
    assert search(holder).hits == ()
    holder.run(op(fleet.now))
    assert WORD in search(holder).hits[0].text
    stopped.close()
    holder.leave(fleet.now)


@pytest.mark.sampled
def test_what_was_acknowledged_before_the_stop_is_found_by_the_next_holder(
    fleet: Fleet, op: Callable[..., AcknowledgedOp]
) -> None:
    stopped = fleet.visit("one")
    stopped.run(op(fleet.now))

    holder = fleet.visit("two")

    answer = search(holder)
    assert WORD in answer.hits[0].text
    assert answer.freshness.stale_files == ()
    with pytest.raises(LeaseLost):
        stopped.flush(fleet.now)
    holder.leave(fleet.now)


@pytest.mark.sampled
def test_a_host_that_comes_back_with_an_old_scratch_finds_the_words_of_meanwhile(
    fleet: Fleet, op: Callable[..., AcknowledgedOp]
) -> None:
    old = fleet.visit("one")
    old.run(append("before", "- a lamp", fleet.now))
    with fleet.visiting("two") as between:
        between.run(op(fleet.now))
    old.close()

    back = fleet.visit("one")

    answer = search(back)
    assert WORD in answer.hits[0].text
    assert answer.freshness.stale_files == ()
    back.leave(fleet.now)


def test_an_acknowledged_operation_that_the_vault_refuses_makes_answers_stale(fleet: Fleet) -> None:
    first = fleet.visit("one")
    first.run(append("kept", f"- a {WORD}", fleet.now))
    first.close()
    # A person saves the note in another encoding, so the next host cannot add the line.
    fleet.pass_by(20)
    raw = "# Ann\n\n## Likes\n\n- caf\xe9\n".encode("latin-1")
    etag = {entry.path: entry.etag for entry in fleet.person.list(deep=True).entries}
    fleet.person.put(USER, raw, expected=etag[USER])

    holder = fleet.visit("two")

    answer = search(holder)
    assert not any(WORD in hit.text for hit in answer.hits)
    assert USER in answer.freshness.stale_files
    assert fleet.ledger.counts().waiting == 1
    holder.close()


def test_an_operation_that_waits_for_its_home_makes_answers_stale(fleet: Fleet) -> None:
    with fleet.visiting("one"):
        pass
    with fleet.visiting("two"):
        pass
    away = Faults(away=True)
    lease = fleet.lease("one")
    behind = Visit.open_away(lease, fleet.ledger, fleet.settings("one", away), RemoteBusy("away"))
    behind.run(turn("t", f"I saw a {WORD}", fleet.now))

    assert search(behind).freshness.stale_files
    behind.close()


@pytest.mark.sampled
@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("is_away", [False, True], ids=["home", "away"])
def test_a_host_with_an_old_scratch_follows_the_notes_of_another_one(
    fleet: Fleet, count: int, is_away: bool
) -> None:
    paths = [f"Users/ann/memories/note{number}.md" for number in range(count)]
    for path in paths:
        fleet.save(path, "# Note\n\n## Seen\n\n- a lamp\n")
    with fleet.visiting("one"):
        pass
    fleet.pass_by(60)
    for round_ in range(3):
        with fleet.visiting("two" if round_ % 2 == 0 else "one") as visit:
            for path in paths:
                visit.run(append_to(path, f"- a {WORD} {round_}", fleet.now))
        fleet.pass_by(60)
    if is_away:
        settings = fleet.settings("one", Faults(away=True))
        lease = fleet.lease("one")
        Visit.open_away(lease, fleet.ledger, settings, RemoteBusy("away")).close()

    back = fleet.visit("one")

    counts = [back.memory.read(path).text.count(f"- a {WORD}") for path in paths]
    assert counts == [3] * len(paths)
    assert search(back).freshness.stale_files == ()
    back.leave(fleet.now)
    for path in paths:
        assert fleet.text(path).count(f"- a {WORD}") == 3


def append_to(path: str, line: str, now: datetime) -> AcknowledgedOp:
    ops = [{"op": "append", "heading": "Seen", "line": line}]
    return AcknowledgedOp(f"{path}{line}", "apply", {"note": path, "ops": ops}, now)
