"""Conflict copies in a real vault: found, merged, thrown away by their exact bytes, and nothing of them lost."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.edits.conftest import Desk
from tests.edits.file_state import file_state
from vault_memory.edits.commands import MergeCopy
from vault_memory.edits.conflict_copies import Conflicts
from vault_memory.edits.conflict_copy import ConflictCopy, ResolvedConflict
from vault_memory.errors import UsageError
from vault_memory.rules.paths.layout import Layout

NEXTCLOUD = "USER (conflicted copy 2026-11-21 203312).md"
ROOT = "# Me\n\n## Tea\n\n- green\n\n## Boats\n\nAll of them.\n"
BEFORE = "# Me\n\n## Tea\n\n- green\n\n## Boats\n"
"""What the note was before ROOT: a copy with the line between them was made after it"""


class Beside:
    """A desk with conflict copies on it."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        desk.save(BEFORE)
        self.keep()
        desk.save(ROOT)
        self.keep()

    @property
    def conflicts(self) -> Conflicts:
        return Conflicts(self.desk.curator, self.desk.curator.folder, Layout([]))

    def keep(self, note: str = "USER.md") -> None:
        """The daemon saw this version of the note, before whatever a sync program does next."""
        self.desk.curator.keep(
            [self.desk.curator.folder.read(note)], self.desk.now - self.desk.ahead
        )

    def copy(self, text: str | bytes, name: str = NEXTCLOUD) -> Path:
        return self.desk.save(text, name)

    def one(self) -> ConflictCopy:
        [copy] = self.conflicts.list_all()
        return copy

    def settle(self) -> list[ResolvedConflict]:
        return self.conflicts.settle(self.desk.now)

    def names(self) -> list[str]:
        return sorted(path.name for path in self.desk.vault.iterdir() if path.suffix == ".md")

    def trash(self) -> list[str]:
        return [one.path for one in self.desk.curator.writer.thrown()]


@pytest.fixture
def beside(desk: Desk) -> Beside:
    return Beside(desk)


def line(said: str, text: str = ROOT) -> str:
    return text.replace("- green\n", f"- green\n- {said}\n")


@pytest.mark.scenario("D72")
def test_an_identical_copy_is_trashed_and_the_note_is_untouched(beside: Beside):
    beside.copy(ROOT)
    before = file_state(beside.desk.vault / "USER.md")

    [done] = beside.settle()

    assert done.outcome == "discarded"
    assert beside.names() == ["USER.md"]
    assert beside.trash() == [NEXTCLOUD]
    assert file_state(beside.desk.vault / "USER.md") == before
    assert beside.desk.records() == []


@pytest.mark.scenario("D70")
def test_a_clean_copy_is_merged_recorded_and_trashed_and_can_be_undone(beside: Beside):
    beside.desk.append("black", source="tool")
    after_bot = beside.desk.raw()
    beside.copy(line("from the phone"))

    [done] = beside.settle()

    assert done.outcome == "merged"
    assert "- black\n" in beside.desk.text()
    assert "- from the phone\n" in beside.desk.text()
    assert beside.names() == ["USER.md"]
    record = beside.desk.records()[-1]
    assert record["source"] == "merge"
    assert record["applied"][0]["op"]["copy"] == NEXTCLOUD
    assert beside.desk.learnt[-1] == "USER.md"
    beside.desk.undo(record["id"])
    assert beside.desk.raw() == after_bot


@pytest.mark.scenario("D70")
def test_a_change_on_both_sides_waits_for_a_person_and_nothing_is_written(beside: Beside):
    beside.desk.save(ROOT.replace("green", "green, hot"))
    beside.copy(ROOT.replace("green", "green, iced"))
    before = beside.desk.raw()

    assert beside.settle() == []
    copy = beside.one()

    assert (copy.state, copy.note, copy.program) == ("conflict", "USER.md", "Nextcloud")
    assert [(one.kept, one.other) for one in copy.conflicts] == [
        (b"- green, hot", b"- green, iced")
    ]
    assert b"+- green, iced" in copy.diff
    assert beside.conflicts.merge(copy, beside.desk.now).outcome == "conflict"
    assert beside.desk.raw() == before
    assert beside.names() == [NEXTCLOUD, "USER.md"]


