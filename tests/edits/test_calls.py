"""The calls that edit, read and undo through an open vault, each within the scopes of its caller."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.edits.conftest import ANN, BEN, TEA
from tests.scenarios.outside import Outside
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.edits.calls import EditOptions
from vault_memory.edits.edit_errors import NoteChanged, UnclearId
from vault_memory.edits.edit_result import Edit
from vault_memory.edits.people import NameTaken
from vault_memory.errors import BadPath, NoteNotFound, UsageError
from vault_memory.rules.edits.skipped_duplicates import SkippedDuplicate

NOW = datetime.now(UTC) + timedelta(hours=1)
"""Ahead, so that no note counts as saved just now"""


def append(memory: VaultMemory, line: str, note: str = ANN, **options: object) -> Edit:
    op = {"op": "append", "heading": "Tea", "line": line}
    chosen = EditOptions(**{"source": "cli", "now": NOW} | options)
    return memory.edits.apply(note, [op], chosen)


def proposed(memory: VaultMemory, note: str = ANN) -> str:
    """The id of a removal that a tool asks for, which waits for a person."""
    op = {"op": "remove", "heading": "Tea", "match": "green"}
    memory.edits.apply(note, [op], EditOptions(now=NOW))
    [proposal] = [one for one in memory.edits.inbox() if one.note == note]
    return proposal.id


def text(memory: VaultMemory, note: str = ANN) -> str:
    return (Path(memory.root) / note).read_text()


@pytest.mark.parametrize("ops", ["append", b"append", {"op": "append"}])
def test_ops_that_are_one_text_or_one_op_are_refused(memory: VaultMemory, ops: object) -> None:
    with pytest.raises(UsageError, match="list of ops"):
        memory.edits.apply(ANN, ops, EditOptions())  # type: ignore[arg-type]


def test_a_dry_run_tells_the_edit_and_writes_nothing(memory: VaultMemory) -> None:
    edit = append(memory, "black", dry_run=True)

    assert edit.before != edit.after
    assert text(memory) == TEA
    assert memory.edits.log() == ()


def test_a_skipped_duplicate_is_recorded_and_changes_nothing(memory: VaultMemory) -> None:
    line, id_, heading = "- green tea", "k7f3", ("Tea",)
    skip = SkippedDuplicate(line, heading, id_, "- green")
    edit = memory.edits.record_duplicates(ANN, [skip], EditOptions(source="cli", now=NOW))

    assert edit.before == edit.after
    [record] = memory.edits.log(ANN)
    assert [step.outcome for step in record.applied] == ["noop_dup"]
    assert text(memory) == TEA


def test_a_name_like_that_of_another_person_is_refused_by_each_call(memory: VaultMemory) -> None:
    twin = ANN.replace("ann", "Ann")

    with pytest.raises(NameTaken) as taken:
        append(memory, "black", twin)
    assert taken.value.details == {"name": "Ann", "other": "ann"}
    with pytest.raises(NameTaken):
        memory.edits.save(twin, TEA.encode(), base=b"", now=NOW)
    assert not (Path(memory.root) / twin).exists()


def test_the_memory_tool_edits_no_note_through_a_link(memory: VaultMemory) -> None:
    link = Path(memory.root) / "Users/ann/memories/boats.md"
    link.parent.mkdir(parents=True)
    link.symlink_to(Path(memory.root) / BEN)
    edit = {"command": "str_replace", "old_str": "green", "new_str": "black"}

    with pytest.raises(BadPath, match="link"):
        memory.edits.edit_text("Users/ann/memories/boats.md", edit, now=NOW)
    assert text(memory, BEN) == TEA


def test_an_undo_takes_back_and_names_what_it_took_back(memory: VaultMemory) -> None:
    done = append(memory, "black")
    assert done.audit_id
    assert "- black" in text(memory)

    undone = memory.edits.undo(done.audit_id[:8], now=NOW)

    assert text(memory) == TEA
    assert memory.edits.undone_by(undone) == done.audit_id
    assert memory.edits.undone_by(done) == ""


def test_a_restored_version_needs_the_revision_that_is_expected(memory: VaultMemory) -> None:
    append(memory, "black")
    oldest = memory.edits.history(ANN)[-1]

    memory.edits.restore(ANN, oldest.revision, dry_run=True, now=NOW)
    assert "- black" in text(memory)
    memory.edits.restore(ANN, oldest.revision[:9], now=NOW)

    assert text(memory) == TEA
    assert memory.edits.read_version(ANN, oldest.revision).text == TEA


@pytest.mark.parametrize("call", ["history", "restore", "read_version", "undo"])
def test_what_is_of_another_person_is_absent(memory: VaultMemory, call: str) -> None:
    done = append(memory, "black")
    revision = memory.edits.history(ANN)[-1].revision
    edits, ben = memory.edits, ["user:ben"]
    calls = {
        "history": lambda: edits.history(ANN, ben),
        "restore": lambda: edits.restore(ANN, revision, scopes=ben, now=NOW),
        "read_version": lambda: edits.read_version(ANN, revision, ben),
        "undo": lambda: edits.undo(done.audit_id or "", scopes=ben, now=NOW),
    }

    with pytest.raises((NoteNotFound, UnclearId)):
        calls[call]()
    assert "- black" in text(memory)


def test_a_log_has_the_records_of_its_scopes_and_the_newest_of_a_limit(memory: VaultMemory) -> None:
    first, second = append(memory, "black"), append(memory, "white")
    other = append(memory, "red", BEN)
    edits = memory.edits

    def ids(*asked: object, **options: object) -> list[str]:
        return [record.id for record in edits.log(*asked, **options)]  # type: ignore[arg-type]

    assert ids() == [first.audit_id, second.audit_id, other.audit_id]
    assert ids(limit=1) == [other.audit_id]
    assert ids(before=second.audit_id) == [first.audit_id]
    assert ids(ANN) == [first.audit_id, second.audit_id]
    assert ids(ANN, limit=1) == [second.audit_id]
    assert ids(ANN, limit=1, before=second.audit_id) == [first.audit_id]
    assert ids(scopes=["user:ben"]) == [other.audit_id]
    assert ids(scopes=["user:ann"]) == [first.audit_id, second.audit_id]
    assert ids(ANN, scopes=["user:ben"]) == []


def test_a_copied_note_leaves_the_records_of_its_first_owner_where_they_are(
    memory: VaultMemory,
) -> None:
    done = append(memory, "black")
    audit = Path(memory.root) / f"{ANN}.audit.jsonl"
    (Path(memory.root) / f"{BEN}.audit.jsonl").write_bytes(audit.read_bytes())

    assert [record.id for record in memory.edits.log(scopes=["user:ann"])] == [done.audit_id]


def test_an_approved_proposal_is_carried_out_and_a_rejected_one_dropped(
    memory: VaultMemory,
) -> None:
    waiting, other = proposed(memory), proposed(memory, BEN)
    assert memory.edits.notes_with_proposals() == {ANN, BEN}
    assert [one.id for one in memory.edits.inbox(["user:ben"])] == [other]

    with pytest.raises(UnclearId):
        memory.edits.approve(waiting, now=NOW, scopes=["user:ben"])
    memory.edits.approve(waiting, now=NOW, scopes=["user:ann"])
    memory.edits.reject(other[:6], now=NOW)

    assert "- green" not in text(memory)
    assert text(memory, BEN) == TEA
    assert memory.edits.inbox() == ()


def test_a_decision_on_a_page_is_carried_out(memory: VaultMemory) -> None:
    proposed(memory)
    [name] = memory.edits.inbox_pages()
    page = Path(memory.root) / name

    page.write_text(page.read_text().replace("- [ ]", "- [x]"))
    assert memory.edits.apply_all_decisions(now=NOW) == []

    assert "- green" not in text(memory)


def test_a_decision_that_was_saved_just_now_waits(memory: VaultMemory) -> None:
    proposed(memory)
    [name] = memory.edits.inbox_pages()
    page = Path(memory.root) / name
    page.write_text(page.read_text().replace("- [ ]", "- [x]"))

    assert memory.edits.apply_decisions(name) is False
    assert memory.edits.apply_all_decisions() == [name]
    assert text(memory) == TEA


def test_a_proposal_for_a_line_that_is_gone_is_struck_through(memory: VaultMemory) -> None:
    proposed(memory)
    (Path(memory.root) / ANN).write_text(TEA.replace("- green\n", "- white\n"))

    memory.edits.review([BEN, ANN])

    assert memory.edits.inbox() == ()
    assert text(memory) == TEA.replace("green", "white")


def test_versions_are_kept_of_notes_that_have_settled_and_lack_one(memory: VaultMemory) -> None:
    edits = memory.edits
    append(memory, "black", BEN)
    memory.index()
    assert edits.notes_without_snapshot() == [ANN]

    edits.keep_versions([ANN, BEN, "absent.md"])

    assert edits.notes_without_snapshot() == []
    assert [version.by for version in edits.history(ANN)] == ["person"]


def test_notes_after_the_last_one_with_a_version_lack_one_too(memory: VaultMemory) -> None:
    edits = memory.edits
    memory.index()
    notes = sorted(memory.vault.indexing.index().files())
    assert edits.notes_without_snapshot() == notes
    edits.keep_versions(notes[:1])
    assert edits.notes_without_snapshot() == notes[1:]


def test_a_note_that_returned_to_an_older_version_is_named(memory: VaultMemory) -> None:
    assert memory.edits.reverted_notes() == {}
    done = append(memory, "black")
    memory.index()
    assert memory.edits.reverted_notes() == {}

    (Path(memory.root) / ANN).write_text(TEA)
    memory.index()

    assert memory.edits.reverted_notes() == {ANN: done.after}


def test_an_audit_with_a_damaged_line_is_counted(memory: VaultMemory) -> None:
    assert memory.edits.audit_gaps() == {}
    append(memory, "black")
    with (Path(memory.root) / f"{ANN}.audit.jsonl").open("ab") as audit:
        audit.write(b"half a rec\n")

    assert memory.edits.audit_gaps() == {ANN: 1}


def test_a_deleted_note_with_an_audit_is_a_lost_history_of_its_person(memory: VaultMemory) -> None:
    append(memory, "black")
    (Path(memory.root) / ANN).unlink()

    assert memory.edits.lost_histories() == [ANN]
    assert memory.edits.lost_histories(["user:ann"]) == [ANN]
    assert memory.edits.lost_histories(["user:ben"]) == []


def test_a_vault_without_an_edit_has_no_waiting_write_and_no_journal(
    memory: VaultMemory, outside: Outside
) -> None:
    assert memory.edits.waiting() == []
    assert (memory.edits.audit_gaps(), memory.edits.reverted_notes()) == ({}, {})
    assert not list(outside.state.glob("journal.sqlite*"))

    assert memory.edits.process_due(NOW) == 0
    assert not memory.edits.is_busy()


def test_the_first_edit_and_no_dry_run_makes_the_folder_a_vault(outside: Outside) -> None:
    outside.write(ANN, TEA)
    with VaultMemory.open(outside.vault, environment=outside.environment, marks=False) as opened:
        append(opened, "black", dry_run=True)
        assert not opened.vault.is_marked
        before = {path.name for path in outside.vault.iterdir()}
        append(opened, "black")

        assert opened.vault.is_marked
        assert {path.name for path in outside.vault.iterdir()} > before


def test_one_page_that_cannot_be_read_delays_no_other(
    memory: VaultMemory, caplog: pytest.LogCaptureFixture
) -> None:
    proposed(memory)
    proposed(memory, BEN)
    bens, anns = sorted(memory.edits.inbox_pages(), key=lambda page: "ann" in page)
    for name in (bens, anns):
        page = Path(memory.root) / name
        page.write_text(page.read_text().replace("- [ ]", "- [x]"))
    unreadable = Path(memory.root) / bens
    unreadable.unlink()
    unreadable.symlink_to(unreadable.name)

    memory.edits.apply_all_decisions(now=NOW)

    assert "- green" not in text(memory)
    assert text(memory, BEN) == TEA
    said = [record.getMessage() for record in caplog.records]
    assert any(bens in message and "waits" in message for message in said)


def test_the_memory_tool_edits_a_note_as_a_text_and_is_recorded_as_the_bot(
    memory: VaultMemory,
) -> None:
    edits = memory.edits
    edit = {"op": "insert", "insert_line": 5, "insert_text": "- black"}
    revision = memory.read(ANN).revision

    with pytest.raises(NoteChanged):
        edits.edit_text(ANN, edit, expected="0" * 64, now=NOW)
    shown = edits.edit_text(ANN, edit, dry_run=True, now=NOW)
    assert (text(memory), edits.log()) == (TEA, ())
    done = edits.edit_text(ANN, edit, expected=revision, now=NOW)

    assert done.after == shown.after
    assert text(memory) == f"{TEA}- black\n"
    [record] = edits.log()
    assert (record.source, record.user_id) == ("tool", "ann")
    assert [applied.op["op"] for applied in record.applied] == ["insert"]


def test_a_write_that_waits_is_listed_and_done_when_its_note_can_be_written(
    memory: VaultMemory,
) -> None:
    edits, note = memory.edits, Path(memory.root) / ANN
    note.chmod(0o444)
    waits = append(memory, "black")
    assert [pending.reason for pending in waits.pending] == ["read_only"]
    assert [(each.note, each.id) for each in edits.waiting()] == [(ANN, waits.pending[0].id)]
    assert edits.is_busy()
    assert edits.process_due(NOW) == 0

    note.chmod(0o644)
    assert edits.process_due(NOW + timedelta(minutes=5)) == 1
    assert (edits.waiting(), edits.is_busy()) == ([], False)
    assert "- black" in text(memory)


def test_what_the_program_wrote_is_known_and_survives_upkeep(memory: VaultMemory) -> None:
    edits = memory.edits
    done = append(memory, "black")
    assert done.after
    assert done.before

    edits.prune()
    edits.repair_journal("a test")

    assert edits.is_ours(ANN, done.after)
    assert not edits.is_ours(ANN, done.before)
    assert not edits.is_ours(BEN, done.after)
    assert [version.revision for version in edits.history(ANN)] == [done.after, done.before]
    assert list(Path(memory.root).rglob("*journal*")) == []


def test_the_past_of_a_renamed_note_follows_it(memory: VaultMemory) -> None:
    append(memory, "black")
    new = ANN.replace("USER.md", "RULES.md")
    (Path(memory.root) / ANN).rename(Path(memory.root) / new)

    assert memory.edits.follow_renames() == {ANN: new}
    assert memory.edits.follow_renames() == {}
    assert [record.note for record in memory.edits.log()] == [new]


def test_a_note_that_cannot_be_read_stops_no_review(
    memory: VaultMemory, caplog: pytest.LogCaptureFixture
) -> None:
    proposed(memory)
    proposed(memory, BEN)
    unreadable = Path(memory.root) / BEN
    unreadable.unlink()
    unreadable.symlink_to(unreadable.name)
    (Path(memory.root) / ANN).write_text(TEA.replace("- green\n", "- white\n"))

    memory.edits.review([BEN, ANN])

    assert [proposal.note for proposal in memory.edits.inbox()] == [BEN]
    assert any(BEN in record.getMessage() for record in caplog.records)
