"""A conflict copy never replaces what a person wrote: later saves of other lines do not settle a conflict."""

import random
from dataclasses import dataclass, field

import pytest

from tests.edits.conftest import Desk
from vault_memory.edits.conflict_copies import Conflicts
from vault_memory.edits.conflict_copy import (
    KEPT_FOR,
    RENEWED_AFTER,
    ConflictCopy,
    ResolvedConflict,
    Verdicts,
)
from vault_memory.edits.plans.copy_ancestors import lines_of
from vault_memory.rules.paths.layout import Layout

COPY = "USER (conflicted copy 2026-11-21 203312).md"
HORN = "# Me\n\n## Signals\n\n- channel 16 first, then a horn\n- flares under the bench\n\n## Boats\n\n- Sula\n"
LAMP, BELLS = HORN.replace("horn", "lamp"), HORN.replace("horn", "bells")


class Folder:
    """A desk on which a person saves, a sync program leaves copies, and the daemon looks at both."""

    def __init__(self, desk: Desk, note: str = "USER.md") -> None:
        self.desk, self.note = desk, note
        self.conflicts = self.reopened()

    def reopened(self) -> Conflicts:
        return Conflicts(self.desk.curator, self.desk.curator.folder, Layout([]))

    def save(self, text: str, *, is_seen: bool = True) -> None:
        """A person saves; the daemon sees that version, unless it does not run."""
        self.desk.save(text, self.note)
        if is_seen:
            curator = self.desk.curator
            curator.keep([curator.folder.read(self.note)], self.desk.now - self.desk.ahead)

    def copy(self, text: str, name: str = COPY) -> None:
        self.desk.save(text, name)

    def settle(self) -> list[ResolvedConflict]:
        return self.conflicts.settle(self.desk.now)

    def only(self) -> ConflictCopy:
        [copy] = self.conflicts.list_all()
        return copy

    def text(self) -> str:
        return self.desk.text(self.note)


@pytest.fixture
def folder(desk: Desk) -> Folder:
    return Folder(desk)


@pytest.mark.scenario("D70")
@pytest.mark.parametrize(
    "looks", [True, False], ids=["seen by the daemon", "not seen by the daemon"]
)
@pytest.mark.parametrize(
    "history", [(HORN, LAMP), (LAMP,), ()], ids=["all kept", "base not kept", "nothing kept"]
)
def test_a_line_changed_on_both_sides_is_not_replaced_after_saves_of_other_lines(
    folder: Folder, history: tuple[str, ...], looks: bool
):
    for version in history:
        folder.save(version)
    folder.save(LAMP, is_seen=bool(history))
    folder.copy(BELLS)
    if looks:
        folder.settle()
    for text in (LAMP + "- Gannet\n", LAMP + "- Gannet\n- Petrel\n", LAMP + "- Petrel\n"):
        folder.save(text)

        assert folder.settle() == []
        assert folder.text() == text
        assert folder.only().state == "conflict"
        assert folder.conflicts.merge(folder.only(), folder.desk.now).outcome == "conflict"


def test_a_conflict_stays_a_conflict_after_its_base_version_expired(folder: Folder):
    folder.save(HORN)
    folder.save(LAMP)
    folder.copy(BELLS)
    assert folder.only().state == "conflict"
    journal = folder.desk.curator.writer.journal
    with journal.transaction():
        journal.connection.execute("DELETE FROM versions WHERE path = ?", (folder.note,))
    folder.desk.close()  # the daemon is started anew

    folder.conflicts = folder.reopened()
    folder.save(BELLS.replace("bells", "lamp") + "- Gannet\n")

    assert folder.settle() == []
    assert folder.only().state == "conflict"


