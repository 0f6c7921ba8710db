"""When a note counts as settled: simulated saves against a simulated clock."""

import hashlib
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.every import every
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import Note
from vault_memory.vault.watch.debounce import (
    APART,
    CAP,
    HOLD,
    QUIET,
    DebounceDecision,
    DebounceTable,
    Settled,
)

FOREVER = float("inf")
OLD = b"# Ann\n\n- likes tea\n- sails the Gull\n- lives in Lisbon\n"
NEW = OLD + b"- plays the cello\n"


def note_of(raw: bytes, *, stable: bool = True) -> Note:
    return Note("n.md", raw, hashlib.sha256(raw).hexdigest(), Stat(len(raw), 0, 0, 1, 1), stable)


def settled_of(raw: bytes | None) -> Settled | None:
    return (
        None if raw is None else Settled(hashlib.sha256(raw).hexdigest(), len(raw), raw.startswith)
    )


@dataclass
class World:
    """One note, one person who saves it, and a daemon that looks whenever it is due."""

    settled: bytes | None = OLD
    content: bytes | None = OLD
    now: float = 100.0
    settling: DebounceTable = field(default_factory=DebounceTable)
    indexed: bytes | None = OLD
    seen: list[tuple[float, DebounceDecision]] = field(default_factory=list)
    torn: bool = False

    def save(self, content: bytes | None, *, closed: bool = True) -> None:
        self.content = content
        self.settling.hint("n.md", now=self.now, closed=closed)

    def pass_time(self, seconds: float) -> None:
        end = self.now + seconds
        while (due := self.settling.next_due()) is not None and due <= end:
            self.now = max(self.now, due)
            assert self.settling.due(self.now) == ["n.md"]
            self.look()
        self.now = end

    def look(self) -> DebounceDecision:
        note = None if self.content is None else note_of(self.content, stable=not self.torn)
        verdict = self.settling.observe("n.md", note, settled_of(self.settled), now=self.now)
        self.seen.append((self.now, verdict))
        if verdict in (DebounceDecision.INDEX, DebounceDecision.SETTLED):
            self.indexed = self.content
        if verdict is DebounceDecision.SETTLED:
            self.settled = self.content
        if verdict is DebounceDecision.GONE:
            self.indexed = self.settled = None
        return verdict

    def verdicts(self) -> list[DebounceDecision]:
        return [verdict for _, verdict in self.seen]


def test_a_closed_save_is_indexed_at_once_and_settled_after_a_quiet_period():
    world = World()
    world.save(NEW)

    world.pass_time(0)
    assert (world.verdicts(), world.indexed) == ([DebounceDecision.INDEX], NEW)

    world.pass_time(QUIET - 0.01)
    assert world.settling.due(FOREVER) == ["n.md"]

    world.pass_time(0.02)
    assert (world.verdicts(), world.settled) == (
        [DebounceDecision.INDEX, DebounceDecision.SETTLED],
        NEW,
    )
    assert not world.settling.due(FOREVER)
    assert world.settling.next_due() is None


def test_an_unclosed_write_is_checked_twenty_milliseconds_after_the_last_one():
    world = World()
    for _ in range(5):
        world.save(NEW, closed=False)
        world.pass_time(0.010)
    assert world.seen == []

    world.pass_time(0.011)

    assert world.indexed == NEW


def test_continuous_writing_is_indexed_after_the_cap_but_not_settled():
    world = World()
    began = world.now
    for step in range(800):
        world.save(OLD + b"x" * step, closed=False)
        world.pass_time(0.010)

    assert world.verdicts() == [DebounceDecision.INDEX]
    assert world.seen[0][0] - began == pytest.approx(CAP, abs=0.03)
    assert world.settling.due(FOREVER) == ["n.md"]


def test_rapid_closed_saves_are_checked_at_most_every_twenty_milliseconds():
    world = World()
    for step in range(1000):
        world.save(OLD + b"x" * step)
        world.pass_time(0.001)

    assert 45 <= len(world.seen) <= 51


def test_a_touched_note_with_the_same_bytes_is_settled_at_once():
    world = World()
    world.save(OLD)
    world.pass_time(0)

    assert world.verdicts() == [DebounceDecision.SETTLED]


def test_a_note_is_not_settled_by_a_single_check_however_late():
    world = World()
    world.save(NEW)
    world.now += 1.0

    assert world.look() is DebounceDecision.INDEX
    world.pass_time(APART + 0.01)
    assert world.verdicts() == [DebounceDecision.INDEX, DebounceDecision.SETTLED]


