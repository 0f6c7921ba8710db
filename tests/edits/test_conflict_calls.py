"""The calls on conflict copies and on the trash, each within the scopes of its caller."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.edits.conftest import ANN, BEN, TEA
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.edits.conflict_calls import ConflictCalls
from vault_memory.edits.edit_errors import UnclearId

COPY = "USER (conflicted copy 2026-11-29 101112).md"
NOW = datetime.now(UTC) + timedelta(hours=1)


@pytest.fixture
def conflicts(memory: VaultMemory) -> ConflictCalls:
    return memory.conflicts


def put_copy(memory: VaultMemory, note: str, text: str) -> Path:
    path = (Path(memory.root) / note).with_name(COPY)
    path.write_text(text)
    return path


def texts(memory: VaultMemory) -> tuple[str, str]:
    return tuple((Path(memory.root) / note).read_text() for note in (ANN, BEN))  # type: ignore[return-value]


def test_copies_are_listed_for_all_scopes_or_for_some(
    memory: VaultMemory, conflicts: ConflictCalls
) -> None:
    assert (conflicts.count(), conflicts()) == (0, [])
    put_copy(memory, ANN, TEA + "- black\n")
    put_copy(memory, BEN, TEA + "- red\n")

    assert conflicts.count() == 2
    assert {copy.note for copy in conflicts()} == {ANN, BEN}
    assert [copy.note for copy in conflicts(["user:ben"])] == [BEN]


def test_a_merge_resolves_what_is_asked_for_and_within_the_scopes(
    memory: VaultMemory, conflicts: ConflictCalls
) -> None:
    anns = put_copy(memory, ANN, TEA + "- black\n")
    bens = put_copy(memory, BEN, TEA + "- red\n")
    [copy] = conflicts(["user:ann"])

    [planned] = conflicts.merge([copy.id], dry_run=True)
    assert (planned.outcome, texts(memory)) == ("none", (TEA, TEA))
    with pytest.raises(UnclearId):
        conflicts.merge([copy.id], scopes=["user:ben"], now=NOW)
    done = conflicts.merge(scopes=["user:ben"], now=NOW)

    assert [one.copy.note for one in done] == [BEN]
    assert anns.exists()
    assert not bens.exists()
    assert texts(memory) == (TEA, TEA + "- red\n")
    assert [one.outcome for one in conflicts.merge([copy.id[:6]], now=NOW)] == ["merged"]
    assert texts(memory)[0] == TEA + "- black\n"


def test_a_copy_is_taken_or_discarded(memory: VaultMemory, conflicts: ConflictCalls) -> None:
    put_copy(memory, ANN, "# Another\n")
    put_copy(memory, BEN, "# Another\n")
    [anns], [bens] = conflicts(["user:ann"]), conflicts(["user:ben"])

    for call in (
        lambda: conflicts.take(anns.id, dry_run=True),
        lambda: conflicts.discard([bens.id], dry_run=True),
    ):
        [planned] = call()
        assert planned.outcome == "none"
    assert texts(memory) == (TEA, TEA)
    with pytest.raises(UnclearId):
        conflicts.take(anns.id, scopes=["user:ben"], now=NOW)
    with pytest.raises(UnclearId):
        conflicts.discard([bens.id], scopes=["user:ann"], now=NOW)
    assert [one.outcome for one in conflicts.take(anns.id, now=NOW)] == ["taken"]
    assert [one.outcome for one in conflicts.discard([bens.id], now=NOW)] == ["discarded"]

    assert texts(memory) == ("# Another\n", TEA)
    assert conflicts.count() == 0


def test_only_what_needs_no_person_is_settled(
    memory: VaultMemory, conflicts: ConflictCalls
) -> None:
    assert conflicts.settle(NOW) == []
    same = put_copy(memory, ANN, TEA)
    put_copy(memory, BEN, TEA.replace("green", "red"))

    assert conflicts.settle(NOW, among=[]) == []
    done = conflicts.settle(NOW)

    assert [one.copy.note for one in done] == [ANN]
    assert not same.exists()
    assert texts(memory) == (TEA, TEA)
    assert conflicts.count() == 1


def test_a_copy_comes_back_from_the_trash_of_its_person(
    memory: VaultMemory, conflicts: ConflictCalls
) -> None:
    path = put_copy(memory, ANN, "# Another\n")
    [copy] = conflicts()
    conflicts.discard([copy.id], now=NOW)
    [thrown] = conflicts.trash()
    assert (thrown.bytes, thrown.outcome) == (len("# Another\n"), "in the trash")
    assert conflicts.trash(["user:ann"]) == [thrown]
    assert conflicts.trash(["user:ben"]) == []

    with pytest.raises(UnclearId):
        conflicts.untrash(thrown.id, scopes=["user:ben"], now=NOW)
    back = conflicts.untrash(thrown.id[:8], now=NOW)

    assert (back.note, back.outcome) == (thrown.note, "restored")
    assert path.read_text() == "# Another\n"
    assert conflicts.trash() == []


def test_what_stands_under_the_name_is_left_by_a_return_from_the_trash(
    memory: VaultMemory, conflicts: ConflictCalls
) -> None:
    path = put_copy(memory, ANN, "# Another\n")
    [copy] = conflicts()
    conflicts.discard([copy.id], now=NOW)
    path.write_text("# Newer\n")

    [thrown] = conflicts.trash()
    assert conflicts.untrash(thrown.id, now=NOW).outcome == "beside"
    assert path.read_text() == "# Newer\n"
