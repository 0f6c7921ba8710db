"""What is known of a note follows it to its new name: audit, versions, and who wrote which line."""

import json
import shutil
from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.edits.conftest import Desk
from vault_memory.edits.backup_detection import gaps
from vault_memory.edits.renames.note_renames import MOVING
from vault_memory.rules.edits.undo import NotUndoable
from vault_memory.vault.write.write_context import RenamedNotes

OLD, NEW = "memory/g.md", "memory/y.md"
TEXT = "# Errands\n\n## Shop\n\n- tea\n- bread\n- salt\n"


def write_old(desk: Desk) -> str:
    """A person's note into which the bot wrote a line. Returns the id of that record."""
    desk.save(TEXT, OLD)
    done = desk.append("milk", "Shop", note=OLD, source="tool")
    assert done.audit_id
    return done.audit_id


def move(desk: Desk, new: str, old: str = OLD) -> None:
    target = desk.vault / new
    target.parent.mkdir(parents=True, exist_ok=True)
    (desk.vault / old).rename(target)


def copy_away(desk: Desk, new: str) -> None:
    """As a sync program does: the note arrives as another file, and the old one goes."""
    target = desk.vault / new
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(desk.vault / OLD, target)
    (desk.vault / OLD).unlink()


def edit_and_move(desk: Desk, new: str) -> None:
    text = desk.text(OLD).replace("bread", "bread for Sunday")
    (desk.vault / OLD).unlink()
    desk.save(text, new)


def rewrite_in_place(desk: Desk, new: str) -> None:
    """The editor keeps the file, and little of the text."""
    move(desk, new)
    with (desk.vault / new).open("r+b") as file:
        file.truncate()
        file.write(b"# Other\n\n## Shop\n\n- soap\n- oil\n- rice\n- figs\n- milk\n")


def move_with_audit(desk: Desk, new: str) -> None:
    move(desk, new)
    move(desk, f"{new}.audit.jsonl", f"{OLD}.audit.jsonl")


