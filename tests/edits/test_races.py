"""People who save between the bot's look and its write, notes that are in use, and processes that are killed."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from datetime import UTC, datetime, timedelta

import pytest

from tests.edits.conftest import Desk
from vault_memory.edits.commands import ApplyOps
from vault_memory.vault.fs import RealFiles

TEA = "# Me\n\n## Tea\n\n- green\n- white\n\n## Boats\n\n- Sula\n"


class Meanwhile(RealFiles):
    """Files of a vault in which somebody saves right after the bot has read the note."""

    def __init__(self, desk: Desk, text: str) -> None:
        super().__init__(desk.vault)
        self.desk, self.text = desk, text
        self.note = -1

    def open(self, folder: int, name: str) -> int:
        fd = super().open(folder, name)
        if name == "USER.md":
            self.note = fd
        return fd

    def close(self, fd: int) -> None:
        super().close(fd)
        if fd == self.note and self.text:
            text, self.text = self.text, ""
            self.desk.save(text)


def meanwhile(desk: Desk, text: str) -> None:
    """After the bot's next look at the note, a person saves this."""
    desk.options["files"] = Meanwhile(desk, text)


@pytest.mark.scenario("A1")
def test_a_save_during_a_bots_write_and_the_write_are_both_kept(desk: Desk):
    desk.save(TEA)
    meanwhile(desk, TEA.replace("- Sula\n", "- Sula\n- Gannet\n"))

    edit = desk.append("black", source="tool")

    assert desk.text() == TEA.replace("- Sula\n", "- Sula\n- Gannet\n").replace(
        "- white\n", "- white\n- black\n"
    )
    [record] = desk.records()
    assert "Gannet" not in "".join(
        line for line in record["diff"].splitlines() if line.startswith(("+", "-"))
    )
    assert record["before"] == edit.before != record["after"]


@pytest.mark.scenario("A12")
def test_an_item_added_by_both_appears_once_in_the_persons_words(desk: Desk):
    desk.save(TEA)
    meanwhile(desk, TEA.replace("- white\n", "- white\n- BLACK\n"))

    edit = desk.append("black", source="tool")

    assert desk.text().lower().count("black") == 1
    assert "- BLACK\n" in desk.text()
    assert [done.outcome for done in edit.applied] == ["noop_dup"]
    assert len(desk.records()) == 1


@pytest.mark.scenario("A14")
def test_an_item_is_added_to_a_section_renamed_during_the_write(desk: Desk):
    desk.save(TEA)
    meanwhile(desk, TEA.replace("## Tea", "## Hot drinks"))

    desk.append("black", source="tool")

    assert desk.text() == TEA.replace("## Tea", "## Hot drinks").replace(
        "- white\n", "- white\n- black\n"
    )


@pytest.mark.scenario("A15")
def test_an_item_moved_during_the_write_is_edited_in_its_new_place(desk: Desk):
    desk.save(TEA)
    desk.append("black", source="tool")
    moved = TEA.replace("- Sula\n", "- Sula\n- black\n")
    desk.close()
    meanwhile(desk, moved)

    desk.do(
        {"op": "replace", "heading": "Tea", "match": "black", "line": "black, strong"}, source="cli"
    )

    assert desk.text() == moved.replace("- black\n", "- black, strong\n")


@pytest.mark.scenario("A16")
def test_a_section_deleted_during_the_write_returns_with_only_the_new_item(desk: Desk):
    desk.save(TEA)
    meanwhile(desk, "# Me\n\n## Boats\n\n- Sula\n")

    edit = desk.append("black", source="tool")

    assert desk.text() == "# Me\n\n## Boats\n\n- Sula\n\n## Tea\n\n- black\n"
    assert [proposal.op["op"] for proposal in edit.proposed] == ["remove"]


