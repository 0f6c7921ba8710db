"""State or vault put back from a backup: what people have in their files stands, and nothing is done twice."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from tests.edits.conftest import AHEAD, Desk
from vault_memory.edits.backup_detection import gaps, reverted_notes
from vault_memory.edits.commands import RestoreVersion
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Folder


def backup(folder: Path) -> Path:
    kept = folder.with_name(folder.name + ".backup")
    shutil.copytree(folder, kept)
    return kept


def put_back(folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(folder.with_name(folder.name + ".backup"), folder)


def seen(desk: Desk, note: str = "USER.md") -> None:
    """A daemon keeps the version that stands there."""
    desk.curator.keep([Folder(desk.vault).read(note)], desk.now)


@pytest.mark.scenario("B44")
def test_lines_deleted_since_a_state_backup_do_not_return_after_a_restore(desk: Desk) -> None:
    desk.append("sencha", source="tool")
    seen(desk)
    desk.append("matcha", source="tool")
    desk.close()
    backup(desk.state)
    desk.save(desk.text() + "Read.\n")
    seen(desk)
    desk.append("bancha", source="tool")
    desk.save(desk.text().replace("- matcha\n", "") + "And deleted.\n")
    seen(desk)
    desk.append("hojicha", source="tool")
    desk.close()
    whole = desk.raw()
    put_back(desk.state)

    seen(desk)
    desk.curator.tend(desk.now)
    edit = desk.append("gyokuro", source="tool")

    assert not edit.pending
    assert desk.raw() == whole.replace(b"- hojicha\n", b"- hojicha\n- gyokuro\n")
    assert not [one for one in desk.curator.inbox.proposals() if one.state == "open"]
    refused = desk.append("matcha", source="tool").rejected
    assert [one.reason for one in refused] == ["deleted_by_person"]


@pytest.mark.scenario("B44")
def test_a_write_that_waited_at_the_time_of_the_backup_is_not_repeated(desk: Desk) -> None:
    desk.append("sencha")
    note = desk.vault / "USER.md"
    note.chmod(0o444)
    assert desk.do({"op": "remove", "heading": "Tea", "match": "green"}).pending
    desk.close()
    backup(desk.state)
    note.chmod(0o644)
    desk.curator.tend(desk.now)
    assert "green" not in desk.text()
    desk.save(desk.text().replace("- sencha\n", "- sencha\n- green\n"))
    desk.close()
    whole, records = desk.raw(), desk.records()
    put_back(desk.state)

    desk.curator.tend(desk.now)

    assert desk.raw() == whole
    assert desk.records() == records
    assert desk.curator.waiting() == []


@pytest.mark.scenario("B44")
def test_a_write_that_is_still_due_after_a_restore_is_done(desk: Desk) -> None:
    note = desk.vault / "USER.md"
    note.chmod(0o444)
    desk.append("sencha", source="tool")
    desk.close()
    backup(desk.state)
    note.chmod(0o644)
    put_back(desk.state)

    desk.curator.tend(desk.now)

    assert "- sencha" in desk.text()


@pytest.mark.scenario("B44")
def test_a_state_that_is_up_to_date_is_not_mistaken_for_a_backup(desk: Desk) -> None:
    for line in ("sencha", "matcha"):
        desk.append(line, source="tool")
        desk.close()
    desk.save(desk.text() + "Mine.\n")

    desk.append("bancha", source="tool")

    chain = desk.curator.writer.snapshots.chain("USER.md")

    assert [version.by for version in chain] == ["bot", "person", "bot", "bot", "person"]


@pytest.mark.scenario("B43", "B44")
def test_lost_state_deletes_and_overwrites_nothing(desk: Desk) -> None:
    desk.append("sencha", source="tool")
    desk.save(desk.text() + "Mine.\n")
    desk.close()
    shutil.rmtree(desk.state)
    desk.state.mkdir()

    desk.append("matcha", source="tool")

    assert desk.text().splitlines()[4:7] == ["- green", "- sencha", "- matcha"]
    assert "Mine." in desk.text()
    assert sorted(path.name for path in desk.vault.iterdir()) == ["USER.md", "USER.md.audit.jsonl"]
    assert desk.undo(desk.records()[0]["id"]).changed, "from the audit alone"


@pytest.mark.scenario("B47")
def test_curation_continues_after_the_whole_machine_was_restored(desk: Desk) -> None:
    desk.append("sencha", source="tool")
    desk.close()
    backup(desk.state)
    backup(desk.vault)
    lost = [desk.append(line, source="tool").audit_id for line in ("matcha", "bancha")]
    desk.close()
    put_back(desk.state)
    put_back(desk.vault)

    edit = desk.append("hojicha", source="tool")

    assert desk.text().splitlines()[4:7] == ["- green", "- sencha", "- hojicha"]
    assert edit.audit_id not in lost
    assert desk.undo(edit.audit_id).changed
    assert len({record["id"] for record in desk.records()}) == len(desk.records()) == 3


@pytest.mark.scenario("B46")
def test_a_restored_vault_is_kept_and_the_newer_texts_can_be_recovered(desk: Desk) -> None:
    notes = [f"memory/note-{number}.md" for number in range(4)]
    for note in notes:
        desk.save("## Tea\n\n- green\n", note)
        desk.append("sencha", note=note, source="tool")
    desk.close()
    backup(desk.vault)
    for note in notes:
        desk.append("matcha", note=note, source="tool")
    newer = [desk.raw(note) for note in notes]
    desk.close()
    put_back(desk.vault)

    live = {note: Folder(desk.vault).read(note).revision for note in notes}
    assert sorted(reverted_notes(desk.curator.writer.snapshots, live)) == notes

    for note in notes:
        seen(desk, note)
    desk.curator.tend(desk.now)

    assert [desk.text(note) for note in notes] == ["## Tea\n\n- green\n- sencha\n"] * 4
    went_back = reverted_notes(desk.curator.writer.snapshots, {})
    assert sorted(went_back) == notes
    for note, text in zip(notes, newer, strict=True):
        run = desk.curator.new_command(note, "cli", desk.now, RestoreVersion(went_back[note]))
        desk.curator.run(run, desk.now)
        assert desk.raw(note) == text
    assert reverted_notes(desk.curator.writer.snapshots, {}) == {}


@pytest.mark.scenario("B50")
@pytest.mark.parametrize("days", [3650, -365])
def test_a_clock_jump_keeps_every_version_and_every_proposal(desk: Desk, days: int) -> None:
    for line in ("sencha", "matcha", "bancha"):
        desk.append(line, source="tool")
    desk.do({"op": "remove", "heading": "Tea", "match": "green"}, source="tool")
    desk.curator.writer.prune(desk.now)
    kept = len(desk.curator.writer.snapshots.chain("USER.md"))

    for hour in range(24):
        desk.ahead = AHEAD + timedelta(days=days, hours=hour)
        desk.curator.writer.prune(desk.now)
        assert desk.curator.inbox.carry_out("USER.INBOX.md", desk.now)
    desk.ahead = AHEAD + timedelta(days=1)
    desk.curator.writer.prune(desk.now)

    assert len(desk.curator.writer.snapshots.chain("USER.md")) == kept
    assert [one.state for one in desk.curator.inbox.proposals()] == ["open"]


NOTED = {
    "delete": {"USER.md": 0},
    "empty": {"USER.md": 0},
    "cut": {"USER.md": 1},
    "noise": {"USER.md": 3},
    "order": {},
}


@pytest.mark.scenario("G116")
@pytest.mark.parametrize("spoil", ["delete", "empty", "cut", "noise", "order"])
def test_curation_continues_with_an_audit_file_that_was_edited_by_hand(
    desk: Desk, spoil: str
) -> None:
    first = desk.append("sencha", source="tool").audit_id
    desk.append("matcha", source="tool")
    audit = desk.vault / "USER.md.audit.jsonl"
    lines = audit.read_bytes().splitlines(keepends=True)
    spoilt = {
        "empty": b"",
        "cut": lines[0][:50],
        "noise": b"\0\xff{}\n[1]\nnull\n" + lines[1],
        "order": lines[1] + lines[0],
    }
    audit.unlink() if spoil == "delete" else audit.write_bytes(spoilt[spoil])

    edit = desk.append("bancha", source="tool")

    assert "- bancha" in desk.text()
    assert desk.curator.trail.of("USER.md")[-1].id == edit.audit_id
    assert gaps(desk.curator.writer, desk.curator.trail) == NOTED[spoil]
    assert desk.undo(edit.audit_id).changed
    assert desk.curator.past.history("USER.md")
    assert first
    desk.append("hojicha", source="tool")
    desk.close()
    assert gaps(desk.curator.writer, desk.curator.trail) == NOTED[spoil], (
        "what is missing stays known"
    )


def test_the_lease_file_is_not_a_note() -> None:
    assert Layout([]).place(".vault-memory.lease") is None


@pytest.mark.scenario("B44")
def test_the_audit_of_a_note_is_read_before_judging_its_changes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vault_memory.edits.backup_detection.LATEST", 1)
    desk.append("sencha", source="tool")
    seen(desk)
    desk.append("matcha", source="tool")
    desk.save("## Tea\n\n- cups\n", "MEMORY.md")
    assert desk.append("a pot", note="MEMORY.md", source="tool").changed
    desk.close()
    backup(desk.state)
    desk.save(desk.text() + "Read.\n")
    seen(desk)
    desk.append("bancha", source="tool")
    desk.save(desk.text().replace("- matcha\n", "") + "And deleted.\n")
    desk.append("hojicha", source="tool")
    desk.close()
    whole = desk.raw()
    put_back(desk.state)

    seen(desk)
    desk.curator.tend(desk.now)

    assert desk.raw() == whole
    assert not [one for one in desk.curator.inbox.proposals() if one.state == "open"]