WAYS: dict[str, tuple[Callable[[Desk, str], None], str]] = {
    "another name": (move, NEW),
    "another folder": (move, "memory/2026/archive/g.md"),
    "another case": (move, "memory/G.md"),
    "the other form of a letter": (move, "memory/gru\u0308n.md"),
    "another file with the same bytes": (copy_away, NEW),
    "edited at once": (edit_and_move, NEW),
    "the same file with another text": (rewrite_in_place, NEW),
    "with its audit": (move_with_audit, NEW),
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> tuple[Callable[[Desk, str], None], str]:
    return WAYS[request.param]


def test_the_past_of_a_note_follows_it_to_its_new_name(
    desk: Desk, way: tuple[Callable[[Desk, str], None], str]
):
    record = write_old(desk)
    rename, new = way

    rename(desk, new)
    renamed = desk.curator.follow_renames(desk.now)

    assert renamed == {OLD: new}
    assert [done.id for done in desk.curator.trail.of(new)] == [record]
    assert desk.curator.trail.of(OLD) == ()
    assert not (desk.vault / f"{OLD}.audit.jsonl").exists()
    assert len(desk.curator.past.history(new)) >= 2
    assert desk.curator.past.chain(OLD) == []
    assert gaps(desk.curator.writer, desk.curator.trail) == {}
    assert desk.curator.renames.unmatched() == []


def test_the_bot_may_change_its_own_line_under_the_new_name(
    desk: Desk, way: tuple[Callable[[Desk, str], None], str]
):
    write_old(desk)
    rename, new = way
    rename(desk, new)

    done = desk.do(
        {"op": "replace", "heading": "Shop", "match": "milk", "line": "oat milk"},
        note=new,
        source="tool",
    )

    assert [op.outcome for op in done.applied] == ["applied"]
    assert "- oat milk\n" in desk.text(new)
    assert len(desk.curator.trail.of(new)) == 2


def test_an_undo_finds_the_record_of_a_renamed_note(
    desk: Desk, way: tuple[Callable[[Desk, str], None], str]
):
    record = write_old(desk)
    rename, new = way
    rename(desk, new)
    desk.curator.follow_renames(desk.now)

    desk.undo(record)

    assert "milk" not in desk.text(new)
    assert not (desk.vault / OLD).exists()


def forget_state(desk: Desk) -> None:
    """As on another device, or after the state folder was deleted: only the files are there."""
    desk.close()
    shutil.rmtree(desk.state)
    desk.state.mkdir()


@pytest.mark.parametrize(
    "way", ["another name", "another folder", "another case", "edited at once"]
)
def test_on_another_device_the_audit_alone_finds_its_note(desk: Desk, way: str):
    record = write_old(desk)
    rename, new = WAYS[way]
    rename(desk, new)
    forget_state(desk)

    desk.curator.follow_renames(desk.now)

    assert [done.id for done in desk.curator.trail.of(new)] == [record]
    desk.undo(record)
    assert "milk" not in desk.text(new)


@pytest.mark.parametrize("first", ["the note", "the audit"])
def test_a_note_and_its_audit_find_each_other_in_whatever_order_they_come(desk: Desk, first: str):
    record = write_old(desk)
    move(desk, NEW)
    aside = desk.vault.parent / "aside"
    later = NEW if first == "the audit" else f"{OLD}.audit.jsonl"
    (desk.vault / later).rename(aside)
    forget_state(desk)

    desk.curator.follow_renames(desk.now)
    aside.rename(desk.vault / later)
    desk.curator.follow_renames(desk.now)

    assert [done.id for done in desk.curator.trail.of(NEW)] == [record]


def test_two_notes_that_swap_their_names_keep_their_pasts(desk: Desk):
    record = write_old(desk)
    desk.save("# Boats\n\n## Seen\n\n- a sloop\n- a ketch\n", "memory/boats.md")
    other = desk.append("a yawl", "Seen", note="memory/boats.md", source="tool")

    move(desk, "memory/between.md")
    move(desk, OLD, "memory/boats.md")
    move(desk, "memory/boats.md", "memory/between.md")
    desk.curator.follow_renames(desk.now)

    assert [done.id for done in desk.curator.trail.of("memory/boats.md")] == [record]
    assert [done.id for done in desk.curator.trail.of(OLD)] == [other.audit_id]


def test_a_new_note_under_the_old_name_gets_a_past_of_its_own(desk: Desk):
    record = write_old(desk)
    move(desk, NEW)

    made = desk.do({"op": "add_heading", "heading": "New", "lines": ["figs"]}, note=OLD)

    assert [done.id for done in desk.curator.trail.of(NEW)] == [record]
    assert [done.id for done in desk.curator.trail.of(OLD)] == [made.audit_id]


def test_a_note_that_takes_the_place_of_another_brings_its_past(desk: Desk):
    record = write_old(desk)
    desk.save("# Boats\n\n## Seen\n\n- a sloop\n- a ketch\n", NEW)
    other = desk.append("a yawl", "Seen", note=NEW, source="tool")

    move(desk, NEW)
    desk.curator.follow_renames(desk.now)

    ids = [done.id for done in desk.curator.trail.of(NEW)]
    assert sorted(ids) == sorted([record, str(other.audit_id)])
    assert not (desk.vault / f"{OLD}.audit.jsonl").exists()


def test_a_copy_is_no_rename(desk: Desk):
    record = write_old(desk)
    shutil.copyfile(desk.vault / OLD, desk.vault / NEW)

    assert desk.curator.follow_renames(desk.now) == {}
    assert [done.id for done in desk.curator.trail.of(OLD)] == [record]
    assert desk.curator.trail.of(NEW) == ()


def test_of_two_equal_notes_none_gets_the_past_and_it_is_named(desk: Desk):
    write_old(desk)
    shutil.copyfile(desk.vault / OLD, desk.vault / "memory/z.md")
    copy_away(desk, NEW)

    assert desk.curator.follow_renames(desk.now) == {}
    assert desk.curator.renames.unmatched() == [OLD]


def test_a_note_that_was_there_before_does_not_get_the_past_of_a_deleted_one(desk: Desk):
    write_old(desk)
    desk.save(desk.text(OLD), NEW)
    desk.append("figs", "Shop", note=NEW, source="tool")
    desk.save(desk.text(OLD), NEW)
    (desk.vault / OLD).unlink()

    assert desk.curator.follow_renames(desk.now) == {}
    assert desk.curator.renames.unmatched() == [OLD]


def test_a_note_that_appears_long_after_another_was_deleted_is_another_note(desk: Desk):
    write_old(desk)
    text = desk.text(OLD)
    (desk.vault / OLD).unlink()
    past = desk.now - timedelta(days=3)
    assert desk.curator.follow_renames(past) == {}

    desk.save(text, NEW)

    assert desk.curator.follow_renames(desk.now) == {}
    assert desk.curator.renames.unmatched() == [OLD]


def test_a_dated_note_does_not_continue_that_of_another_day(desk: Desk):
    day, next_day = (f"Users/ada/memories/2026-01-0{number}.md" for number in (1, 2))
    desk.save(TEXT, day)
    desk.append("milk", "Shop", note=day, source="tool")
    text = desk.text(day).replace("salt", "oil")
    (desk.vault / day).unlink()
    desk.save(text, next_day)

    assert desk.curator.follow_renames(desk.now) == {}


def test_a_note_that_the_bot_took_away_is_not_named_as_lost(desk: Desk):
    made = desk.do({"op": "add_heading", "heading": "New", "lines": ["figs"]}, note=OLD)
    desk.undo(made.audit_id)

    assert not (desk.vault / OLD).exists()
    assert desk.curator.renames.unmatched() == []


def test_an_undo_in_a_note_that_is_gone_is_refused_and_makes_no_note(desk: Desk):
    record = write_old(desk)
    (desk.vault / OLD).unlink()

    with pytest.raises(NotUndoable, match="is gone"):
        desk.undo(record)

    assert not (desk.vault / OLD).exists()
    assert len(desk.curator.trail.of(OLD)) == 1


def test_an_undo_that_finds_nothing_to_undo_is_refused(desk: Desk):
    record = write_old(desk)
    desk.save(TEXT, OLD)

    with pytest.raises(NotUndoable, match="nothing of record"):
        desk.undo(record)

    assert desk.text(OLD) == TEXT


def test_what_a_person_rejected_is_not_proposed_again_under_the_new_name(desk: Desk):
    desk.save(TEXT, OLD)
    op = {"op": "remove", "heading": "Shop", "match": "bread"}
    [proposal] = desk.do(op, note=OLD, source="tool").proposed
    found = desk.curator.inbox.find(proposal.id)
    desk.curator.inbox.decide(found, "rejected", desk.now)

    move(desk, NEW)
    again = desk.do(op, note=NEW, source="tool")

    assert again.proposed == ()
    assert [op.reason for op in again.rejected] == ["rejected_by_person"]


def test_an_open_proposal_is_carried_out_in_the_renamed_note(desk: Desk):
    desk.save(TEXT, OLD)
    op = {"op": "remove", "heading": "Shop", "match": "bread"}
    [proposal] = desk.do(op, note=OLD, source="tool").proposed

    move(desk, NEW)
    desk.curator.follow_renames(desk.now)
    found = desk.curator.inbox.find(proposal.id)
    desk.curator.inbox.decide(found, "approved", desk.now)

    assert "bread" not in desk.text(NEW)
    assert not (desk.vault / OLD).exists()


def test_a_write_that_waits_follows_the_renamed_note(desk: Desk):
    record = write_old(desk)
    lock = desk.vault / "memory/.g.md.swp"
    lock.write_bytes(b"b0VIM 9.0")
    waiting = desk.append("figs", "Shop", note=OLD, source="nightly")
    assert waiting.pending
    lock.unlink()

    move(desk, NEW)
    desk.curator.follow_renames(desk.now)
    desk.ahead += timedelta(hours=1)
    desk.curator.tend(desk.now)

    assert "- figs\n" in desk.text(NEW)
    ids = [done.id for done in desk.curator.trail.of(NEW)]
    assert ids == [record, waiting.pending[0].id]
    assert not (desk.vault / OLD).exists()


@pytest.mark.parametrize("was_moved", [False, True])
def test_after_a_crash_the_audit_files_still_follow(desk: Desk, was_moved: bool):
    record = write_old(desk)
    move(desk, NEW)
    state = (MOVING, json.dumps([(OLD, NEW)]))
    renamed = RenamedNotes([(OLD, NEW)], [], state)
    desk.curator.writer.rename(renamed, desk.now)
    if was_moved:
        move(desk, f"{NEW}.audit.jsonl", f"{OLD}.audit.jsonl")
    desk.close()

    desk.curator.follow_renames(desk.now)

    assert [done.id for done in desk.curator.trail.of(NEW)] == [record]
    assert len(desk.curator.past.history(NEW)) == 2
    assert desk.curator.renames.unmatched() == []


def test_a_note_that_goes_to_another_person_leaves_its_past(desk: Desk):
    old, new = "Users/ada/memories/g.md", "Users/ben/memories/g.md"
    desk.save(TEXT, old)
    desk.append("milk", "Shop", note=old, source="tool")
    move(desk, new, old)

    assert desk.curator.follow_renames(desk.now) == {}
    assert desk.curator.renames.unmatched() == [old]
