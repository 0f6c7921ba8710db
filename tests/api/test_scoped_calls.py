"""With scopes, a call answers about a note of another person as about one that does not exist."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.scenarios.outside import Outside
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import UsageError, VaultMemoryError

ANN, BO = "Users/ann/lantern/config/USER.md", "Users/bo/lantern/config/USER.md"
COPY = ".sync-conflict-20261121-20{minute}12-ABCDEF7.md"
ONLY_ANN = ["user:ann"]
BOTH = ["user:ann", "user:bo"]
NOBODYS = "0123abcd" * 8
"""An id or a revision that nothing has"""


@dataclass
class Person:
    """What the program knows of a person's note."""

    note: str
    record: str
    proposal: str
    revision: str
    copy: str
    thrown: str


@pytest.fixture
def memory(outside: Outside) -> Iterator[VaultMemory]:
    for note in (ANN, BO):
        outside.write(note, "# Me\n\n## Tea\n\n- green\n\n## Boats\n\n- a red boat\n")
    with VaultMemory.open(outside.vault, environment=outside.environment) as opened:
        yield opened


def _append(memory: VaultMemory, note: str, line: str) -> str:
    op = {"op": "append", "heading": "Tea", "line": line}
    edit = memory.apply(note, [op], source="cli")
    assert edit.audit_id
    return edit.audit_id


def _person(memory: VaultMemory, note: str) -> Person:
    """Edits a note, proposes something about it, and throws one of two copies of it away."""
    record = _append(memory, note, f"white, of {note}")
    remove = {"op": "remove", "heading": "Boats", "match": "red"}
    [proposal] = memory.apply(note, [remove], source="tool").proposed
    copies = []
    for color, minute in (("blue", "30"), ("grey", "31")):
        copy = memory.root / note.replace(".md", COPY.format(minute=minute))
        copy.write_text(f"# Me\n\n## Tea\n\n- green\n- {color}, of {note}\n")
        copies.append(copy)
    ids = {copy.path.rpartition("/")[2]: copy.id for copy in memory.conflicts()}
    memory.conflicts.discard([ids[copies[1].name]])
    [thrown] = [entry for entry in memory.conflicts.trash() if _is_of(note, entry.note)]
    revision = memory.history(note)[-1].revision
    return Person(note, record, proposal.id, revision, ids[copies[0].name], thrown.id)


def _is_of(note: str, path: str) -> bool:
    return path.rpartition("/")[0] == note.rpartition("/")[0]


@pytest.fixture
def ann(memory: VaultMemory) -> Person:
    return _person(memory, ANN)


@pytest.fixture
def bo(memory: VaultMemory, ann: Person) -> Person:
    return _person(memory, BO)


Call = Callable[[VaultMemory, Person, list[str] | None], Any]

ABOUT_A_NOTE: dict[str, Call] = {
    "history": lambda memory, who, scopes: memory.history(who.note, scopes),
    "restore": lambda memory, who, scopes: memory.edits.restore(
        who.note, who.revision, scopes=scopes
    ),
    "read_version": lambda memory, who, scopes: memory.edits.read_version(
        who.note, who.revision, scopes
    ),
}
ABOUT_AN_ID: dict[str, tuple[str, Call]] = {
    "undo": ("record", lambda memory, who, scopes: memory.undo(who.record, scopes=scopes)),
    "log before": (
        "record",
        lambda memory, who, scopes: memory.log(before=who.record, scopes=scopes),
    ),
    "approve": (
        "proposal",
        lambda memory, who, scopes: memory.approve(who.proposal, scopes=scopes),
    ),
    "reject": ("proposal", lambda memory, who, scopes: memory.reject(who.proposal, scopes=scopes)),
    "merge": (
        "copy",
        lambda memory, who, scopes: memory.conflicts.merge([who.copy], scopes=scopes),
    ),
    "take": ("copy", lambda memory, who, scopes: memory.conflicts.take(who.copy, scopes=scopes)),
    "discard": (
        "copy",
        lambda memory, who, scopes: memory.conflicts.discard([who.copy], scopes=scopes),
    ),
    "untrash": (
        "thrown",
        lambda memory, who, scopes: memory.conflicts.untrash(who.thrown, scopes=scopes),
    ),
}


def _refusal(call: Call, memory: VaultMemory, who: Person) -> VaultMemoryError:
    with pytest.raises(VaultMemoryError) as caught:
        call(memory, who, ONLY_ANN)
    return caught.value


def _texts(memory: VaultMemory) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in memory.root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ABOUT_A_NOTE)
def test_a_note_of_another_person_is_like_no_note(
    memory: VaultMemory, bo: Person, name: str
) -> None:
    before = _texts(memory)
    missing = Person(BO.replace("bo", "cy"), "", "", bo.revision, "", "")

    refusal = _refusal(ABOUT_A_NOTE[name], memory, bo)
    other = _refusal(ABOUT_A_NOTE[name], memory, missing)

    assert type(refusal) is type(other)
    assert refusal.message.replace(BO, "X") == other.message.replace(missing.note, "X")
    assert refusal.hint == other.hint
    assert _texts(memory) == before
    assert ABOUT_A_NOTE[name](memory, bo, BOTH) is not None