def test_a_change_without_an_event_is_noticed_by_the_second_check():
    world = World()
    world.save(NEW)
    world.pass_time(0)
    world.content = other = OLD + b"- has a dog\n"

    world.pass_time(QUIET + 0.01)
    assert (world.verdicts(), world.indexed) == (
        [DebounceDecision.INDEX, DebounceDecision.INDEX],
        other,
    )
    world.pass_time(QUIET - 0.02)
    assert world.settled == OLD
    world.pass_time(0.02)
    assert world.settled == other


@pytest.mark.scenario("A3")
@pytest.mark.parametrize("content", [None, b""], ids=["absent", "empty"])
def test_a_missing_or_emptied_note_keeps_its_old_text_for_three_seconds(content):
    world = World()
    world.save(content)

    world.pass_time(HOLD - 0.01)
    assert set(world.verdicts()) == {DebounceDecision.KEEP}
    assert (world.indexed, world.settled) == (OLD, OLD)

    world.pass_time(0.02)
    assert world.verdicts()[-1] is (
        DebounceDecision.GONE if content is None else DebounceDecision.SETTLED
    )
    assert world.indexed == content


@every(
    "content",
    [
        OLD[:-8],
        OLD[: len(OLD) // 3],
        b"other words",
        OLD + "å".encode()[:1],
        OLD + "日".encode()[:2],
        OLD + "🌊".encode()[:3],
    ],
    ids=[
        "true beginning",
        "first third",
        "less than half",
        "half of å",
        "two thirds of 日",
        "three quarters of 🌊",
    ],
)
def test_a_truncated_text_is_indexed_at_once_and_settled_after_three_seconds(content):
    world = World()
    world.save(content)

    world.pass_time(HOLD - 0.01)
    assert set(world.verdicts()) == {DebounceDecision.INDEX}
    assert (world.indexed, world.settled) == (content, OLD)

    world.pass_time(0.02)
    assert world.settled == content


@every("content", [NEW, OLD[10:], OLD + "日".encode(), OLD + b"\x80\x80", OLD + b"\xff"])
def test_a_complete_text_is_settled_without_the_hold(content):
    world = World()
    world.save(content)
    world.pass_time(QUIET + 0.01)

    assert world.settled == content


def test_a_save_that_truncates_and_then_writes_never_shows_an_empty_note():
    world = World()
    world.save(b"", closed=False)
    world.pass_time(0.5)
    for end in range(0, len(NEW), 8):
        world.save(NEW[:end], closed=False)
        world.pass_time(0.1)
    world.save(NEW)
    world.pass_time(QUIET + 0.2)

    assert DebounceDecision.GONE not in world.verdicts()
    assert world.settled == NEW


@pytest.mark.scenario("C23")
def test_a_vim_save_with_a_missing_and_an_empty_file_is_not_a_deletion():
    world = World()
    world.save(None)
    world.pass_time(0.005)
    world.save(b"", closed=False)
    world.pass_time(0.002)
    world.save(NEW[:20], closed=False)
    world.pass_time(0.002)
    world.save(NEW)
    world.pass_time(QUIET + 0.2)

    assert set(world.verdicts()) <= {
        DebounceDecision.KEEP,
        DebounceDecision.INDEX,
        DebounceDecision.SETTLED,
    }
    assert world.settled == NEW


@pytest.mark.scenario("C64", "D73")
def test_five_thousand_notes_recreated_within_two_seconds_are_never_deleted():
    settling = DebounceTable()
    paths = [f"memory/{number}.md" for number in range(5000)]
    known = settled_of(OLD)
    verdicts = set()
    for path in paths:
        settling.hint(path, now=0.0, closed=True)
    for path in settling.due(0.0):
        verdicts.add(settling.observe(path, None, known, now=0.0))
    for path in paths:
        settling.hint(path, now=2.0, closed=True)
    now = 2.0
    while settling.due(FOREVER):
        for path in settling.due(now):
            verdicts.add(settling.observe(path, note_of(OLD), known, now=now))
        now += 0.1

    assert verdicts == {DebounceDecision.KEEP, DebounceDecision.SETTLED}
    assert now < 3


def test_a_torn_read_is_repeated_soon_and_accepted_only_after_the_cap():
    world = World(torn=True)
    world.save(NEW)
    world.pass_time(CAP - 0.5)
    assert set(world.verdicts()) == {DebounceDecision.KEEP}
    assert len(world.seen) < 30

    world.pass_time(1)
    assert DebounceDecision.INDEX in world.verdicts()
    assert world.settling.due(FOREVER)

    world.torn = False
    world.pass_time(1)
    assert world.settled == NEW


def test_a_note_unchanged_for_long_is_settled_at_the_first_check():
    settling = DebounceTable()
    for path, raw in [("whole.md", NEW), ("cut.md", OLD[:5]), ("empty.md", b"")]:
        settling.hint(path, now=0.0, closed=True)
        assert (
            settling.observe(path, note_of(raw), settled_of(OLD), now=0.0, quiet=3600.0)
            is DebounceDecision.SETTLED
        )
    settling.hint("gone.md", now=0.0, closed=True)
    assert (
        settling.observe("gone.md", None, settled_of(OLD), now=0.0, quiet=3600.0)
        is DebounceDecision.KEEP
    )
    assert (
        settling.observe("recent.md", note_of(NEW), None, now=0.0, quiet=0.1)
        is DebounceDecision.INDEX
    )


def test_an_unreadable_note_is_retried_less_and_less_often_and_never_deleted():
    settling = DebounceTable()
    settling.hint("n.md", now=0.0, closed=True)
    tries, now = [], 0.0
    while now < 200:
        now = settling.next_due()
        tries.append(now)
        settling.unreadable("n.md", now=now)

    assert tries == [0, 5, 15, 35, 75, 135, 195, 255]
    assert settling.observe("n.md", None, settled_of(OLD), now=300.0) is DebounceDecision.KEEP


def test_a_dropped_note_is_no_longer_pending():
    settling = DebounceTable()
    settling.hint("n.md", now=0.0, closed=True)
    settling.drop("n.md")
    settling.drop("other.md")

    assert settling.due(FOREVER) == []
    assert settling.due(10.0) == []


contents = st.sampled_from(
    [None, b"", OLD, NEW, OLD[:30], b"quite different", OLD + "å".encode()[:1]]
)
steps = st.tuples(
    contents,
    st.booleans(),
    st.sampled_from([0.0, 0.001, 0.019, 0.021, 0.1, 0.299, 0.301, 1.0, 2.9, 3.1, 6.0]),
)


@settings(max_examples=cases(300))
@given(st.lists(steps, min_size=1, max_size=12), st.sampled_from([OLD, None, b""]))
@example([(None, True, 2.9), (OLD, True, 0.0), (None, True, 0.5)], OLD)
@example([(b"", False, 3.1), (NEW, False, 0.0)], OLD)
def test_after_any_saves_the_last_content_is_settled_in_bounded_time(saves, known):
    world = World(settled=known, content=known, indexed=known)
    for content, closed, pause in saves:
        world.save(content, closed=closed)
        world.pass_time(pause)
    last = world.now
    world.pass_time(HOLD + QUIET + 0.1)

    assert not world.settling.due(FOREVER)
    assert world.settled == world.indexed == world.content
    if world.seen:
        assert world.seen[-1][0] <= last + HOLD + QUIET
        assert (world.verdicts()[-1] is DebounceDecision.GONE) == (world.content is None)


@settings(max_examples=cases(200))
@given(st.lists(steps, min_size=1, max_size=12))
def test_a_deletion_is_concluded_only_after_two_checks_three_seconds_apart(saves):
    world = World()
    looks: list[tuple[float, bool]] = []
    look = world.look

    def remembered() -> DebounceDecision:
        looks.append((world.now, world.content is None))
        verdict = look()
        if verdict is DebounceDecision.GONE:
            absent_since = next(at for at, absent in reversed(_run(looks)) if absent)
            assert world.now - absent_since >= HOLD - 1e-6
        return verdict

    world.look = remembered  # type: ignore[method-assign]
    for content, closed, pause in saves:
        world.save(content, closed=closed)
        world.pass_time(pause)
    world.pass_time(10)


def _run(looks: list[tuple[float, bool]]) -> list[tuple[float, bool]]:
    """The last unbroken run of looks that found the note absent, latest first."""
    run = []
    for at, absent in reversed(looks):
        if not absent:
            break
        run.append((at, absent))
    return run


def test_nothing_is_due_without_a_hint():
    assert DebounceTable().due(1e9) == []
    assert DebounceTable().next_due() is None
