"""What the bot may not do by itself waits on a page, and is done when a person ticks it, in any editor."""

import signal
import subprocess
import sys
import textwrap
from datetime import timedelta

import pytest

from tests.edits.conftest import Desk
from vault_memory.edits.edit_errors import UnclearId

REMOVE = {"op": "remove", "heading": "Tea", "match": "green"}
PAGE = "USER.INBOX.md"


def propose(desk: Desk) -> str:
    [proposal] = desk.do(REMOVE, source="tool").proposed
    return proposal.id


def open_ids(desk: Desk) -> list[str]:
    return [one.id for one in desk.curator.inbox.proposals() if one.state == "open"]


def states(desk: Desk) -> list[str]:
    return [one.state for one in desk.curator.inbox.proposals()]


def test_a_proposal_is_listed_once_on_its_page(desk: Desk):
    proposal = propose(desk)
    propose(desk)

    page = desk.text(PAGE)
    assert page.count(f"id {proposal}") == 1
    assert '- [ ] remove from USER.md › Tea: "green"' in page


@pytest.mark.parametrize(
    ("note", "page"),
    [
        ("Users/mira/lantern/config/USER.md", "Users/mira/lantern/config/INBOX.md"),
        ("Users/mira/memories/garden/beds.md", "Users/mira/lantern/config/INBOX.md"),
        ("Channels/harbour/memories/2026-01-01.md", "Channels/harbour/INBOX.md"),
        ("groups/crew/memory/boats.md", "groups/crew/INBOX.md"),
        ("memory/boats.md", "INBOX.md"),
        ("MEMORY.md", "INBOX.md"),
        ("USER.md", "USER.INBOX.md"),
    ],
)
def test_each_note_has_its_own_inbox_page(desk: Desk, note: str, page: str):
    (desk.vault / "Users/mira/lantern/config").mkdir(parents=True)

    assert desk.curator.inbox.page_of(note) == page


def test_a_ticked_proposal_is_applied_recorded_and_removed_from_the_page(desk: Desk):
    proposal = propose(desk)
    desk.save(desk.text(PAGE).replace("- [ ]", "- [x]"), PAGE)

    assert desk.curator.inbox.carry_out(PAGE, desk.now)

    assert "green" not in desk.text()
    assert proposal not in desk.text(PAGE)
    record = desk.records()[-1]
    assert (record["source"], [one["state"] for one in record["proposed"]]) == (
        "inbox",
        ["approved"],
    )
    assert [done["outcome"] for done in record["applied"]] == ["applied"]
    desk.undo(record["id"])
    assert "- green\n" in desk.text()


@pytest.mark.parametrize("how", ["deleted", "marked"])
def test_a_rejected_proposal_is_not_made_again(desk: Desk, how: str):
    propose(desk)
    page = desk.text(PAGE)
    desk.save("# Waiting for you\n" if how == "deleted" else page.replace("- [ ]", "- [-]"), PAGE)
    before = desk.raw()

    desk.curator.inbox.carry_out(PAGE, desk.now)
    again = desk.do(REMOVE, source="tool")

    assert states(desk) == ["rejected"]
    assert [refused.reason for refused in again.rejected] == ["rejected_by_person"]
    assert desk.raw() == before


def test_a_page_saved_just_now_is_processed_later(desk: Desk):
    propose(desk)
    desk.save(desk.text(PAGE).replace("- [ ]", "- [x]"), PAGE)

    assert not desk.curator.inbox.carry_out(PAGE, desk.now - timedelta(hours=1))
    assert "green" in desk.text()


@pytest.mark.parametrize("page", [None, ""])
def test_a_missing_or_empty_page_decides_nothing(desk: Desk, page: str | None):
    propose(desk)
    (desk.vault / PAGE).unlink()
    if page is not None:
        desk.save(page, PAGE)

    desk.curator.inbox.carry_out(PAGE, desk.now)

    assert states(desk) == ["open"]


def test_a_proposal_that_was_never_shown_does_not_count_as_rejected(desk: Desk):
    (desk.vault / PAGE).mkdir()
    propose(desk)
    (desk.vault / PAGE).rmdir()
    desk.save("# My own page\n", PAGE)

    desk.curator.inbox.carry_out(PAGE, desk.now)

    assert states(desk) == ["open"]


def test_a_proposal_that_no_longer_fits_is_struck_through(desk: Desk):
    proposal = propose(desk)
    desk.save(desk.text().replace("- green\n", "- jasmine\n"))

    desk.curator.inbox.review("USER.md", desk.now)

    assert states(desk) == ["stale"]
    assert "~~" in desk.text(PAGE)
    assert proposal in desk.text(PAGE)


def test_an_undecided_proposal_expires(desk: Desk):
    propose(desk)
    for week in range(1, 5):
        desk.curator.writer.prune(desk.now + timedelta(weeks=week))

    desk.curator.inbox.carry_out(PAGE, desk.now + timedelta(days=31))

    assert states(desk) == ["expired"]


def test_an_approved_proposal_for_an_unwritable_note_is_applied_later(desk: Desk):
    propose(desk)
    (desk.vault / "USER.md").chmod(0o444)
    desk.save(desk.text(PAGE).replace("- [ ]", "- [x]"), PAGE)

    desk.curator.inbox.carry_out(PAGE, desk.now)
    desk.curator.inbox.carry_out(PAGE, desk.now)
    assert len(desk.curator.waiting()) == 1
    (desk.vault / "USER.md").chmod(0o644)
    desk.curator.tend(desk.now)

    assert "green" not in desk.text()
    assert states(desk) == ["approved"]
    assert "[x]" not in desk.text(PAGE)


