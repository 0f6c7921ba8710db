"""`source` on the command line: where a line comes from, for a person."""

import pytest

from tests.scenarios.outside import Outside

PAGE = "Users/ann/bot/config/FACTS.md"


@pytest.fixture
def person(outside: Outside) -> Outside:
    outside.quick = True
    outside.write("Users/ann/bot/config/USER.md", "# Ann\n\n- tall\n")
    outside.write("Users/bo/bot/config/USER.md", "# Bo\n")
    return outside


def say(person: Outside, text: str, minute: int, *options: str) -> str:
    moment = f"2026-05-25T18:{minute:02}+00:00"
    recorded = person.ok(
        *("record", text, "--role", "user", "--user", "ann", "--session", "tea", "--now", moment),
        *options,
    )
    return str(recorded["id"])


def test_a_fact_shows_what_was_said_around_its_turn(person: Outside):
    say(person, "Hello", 0)
    turn = say(person, "I moved to Bergen", 1)
    say(person, "It rains", 2)
    person.ok("add-fact", "ann", "lives_in", "Bergen", "--ref", turn, "--user", "ann")

    answer = person.ok("source", f"{PAGE}:3")
    [cited] = answer["turns"]
    text = person.run("source", f"{PAGE}:3", "--around", "1").out

    assert (answer["kind"], answer["lines"]) == ("item", [3, 3])
    assert answer["written"]["source"] == "cli"
    assert cited["turn"]["text"] == "I moved to Bergen"
    assert [spoken["text"] for spoken in cited["before"]] == ["Hello"]
    assert [spoken["text"] for spoken in cited["after"]] == ["It rains"]
    assert "→ 2026-05-25T18:01 ann: I moved to Bergen" in text


def test_an_unknown_id_is_a_usage_error_with_candidates(person: Outside):
    turn = say(person, "Hello", 0)

    refused = person.run("--json", "source", "zzzz")

    assert refused.code == 2
    assert refused.error["code"] == "unclear_id"
    assert turn in refused.error["candidates"]
    assert person.run("source", turn, "--user", "bo").code == 2
