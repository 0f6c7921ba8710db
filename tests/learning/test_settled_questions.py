"""A person who answers one question about two lines has answered both, at once and wherever they tick."""

import re

import pytest

from tests.learning.conftest import Bedroom
from tests.learning.test_conflicts import FACTS, PROFILE, add_fact, line, night_after

PORT = (
    "Remember that the staging database of the billing service listens on port {} "
    "of the host behind the old firewall."
)
INBOX = "Users/mira/lantern/config/INBOX.md"


def _two_birthdays(bedroom: Bedroom) -> tuple[str, str, str]:
    add_fact(bedroom, "mira", "born_on", "1980-06-09")
    add_fact(bedroom, "mira", "born_on", "1981-06-09", day=21)
    night_after(bedroom, 25)
    return FACTS, "born_on: 1980", "born_on: 1981"


def _two_ports(bedroom: Bedroom) -> tuple[str, str, str]:
    bedroom.say(PORT.format(5433), day="2026-05-25")
    night_after(bedroom, 25)
    bedroom.say(PORT.format(5434), day="2026-05-26")
    night_after(bedroom, 26)
    return PROFILE, "5433", "5434"


CASES = [_two_birthdays, _two_ports]


def _questions(bedroom: Bedroom) -> list[dict[str, object]]:
    items = bedroom.seen.ok("inbox", "--now", "2026-05-27T12:00+01:00")["items"]
    return list(items)


def _approve(bedroom: Bedroom, words: str) -> None:
    [question] = [item for item in _questions(bedroom) if words in str(item["op"]["match"])]
    now = ("--now", "2026-05-27T12:00+01:00")
    bedroom.seen.ok("inbox", "approve", str(question["id"]), *now)


@pytest.mark.sampled
@pytest.mark.parametrize("make", CASES)
def test_an_answer_closes_the_rivals_question_and_takes_its_mark_off(
    bedroom: Bedroom, make
) -> None:
    note, wrong, right = make(bedroom)
    assert len(_questions(bedroom)) == 2
    assert "unclear:" in line(bedroom, right, note)

    _approve(bedroom, wrong)

    assert _questions(bedroom) == []
    assert "unclear:" not in bedroom.text(note)
    boxes = re.findall(r"- \[ \] (.*)", bedroom.text(INBOX))
    assert [box for box in boxes if not box.startswith("~~")] == []


@pytest.mark.sampled
@pytest.mark.parametrize("make", CASES)
def test_the_line_that_holds_stays_the_bots_and_is_not_asked_about_again(
    bedroom: Bedroom, make
) -> None:
    note, wrong, right = make(bedroom)
    _approve(bedroom, wrong)
    before = bedroom.text(note)

    bedroom.sleep(now="2026-05-28T02:05+01:00")

    assert line(bedroom, right, note) in before
    assert _questions(bedroom) == []


def test_a_tool_and_a_night_ask_once_about_a_fact_of_a_person(bedroom: Bedroom):
    page = bedroom.vault / FACTS
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("# Facts\n\n## mira\n\n- born_on: 1980-06-09\n")
    add_fact(bedroom, "mira", "born_on", "1981-06-09", day=21)

    night_after(bedroom, 25)

    now = ("--now", "2026-05-27T12:00+01:00")
    items = bedroom.seen.ok("inbox", *now)["items"]
    lines = [str(item["op"]["match"]) for item in items]
    assert sum("1980" in line for line in lines) == 1
