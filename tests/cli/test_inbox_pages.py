"""What a person decides in INBOX.md is carried out without a daemon."""

import json

import pytest

from tests.scenarios.outside import Outside

NOTE = "# Me\n\n## Tea\n\n- green\n- black\n"
PAGE = "USER.INBOX.md"
AHEAD = ("--now", "2090-01-01")


@pytest.fixture
def person(outside: Outside) -> Outside:
    outside.write("USER.md", NOTE)
    for match in ("green", "black"):
        outside.ok("remove", "USER.md", "Tea", match, "--source", "tool", *AHEAD)
    return outside


def decide(person: Outside, old: str, new: str) -> None:
    page = person.vault / PAGE
    page.write_text(page.read_text().replace(old, new))


@pytest.mark.parametrize("command", ["inbox", "index", "sleep"])
def test_a_ticked_box_is_carried_out_by_a_command(person: Outside, command: str):
    decide(person, '- [ ] remove from USER.md › Tea: "green"', '- [x] remove from USER.md › Tea: "green"')  # fmt: skip

    person.ok(command, *AHEAD)

    assert (person.vault / "USER.md").read_text() == "# Me\n\n## Tea\n\n- black\n"
    waiting = json.loads(person.run("inbox", "--json", *AHEAD).out)["items"]
    assert [item["op"]["match"] for item in waiting] == ["black"]


def test_a_box_with_a_dash_is_a_no(person: Outside):
    decide(person, "- [ ]", "- [-]")

    assert person.ok("inbox", *AHEAD)["items"] == []
    assert (person.vault / "USER.md").read_text() == NOTE


def test_a_box_that_was_ticked_just_now_is_waited_for(person: Outside):
    decide(person, "- [ ]", "- [x]")

    done = person.run("inbox")

    assert "waiting until USER.INBOX.md, which was just saved, settles" in done.err
    assert done.out == "nothing waits\n"
    assert (person.vault / "USER.md").read_text() == "# Me\n\n## Tea\n\n"


def test_a_page_without_a_decision_is_not_waited_for(person: Outside):
    done = person.run("inbox")

    assert done.err == ""
    assert done.out.count("why:") == 2


def test_a_dry_night_decides_nothing(person: Outside):
    decide(person, "- [ ]", "- [x]")

    person.run("sleep", "--dry-run", *AHEAD)

    assert (person.vault / "USER.md").read_text() == NOTE
