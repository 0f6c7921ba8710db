"""Ops, the log, and the way back, as a person and a script use them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.outside import Done, Outside

NOTE = "# Me\n\n## Tea\n\n- green\n"
EDIT = {
    "note",
    "before",
    "after",
    "applied",
    "rejected",
    "proposed",
    "pending",
    "audit_id",
    "diff",
    "summary",
}
AHEAD = ("--now", "2090-01-01")
REVISION = re.compile(r"[0-9a-f]{64}").fullmatch


@pytest.fixture
def person(outside: Outside) -> Outside:
    outside.quick = True
    outside.write("USER.md", NOTE)
    return outside


def text(person: Outside, note: str = "USER.md") -> str:
    return (person.vault / note).read_text()


def edit(person: Outside, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = person.run(*arguments, *AHEAD, "--json")
    assert done.code == code, done
    assert set(done.json) == EDIT
    return dict(done.json)


def test_append_prints_the_diff_and_the_outcome(person: Outside):
    done = person.run("append", "USER.md", "Tea", "- black", *AHEAD)

    assert done.code == 0
    assert "+- black\n" in done.out
    assert "applied: append to Tea: black" in done.out
    assert re.search(r"recorded as ([0-9a-f]+); `vault-memory undo \1` takes it back", done.err)
    assert text(person) == NOTE + "- black\n"


def test_each_op_has_a_command(person: Outside):
    edit(person, "append", "USER.md", "Tea", "black")
    edit(person, "replace", "USER.md", "Tea", "black", "black, strong")
    edit(person, "remove", "USER.md", "Tea", "green")
    edit(person, "add-heading", "USER.md", "Boats", "Sula", "Gannet")

    assert text(person) == "# Me\n\n## Tea\n\n- black, strong\n\n## Boats\n\n- Sula\n- Gannet\n"


def test_the_json_of_an_edit_follows_the_contract(person: Outside):
    found = edit(person, "append", "USER.md", "Tea", "black")

    assert REVISION(found["before"])
    assert REVISION(found["after"])
    assert found["applied"] == [
        {"op": {"op": "append", "heading": "Tea", "line": "black"}, "outcome": "applied"}
    ]
    assert (found["rejected"], found["proposed"], found["pending"]) == ([], [], [])
    assert found["audit_id"]
    assert found["diff"].startswith("--- USER.md\n+++ USER.md\n@@ ")


def test_a_refused_op_exits_with_1_and_lists_the_headings(person: Outside):
    found = edit(person, "append", "USER.md", "Tee", "black", code=1)

    assert found["rejected"] == [
        {
            "op": {"op": "append", "heading": "Tee", "line": "black"},
            "reason": "heading_missing",
            "headings": ["Me", "Tea"],
        }
    ]
    assert text(person) == NOTE


def test_ops_can_be_read_from_a_file_or_from_stdin(person: Outside):
    file = person.home / "ops.json"
    file.write_text(
        json.dumps([{"op": "append", "heading": "Tea", "line": "black"}, {"op": "fly"}])
    )
    found = edit(person, "apply", "USER.md", "--ops", str(file))
    assert [refused["reason"] for refused in found["rejected"]] == ["unknown_op"]

    said = json.dumps({"ops": [{"op": "append", "heading": "Tea", "line": "white"}]})
    done: Done = person.run("apply", "USER.md", "--ops", "-", *AHEAD, stdin=None, input=said)

    assert done.code == 0, done
    assert text(person) == NOTE + "- black\n- white\n"


@pytest.mark.parametrize("said", ["{", "7", '{"op": "append"}', '"append"'])
def test_ops_that_are_not_a_list_are_a_usage_error(person: Outside, said: str):
    file = person.home / "ops.json"
    file.write_text(said)

    done = person.run("apply", "USER.md", "--ops", str(file), "--json")

    assert (done.code, done.error["code"]) == (2, "usage_error")


def test_an_outdated_revision_exits_with_5(person: Outside):
    seen = person.ok("read", "USER.md")["revision"]
    person.write("USER.md", NOTE + "- white\n")

    refused = person.run("append", "USER.md", "Tea", "black", "--expected", seen, *AHEAD, "--json")
    assert (refused.code, refused.error["code"]) == (5, "note_changed")
    assert text(person) == NOTE + "- white\n"
    edit(person, "append", "USER.md", "Tea", "black", "--expected", seen, "--merge")

    assert text(person) == NOTE + "- white\n- black\n"


def test_a_dry_run_writes_nothing(person: Outside):
    found = edit(person, "append", "USER.md", "Tea", "black", "--dry-run")

    assert found["diff"]
    assert found["audit_id"] is None
    assert text(person) == NOTE
    assert sorted(path.name for path in person.vault.iterdir()) == [".vault-memory", "USER.md"]


def test_the_bot_must_propose_where_a_person_may_edit(person: Outside):
    proposed = edit(person, "remove", "USER.md", "Tea", "green", "--source", "tool")
    assert [set(one) for one in proposed["proposed"]] == [{"op", "id", "why"}]
    assert text(person) == NOTE

    edit(person, "remove", "USER.md", "Tea", "green")

    assert text(person) == "# Me\n\n## Tea\n\n"


def test_inbox_lists_approves_and_rejects_proposals(person: Outside):
    edit(person, "append", "USER.md", "Tea", "white")
    edit(person, "remove", "USER.md", "Tea", "green", "--source", "tool")
    edit(person, "remove", "USER.md", "Tea", "white", "--source", "tool")

    items = sorted(person.ok("inbox")["items"], key=lambda item: str(item["op"]["match"]))
    assert [set(item) for item in items] == [{"id", "note", "op", "why", "state"}] * 2
    assert person.ok("status")["inbox_open"] == 2
    assert 'remove from USER.md › Tea: "green"' in person.run("inbox").out
    edit(person, "inbox", "approve", items[0]["id"])
    edit(person, "inbox", "reject", items[1]["id"])

    assert text(person) == "# Me\n\n## Tea\n\n- white\n"
    assert person.ok("inbox")["items"] == []
    assert person.run("inbox", "approve", items[0]["id"], "--json").error["code"] == "unclear_id"
    assert person.run("inbox", "approve").code == 2


def test_an_edit_of_an_unwritable_note_exits_with_75_and_is_listed_by_status(person: Outside):
    (person.vault / "USER.md").chmod(0o444)

    found = edit(person, "append", "USER.md", "Tea", "black", code=75)

    [waiting] = found["pending"]
    assert (waiting["reason"], found["audit_id"]) == ("read_only", None)
    assert [one["id"] for one in person.ok("status")["pending"]] == [waiting["id"]]


def test_an_edit_is_searchable_at_once(person: Outside):
    person.ok("index")

    edit(person, "append", "USER.md", "Tea", "smoky lapsang")

    assert person.finds("lapsang")


def test_an_edit_can_be_logged_undone_and_redone(person: Outside):
    done = edit(person, "append", "USER.md", "Tea", "black")

    [record] = person.ok("log", "USER.md")["records"]
    assert record["id"] == done["audit_id"]
    undone = edit(person, "undo", done["audit_id"])
    assert text(person) == NOTE
    again = edit(person, "undo", undone["audit_id"])

    assert text(person) == NOTE + "- black\n"
    ids = [one["audit_id"] for one in (done, undone, again)]
    assert [one["id"] for one in person.ok("log")["records"]] == ids
    assert len(person.ok("log", "--limit", "1")["records"]) == 1
    shown = person.run("log").out
    assert "+- black" in shown
    assert f"undoes {done['audit_id']}" in shown


def test_an_ambiguous_id_lists_the_candidates(person: Outside):
    ids = [
        edit(person, "append", "USER.md", "Tea", line)["audit_id"] for line in ("black", "white")
    ]

    refused = person.run("undo", "0", "--json")

    assert (refused.code, refused.error["code"]) == (2, "unclear_id")
    assert sorted(refused.error["candidates"]) == sorted(ids)


def test_an_old_version_can_be_listed_read_and_restored(person: Outside):
    edit(person, "append", "USER.md", "Tea", "black")

    versions = person.ok("history", "USER.md")["versions"]
    assert [set(version) for version in versions] == [{"revision", "ts", "by", "bytes"}] * 2
    assert [version["by"] for version in versions] == ["cli", "person"]
    first = versions[-1]["revision"]
    assert person.ok("read", "USER.md", "--revision", first)["text"] == NOTE
    edit(person, "restore", "USER.md", "--revision", first[:10])

    assert text(person) == NOTE
    assert person.run("restore", "USER.md", "--revision", "0000", "--json").code == 2


def test_a_file_that_is_not_a_note_is_refused_with_a_hint(person: Outside):
    done = person.run("append", "SOUL.md", "Tea", "black")

    assert done.code == 2
    assert "hint: choose a note; `vault-memory notes` lists them" in done.err


def test_colours_are_for_terminals_only(person: Outside):
    assert "\x1b" not in person.run("append", "USER.md", "Tea", "black", *AHEAD).out


def test_an_edit_waits_for_a_person_who_just_saved(outside: Outside):
    outside.write("USER.md", NOTE)

    found = outside.ok("append", "USER.md", "Tea", "black")

    assert found["audit_id"]
    assert Path(outside.vault / "USER.md").read_text() == NOTE + "- black\n"


@pytest.mark.parametrize(
    ("op", "outcome", "sentence"),
    [
        (("remove", "purple"), "noop_no_match", "no item of the section contains that"),
        (("replace", "purple", "x"), "noop_no_match", "`vault-memory read NOTE`"),
        (("archive", "purple"), "noop_no_match", "no item of the section contains"),
        (("replace", "green", "green"), "noop_dup", "the item says that already"),
    ],
)
def test_an_op_that_found_nothing_to_change_exits_with_1_and_says_why(
    person: Outside, op: tuple[str, ...], outcome: str, sentence: str
):
    name, *words = op
    arguments = (name, "USER.md", "Tea", *words, *AHEAD)

    done = person.run(*arguments)
    [applied] = edit(person, *arguments[: 3 + len(words)], code=1)["applied"]

    assert (done.code, done.err.count("Traceback")) == (1, 0)
    assert done.out.startswith(f"{outcome}: {name} ")
    assert sentence in done.out
    assert applied["outcome"] == outcome
    assert sentence in applied["remark"]
    assert text(person) == NOTE


def test_an_op_beside_one_that_found_nothing_exits_with_0(person: Outside):
    ops = [
        {"op": "remove", "heading": "Tea", "match": "purple"},
        {"op": "append", "heading": "Tea", "line": "black"},
    ]
    file = person.home / "ops.json"
    file.write_text(json.dumps(ops))

    edit(person, "apply", "USER.md", "--ops", str(file))

    assert text(person) == NOTE + "- black\n"
