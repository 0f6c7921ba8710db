"""An editor that saves what it had loaded before the bot wrote, and a person who deletes what the bot wrote."""

import os
import time
from datetime import timedelta

import pytest

from tests.edits.conftest import Desk


def settle(desk: Desk, after: timedelta = timedelta(minutes=1)) -> None:
    """As the daemon does with a note that was left alone for a while."""
    desk.ahead += after
    desk.curator.keep([desk.curator.folder.read("USER.md")], desk.now)
    desk.curator.tend(desk.now)


def open_proposals(desk: Desk) -> list[str]:
    """What INBOX asks a person about."""
    return [
        str(one.op.get("line", one.op.get("lines")))
        for one in desk.curator.inbox.proposals()
        if one.state == "open"
    ]


@pytest.mark.scenario("A7")
@pytest.mark.scenario("A10")
def test_a_line_removed_by_a_stale_buffer_is_proposed_in_the_inbox(desk: Desk):
    loaded = desk.text()
    desk.append("black", source="tool")
    desk.save(saved := loaded.replace("All of them.", "All of them, and rafts."))

    settle(desk)

    assert desk.text() == saved
    assert open_proposals(desk) == ["black"]
    assert "black" in desk.text(desk.curator.inbox.page_of("USER.md"))


@pytest.mark.scenario("A10")
def test_a_possibly_lost_line_does_not_count_as_deleted(desk: Desk):
    loaded = desk.text()
    desk.append("black", source="tool")
    desk.save(saved := loaded.replace("- green", "- green and white"))
    desk.ahead += timedelta(minutes=1)

    edit = desk.append("Black.", source="nightly")

    assert not edit.rejected
    assert [one.op["line"] for one in edit.proposed] == ["black"]
    assert desk.text() == saved
    again = desk.append("black", source="nightly")
    assert [one.id for one in again.proposed] == [one.id for one in edit.proposed]
    assert open_proposals(desk) == ["black"]


@pytest.mark.scenario("A10")
def test_a_proposed_line_is_written_on_approval_and_never_after_rejection(desk: Desk):
    loaded = desk.text()
    desk.append("black", source="tool")
    desk.append("white", source="tool")
    desk.save(loaded.replace("- green", "- jasmine"))
    settle(desk)
    black, white = (one for one in desk.curator.inbox.proposals() if one.state == "open")

    desk.curator.inbox.decide(black, "approved", desk.now)
    desk.curator.inbox.decide(white, "rejected", desk.now)

    assert "- jasmine\n- black\n" in desk.text()
    assert desk.append("White.", source="nightly").rejected[0].reason == "rejected_by_person"
    assert open_proposals(desk) == []


@pytest.mark.scenario("A7")
def test_an_editor_lock_older_than_the_write_proves_a_stale_buffer(desk: Desk):
    loaded = desk.text()
    lock = desk.vault / ".#USER.md"
    desk.append("black", source="tool")
    lock.symlink_to("me@here.1")
    long_ago = time.time() - 3600
    os.utime(lock, (long_ago, long_ago), follow_symlinks=False)
    desk.save(loaded.replace("- green", "- green\n- jasmine"))
    lock.unlink()
    lock.symlink_to("me@here.1")
    os.utime(lock, (long_ago, long_ago), follow_symlinks=False)

    settle(desk)
    lock.unlink()
    settle(desk)

    assert sorted(line for line in desk.text().splitlines() if line.startswith("- ")) == [
        "- black",
        "- green",
        "- jasmine",
    ]
    assert open_proposals(desk) == []


@pytest.mark.scenario("A8")
def test_a_stale_buffer_loses_no_line_of_the_bot_or_of_another_device(desk: Desk):
    loaded = desk.text()
    desk.append("black", source="tool")
    desk.save(desk.text().replace("All of them.", "All of them.\n\n## Bread\n\n- rye"))
    desk.append("white", source="tool")
    desk.save(loaded.replace("- green", "- green\n- jasmine"))

    settle(desk)

    items = [line for line in desk.text().splitlines() if line.startswith("- ")]
    assert sorted(items) == ["- black", "- green", "- jasmine", "- rye", "- white"]
    record = desk.records()[-1]
    assert record["source"] == "merge"
    desk.undo(record["id"])
    assert desk.text() == loaded.replace("- green", "- green\n- jasmine")


@pytest.mark.scenario("A11")
def test_a_note_reverted_to_an_older_version_stays_reverted(desk: Desk):
    older = desk.text()
    desk.append("black", source="tool")
    desk.save(desk.text().replace("- green", "- green\n- jasmine"))
    desk.append("white", source="tool")
    desk.save(older)

    settle(desk)

    assert desk.text() == older
    assert open_proposals(desk) == ["black", "white"]


@pytest.mark.scenario("A9")
@pytest.mark.parametrize("lines", [("- black\n",), ("- white\n",)])
def test_a_person_who_removes_part_of_the_bots_lines_has_seen_them(
    desk: Desk, lines: tuple[str, ...]
):
    desk.append("black", source="tool")
    desk.append("white", source="tool")
    desk.append("red", source="tool")
    text = desk.text()
    for line in lines:
        text = text.replace(line, "")
    desk.save(text.replace("All of them.", "None."))

    settle(desk)

    assert open_proposals(desk) == []