def test_a_person_may_keep_both_lines_with_the_second_one_marked(beside: Beside):
    beside.desk.save(ROOT.replace("green", "green, hot"))
    beside.copy(ROOT.replace("green", "green, iced"))

    done = beside.conflicts.merge(beside.one(), beside.desk.now, both=True)

    assert done.outcome == "merged"
    assert "- green, hot\n- green, iced ⚠ (other device, 2026-11-21)\n" in beside.desk.text()
    assert beside.names() == ["USER.md"]


def test_a_person_may_take_the_copy_and_the_replaced_text_stays_in_the_history(beside: Beside):
    beside.copy("# Quite another\n")

    done = beside.conflicts.take(beside.one(), beside.desk.now)

    assert done.outcome == "taken"
    assert beside.desk.text() == "# Quite another\n"
    assert beside.names() == ["USER.md"]
    assert [one.by for one in beside.desk.curator.past.history("USER.md")] == [
        "cli",
        "person",
        "person",
    ]


def test_a_person_may_discard_the_copy_and_restore_it_from_the_trash(beside: Beside):
    beside.copy("# Quite another\n")

    assert beside.conflicts.discard(beside.one(), beside.desk.now).outcome == "discarded"
    assert (beside.names(), beside.desk.text()) == (["USER.md"], ROOT)
    writer = beside.desk.curator.writer
    writer.untrash(writer.thrown()[0].id, now=beside.desk.now, op_id="back")

    assert (beside.desk.vault / NEXTCLOUD).read_text() == "# Quite another\n"


@pytest.mark.scenario("D70")
@pytest.mark.parametrize("asked", ["merge", "discard", "take"])
def test_a_copy_that_changes_during_its_merge_is_not_trashed(beside: Beside, asked: str):
    beside.copy(line("from the phone"))
    copy = beside.one()
    beside.copy(line("from the phone, later"))

    done = getattr(beside.conflicts, asked)(copy, beside.desk.now)

    assert done.outcome == "changed"
    assert (beside.desk.vault / NEXTCLOUD).read_text() == line("from the phone, later")


@pytest.mark.sampled
@pytest.mark.scenario("D71")
@pytest.mark.parametrize(
    "nested", [False, True], ids=["thirty copies", "each a copy of the one before"]
)
def test_thirty_copies_are_merged_one_by_one_without_loss_or_duplicates(
    beside: Beside, nested: bool
):
    beside.desk.append("black", source="tool")
    marks = [f".sync-conflict-20261121-2033{number:02}-ABCDEF7" for number in range(30)]
    for number in range(30):
        mark = "".join(marks[: number + 1][-6:]) if nested else marks[number]
        beside.copy(line(f"thought {number}"), f"USER{mark}.md")

    assert {done.outcome for done in beside.settle()} == {"merged"}

    said = beside.desk.text().splitlines()
    assert [said.count(f"- thought {number}") for number in range(30)] == [1] * 30
    assert (said.count("- green"), said.count("- black")) == (1, 1)
    assert beside.names() == ["USER.md"]
    assert len(beside.trash()) == 30
    assert len(beside.desk.records()) == 31
    before = beside.desk.raw()
    assert beside.settle() == []
    assert beside.desk.raw() == before


def test_versions_of_deleted_copies_expire(beside: Beside):
    beside.copy(line("from the phone"))
    beside.settle()
    snapshots = beside.desk.curator.writer.snapshots
    assert snapshots.chain(NEXTCLOUD)

    for week in range(1, 15):  # a clock that leaps is not believed
        beside.desk.curator.writer.prune(beside.desk.now + timedelta(weeks=week))

    assert snapshots.chain(NEXTCLOUD) == []
    assert beside.trash() == []
    assert snapshots.chain("USER.md")


@pytest.mark.scenario("D79")
def test_copies_are_merged_before_their_sync_program_prunes_them(beside: Beside):
    for number in range(12):
        beside.copy(
            line(f"thought {number}"), f"USER.sync-conflict-20261121-2033{number:02}-ABCDEF7.md"
        )
    beside.settle()

    for path in beside.desk.vault.glob("*.sync-conflict-*"):
        path.unlink()

    assert all(f"- thought {number}\n" in beside.desk.text() for number in range(12))


