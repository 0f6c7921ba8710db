"""What the journal keeps of writes, displaced files and audits, and for which note."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from vault_memory.vault.write.journal import (
    DisplacedFile,
    Journal,
    JournalUnavailable,
    PendingWrite,
    open_journal,
)

WRITE = PendingWrite("op1", "notes/tea.md", "ours", "r0", "r1", 10.0, "2026-11-29 101112")
FILE = DisplacedFile("notes/.tea.md.1", "notes/tea.md", "r0", 10.0)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = open_journal(tmp_path)
    yield opened
    opened.close()


def test_a_write_is_kept_with_its_phase_until_it_is_removed(journal: Journal) -> None:
    later = replace(WRITE, op_id="op2", since=20.0)
    with journal.transaction():
        journal.put(later)
        journal.put(WRITE)
        journal.put(replace(WRITE, phase="done", outcome="written", record=b"audit"))

    assert journal.ops("pending") == [later]
    [done] = journal.ops("done")
    assert (done.op_id, done.record, done.folder, done.name) == ("op1", b"audit", "notes", "tea.md")
    assert [write.op_id for write in journal.backlog().writes] == ["op1", "op2"]
    assert journal.backlog().write("op2") == later
    assert journal.backlog().write("op3") is None
    journal.remove("op2")
    assert journal.op("op2") is None


def test_a_transaction_that_fails_keeps_nothing(journal: Journal) -> None:
    def fail() -> None:
        with journal.transaction():
            journal.put(WRITE)
            assert journal.op("op1") == WRITE
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert journal.op("op1") is None
    with journal.transaction():
        journal.put(WRITE)
    assert journal.op("op1") == WRITE


def test_a_statement_that_sqlite_refuses_says_that_the_journal_is_unavailable(
    journal: Journal,
) -> None:
    def fail() -> None:
        with journal.transaction():
            journal.put(WRITE)
            journal.change("INSERT INTO nowhere VALUES (1)")

    with pytest.raises(JournalUnavailable) as told:
        fail()
    assert not isinstance(told.value, apsw.Error)
    assert journal.op("op1") is None


def test_an_acknowledged_write_leaves_the_id_of_its_record(journal: Journal) -> None:
    journal.put(WRITE)
    journal.put(replace(WRITE, op_id="op2"))

    journal.acknowledge("op1", "notes/tea.md")
    journal.acknowledge("op2", "")

    assert journal.backlog().writes == []
    assert journal.recorded() == {"notes/tea.md": "op1"}
    assert journal.recorded_of("notes/tea.md") == "op1"
    assert journal.recorded_of("notes/boats.md") == ""


def test_late_text_replaces_what_was_planned_for_earlier_text_of_its_file(journal: Journal) -> None:
    of_file = replace(WRITE, entry=FILE.place)
    others = [
        replace(WRITE, op_id="other file", entry="notes/.boats.md.1"),
        replace(WRITE, op_id="ours"),
        replace(of_file, op_id="done", phase="done"),
    ]
    newest = replace(of_file, op_id="newest")
    for write in (of_file, newest, *others):
        journal.put(write)

    journal.supersede(newest)

    kept = {write.op_id for write in journal.backlog().writes}
    assert kept == {"newest", "other file", "ours", "done"}


def test_what_is_known_of_a_note_follows_it_to_another_path(journal: Journal) -> None:
    old, new = "notes/tea.md", "notes/teas.md"
    journal.set_recorded(old, "b")
    journal.set_gap(old, "c")
    journal.set_recorded(new, "a")
    journal.set_recorded("notes/boats.md", "z")
    journal.displace(FILE)
    journal.displace(replace(FILE, place="notes/.boats.md.1", path="notes/boats.md"))

    journal.rename(old, new)

    assert journal.recorded() == {new: "b", "notes/boats.md": "z"}
    assert journal.gaps() == {new}
    assert {file.place: file.path for file in journal.displaced()} == {
        FILE.place: new,
        "notes/.boats.md.1": "notes/boats.md",
    }


def test_a_note_without_records_takes_none_along(journal: Journal) -> None:
    journal.set_recorded("notes/teas.md", "a")

    journal.rename("notes/tea.md", "notes/teas.md")

    assert journal.recorded() == {"notes/teas.md": "a"}
    assert journal.gaps() == set()


def test_a_displaced_file_is_known_by_its_place_until_it_is_forgotten(journal: Journal) -> None:
    journal.displace(FILE)
    journal.displace(replace(FILE, looks=3, next_look=90.0))

    entry = journal.entry(FILE.place)
    assert entry is not None
    assert (entry.looks, entry.next_look) == (3, 90.0)
    assert journal.entry("notes/.tea.md.2") is None
    journal.forget_displaced(FILE.place)
    assert journal.displaced() == []


def test_a_state_is_found_by_its_beginning_and_dropped(journal: Journal) -> None:
    for name in ("seen:a", "seen:b", "see%", "other"):
        journal.set_state(name, f"1 {name}")
    journal.set_state("seen:a", "2")

    assert journal.state("seen:a") == "2"
    assert journal.state("absent") is None
    assert journal.states("seen:") == {"a": "2", "b": "1 seen:b"}
    journal.drop_state("seen:b")
    assert journal.states("seen:") == {"a": "2"}
    assert journal.state("see%") == "1 see%"


def test_another_process_sees_what_was_committed(journal: Journal, tmp_path: Path) -> None:
    with journal.transaction():
        journal.put(WRITE)
    other = open_journal(tmp_path)

    assert other.op("op1") == WRITE
    other.remove("op1")
    other.close()
    assert journal.op("op1") is None