def test_a_proposal_can_be_approved_or_rejected_by_its_id(desk: Desk):
    proposal = propose(desk)

    desk.curator.inbox.decide(desk.curator.inbox.find(proposal[:4]), "approved", desk.now)

    assert "green" not in desk.text()
    assert open_ids(desk) == []
    with pytest.raises(UnclearId):
        desk.curator.inbox.find(proposal)


def test_other_text_on_the_page_is_kept(desk: Desk):
    desk.save("# My inbox\n\n- [x] buy milk\n", PAGE)
    propose(desk)
    desk.save(desk.text(PAGE).replace("- [ ]", "- [x]"), PAGE)

    desk.curator.inbox.carry_out(PAGE, desk.now)

    assert desk.text(PAGE).startswith("# My inbox\n\n- [x] buy milk\n")
    assert "green" not in desk.text()


def test_a_processed_page_is_not_checked_again(desk: Desk):
    propose(desk)
    desk.save(desk.text(PAGE).replace("- [ ]", "- [-]"), PAGE)
    desk.curator.keep([desk.curator.folder.read(PAGE)], desk.now)

    desk.curator.tend(desk.now)

    assert desk.curator.writer.snapshots.unjudged() == []
    assert not desk.curator.is_due(desk.now)


def test_a_proposal_that_could_not_be_shown_at_first_is_shown_later(desk: Desk):
    (desk.vault / PAGE).mkdir()
    proposal = propose(desk)
    desk.close()  # whoever wanted to show it ended
    (desk.vault / PAGE).rmdir()
    for waiting in desk.curator.writer.pending():
        desk.curator.writer.discard(waiting.op_id)

    desk.curator.inbox.carry_out(PAGE, desk.now)
    desk.curator.inbox.carry_out(PAGE, desk.now)

    assert desk.text(PAGE).count(f"id {proposal}") == 1
    assert states(desk) == ["open"]


DYING = """
    import os, signal, sys
    from datetime import UTC, datetime, timedelta
    from pathlib import Path
    from vault_memory.edits.commands import ApplyOps
    from vault_memory.edits.editor import NoteEditor
    from vault_memory.rules.paths.layout import Layout
    from vault_memory.vault.reader import Folder

    curator = NoteEditor(Folder(Path(sys.argv[1])), Layout([]), Path(sys.argv[2]))
    part, name = (curator.trail, "add") if sys.argv[3] == "recorded" else (curator.inbox, "show")
    whole = getattr(part, name)

    def killed(record):
        if sys.argv[4] == "after":
            whole(record)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(part, name, killed)
    now = datetime.now(UTC) + timedelta(hours=1)
    ops = ({"op": "remove", "heading": "Tea", "match": "green"},)
    curator.run(curator.new_command("USER.md", "tool", now, ApplyOps(ops)), now)
"""


@pytest.mark.sampled
@pytest.mark.scenario("B33")
@pytest.mark.parametrize("step", ["recorded", "shown"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_after_a_kill_at_any_step_a_shown_proposal_can_be_decided(desk: Desk, step: str, when: str):
    program = [
        sys.executable,
        "-c",
        textwrap.dedent(DYING),
        str(desk.vault),
        str(desk.state),
        step,
        when,
    ]
    assert subprocess.run(program, timeout=60).returncode == -signal.SIGKILL

    desk.curator.tend(desk.now)
    desk.curator.inbox.carry_out(PAGE, desk.now)

    there = desk.text(PAGE) if (desk.vault / PAGE).exists() else ""
    assert [one.state for one in desk.curator.inbox.proposals()] == ["open"] * there.count("- [ ]")
    assert ("- [ ]" in there) == ((step, when) != ("recorded", "before"))


def test_a_decided_proposal_that_reappears_on_the_page_is_removed_again(desk: Desk):
    proposal = propose(desk)
    page = desk.text(PAGE).replace("- [ ]", "- [-]")
    desk.curator.inbox.decide(desk.curator.inbox.find(proposal), "rejected", desk.now)
    assert proposal not in desk.text(PAGE)
    desk.save(page, PAGE)  # as if whoever decided it had died before that

    desk.curator.inbox.carry_out(PAGE, desk.now)

    assert proposal not in desk.text(PAGE)
    assert states(desk) == ["rejected"]


SECTION = {"op": "add_heading", "heading": "Moon", "lines": ["full", "24. new"]}


def propose_section(desk: Desk) -> str:
    [proposal] = desk.do(SECTION, source="tool", origin="web").proposed
    return proposal.id


@pytest.mark.parametrize(
    ("section", "after"),
    [
        ("## Moon\n", "## Moon\n- full\n- 24\\. new\n"),
        ("## Moon\n* old\n", "## Moon\n* old\n* full\n* 24\\. new\n"),
        ("## Moon\n- full\n", "## Moon\n- full\n- 24\\. new\n"),
    ],
)
def test_a_proposed_section_that_has_appeared_since_gets_the_lines(
    desk: Desk, section: str, after: str
):
    before = desk.text()
    proposal = propose_section(desk)
    desk.save(f"{before}\n{section}")

    desk.curator.inbox.review("USER.md", desk.now)
    assert open_ids(desk) == [proposal]
    desk.save(desk.text(PAGE).replace("- [ ]", "- [x]"), PAGE)
    desk.curator.inbox.carry_out(PAGE, desk.now)

    assert desk.text() == f"{before}\n{after}"
    assert states(desk) == ["approved"]
    desk.undo(desk.records()[-1]["id"])
    assert desk.text() == f"{before}\n{section}"


def test_a_proposed_section_with_all_its_lines_is_no_question(desk: Desk):
    propose_section(desk)
    desk.save(desk.text() + "\n## Moon\n- 24. new\n- Full\n")

    desk.curator.inbox.review("USER.md", desk.now)

    assert states(desk) == ["stale"]
