"""A person and the bot at the same item, or at the same list: whose text stays, and where the other one goes."""

from datetime import timedelta
from typing import Any

import pytest

from tests.edits.conftest import Desk
from tests.edits.test_races import TEA, meanwhile
from vault_memory.edits.commands import RestoreVersion

PAGE = "USER.INBOX.md"
WITH_BLACK = TEA.replace("- white\n", "- white\n- black\n")


def rewrite(desk: Desk, **asked: Any) -> Any:
    """The bot changes the item that it wrote."""
    return desk.do(
        {"op": "replace", "heading": "Tea", "match": "black", "line": "black, strong"}, **asked
    )


@pytest.fixture
def mixed_note(desk: Desk) -> Desk:
    """A note with items of a person, and one of the bot."""
    desk.save(TEA)
    desk.append("black", source="tool")
    assert desk.text() == WITH_BLACK
    desk.close()
    desk.ahead += timedelta(minutes=5)  # time enough to read it
    return desk


@pytest.mark.sampled
@pytest.mark.scenario("A13")
@pytest.mark.parametrize("theirs", ["black, in the morning", "black with milk", "oolong"])
@pytest.mark.parametrize("human_items", ["propose", "edit"])
def test_of_an_item_changed_by_both_the_persons_line_stays_and_the_bots_is_proposed(
    mixed_note: Desk, theirs: str, human_items: str
):
    mixed_note.options["human_items"] = human_items
    saved = WITH_BLACK.replace("- black\n", f"- {theirs}\n")
    meanwhile(mixed_note, saved)

    edit = rewrite(mixed_note, source="tool")

    assert mixed_note.text() == saved
    assert edit.applied == edit.rejected == ()
    [proposal] = edit.proposed
    assert proposal.op == {
        "op": "replace",
        "heading": "Tea",
        "match": theirs,
        "line": "black, strong",
    }
    assert f"id {proposal.id}" in mixed_note.text(PAGE)

    mixed_note.save(mixed_note.text(PAGE).replace("- [ ]", "- [x]"), PAGE)
    mixed_note.curator.inbox.carry_out(PAGE, mixed_note.now + timedelta(minutes=1))
    assert mixed_note.text() == saved.replace(theirs, "black, strong")


@pytest.mark.scenario("A13")
def test_a_waiting_bot_edit_of_an_item_a_person_changed_is_proposed(mixed_note: Desk):
    path = mixed_note.vault / "USER.md"
    path.chmod(0o444)
    assert rewrite(mixed_note, source="tool").pending
    mixed_note.close()
    saved = WITH_BLACK.replace("- black\n", "- oolong\n")
    mixed_note.save(saved)

    [record] = mixed_note.curator.tend(mixed_note.now)

    assert mixed_note.text() == saved
    assert [one.op["match"] for one in record.proposed] == ["oolong"]
    assert '"oolong" to "black, strong"' in mixed_note.text(PAGE)


def test_an_edit_requested_by_a_person_is_applied_to_the_newer_text(mixed_note: Desk):
    meanwhile(mixed_note, WITH_BLACK.replace("- black\n", "- black, in the morning\n"))

    edit = rewrite(mixed_note, source="cli")

    assert edit.proposed == ()
    assert mixed_note.text() == WITH_BLACK.replace("- black\n", "- black, strong\n")


def test_an_item_deleted_during_the_write_is_not_restored(mixed_note: Desk):
    meanwhile(mixed_note, TEA)

    edit = rewrite(mixed_note, source="tool")

    assert mixed_note.text() == TEA
    assert [done.outcome for done in edit.applied] == ["noop_no_match"]
    assert edit.proposed == ()


@pytest.mark.scenario("A17")
def test_an_item_a_person_duplicated_stays_duplicated(mixed_note: Desk):
    doubled = WITH_BLACK.replace("- black\n", "- black\n- black\n")
    meanwhile(mixed_note, doubled)

    mixed_note.append("oolong", source="tool")

    assert mixed_note.text() == doubled.replace(
        "- black\n- black\n", "- black\n- black\n- oolong\n"
    )
    again = rewrite(mixed_note, source="tool")
    assert [refused.reason for refused in again.rejected] == ["multiple_matches"]
    assert mixed_note.text().count("- black\n") == 2


@pytest.mark.scenario("A18")
def test_a_persons_reordering_and_the_bots_rewording_are_both_kept(mixed_note: Desk):
    meanwhile(mixed_note, TEA.replace("- green\n- white\n", "- black\n- white\n- green\n"))

    edit = rewrite(mixed_note, source="tool")

    assert [done.outcome for done in edit.applied] == ["applied"]
    assert mixed_note.text() == TEA.replace(
        "- green\n- white\n", "- black, strong\n- white\n- green\n"
    )


def test_undoing_an_edit_a_person_changed_since_is_proposed_in_the_inbox(mixed_note: Desk):
    edit = rewrite(mixed_note, source="tool")
    saved = WITH_BLACK.replace("- black\n", "- black, strong, in the morning\n")
    mixed_note.save(saved)

    undone = mixed_note.undo(edit.audit_id)

    assert mixed_note.text() == saved
    assert [one.op["line"] for one in undone.proposed] == ["black"]
    assert f"id {undone.proposed[0].id}" in mixed_note.text(PAGE)


def test_undoing_a_restore_proposes_changes_to_lines_a_person_edited_since(mixed_note: Desk):
    newest = mixed_note.curator.past.history("USER.md")[0].revision
    rewrite(mixed_note, source="cli")
    run = mixed_note.curator.new_command("USER.md", "cli", mixed_note.now, RestoreVersion(newest))
    back = mixed_note.curator.run(run, mixed_note.now)
    assert mixed_note.text() == WITH_BLACK
    saved = WITH_BLACK.replace("- black\n", "- black, early\n")
    mixed_note.save(saved)

    undone = mixed_note.undo(back.audit_id)

    assert mixed_note.text() == saved
    assert [one.op for one in undone.proposed] == [
        {"op": "replace", "heading": "Tea", "match": "black, early", "line": "black, strong"}
    ]


@pytest.mark.scenario("G115")
@pytest.mark.parametrize("source", ["nightly", "tool"])
def test_a_daily_note_edited_by_a_person_during_a_job_keeps_both_changes(desk: Desk, source: str):
    note = "Channels/harbour/memories/2026-11-20.md"
    before = "# Friday\n\n## Tea\n\n- Ann came by\n- the kettle broke\n"
    desk.save(before, note)
    desk.append("Bob called", note=note, source=source)
    desk.close()
    with_bob = before + "- Bob called\n"
    assert desk.text(note) == with_bob
    saved = with_bob.replace("- the kettle broke\n", "- the kettle broke, and was mended\n")

    (desk.vault / note).chmod(0o444)
    op = {
        "op": "replace",
        "heading": "Tea",
        "match": "Bob called",
        "line": "Bob called about the boat",
    }
    waiting = desk.do(
        op, {"op": "append", "heading": "Tea", "line": "rain"}, note=note, source=source
    )
    assert waiting.pending
    desk.save(saved, note)

    desk.curator.tend(desk.now)

    assert (
        desk.text(note)
        == saved.replace("- Bob called\n", "- Bob called about the boat\n") + "- rain\n"
    )
    assert len(desk.records(note)) == 2