def test_a_person_who_rewords_the_bots_line_has_seen_it(desk: Desk):
    desk.append("black tea in the morning", source="tool")
    desk.save(desk.text().replace("black tea in the morning", "black tea in the evening"))

    settle(desk)

    assert open_proposals(desk) == []


def test_a_replacement_lost_to_a_stale_buffer_is_proposed_again(desk: Desk):
    desk.append("black", source="tool")
    loaded = desk.save(desk.text().replace("All of them.", "Some.")).read_text()
    desk.do({"op": "replace", "heading": "Tea", "match": "black", "line": "rooibos"}, source="tool")
    desk.save(loaded.replace("Some.", "Few."))

    settle(desk)

    (proposal,) = (one for one in desk.curator.inbox.proposals() if one.state == "open")
    assert dict(proposal.op) == {
        "op": "replace",
        "heading": "Tea",
        "match": "black",
        "line": "rooibos",
    }


@pytest.mark.scenario("D69")
def test_our_new_line_is_restored_after_a_sync_client_overwrites_it_with_an_older_text(desk: Desk):
    """A sync client puts down what another device had saved before the bot wrote, with that device's time."""
    loaded = desk.text()
    desk.append("black", source="tool")
    path = desk.save(loaded.replace("- green", "- bread"))
    long_ago = time.time() - 60
    os.utime(path, (long_ago, long_ago))

    settle(desk)

    assert "- bread\n- black\n" in desk.text()
    assert open_proposals(desk) == []


def test_the_bots_line_is_restored_after_a_save_too_soon_to_have_seen_it(desk: Desk):
    loaded = desk.text()
    desk.append("black", source="tool")
    desk.save(loaded.replace("- green", "- jasmine"))

    desk.append("white", source="tool")

    assert "- jasmine\n- black\n- white\n" in desk.text()
    assert open_proposals(desk) == []


def test_the_bots_line_is_restored_after_a_stale_save_that_removed_the_same_line(desk: Desk):
    desk.append("black", source="tool")
    loaded = desk.save(desk.text().replace("All of them.", "- rafts\n- ferries")).read_text()
    settle(desk)
    desk.do(
        {"op": "remove", "heading": "Tea", "match": "black"},
        {"op": "append", "heading": "Tea", "line": "white"},
        source="tool",
    )
    desk.save(loaded.replace("- black\n", ""))

    desk.append("red", source="tool")

    assert "- green\n- white\n- red\n" in desk.text()


@pytest.mark.parametrize(("seconds", "asked"), [(30, ["white"]), (3600, [])])
def test_a_quick_deletion_of_a_replaced_line_asks_which_text_was_meant(
    desk: Desk, seconds: int, asked: list[str]
):
    desk.append("black", source="tool")
    loaded = desk.save(desk.text().replace("All of them.", "- rafts\n- ferries")).read_text()
    settle(desk)
    desk.do({"op": "replace", "heading": "Tea", "match": "black", "line": "white"}, source="tool")
    desk.save(saved := loaded.replace("- black\n", "- jasmine\n"))

    settle(desk, timedelta(seconds=seconds))

    assert desk.text() == saved
    assert open_proposals(desk) == asked


def test_a_line_the_bot_wrote_while_the_note_was_missing_does_not_count_as_deleted(desk: Desk):
    loaded = desk.text("USER.md")
    (desk.vault / "USER.md").unlink()
    desk.do({"op": "add_heading", "heading": "Cake", "lines": ["rhubarb"]}, source="tool")
    desk.save(loaded)

    settle(desk)

    assert desk.text() == loaded
    assert open_proposals(desk) == ["['rhubarb']"]


def test_a_person_who_keeps_one_of_the_bots_new_lines_has_seen_all_of_them(desk: Desk):
    desk.do(
        *({"op": "append", "heading": "Tea", "line": line} for line in ("black", "white", "red")),
        source="tool",
    )
    desk.save(desk.text().replace("- white\n", ""))

    desk.append("oolong", source="tool")

    assert "- green\n- black\n- red\n- oolong\n" in desk.text()


def test_an_approved_line_that_already_returned_elsewhere_is_not_written_again(desk: Desk):
    loaded = desk.text()
    desk.append("black", source="tool")
    desk.save(loaded.replace("All of them.", "Some."))
    settle(desk)
    (proposal,) = (one for one in desk.curator.inbox.proposals() if one.state == "open")
    desk.save(loaded.replace("All of them.", "- black"))

    desk.curator.inbox.decide(proposal, "approved", desk.now)

    assert desk.text().count("- black") == 1
    assert open_proposals(desk) == []


def test_a_lost_line_is_proposed_only_once(desk: Desk):
    loaded = desk.text()
    desk.append("black", source="tool")
    desk.save(loaded.replace("- green", "- jasmine"))
    settle(desk)
    count = len(desk.records())

    desk.save(loaded.replace("- green", "- jasmine\n- mate"))
    settle(desk)
    desk.close()
    settle(desk)

    assert len(desk.records()) == count
    assert not desk.curator.is_due(desk.now)