def test_a_conflict_is_remembered_by_note_and_bytes_for_as_long_as_it_is_met(desk: Desk):
    verdicts, now = Verdicts(desk.curator.writer), desk.now
    verdicts.call_conflict("USER.md", "r1", now)
    verdicts.call_conflict("USER.md", "r2", now)

    def known(revision: str, note: str = "USER.md") -> bool:
        return Verdicts(desk.curator.writer).is_conflict(note, revision)

    assert [known("r1"), known("r3"), known("r1", "MEMORY.md")] == [True, False, False]
    verdicts.call_conflict("USER.md", "r1", now + RENEWED_AFTER)
    verdicts.call_conflict("USER.md", "r3", now + KEPT_FOR + RENEWED_AFTER / 2)
    assert [known("r1"), known("r2"), known("r3")] == [True, False, True]


def test_a_conflict_that_a_person_rewrote_on_one_side_still_waits_for_them(folder: Folder):
    folder.save(HORN)
    folder.save(LAMP)
    folder.copy(BELLS)
    assert folder.only().state == "conflict"
    line = next(line for line in LAMP.splitlines() if "lamp" in line)
    folder.save(LAMP.replace(line, "- radio is broken, so call by telephone"))

    assert folder.settle() == []
    assert folder.only().state == "conflict"
    assert "bells" not in folder.text()


def test_without_state_a_copy_that_lacks_a_line_of_the_note_is_left_to_a_person(folder: Folder):
    """Nothing is known of the past, and the two lines are not alike: the copy may be older than either."""
    folder.save(
        HORN.replace("- channel 16 first, then a horn", "- a lamp on the roof"), is_seen=False
    )
    folder.copy(HORN.replace("- channel 16 first, then a horn", "- three bells at the door"))

    assert folder.settle() == []
    assert "lamp" in folder.text()
    assert "bells" not in folder.text()


@pytest.mark.parametrize(
    "settle", ["the note gets the copy's line", "the copy gets the note's line", "discard", "take"]
)
def test_an_action_of_a_person_settles_a_conflict(folder: Folder, settle: str):
    folder.save(HORN)
    folder.save(LAMP)
    folder.copy(BELLS)
    assert folder.settle() == []

    match settle:
        case "the note gets the copy's line":
            folder.save(BELLS + "- Gannet\n")
        case "the copy gets the note's line":
            folder.copy(LAMP)
        case "discard":
            folder.conflicts.discard(folder.only(), folder.desk.now)
        case "take":
            folder.conflicts.take(folder.only(), folder.desk.now)
    folder.settle()

    assert folder.conflicts.list_all() == []
    assert ("bells" in folder.text()) == (settle in ("the note gets the copy's line", "take"))


def test_both_lines_are_kept_when_it_is_unknown_whether_the_copy_saw_the_note(folder: Folder):
    folder.save(HORN.replace("- channel 16 first, then a horn", "- a lamp on the roof"))
    folder.copy(HORN.replace("- channel 16 first, then a horn", "- three bells at the door"))

    done = folder.conflicts.merge(folder.only(), folder.desk.now, both=True)

    assert done.outcome == "merged"
    assert "- a lamp on the roof\n" in folder.text()
    assert "- three bells at the door" in folder.text()


def test_local_lines_survive_a_second_copy_of_a_device_whose_first_was_merged_by_hand(
    folder: Folder,
):
    """The second copy has a line that the note has, too, and yet its device never saw what was written here."""
    folder.save(HORN)
    folder.save(HORN + "- written here\n")
    folder.save(
        HORN + "- written here\n- Petrel\n"
    )  # typed from a first copy, which the person threw away
    folder.copy(HORN + "- Petrel\n- Gannet\n")
    folder.save(HORN + "- written here\n- Petrel\n- Fulmar\n")

    folder.settle()

    assert "- written here\n" in folder.text()


# A world of one note: what its person writes here, and a device that never saw all of it.

WORDS = [
    f"{first}{second}"
    for first in ("tar", "sel", "mon", "pir", "vek")
    for second in ("a", "en", "ol", "ith", "um")
]


