"""A person renames a note, and each door still knows what was done in it."""

import json
import time
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside, until

OLD, NEW = "memory/g.md", "memory/y.md"
TEXT = "# Errands\n\n## Shop\n\n- tea\n- bread\n- salt\n"


def write_old(outside: Outside) -> str:
    """A note with a line of the bot. Returns the id of its record."""
    outside.write(OLD, TEXT)
    done = outside.ok("append", OLD, "Shop", "milk", "--source", "tool")
    return str(done["audit_id"])


def move(outside: Outside, old: str, new: str) -> Path:
    target = outside.vault / new
    target.parent.mkdir(parents=True, exist_ok=True)
    return (outside.vault / old).rename(target)


def ids(outside: Outside, *arguments: str) -> list[str]:
    return [record["id"] for record in outside.ok("log", *arguments)["records"]]


@pytest.mark.parametrize("new", [NEW, "memory/G.md", "memory/2026/g.md"])
def test_without_a_daemon_the_next_command_finds_the_past(outside: Outside, new: str):
    record = write_old(outside)
    move(outside, OLD, new)

    assert ids(outside, new) == [record]
    assert ids(outside) == [record]
    assert outside.ok("log")["records"][0]["note"] == new
    assert len(outside.ok("history", new)["versions"]) == 2
    undone = outside.ok("undo", record)
    assert undone["note"] == new
    assert (outside.vault / new).read_text() == TEXT


@pytest.mark.parametrize(
    "command",
    [
        ("undo",),
        ("replace", NEW, "Shop", "milk", "oat milk", "--source", "tool"),
        ("remove", NEW, "Shop", "milk", "--source", "tool"),
    ],
    ids=lambda command: command[0],
)
def test_the_first_command_after_a_rename_is_about_the_same_note(
    outside: Outside, command: tuple[str, ...]
):
    record = write_old(outside)
    move(outside, OLD, NEW)

    done = outside.ok(*command, record) if command == ("undo",) else outside.ok(*command)

    assert done["note"] == NEW
    assert done["proposed"] == []
    assert [op["outcome"] for op in done["applied"]] == ["applied"]


def test_a_renamed_folder_takes_the_pasts_of_its_notes_along(outside: Outside):
    record = write_old(outside)
    move(outside, "memory", "memories of 2026")
    move(outside, "memories of 2026", "memory/2026")

    assert ids(outside, "memory/2026/g.md") == [record]
    assert len(outside.ok("history", "memory/2026/g.md")["versions"]) == 2
    assert [check for check in outside.ok("doctor")["checks"] if check["name"] == "audit"] == []


@pytest.mark.parametrize("pause", [0.0, 1.0])
def test_with_a_daemon_the_past_follows_by_itself(outside: Outside, pause: float):
    """A program may write the new note a moment after it removed the old one: the daemon looks in between."""
    outside.quick = True
    record = write_old(outside)
    with outside.daemon() as daemon:
        daemon.until_found("milk")
        move(outside, OLD, NEW)
        until(lambda: (outside.vault / f"{NEW}.audit.jsonl").exists())
        assert ids(outside, NEW) == [record]

        text = (outside.vault / NEW).read_text()
        (outside.vault / NEW).unlink()
        time.sleep(pause)
        outside.write("memory/z.md", text.replace("- tea\n", "- tea for two\n"))
        until(lambda: (outside.vault / "memory/z.md.audit.jsonl").exists())

        assert ids(outside, "memory/z.md") == [record]
        assert not list(outside.vault.glob("memory/[gy].md*"))


def test_log_and_doctor_name_a_history_that_no_note_continues(outside: Outside):
    record = write_old(outside)
    (outside.vault / OLD).unlink()

    log = outside.run("log")
    told = outside.ok("log")
    checks = {check["name"]: check for check in outside.ok("doctor")["checks"]}

    assert f"no note continues the history of `{OLD}`" in log.err
    assert told["lost"] == [OLD]
    assert checks["audit"]["state"] == "warn"
    assert OLD in checks["audit"]["reason"]
    undone = outside.run("undo", record, "--json")
    assert undone.code == 1
    assert undone.error["code"] == "not_undoable"
    assert OLD in undone.error["message"]
    assert not (outside.vault / OLD).exists()


def test_a_person_who_renames_the_audit_file_after_the_note_mends_it(outside: Outside):
    record = write_old(outside)
    (outside.vault / OLD).unlink()
    outside.write(NEW, "# Quite another text\n\n## Shop\n\n- soap\n")
    assert outside.ok("log")["lost"] == [OLD]

    move(outside, f"{OLD}.audit.jsonl", f"{NEW}.audit.jsonl")

    assert outside.ok("log")["lost"] == []
    assert ids(outside, NEW) == [record]


def test_a_second_undo_says_that_nothing_is_left(outside: Outside):
    record = write_old(outside)
    outside.ok("undo", record)

    again = outside.run("undo", record, "--json")

    assert again.code == 1
    assert "nothing of record" in again.error["message"]


def test_the_record_on_the_disk_keeps_the_name_that_the_note_had(outside: Outside):
    write_old(outside)
    move(outside, OLD, NEW)
    outside.ok("log")

    [line] = (outside.vault / f"{NEW}.audit.jsonl").read_text().splitlines()

    assert json.loads(line)["note"] == OLD