def test_a_crash_between_writing_the_note_and_trashing_the_copy_loses_nothing(beside: Beside):
    beside.desk.append("black", source="tool")
    beside.copy(line("from the phone"))
    copy = beside.one()
    merge = MergeCopy(copy.path, copy.revision, copy.folded.base, copy.date[:10])
    beside.conflicts._store_text(copy, now := beside.desk.now)
    beside.desk.curator.run(beside.desk.curator.new_command("USER.md", "merge", now, merge), now)
    merged = beside.desk.raw()
    beside.desk.close()  # here it died: the text stands, the copy too

    [done] = beside.settle()

    assert done.outcome == "discarded"
    assert beside.desk.raw() == merged
    assert beside.names() == ["USER.md"]


def test_a_copy_merged_with_both_lines_counts_as_contained_until_undone(beside: Beside):
    beside.desk.save(ROOT.replace("green", "green, hot"))
    text = ROOT.replace("green", "green, iced")
    beside.copy(text)
    done = beside.conflicts.merge(beside.one(), beside.desk.now, both=True)
    beside.copy(text)
    assert beside.one().state == "contained"

    assert done.edit is not None
    beside.desk.undo(done.edit.audit_id)

    assert beside.one().state == "conflict"


def test_a_save_during_the_merge_is_merged_too(beside: Beside):
    beside.copy(line("from the phone"))
    copy = beside.one()
    beside.desk.save(line("saved just now"))

    done = beside.conflicts.merge(copy, beside.desk.now)

    assert done.outcome == "merged"
    assert "- from the phone\n" in beside.desk.text()
    assert "- saved just now\n" in beside.desk.text()


def test_a_save_of_the_same_line_during_the_merge_keeps_the_copy(beside: Beside):
    beside.desk.save(line("since then"))
    beside.copy(ROOT.replace("green", "green, iced"))
    copy = beside.one()
    assert copy.state == "mergeable"
    beside.desk.save(line("since then", ROOT).replace("green", "green, hot"))
    before = beside.desk.raw()

    done = beside.conflicts.merge(copy, beside.desk.now)

    assert done.outcome == "conflict"
    assert beside.desk.raw() == before
    assert beside.names() == [NEXTCLOUD, "USER.md"]


def test_a_copy_is_kept_when_its_note_cannot_be_written(beside: Beside):
    beside.copy(line("from the phone"))
    (beside.desk.vault / "USER.md").chmod(0o400)

    [done] = beside.settle()
    assert done.outcome == "pending"
    assert NEXTCLOUD in beside.names()
    assert beside.settle() == [], "the write waits already"
    (beside.desk.vault / "USER.md").chmod(0o600)
    beside.desk.curator.tend(beside.desk.now)
    [done] = beside.settle()

    assert done.outcome == "discarded"
    assert "- from the phone\n" in beside.desk.text()
    assert beside.names() == ["USER.md"]


@pytest.mark.parametrize("lock", [f".{NEXTCLOUD}.swp", ".USER.md.swp", ".#USER.md"])
def test_nothing_is_merged_automatically_while_an_editor_has_either_file_open(
    beside: Beside, lock: str
):
    beside.copy(line("from the phone"))
    path = beside.desk.vault / lock
    path.write_text("")
    later = beside.desk.now.timestamp()
    os.utime(path, (later, later))

    assert beside.settle() == []
    path.unlink()

    assert [done.outcome for done in beside.settle()] == ["merged"]


def test_a_copy_or_note_saved_just_now_is_left_alone(beside: Beside):
    beside.copy(line("from the phone"))
    seen = beside.one().changed_ns / 1e9

    assert (
        beside.conflicts.settle(beside.desk.now.fromtimestamp(seen + 1, beside.desk.now.tzinfo))
        == []
    )
    assert beside.names() == [NEXTCLOUD, "USER.md"]


@pytest.mark.scenario("D73")
def test_a_copy_whose_note_is_missing_for_a_moment_is_left_alone(beside: Beside):
    beside.copy(line("from the phone"))
    (beside.desk.vault / "USER.md").unlink()

    assert beside.settle() == []
    assert beside.one().state == "orphan"
    assert beside.conflicts.merge(beside.one(), beside.desk.now).outcome == "conflict"
    beside.conflicts.take(beside.one(), beside.desk.now)

    assert beside.desk.text() == line("from the phone")
    assert beside.names() == ["USER.md"]