@pytest.mark.scenario("A28")
def test_a_write_to_a_read_only_note_waits_and_is_done_later(desk: Desk):
    path = desk.vault / "USER.md"
    path.chmod(0o444)

    edit = desk.append("black")

    assert [waiting.reason for waiting in edit.pending] == ["read_only"]
    assert edit.audit_id is None
    assert "black" not in desk.text()
    assert desk.records() == []
    assert [waiting.id for waiting in desk.curator.waiting()] == [edit.pending[0].id]

    path.chmod(0o644)
    [record] = desk.curator.tend(desk.now)

    assert record.id == edit.pending[0].id
    assert "- black\n" in desk.text()
    assert desk.curator.waiting() == []
    assert [one["id"] for one in desk.records()] == [record.id]


def test_a_waiting_write_is_applied_to_the_text_saved_since(desk: Desk):
    desk.save(TEA)
    (desk.vault / "USER.md").chmod(0o444)
    waiting = desk.do({"op": "remove", "heading": "Tea", "match": "white"})
    assert waiting.pending
    desk.close()
    desk.save(TEA.replace("- white\n", "- white, with jasmine\n"))

    [record] = desk.curator.tend(desk.now)

    assert desk.text() == TEA.replace("- white\n", "")
    assert [done.removed for done in record.applied] == [b"- white, with jasmine\n"]
    assert len(desk.records()) == 1


@pytest.mark.scenario("A29")
def test_a_write_to_a_hard_linked_note_waits(desk: Desk):
    os.link(desk.vault / "USER.md", desk.vault / "other.md")

    edit = desk.append("black")

    assert [waiting.reason for waiting in edit.pending] == ["hard_link"]
    assert os.stat(desk.vault / "USER.md").st_nlink == 2


def test_a_write_waits_a_moment_for_a_person_who_just_saved(desk: Desk):
    desk.save(TEA)
    now = datetime.now(UTC)
    run = desk.curator.new_command(
        "USER.md", "cli", now, ApplyOps(({"op": "append", "heading": "Tea", "line": "black"},))
    )

    edit = desk.curator.run(run, now)

    assert edit.audit_id
    assert "- black\n" in desk.text()


@pytest.mark.scenario("A22")
def test_a_nightly_write_to_a_note_saved_just_now_is_postponed(desk: Desk):
    desk.save(TEA)
    now = datetime.now(UTC)
    run = desk.curator.new_command(
        "USER.md", "nightly", now, ApplyOps(({"op": "append", "heading": "Tea", "line": "black"},))
    )

    edit = desk.curator.run(run, now)

    assert [waiting.reason for waiting in edit.pending] == ["hot"]
    assert [record.id for record in desk.curator.tend(now + timedelta(seconds=60))] == [run.id]
    assert "- black\n" in desk.text()


KILLED = """
    import os, signal, sys
    from datetime import UTC, datetime, timedelta
    from pathlib import Path
    from vault_memory.edits.commands import ApplyOps
    from vault_memory.edits.editor import NoteEditor
    from vault_memory.rules.paths.layout import Layout
    from vault_memory.vault.reader import Folder

    vault, state, when = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    curator = NoteEditor(Folder(vault), Layout([]), state)
    add = curator.trail.add

    def killed(record):
        if when == "after":
            add(record)
        os.kill(os.getpid(), signal.SIGKILL)

    curator.trail.add = killed
    now = datetime.now(UTC) + timedelta(hours=1)
    ops = ({"op": "append", "heading": "Tea", "line": "black"}, {"op": "fly"})
    curator.run(curator.new_command("USER.md", "tool", now, ApplyOps(ops)), now)
"""


@pytest.mark.sampled
@pytest.mark.scenario("B33", "B37")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_between_the_text_and_its_record_leaves_one_record(desk: Desk, when: str):
    desk.save(TEA)
    program = [
        sys.executable,
        "-c",
        textwrap.dedent(KILLED),
        str(desk.vault),
        str(desk.state),
        when,
    ]
    assert subprocess.run(program, timeout=60).returncode == -signal.SIGKILL
    assert "- black\n" in desk.text()

    first = desk.curator.tend(desk.now)
    desk.close()
    assert desk.curator.tend(desk.now) == []

    assert len(first) == (1 if when == "before" else 0)
    [record] = desk.records()
    assert "+- black\n" in record["diff"]
    assert [done["outcome"] for done in record["applied"]] == ["applied"]
    assert [refused["reason"] for refused in record["rejected"]] == ["unknown_op"]
    assert desk.undo(record["id"]).changed
    assert desk.text() == TEA


