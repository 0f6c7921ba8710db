"""What a person says of herself in a channel alone is hers: facts and rules, and no note of the group."""

import pytest

from tests.learning.conftest import Bedroom

FACTS = "Users/mira/lantern/config/FACTS.md"
RULES = "Users/mira/lantern/config/RULES.md"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("text", "note", "line"),
    [
        ("I am allergic to penicillin.", FACTS, "allergic_to: penicillin"),
        ("I love long walks at night.", FACTS, "likes: long walks at night"),
        ("I prefer green tea.", FACTS, "prefers: green tea"),
        ("I work as a baker.", FACTS, "has_role: baker"),
        ("Please always answer me in French.", RULES, "answer me in French"),
    ],
)
def test_an_attribute_becomes_a_fact_or_a_rule_of_its_speaker(
    bedroom: Bedroom, text: str, note: str, line: str
) -> None:
    bedroom.say(text, channel="harbour", session="h")

    bedroom.sleep()

    assert line in bedroom.text(note)
    group_notes = bedroom.vault.glob("Channels/**/*.md")
    assert all(line not in file.read_text() for file in group_notes)
