"""A conflict copy is decided place by place: audited, undoable, and its file stays as it is until the last place."""

import random
from pathlib import Path

import pytest

from tests.edits.conftest import ANN
from tests.edits.test_conflict_calls import NOW, put_copy
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.edits.conflict_copy import ConflictCopy
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.errors import UsageError

NOTE = (
    "---\nmood: glad\n---\n# Me\n\n## Tea\n\n- green\n- with milk\n\n## Boats\n\n- Sula\n- Petrel\n"
)
COPY = (
    NOTE.replace("glad", "tired").replace("milk", "honey").replace("- Sula\n", "- Sula\n- Skua\n")
)
CHOICES = ("keep", "take", "both")


class Places:
    """Ann's note with a conflict copy that differs in three places."""

    def __init__(self, memory: VaultMemory) -> None:
        self.memory = memory
        self.path = Path(memory.root) / ANN
        self.path.write_text(NOTE)
        self.copy_path = put_copy(memory, ANN, COPY)

    @property
    def note(self) -> str:
        return self.path.read_text()

    def copy(self) -> ConflictCopy:
        [copy] = self.memory.conflicts()
        return copy

    def decide(self, index: int, choice: str) -> str:
        """Decides an open place. Returns the id of the audit record."""
        copy = self.copy()
        [result] = self.memory.conflicts.settle_place(
            copy.id, copy.places[index].id, choice, now=NOW
        )
        assert result.outcome == ("merged" if len(copy.places) == 1 else "settled")
        assert result.edit
        assert result.edit.audit_id
        return result.edit.audit_id


@pytest.fixture
def places(memory: VaultMemory) -> Places:
    return Places(memory)


def shown(copy: ConflictCopy) -> list[tuple[str, str]]:
    return [(place.note, place.copy) for place in copy.places]


def test_a_place_is_taken_and_the_others_wait(places: Places) -> None:
    assert shown(places.copy()) == [
        ("mood: glad\n", "mood: tired\n"),
        ("- with milk\n", "- with honey\n"),
        ("", "- Skua\n"),
    ]
    others = [place.id for place in places.copy().places if place.note != "- with milk\n"]

    audit_id = places.decide(1, "take")

    assert places.note == NOTE.replace("milk", "honey")
    assert places.copy_path.read_text() == COPY
    assert [place.id for place in places.copy().places] == others
    record = places.memory.log(ANN)[-1]
    assert (record.id, record.source) == (audit_id, "cli")
    assert places.memory.conflicts.settle(NOW) == []


def test_after_the_last_place_the_copy_is_in_the_trash(places: Places) -> None:
    places.decide(2, "take")
    places.decide(0, "keep")
    places.decide(0, "both")

    assert places.note == NOTE.replace("- with milk", "- with milk\n- with honey").replace(
        "- Sula\n", "- Sula\n- Skua\n"
    )
    assert not places.copy_path.exists()
    assert [thrown.note for thrown in places.memory.conflicts.trash()] == [
        ANN.replace("USER.md", places.copy_path.name)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_undo_gives_back_the_bytes_and_the_question(places: Places, seed: int) -> None:
    chance = random.Random(seed)
    ids = []
    states = [(places.note, shown(places.copy()))]
    for open_places in (3, 2):
        index = chance.randrange(open_places)
        choices = CHOICES if places.copy().places[index].can_keep_both else CHOICES[:2]
        ids.append(places.decide(index, chance.choice(choices)))
        states.append((places.note, shown(places.copy())))

    for audit_id in reversed(ids):
        assert (places.note, shown(places.copy())) == states.pop()
        places.memory.undo(audit_id, now=NOW)

    assert (places.note, shown(places.copy())) == states.pop()
    assert places.copy_path.read_text() == COPY


def test_the_undo_of_a_kept_place_can_be_undone(places: Places) -> None:
    kept = places.decide(1, "keep")
    assert places.note == NOTE
    undone = places.memory.undo(kept, now=NOW)
    assert len(places.copy().places) == 3

    places.memory.undo(undone.audit_id or "", now=NOW)

    assert len(places.copy().places) == 2


def test_a_copy_that_comes_back_from_the_trash_asks_what_was_undone(places: Places) -> None:
    for _ in range(2):
        places.decide(0, "keep")
    last = places.decide(0, "take")
    assert not places.copy_path.exists()
    places.memory.undo(last, now=NOW)
    assert places.note == NOTE

    [thrown] = places.memory.conflicts.trash()
    places.memory.conflicts.untrash(thrown.id, now=NOW)

    assert shown(places.copy()) == [("", "- Skua\n")]


def test_what_was_saved_meanwhile_is_shown_before_it_is_decided(places: Places) -> None:
    copy = places.copy()
    places.decide(0, "keep")
    places.path.write_text(NOTE.replace("milk", "lemon"))

    with pytest.raises(UnclearId):
        places.memory.conflicts.settle_place(copy.id, copy.places[1].id, "take", now=NOW)

    assert places.note == NOTE.replace("milk", "lemon")
    assert shown(places.copy()) == [("- with lemon\n", "- with honey\n"), ("", "- Skua\n")]


def test_a_changed_copy_or_another_scope_is_no_place(places: Places) -> None:
    copy = places.copy()
    place = copy.places[1].id
    with pytest.raises(UnclearId):
        places.memory.conflicts.settle_place(copy.id, place, "take", scopes=["user:ben"], now=NOW)
    put_copy(places.memory, ANN, COPY.replace("honey", "rum"))
    with pytest.raises(UnclearId):
        places.memory.conflicts.settle_place(copy.id, place, "take", now=NOW)

    assert places.note == NOTE


def test_lines_of_the_front_matter_are_not_both_kept(places: Places) -> None:
    copy = places.copy()

    with pytest.raises(UsageError):
        places.memory.conflicts.settle_place(copy.id, copy.places[0].id, "both", now=NOW)

    [planned] = places.memory.conflicts.settle_place(
        copy.id, copy.places[0].id, "take", dry_run=True, now=NOW
    )
    assert planned.outcome == "none"
    assert places.note == NOTE


def test_lines_of_the_copy_written_by_hand_leave_no_question(places: Places) -> None:
    places.decide(0, "keep")
    places.path.write_text(COPY.replace("tired", "glad"))

    assert places.copy().state == "contained"