@pytest.mark.scenario("B39")
def test_a_record_that_cannot_be_written_now_is_written_later(desk: Desk):
    audit = desk.vault / "USER.md.audit.jsonl"
    audit.mkdir()

    edit = desk.append("black")
    assert "- black\n" in desk.text()
    audit.rmdir()
    desk.curator.tend(desk.now)

    assert [record["id"] for record in desk.records()] == [edit.audit_id]


MANY = """
    import sys
    from datetime import UTC, datetime, timedelta
    from pathlib import Path
    from vault_memory.edits.commands import ApplyOps
    from vault_memory.edits.editor import NoteEditor
    from vault_memory.rules.paths.layout import Layout
    from vault_memory.vault.reader import Folder

    vault, state, who = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    curator = NoteEditor(Folder(vault), Layout([]), state)
    for number in range(15):
        now = datetime.now(UTC) + timedelta(hours=1)
        ops = ({"op": "append", "heading": "Tea", "line": f"{who} {number}"},)
        assert curator.run(curator.new_command("USER.md", "tool", now, ApplyOps(ops)), now).audit_id
    curator.close()
"""


@pytest.mark.sampled
def test_concurrent_processes_lose_no_line_and_no_record_of_a_note(desk: Desk):
    program = [sys.executable, "-c", textwrap.dedent(MANY), str(desk.vault), str(desk.state)]
    running = [subprocess.Popen([*program, who]) for who in ("ann", "bob", "cyd")]

    assert [process.wait(120) for process in running] == [0, 0, 0]

    wanted = {f"- {who} {number}" for who in ("ann", "bob", "cyd") for number in range(15)}
    assert wanted <= set(desk.text().splitlines())
    lines = [record["applied"][0]["op"]["line"] for record in desk.records()]
    assert sorted(f"- {line}" for line in lines) == sorted(wanted)
    assert len({json.dumps(record["id"]) for record in desk.records()}) == 45


@pytest.mark.scenario("A3", "A23")
@pytest.mark.parametrize("half", ["", "# Me\n\n## T", None])
def test_no_op_is_refused_because_of_a_half_finished_save(desk: Desk, half: str | None):
    desk.save(TEA)
    desk.append("black", source="tool")
    whole = desk.text().replace("- Sula\n", "- Sula\n- Gannet\n")
    path = desk.vault / "USER.md"
    if half is None:
        path.rename(desk.vault / "USER.md~")
    else:
        path.write_text(half)
    person = threading.Timer(0.6, path.write_text, [whole])
    person.start()
    now = datetime.now(UTC)
    run = desk.curator.new_command(
        "USER.md", "tool", now, ApplyOps(({"op": "append", "heading": "Tea", "line": "oolong"},))
    )

    edit = desk.curator.run(run, now)
    person.join()

    assert not edit.rejected
    if edit.pending:
        [record] = desk.curator.tend(desk.now)
        assert record.id == run.id
    assert desk.text() == whole.replace("- black\n", "- black\n- oolong\n")


def test_a_note_deleted_for_good_is_not_waited_for_long(desk: Desk):
    desk.append("black", source="tool")
    (desk.vault / "USER.md").unlink()
    now = datetime.now(UTC)
    run = desk.curator.new_command(
        "USER.md", "tool", now, ApplyOps(({"op": "append", "heading": "Tea", "line": "oolong"},))
    )

    assert [refused.reason for refused in desk.curator.run(run, now).rejected] == [
        "heading_missing"
    ]


@pytest.mark.scenario("A3")
def test_a_write_waits_while_a_new_note_is_still_empty(desk: Desk):
    """Nothing is known of the note yet: that it is empty can only be told to be half a save by waiting."""
    desk.ahead = timedelta()
    (desk.vault / "USER.md").write_bytes(b"")
    threading.Timer(0.3, lambda: (desk.vault / "USER.md").write_text(TEA)).start()

    edit = desk.append("black", source="tool")

    assert not edit.rejected
    desk.curator.tend(desk.now + timedelta(seconds=5))
    assert "- white\n- black\n" in desk.text()