@pytest.mark.parametrize(
    ("text", "listed"),
    [(ROOT, "identical"), (line("from the phone"), "mergeable"), ("# Another trip\n", None)],
)
def test_a_numbered_name_is_listed_as_a_possible_copy_if_the_texts_are_similar(
    beside: Beside, text: str, listed: str | None
):
    beside.copy(text, "USER 2.md")

    found = beside.conflicts.list_all()

    assert [(copy.state, copy.sure) for copy in found] == ([(listed, False)] if listed else [])
    assert beside.settle() == []
    assert "USER 2.md" in beside.names()


def test_copies_of_files_that_are_not_notes_are_left_alone(beside: Beside):
    beside.copy("x", "Attachments/readme (conflicted copy 2026-11-21 203312).md")

    assert beside.conflicts.list_all() == []
    assert beside.settle() == []


def test_a_case_clash_and_the_persona_are_left_to_a_person(beside: Beside):
    beside.desk.save("I am.\n", "SOUL.md")
    beside.copy("I am.\n\nAnd more.\n", "SOUL (conflicted copy 2026-11-21 203312).md")
    beside.copy(line("x"), "USER (case clash 1).md")

    assert beside.settle() == []
    by_note = {copy.note: copy for copy in beside.conflicts.list_all()}
    assert by_note["SOUL.md"].state == "mergeable"
    assert beside.conflicts.merge(by_note["SOUL.md"], beside.desk.now).outcome == "merged"

    assert beside.desk.text("SOUL.md") == "I am.\n\nAnd more.\n"


def test_ticks_in_a_copy_of_the_inbox_reach_the_inbox(beside: Beside):
    first = '- [ ] remove from USER.md › Tea: "white"\n      why: asked · id 6b1e90ab12\n'
    beside.desk.save(first, "USER.INBOX.md")
    beside.keep("USER.INBOX.md")
    page = first + '- [ ] remove from USER.md › Tea: "green"\n      why: asked · id 7c1e90ab12\n'
    beside.desk.save(page, "USER.INBOX.md")
    beside.keep("USER.INBOX.md")
    more = page + '- [ ] remove from USER.md › Tea: "black"\n      why: asked · id 8d1e90ab12\n'
    beside.desk.save(more, "USER.INBOX.md")
    ticked = page.replace(
        '[ ] remove from USER.md › Tea: "green"', '[x] remove from USER.md › Tea: "green"'
    )
    beside.copy(ticked, "USER.INBOX.sync-conflict-20261121-203312-ABCDEF7.md")

    [done] = beside.settle()

    assert done.outcome == "merged"
    assert beside.desk.text("USER.INBOX.md") == more.replace(
        '[ ] remove from USER.md › Tea: "green"', '[x] remove from USER.md › Tea: "green"'
    )


def test_a_copy_of_a_log_adds_its_records_and_removes_none(beside: Beside):
    turns = [
        json.dumps({"id": str(number), "ts": f"2026-11-21T10:0{number}:00", "text": "x"})
        for number in range(4)
    ]
    log, copy = (
        "transcripts/2026-11-21.jsonl",
        "transcripts/2026-11-21 (conflicted copy 2026-11-21 203312).jsonl",
    )
    beside.desk.save("\n".join(turns[:2]) + "\n", log)
    beside.copy("\n".join([turns[0], *turns[2:]]) + "\n", copy)

    [done] = beside.settle()

    assert done.outcome == "merged"
    said = [json.loads(one)["id"] for one in beside.desk.text(log).splitlines()]
    assert said == ["0", "1", "2", "3"]
    assert not (beside.desk.vault / copy).exists()
    beside.copy("other\n", copy)
    [left] = beside.conflicts.list_all()
    assert left.state == "conflict"
    with pytest.raises(UsageError):
        beside.conflicts.take(left, beside.desk.now)