@dataclass
class World:
    """A base, saves here, and saves on a device that parted at the base. Each line has a number of its own."""

    dice: random.Random
    number: int = 0
    base: list[str] = field(default_factory=list)

    def line(self) -> str:
        self.number += 1
        return f"- {' '.join(self.dice.sample(WORDS, 4))} {self.number}"

    def edited(self, lines: list[str], spared: frozenset[str] = frozenset()) -> list[str]:
        """One edit by hand of any line that is not spared: changed a little, rewritten, removed, added, moved."""
        lines = list(lines)
        free = [
            index for index, line in enumerate(lines) if line not in spared and line.startswith("-")
        ]
        kind = self.dice.choice(["word", "word", "rewrite", "remove", "add", "add", "move"])
        if kind == "add" or not free:
            lines.insert(self.dice.randint(2, len(lines)), self.line())
            return lines
        index = self.dice.choice(free)
        if kind == "word":
            self.number += 1
            lines[index] = f"{lines[index].rpartition(' ')[0]} {self.number}"
        elif kind == "rewrite":
            lines[index] = self.line()
        elif kind == "remove":
            del lines[index]
        else:
            lines.insert(self.dice.randint(2, len(lines) - 1), lines.pop(index))
        return lines


def text_of(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def live(folder: Folder, dice: random.Random, name: str) -> str:
    """One triple: a note, a copy, and later edits by hand. Returns what became of the copy."""
    world = World(dice)
    lines = ["# Me", "", *(world.line() for _ in range(dice.randint(2, 8)))]
    if dice.random() < 0.5:
        lines[2:2] = ["## Tea", ""]
        lines += ["", "## Boats", "", *(world.line() for _ in range(dice.randint(1, 4)))]
    for _ in range(dice.randint(0, 2)):  # what both have seen
        folder.save(text_of(lines), is_seen=dice.random() < 0.8)
        lines = world.edited(lines)
    base = lines
    folder.save(text_of(base), is_seen=dice.random() < 0.6)
    theirs = base
    for _ in range(dice.randint(1, 3)):
        theirs = world.edited(theirs)
    for _ in range(dice.randint(1, 3)):
        lines = world.edited(lines)
        folder.save(text_of(lines), is_seen=dice.random() < 0.7)
    folder.copy(text_of(theirs), name)
    spared = frozenset(theirs) ^ frozenset(lines)
    for _ in range(dice.randint(1, 4)):
        if dice.random() < 0.6 and (done := looked(folder, base)):
            return done
        lines = world.edited(lines, spared)
        folder.save(text_of(lines), is_seen=dice.random() < 0.8)
    return looked(folder, base) or "left"


def looked(folder: Folder, base: list[str]) -> str:
    """The daemon looks: what it takes out of the note, or leaves in the trash, stood in the common text."""
    before = lines_of(folder.desk.raw(folder.note))
    done = folder.settle()
    after = lines_of(folder.desk.raw(folder.note))
    seen = lines_of(text_of(base).encode())
    assert not before - after - seen, f"replaced: {before - after - seen}"
    for resolved in done:
        lost = lines_of(resolved.copy.raw) - after - seen
        assert not lost, f"lost with the copy: {lost}"
    return done[0].outcome if done else ""


def triples(desk: Desk, seeds: range) -> dict[str, int]:
    outcomes: dict[str, int] = {}
    for seed in seeds:
        note = f"memory/note{seed}.md"
        copy = f"memory/note{seed}.sync-conflict-20261121-203312-ABCDEF7.md"
        folder = Folder(desk, note)
        outcome = live(folder, random.Random(seed), copy)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        for path in (note, copy, f"{note}.audit.jsonl"):
            (desk.vault / path).unlink(missing_ok=True)
    return outcomes


@pytest.mark.sampled
@pytest.mark.scenario("D70")
@pytest.mark.parametrize(
    ("first", "end"),
    [(0, 150), pytest.param(150, 2000, marks=pytest.mark.deep)],
    ids=["some", "all"],
)
def test_a_copy_never_replaces_a_persons_edit_without_their_action(
    desk: Desk, first: int, end: int
):
    outcomes = triples(desk, range(first, end))

    assert outcomes["left"], "no conflict came up"
    assert outcomes["merged"] > (end - first) / 20, "what merges cleanly is still merged"
