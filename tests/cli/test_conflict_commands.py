"""`conflicts` and `trash`, as a person and a script use them."""

import pytest

from tests.scenarios.outside import Outside

NOTE = "# Me\n\n## Tea\n\n- green\n- black\n"
COPY = "USER (conflicted copy 2026-11-21 203312).md"
AHEAD = ("--now", "2090-01-01")
ITEM = {
    "id",
    "note",
    "op",
    "why",
    "state",
    "copy",
    "program",
    "date",
    "sure",
    "revision",
    "conflicts",
    "places",
    "diff",
}


@pytest.fixture
def person(outside: Outside) -> Outside:
    """A note with two versions, of which a copy may have been made."""
    outside.quick = True
    outside.write("USER.md", NOTE)
    outside.ok("append", "USER.md", "Tea", "white", *AHEAD)
    return outside


def text(person: Outside, note: str = "USER.md") -> str:
    return (person.vault / note).read_text()


def names(person: Outside) -> set[str]:
    return {path.name for path in person.vault.glob("*.md")}


def the_id(person: Outside) -> str:
    [item] = person.ok("conflicts")["items"]
    return str(item["id"])


def test_without_copies_nothing_is_listed(person: Outside):
    assert person.ok("conflicts") == {"items": []}
    assert person.run("conflicts").out == "no conflict copies\n"
    assert person.run("conflicts", "merge", "--all").code == 0
    assert person.ok("status")["conflicts"] == 0


def test_places_are_decided_one_by_one(person: Outside):
    note = text(person)
    person.write(COPY, note.replace("green", "red").replace("white", "yellow"))
    [item] = person.ok("conflicts")["items"]
    first, second = item["places"]
    assert (first["line"], first["note"], first["copy"]) == (5, "- green\n", "- red\n")
    assert f"{second['id']}  line 7: '- white' in the note" in person.run("conflicts").out

    person.ok("conflicts", "take", item["id"], "--place", first["id"], *AHEAD)
    [result] = person.ok("conflicts", "merge", item["id"], "--place", second["id"], *AHEAD)["items"]

    assert result["outcome"] == "merged"
    taken = note.replace("green", "red")
    assert text(person) == taken.replace("- white", "- white\n- yellow")
    assert names(person) == {"USER.md"}
    person.ok("undo", result["audit_id"], *AHEAD)
    assert text(person) == taken
    assert person.run("conflicts", "take", "--place", first["id"]).code == 2


def test_a_copy_is_listed_with_its_note_its_program_and_its_differences(person: Outside):
    person.write(COPY, NOTE + "- from the phone\n")

    [item] = person.ok("conflicts")["items"]
    shown = person.run("conflicts", "--diff")

    assert set(item) == ITEM
    assert (item["note"], item["copy"], item["program"]) == ("USER.md", COPY, "Nextcloud")
    assert (item["state"], item["op"], item["date"]) == (
        "mergeable",
        {"op": "merge", "copy": COPY},
        "2026-11-21 20:33:12",
    )
    assert "+- from the phone\n" in item["diff"]
    assert shown.out.startswith(
        f"{item['id']}  USER.md  Nextcloud, 2026-11-21 20:33:12  mergeable: "
    )
    assert "+- from the phone\n" in shown.out
    assert "+- from the phone" not in person.run("conflicts").out, (
        "a diff is for a terminal, or for who asks"
    )
    assert person.ok("status")["conflicts"] == 1
    assert person.ok("conflicts", "--user", "somebody")["items"] == []


def test_merging_writes_the_note_trashes_the_copy_and_can_be_undone(person: Outside):
    person.write(COPY, NOTE + "- from the phone\n")

    dry = person.run("conflicts", "merge", "--all", "--dry-run")
    assert (dry.out, text(person)) == (f"{COPY} would be merged\n", NOTE + "- white\n")
    done = person.ok("conflicts", "merge", the_id(person)[:6], *AHEAD)["items"][0]

    assert done["outcome"] == "merged"
    assert sorted(text(person).splitlines()[4:]) == [
        "- black",
        "- from the phone",
        "- green",
        "- white",
    ]
    assert names(person) == {"USER.md"}
    person.ok("undo", done["audit_id"], *AHEAD)
    assert text(person) == NOTE + "- white\n"


def test_a_conflict_exits_with_5_and_explains_how_to_settle_it(person: Outside):
    person.ok("replace", "USER.md", "Tea", "black", "black, strong", *AHEAD)
    person.write(COPY, NOTE.replace("black", "black, weak"))

    left = person.run("conflicts", "merge", "--all", *AHEAD)

    assert left.code == 5
    assert "line 6: '- black, strong - white' in the note, '- black, weak' in the copy" in left.out
    assert "`vault-memory conflicts merge --both " in left.out
    assert "- black, strong\n" in text(person)
    both = person.run("conflicts", "merge", the_id(person), "--both", *AHEAD)
    assert both.code == 0
    assert "- black, strong\n- black, weak ⚠ (other device, 2026-11-21)\n" in text(person)


def test_a_copy_can_be_taken_discarded_and_restored_from_the_trash(person: Outside):
    person.write(COPY, "# Other\n")
    person.ok("conflicts", "discard", the_id(person), *AHEAD)
    assert names(person) == {"USER.md"}
    [thrown] = person.ok("trash")["items"]
    assert (thrown["note"], thrown["bytes"]) == (COPY, len("# Other\n"))
    assert thrown["id"] in person.run("trash").out

    person.ok("trash", "restore", thrown["id"], *AHEAD)
    assert names(person) == {"USER.md", COPY}
    assert person.ok("trash")["items"] == []
    taken = person.ok("conflicts", "take", the_id(person), *AHEAD)["items"][0]

    assert (taken["outcome"], text(person), names(person)) == ("taken", "# Other\n", {"USER.md"})
    assert len(person.ok("history", "USER.md")["versions"]) == 3


def test_an_unknown_or_missing_id_is_a_usage_error(person: Outside):
    for arguments in (("merge", "feed"), ("merge",), ("discard", "--all"), ("take",), ("fold",)):
        assert person.run("conflicts", *arguments).code == 2, arguments
    assert person.run("trash", "restore").code == 2
    assert person.run("trash", "restore", "feed").code == 2


def test_a_restored_note_is_placed_beside_the_one_that_took_its_name(person: Outside):
    person.ok("add-heading", "memory/tides.md", "Tides", "high at six", *AHEAD)
    [record] = person.ok("log", "memory/tides.md")["records"]
    person.ok("undo", record["id"], *AHEAD)
    person.write("memory/tides.md", "# Mine\n")
    [thrown] = person.ok("trash")["items"]

    done = person.ok("trash", "restore", thrown["id"], *AHEAD)["items"][0]

    assert done["outcome"] == "beside"
    assert text(person, "memory/tides.md") == "# Mine\n"
    assert len(list((person.vault / "memory").glob("tides (memory copy *).md"))) == 1
