"""What counts as a second support of a candidate that waits: nearly the same words, or an episode."""

import pytest

from tests.learning.conftest import Bedroom
from tests.learning.test_at_once import RULES, end, record
from tests.learning.test_held import held

WISH = "It would be nice if you gave a few examples with boats and metric units."
NEARLY = "It would be nice if you gave a few examples with boats and metric units, please."
OTHER = "It would be nice if you gave jokes about old trains and cold weather."
SUMMARY = "It would be nice if the bot gave examples with boats and metric units"


def sum_up(bedroom: Bedroom, session: str, summary: str) -> None:
    now = "2026-05-25T21:00:00+01:00"
    bedroom.seen.ok("compact", session, summary, "--user", "mira", "--now", now)


def test_a_wish_waits_for_a_second_turn(bedroom: Bedroom) -> None:
    record(bedroom, WISH)
    end(bedroom)
    [entry] = held(bedroom)
    assert entry["needs"] == "a second turn"
    assert "metric" not in bedroom.text(RULES)


@pytest.mark.parametrize("repetition", [WISH, NEARLY])
def test_nearly_the_same_words_are_a_second_turn(bedroom: Bedroom, repetition: str) -> None:
    record(bedroom, WISH)
    end(bedroom)
    record(bedroom, repetition, "walk")
    end(bedroom, "walk")
    assert held(bedroom) == []
    assert bedroom.text(RULES).count("metric units") == 1


def test_another_wish_is_no_second_turn(bedroom: Bedroom) -> None:
    record(bedroom, WISH)
    end(bedroom)
    record(bedroom, OTHER, "walk")
    end(bedroom, "walk")
    assert len(held(bedroom)) == 2
    assert "would be nice" not in bedroom.text(RULES)


@pytest.mark.parametrize(
    ("summary", "is_due"), [(SUMMARY, True), ("Asked for the wind at Ostervik", False)]
)
def test_the_episode_of_another_conversation_is_a_second_support(
    bedroom: Bedroom, summary: str, is_due: bool
) -> None:
    bedroom.say("Hello", session="summed up")
    sum_up(bedroom, "summed up", summary)
    record(bedroom, WISH, now="2026-05-26T20:00:00+01:00")
    end(bedroom, now="2026-05-26T21:00:00+01:00")
    assert ("metric" in bedroom.text(RULES)) is is_due
    waiting = held(bedroom, "--now", "2026-05-26T22:00:00+01:00")
    assert bool(waiting) is not is_due


def test_the_episode_of_its_own_conversation_is_none(bedroom: Bedroom) -> None:
    record(bedroom, WISH, now="2026-05-25T20:00:00+01:00")
    sum_up(bedroom, "tea", SUMMARY)
    bedroom.sleep()
    assert "metric" not in bedroom.text(RULES)
    assert held(bedroom, "--now", "2026-05-26T12:00:00+01:00")
