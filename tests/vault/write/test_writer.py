"""The order of writes to a note, and what the writer says is waiting, done and due."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.every import every
from tests.vault.write.lines import note
from tests.vault.write.templates import NOTE, TEMPLATES, begin, write
from tests.vault.write.test_write import NEW, OLD, now, put
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write import writer as writing
from vault_memory.vault.write.writer import Clock, Writer

LATER = timedelta(seconds=600)


def test_a_later_write_waits_behind_an_earlier_one_and_no_other_note_does(
    root: Path, writer: Writer
) -> None:
    first = put(writer, op_id="first", quiet=300.0)
    second = put(writer, new=note("a", "b", "more"), op_id="second")
    other = put(writer, "other.md", note("x"), None, "other")

    assert (first.outcome, first.reason) == ("pending", "hot")
    assert (second.outcome, second.reason) == ("pending", "hot"), "alone it would not wait"
    assert other.outcome == "written"
    assert [waiting.op_id for waiting in writer.pending()] == ["first", "second"]

    done = writer.tend(now() + LATER)

    assert [(result.op_id, result.outcome) for result in done] == [
        ("first", "written"),
        ("second", "merged"),
    ]
    assert set((root / "USER.md").read_bytes().split()) == {b"a", b"b", b"bot", b"more"}


def test_a_write_makes_an_earlier_one_that_is_due_first(root: Path, writer: Writer) -> None:
    put(writer, op_id="first", quiet=300.0)

    done = put(writer, new=note("a", "b", "more"), op_id="second", at=now() + LATER)

    assert done.outcome == "merged"
    assert writer.pending() == []
    assert set((root / "USER.md").read_bytes().split()) == {b"a", b"b", b"bot", b"more"}


def test_a_trashing_waits_behind_a_write_too(root: Path, writer: Writer) -> None:
    put(writer, op_id="first", quiet=300.0)

    gone = writer.trash("USER.md", expected=revision_of(OLD), now=now(), op_id="gone")

    assert (gone.outcome, gone.reason) == ("pending", "hot")
    writer.tend(now() + LATER)
    assert (root / "USER.md").read_bytes() == NEW, "the edit came first"


def test_a_write_is_done_once_under_its_id_and_can_be_given_up_while_it_waits(
    root: Path, writer: Writer
) -> None:
    put(writer, op_id="first", record=b"r")
    again = put(writer, new=note("other"), old=NEW, op_id="first")
    assert (again.outcome, again.after) == ("written", revision_of(NEW))

    put(writer, new=note("z"), old=NEW, op_id="second", quiet=300.0)
    writer.discard("first")
    assert [done.op_id for done in writer.finished()] == ["first"], "it does not wait"
    (root / "USER.md").write_bytes(NEW)
    put(writer, new=note("z"), old=NEW, op_id="third", quiet=300.0)
    writer.discard("third")
    writer.discard("unknown")
    assert "third" not in [waiting.op_id for waiting in writer.pending()]


def test_a_finished_write_is_told_until_its_record_is_safe(root: Path, writer: Writer) -> None:
    put(writer, op_id="first", record=b"r")
    put(writer, "other.md", note("x"), None, "silent")

    assert [done.op_id for done in writer.newly_finished()] == ["first"]
    assert writer.newly_finished() == []
    assert [done.op_id for done in writer.finished()] == ["first"]
    assert writer.unsettled() == {"unrecorded"}
    writer.acknowledge(["first"], "USER.md")
    assert writer.finished() == []
    assert writer.unsettled() == frozenset()
    assert writer.load("USER.md").recorded == "first"


def test_who_wrote_a_version_is_known_and_new_saves_are_told_once(
    root: Path, writer: Writer
) -> None:
    put(writer)

    assert writer.is_ours("USER.md", revision_of(NEW))
    assert not writer.is_ours("USER.md", revision_of(OLD))
    assert not writer.is_ours("other.md", revision_of(NEW))
    assert writer.has_new_saves(), "it replaced a version that nobody had seen"
    assert not writer.has_new_saves()
    put(writer, new=note("a", "b", "bot", "more"), old=NEW, op_id="2")
    assert not writer.has_new_saves()


def test_a_look_is_due_at_its_time_and_when_the_clock_was_set_back_far() -> None:
    world = begin(TEMPLATES[0])
    world.files.others[world.files.number_of(NOTE)] = 1
    write(world)
    [entry] = world.writer.displaced()

    assert world.writer.is_due(entry.next_look)
    assert not world.writer.is_due(entry.next_look - 0.01)
    assert not world.writer.is_due(entry.next_look - writing.FARTHEST)
    assert world.writer.is_due(entry.next_look - writing.FARTHEST - 0.01)


@pytest.mark.scenario("B50")
@every(
    ("seconds", "believed"),
    [
        (1.0, True),
        (writing.LEAP, True),
        (writing.LEAP + 1, False),
        (-writing.BACK, True),
        (-writing.BACK - 1, False),
    ],
)
def test_a_clock_that_jumped_is_believed_again_after_a_week(seconds: float, believed: bool) -> None:
    start = 1_000_000_000.0
    clock = Clock(start).looked(start + seconds)

    assert clock.believed is believed
    at = clock.seen
    for _ in range(6):
        at += 86400.0
        clock = clock.looked(at)
        assert clock.believed is believed
    assert clock.looked(at + 86400.0).believed
    if believed:
        assert Clock(start).looked(start - 1).seen == start, "a clock is not read backwards"
