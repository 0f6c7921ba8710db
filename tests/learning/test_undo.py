"""Whatever a night writes, `undo` takes back."""

import json
from pathlib import Path

import pytest

from tests.learning.conftest import Bedroom
from tests.learning.test_at_once import HELD
from tests.learning.test_held import held

PLAN = "I plan to sail to the lighthouse on Saturday and I need two people for it."
TURNS = (
    ("From now on, give me the wind in Beaufort.", {}),
    ("Please remember that my boat is called Heron.", {}),
    ("My sister Ida lives in Bergen.", {}),
    ("I am allergic to penicillin.", {}),
    (PLAN, {}),
    ("I prefer green tea.", {"session": "morning"}),
    ("I hate myself.", {"session": "morning"}),
    ("I hate myself.", {"session": "evening"}),
    ("We decided to paint the hull red.", {"channel": "harbour"}),
    ("I will buy the paint by Friday.", {"channel": "harbour"}),
)


def _notes(bedroom: Bedroom) -> dict[str, str]:
    """The notes by path; an empty one counts as absent."""
    texts = {
        path: raw.decode()
        for path, raw in bedroom.files().items()
        if path.endswith(".md") and "INBOX" not in path
    }
    return {path: text for path, text in texts.items() if text.strip()}


def _records(bedroom: Bedroom) -> dict[str, dict[str, object]]:
    records = (
        json.loads(line)
        for path, raw in bedroom.files().items()
        if ".audit." in path
        for line in raw.splitlines()
    )
    return {str(record["id"]): record for record in records}


def _live(bedroom: Bedroom) -> None:
    for minute, (text, options) in enumerate(TURNS):
        bedroom.say(text, at=f"18:{minute:02}", **options)
    bedroom.sleep()


@pytest.mark.sampled
@pytest.mark.parametrize("is_newest_first", [True, False])
def test_all_lines_of_a_night_can_be_undone(bedroom: Bedroom, is_newest_first: bool) -> None:
    before = _notes(bedroom)
    old_records = _records(bedroom).keys()
    _live(bedroom)
    assert len(_notes(bedroom)) > len(before)
    new_ids = sorted(_records(bedroom).keys() - old_records, reverse=is_newest_first)
    assert len(new_ids) > 6

    for id_ in new_ids:
        done = bedroom.seen.run("undo", id_, "--json")
        assert done.code == 0, (done, _records(bedroom)[id_])

    after = _notes(bedroom)
    if is_newest_first:
        assert after == before
    lines = {line for text in after.values() for line in text.splitlines()}
    old_lines = {line for text in before.values() for line in text.splitlines()}
    written = {line for line in lines - old_lines if line.lstrip().startswith("-")}
    assert written == set()


@pytest.mark.sampled
def test_a_promotion_of_the_night_that_is_undone_is_rejected_for_good(bedroom: Bedroom) -> None:
    _live(bedroom)
    [(id_, record)] = [
        (id_, record)
        for id_, record in _records(bedroom).items()
        if "hate myself" in str(record["diff"])
    ]

    bedroom.seen.ok("undo", id_)

    states = [json.loads(line)["state"] for line in bedroom.text(HELD).splitlines()]
    assert states[-1] == "rejected"
    assert held(bedroom) == []
    bedroom.say("I hate myself.", day="2026-05-26", session="later")
    bedroom.sleep(now="2026-05-27T02:05+01:00")
    assert "hate myself" not in bedroom.text(str(record["note"]))


@pytest.mark.sampled
def test_the_undo_of_an_undo_brings_a_learned_line_back(bedroom: Bedroom) -> None:
    _live(bedroom)
    [(id_, record)] = [
        (id_, record)
        for id_, record in _records(bedroom).items()
        if str(record["note"]).endswith("RULES.md")
    ]
    note = Path(str(record["note"]))

    undone = bedroom.seen.ok("undo", id_)
    assert "Beaufort" not in bedroom.text(str(note))
    bedroom.seen.ok("undo", str(undone["audit_id"]))

    assert "Beaufort" in bedroom.text(str(note))