@pytest.mark.sampled
@pytest.mark.parametrize("name", ABOUT_AN_ID)
def test_an_id_of_another_person_is_like_no_id(memory: VaultMemory, bo: Person, name: str) -> None:
    field, call = ABOUT_AN_ID[name]
    before = _texts(memory)
    given = getattr(bo, field)
    missing = Person(BO, NOBODYS, NOBODYS, NOBODYS, NOBODYS, NOBODYS)

    refusal = _refusal(call, memory, bo)
    other = _refusal(call, memory, missing)

    assert type(refusal) is type(other)
    assert refusal.message.replace(given, "X") == other.message.replace(NOBODYS, "X")
    assert refusal.hint == other.hint
    assert refusal.details == other.details
    assert _texts(memory) == before
    assert call(memory, bo, BOTH) is not None


def test_a_list_has_only_what_belongs_to_its_scopes(
    memory: VaultMemory, ann: Person, bo: Person
) -> None:
    lists: dict[str, Callable[[list[str] | None], list[str]]] = {
        "log": lambda scopes: [one.note for one in memory.log(scopes=scopes)],
        "newest": lambda scopes: [one.note for one in memory.log(limit=9, scopes=scopes)],
        "inbox": lambda scopes: [one.note for one in memory.inbox(scopes)],
        "conflicts": lambda scopes: [one.note for one in memory.conflicts(scopes)],
        "trash": lambda scopes: [one.note for one in memory.conflicts.trash(scopes)],
    }
    for name, notes in lists.items():
        every = notes(None)
        assert notes(BOTH) == every, name
        assert notes([]) == [], name
        own = [note for note in every if _is_of(ANN, note)]
        assert notes(ONLY_ANN) == own, name
        assert 0 < len(own) < len(every), name
    assert memory.log(BO, scopes=ONLY_ANN) == ()
    assert memory.log(BO, limit=5, scopes=ONLY_ANN) == ()
    assert memory.log(BO, scopes=BOTH) == memory.log(BO) != ()


def test_a_beginning_of_ids_names_only_candidates_of_the_scopes(
    memory: VaultMemory, ann: Person, bo: Person
) -> None:
    _append(memory, ANN, "black")

    with pytest.raises(UsageError) as caught:
        memory.undo("0", scopes=ONLY_ANN)

    own = {record.id for record in memory.log(ANN)}
    assert set(caught.value.details["candidates"]) == own


def test_the_log_is_read_in_parts_without_gaps(memory: VaultMemory) -> None:
    for number in range(7):
        _append(memory, ANN if number % 2 else BO, f"cup {number}")
    for note in (None, ANN):
        for scopes in (None, ONLY_ANN, BOTH):
            every = memory.log(note, scopes=scopes)
            parts: tuple[Any, ...] = ()
            before = None
            while part := memory.log(note, limit=2, before=before, scopes=scopes):
                parts = part + parts
                before = part[0].id
            assert parts == every
            assert len(every) >= 3


def test_a_link_to_a_note_of_another_person_leads_nowhere(memory: VaultMemory, bo: Person) -> None:
    link = memory.root / "Users/ann/memories/link.md"
    link.parent.mkdir(parents=True)
    link.symlink_to(memory.root / BO)
    audit = memory.root / "Users/ann/memories/link.md.audit.jsonl"
    audit.write_bytes((memory.root / f"{BO}.audit.jsonl").read_bytes())
    who = Person("Users/ann/memories/link.md", bo.record, bo.proposal, bo.revision, "", "")
    before = _texts(memory)

    for call in ABOUT_A_NOTE.values():
        assert _refusal(call, memory, who).code == "note_not_found"
    assert _refusal(ABOUT_AN_ID["undo"][1], memory, who).code == "note_not_found"
    assert _texts(memory) == before


def test_a_scope_without_its_kind_is_refused(memory: VaultMemory) -> None:
    for call in (memory.inbox, memory.conflicts, memory.conflicts.trash):
        with pytest.raises(UsageError):
            call(["ann"])


def test_a_list_follows_each_change_and_each_choice_of_scopes(memory: VaultMemory) -> None:
    for number in range(3):
        for note, scopes in ((ANN, ONLY_ANN), (BO, ["user:bo"])):
            record = _append(memory, note, f"cup {number}")

            assert memory.log(scopes=scopes)[-1].id == record
            assert len(memory.log(scopes=scopes)) == number + 1
    assert len(memory.log(scopes=BOTH)) == 6


def test_a_fork_sees_at_once_what_was_recorded(memory: VaultMemory) -> None:
    fork = memory.fork()
    try:
        for number in range(3):
            for writer, reader in ((memory, fork), (fork, memory)):
                record = _append(writer, ANN, f"cup {number} of {id(writer)}")

                assert reader.log()[-1].id == record
                assert reader.log(ANN)[-1].id == record
                assert reader.log(scopes=ONLY_ANN)[-1].id == record
    finally:
        fork.close()


def test_an_undo_gives_up_no_candidate_of_another_person(memory: VaultMemory) -> None:
    record = _append(memory, ANN, "white")
    start = record[:-4]
    ledger = memory.root / "Users/bo/learning/held.jsonl"
    ledger.parent.mkdir()
    candidate = {
        "id": "9f3c1a22d0",
        "ts": "2026-05-25T18:00:00+00:00",
        "state": "promoted",
        "class": "require_repetition",
        "reason": "self_belief",
        "kind": "memory",
        "text": "I row",
        "supports": [{"turn": "mb3k2", "session": "s1"}],
        "audit": f"{start}ffff",
    }
    ledger.write_text(json.dumps(candidate) + "\n")
    before = ledger.read_bytes()

    memory.undo(start, scopes=ONLY_ANN)

    assert ledger.read_bytes() == before
