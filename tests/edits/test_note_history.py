"""What was done can be seen and taken back, with the snapshots, and from the audit alone."""

import shutil

import pytest

from tests.edits.conftest import Desk
from vault_memory.edits.commands import RestoreVersion
from vault_memory.edits.edit_errors import NotCurated, UnclearId
from vault_memory.rules.edits.undo import NotUndoable

OPS = (
    {"op": "append", "heading": "Tea", "line": "black"},
    {"op": "remove", "heading": "Tea", "match": "green"},
    {"op": "add_heading", "heading": "Tides", "lines": ["high at six"]},
)


def forget_state(desk: Desk) -> None:
    """As on another device, or after the state folder was deleted: only the files are there."""
    desk.close()
    shutil.rmtree(desk.state)
    desk.state.mkdir()


@pytest.mark.parametrize("alone", [False, True], ids=["with snapshots", "from the audit alone"])
def test_undo_restores_the_bytes_and_undoing_the_undo_restores_the_edit(desk: Desk, alone: bool):
    before = desk.raw()
    done = desk.do(*OPS)
    after = desk.raw()
    if alone:
        forget_state(desk)

    first = desk.undo(done.audit_id)
    assert desk.raw() == before
    if alone:
        forget_state(desk)
    second = desk.undo(first.audit_id)
    assert desk.raw() == after
    desk.undo(second.audit_id)

    assert desk.raw() == before
    records = desk.records()
    assert [record["source"] for record in records] == ["cli", "undo", "undo", "undo"]
    assert [record.get("undoes") for record in records[1:]] == [
        record["id"] for record in records[:-1]
    ]


@pytest.mark.parametrize("alone", [False, True], ids=["with snapshots", "from the audit alone"])
def test_undo_in_a_note_that_changed_since_keeps_the_other_changes(desk: Desk, alone: bool):
    done = desk.do(*OPS)
    desk.save(desk.text().replace("All of them.", "All but one.").replace("# Me", "# Myself"))
    if alone:
        forget_state(desk)

    desk.undo(done.audit_id)

    assert desk.text() == "# Myself\n\n## Tea\n\n- green\n\n## Boats\n\nAll but one.\n"


def test_an_item_a_person_reworded_survives_the_undo_of_its_creation(desk: Desk):
    done = desk.append("black")
    desk.save(desk.text().replace("- black\n", "- black, with milk on Sundays\n"))

    with pytest.raises(NotUndoable, match="nothing of record"):
        desk.undo(done.audit_id)

    assert "- black, with milk on Sundays\n" in desk.text()


def test_undoing_the_creation_of_a_note_removes_it_and_can_be_undone(desk: Desk):
    made = desk.do(
        {"op": "add_heading", "heading": "Tides", "lines": ["high at six"]}, note="memory/tides.md"
    )

    gone = desk.undo(made.audit_id)
    assert not (desk.vault / "memory/tides.md").exists()
    assert gone.after is None
    desk.undo(gone.audit_id)

    assert desk.text("memory/tides.md") == "## Tides\n\n- high at six\n"


def test_a_record_without_changes_cannot_be_undone(desk: Desk):
    done = desk.append("green")

    with pytest.raises(NotUndoable):
        desk.undo(done.audit_id)


def test_an_ambiguous_id_lists_its_candidates_and_changes_nothing(desk: Desk):
    ids = [desk.append(line).audit_id for line in ("black", "white")]
    before = desk.raw()

    with pytest.raises(UnclearId) as raised:
        desk.undo("0")

    assert raised.value.details["candidates"] == ids
    assert desk.raw() == before


def test_an_unknown_id_is_reported(desk: Desk):
    with pytest.raises(UnclearId, match="no record"):
        desk.undo("feed")


def test_history_lists_each_version_and_its_author(desk: Desk):
    desk.append("black", source="tool")
    desk.save(desk.text() + "\n- mine\n")
    desk.append("white")

    versions = desk.curator.past.history("USER.md")

    assert [version.by for version in versions] == ["cli", "person", "tool", "person"]
    assert versions[0].bytes == len(desk.raw())


def test_history_includes_the_current_version_even_if_not_yet_kept(desk: Desk):
    desk.append("black", source="tool")
    desk.save("## Tea\n")

    assert [version.by for version in desk.curator.past.history("USER.md")] == [
        "person",
        "tool",
        "person",
    ]


def test_a_version_can_be_restored_and_the_restore_undone(desk: Desk):
    first = desk.raw()
    desk.append("black")
    desk.append("white")
    latest = desk.raw()
    revision = desk.curator.past.history("USER.md")[-1].revision
    now = desk.now

    run = desk.curator.new_command(
        "USER.md",
        "cli",
        now,
        RestoreVersion(desk.curator.past.version("USER.md", revision[:12])[0]),
    )
    edit = desk.curator.run(run, now)
    assert desk.raw() == first
    desk.undo(edit.audit_id)

    assert desk.raw() == latest


def test_records_of_other_devices_are_read_and_torn_lines_skipped(desk: Desk):
    done = desk.append("black")
    path = desk.vault / "USER.md.audit.jsonl"
    path.rename(desk.vault / "USER.md.audit.laptop.jsonl")
    path.write_bytes(b'{"id": "torn')

    later = desk.append("white")

    assert [record.id for record in desk.curator.trail.of("USER.md")] == [
        done.audit_id,
        later.audit_id,
    ]
    assert [record.id for record in desk.curator.trail.all()] == [done.audit_id, later.audit_id]


def test_history_of_a_path_that_is_not_a_note_is_refused(desk: Desk):
    with pytest.raises(NotCurated):
        desk.curator.past.history("AGENTS.md")