def test_an_unreadable_copy_is_listed_with_the_reason_and_kept(beside: Beside):
    (beside.desk.vault / "elsewhere.md").write_text("x")
    (beside.desk.vault / NEXTCLOUD).symlink_to("elsewhere.md")

    copy = beside.one()

    assert copy.state == "conflict"
    assert "link" in copy.why
    assert beside.settle() == []
    assert beside.conflicts.merge(copy, beside.desk.now, both=True).outcome == "conflict"
    assert beside.conflicts.discard(copy, beside.desk.now).outcome == "conflict"
    assert beside.desk.curator.waiting() == []
    assert (beside.desk.vault / NEXTCLOUD).is_symlink()


SETTLING = """
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from vault_memory.edits.conflict_copies import Conflicts; from vault_memory.edits.editor import NoteEditor
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Folder
folder = Folder(sys.argv[1])
curator = NoteEditor(folder, Layout([]), Path(sys.argv[2]))
print("ready", flush=True)
Conflicts(curator, folder, Layout([])).settle(datetime.now(UTC) + timedelta(hours=1))
"""


@pytest.mark.sampled
@pytest.mark.scenario("D70", "D71")
def test_after_random_kills_each_copy_is_merged_once_before_it_is_removed(beside: Beside):
    dice, desk = random.Random(7), beside.desk
    desk.append("black", source="tool")
    for number in range(24):
        beside.copy(
            line(f"thought {number}"), f"USER.sync-conflict-20261121-2033{number:02}-ABCDEF7.md"
        )
    desk.close()

    for _ in range(8):
        command = [sys.executable, "-c", SETTLING, str(desk.vault), str(desk.state)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(dice.uniform(0.0, 0.12))
            process.send_signal(signal.SIGKILL)
        live = desk.text() + "".join(
            path.read_text() for path in desk.vault.glob("*sync-conflict*")
        )
        assert all(f"- thought {number}\n" in live for number in range(24))
    beside.settle()

    said = desk.text().splitlines()
    assert [said.count(f"- thought {number}") for number in range(24)] == [1] * 24
    assert (said.count("- green"), said.count("- black")) == (1, 1)
    assert beside.names() == ["USER.md"]
    merges = [
        record["applied"][0]["op"]["copy"]
        for record in desk.records()
        if record["source"] == "merge"
    ]
    assert len(merges) == len(set(merges)) == 24
    assert len(beside.trash()) == 24


@pytest.mark.scenario("D70")
def test_a_version_kept_within_a_clock_tick_of_the_copy_still_counts_as_its_past(beside: Beside):
    """Kernels stamp files with the time of their last tick, which lies up to 10 ms behind the clock."""
    beside.desk.append("from the bot", source="tool")
    beside.desk.save(line("saved here", beside.desk.text()))
    saved_here = beside.desk.curator.folder.read("USER.md")
    os.rename(beside.desk.vault / "USER.md", copy := beside.desk.vault / NEXTCLOUD)
    renamed = datetime.fromtimestamp(copy.stat().st_ctime, UTC)
    beside.desk.curator.keep([saved_here], renamed + timedelta(milliseconds=4))
    beside.desk.save(line("from the server"))
    beside.keep()

    beside.settle()

    lines = beside.desk.text().splitlines()
    expected = ("green", "from the bot", "saved here", "from the server")
    assert [lines.count(f"- {text}") for text in expected] == [1] * 4
    assert beside.names() == ["USER.md"]


@pytest.mark.scenario("D69", "D70")
def test_a_client_that_moves_the_local_text_to_a_copy_loses_no_line(beside: Beside):
    """The copy holds what stood here, the bot's line too; what the client put there has seen neither."""
    beside.desk.append("from the bot", source="tool")
    beside.desk.save(line("saved here", beside.desk.text()))
    beside.keep()
    (beside.desk.vault / "USER.md").rename(beside.desk.vault / NEXTCLOUD)
    beside.desk.save(line("from the server"))
    beside.keep()

    beside.settle()

    said = beside.desk.text().splitlines()
    assert [
        said.count(f"- {one}") for one in ("green", "from the bot", "saved here", "from the server")
    ] == [1] * 4
    assert beside.names() == ["USER.md"]
    beside.desk.curator.inbox.review("USER.md", beside.desk.now)
    assert [one for one in beside.desk.curator.inbox.proposals() if one.state == "open"] == []
