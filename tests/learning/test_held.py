"""What waits is shown, and a person decides about it; the bot's own requests obey the same table."""

import json

import pytest

from tests.learning.conftest import Bedroom
from tests.learning.test_at_once import HELD, PROFILE, RULES, end, everything, record

SCOPE = "user:mira"


def held(bedroom: Bedroom, *options: str) -> list[dict[str, object]]:
    return list(bedroom.seen.ok("held", *options)["held"])


def hold(bedroom: Bedroom, text: str = "I hate myself.") -> str:
    record(bedroom, text)
    [entry] = end(bedroom)["held"]
    return str(entry["id"])


def test_what_waits_is_listed_with_its_reason_and_its_end(bedroom: Bedroom) -> None:
    id_ = hold(bedroom)
    [entry] = held(bedroom, "--user", "mira")
    assert (entry["id"], entry["scope"], entry["text"]) == (id_, SCOPE, "I hate myself")
    assert entry["needs"] == "a second turn in another session"
    assert held(bedroom, "--user", "tomas") == []
    assert held(bedroom) == [entry]


def test_a_person_keeps_what_waits(bedroom: Bedroom) -> None:
    id_ = hold(bedroom)
    decided = bedroom.seen.ok("held", "promote", id_[:6])
    assert decided["outcome"] == "promoted"
    note = str(decided["note"])
    assert "I hate myself" in bedroom.text(note)
    assert bedroom.records(note)[-1]["source"] == "cli"
    assert held(bedroom) == []


def test_what_a_person_drops_does_not_come_back(bedroom: Bedroom) -> None:
    bedroom.seen.ok("held", "drop", hold(bedroom))
    record(bedroom, "I hate myself.", "walk")
    ended = end(bedroom, "walk")
    assert (ended["committed"], ended["held"]) == ([], [])
    assert [entry["reason"] for entry in ended["dropped"]] == ["rejected"]


def test_undoing_a_promotion_gives_it_up(bedroom: Bedroom) -> None:
    decided = bedroom.seen.ok("held", "promote", hold(bedroom))
    note = str(decided["note"])
    bedroom.seen.ok("undo", bedroom.records(note)[-1]["id"])
    assert "hate myself" not in bedroom.text(note)
    states = [json.loads(line)["state"] for line in bedroom.text(HELD).splitlines()]
    assert states[-1] == "rejected"


def test_an_unknown_id_is_refused(bedroom: Bedroom) -> None:
    hold(bedroom)
    refused = bedroom.seen.run("held", "drop", "zzzz", "--json")
    assert refused.code == 2
    assert refused.json["error"]["candidates"] == []


def test_a_held_candidate_is_given_up_after_its_days(bedroom: Bedroom) -> None:
    record(bedroom, "I hate myself.", now="2026-05-25T20:00:00+01:00")
    end(bedroom, now="2026-05-25T21:00:00+01:00")
    assert held(bedroom, "--now", "2026-08-20T12:00:00+01:00")
    assert not held(bedroom, "--now", "2026-09-20T12:00:00+01:00")


@pytest.mark.parametrize(
    ("text", "outcome", "reason"),
    [
        ("The password of the router is swordfish.", "refused", "secret"),
        ("Mira wants to kill herself, she said: I want to die.", "refused", "crisis"),
        ("Just for this session, Mira speaks French.", "refused", "turn_scoped"),
        ("I hate myself.", "held", "self_belief"),
        ("The API key lives in 1Password.", "added", ""),
    ],
)
def test_the_bots_own_request_obeys_the_table(
    bedroom: Bedroom, text: str, outcome: str, reason: str
) -> None:
    if outcome == "added":
        record(bedroom, text, "tea")
    done = bedroom.seen.run("remember", "--user", "mira", "--source", "tool", text, "--json")
    assert (done.json["outcome"], done.json["reason"]) == (outcome, reason)
    is_kept = text.strip(".") in bedroom.text(PROFILE)
    assert is_kept is (outcome == "added")
    if outcome == "refused":
        assert "swordfish" not in everything(bedroom)


def test_what_a_person_writes_is_not_judged(bedroom: Bedroom) -> None:
    text = "The password of the router is swordfish."
    done = bedroom.seen.ok("remember", "--user", "mira", "--yes", text)
    assert done["outcome"] == "added"
    assert "swordfish" in bedroom.text(PROFILE)


def test_a_rule_of_a_tool_is_kept_only_if_the_person_said_it(bedroom: Bedroom) -> None:
    rule = "From now on, give me the wind in Beaufort."
    options = ("remember", "--user", "mira", "--source", "tool", "--json")
    assert bedroom.seen.run(*options, rule).json["outcome"] == "proposed"
    assert "Beaufort" not in bedroom.text(RULES)


def test_feedback_is_logged_and_never_with_a_secret(bedroom: Bedroom) -> None:
    turn = record(bedroom, "I live in Ostervik.")
    options = ("feedback", "bad", "--user", "mira", "--about", turn)
    bedroom.seen.ok(*options, "I never said that")
    bedroom.seen.ok("feedback", "good", "--user", "mira")
    bedroom.seen.ok("feedback", "bad", "--user", "mira", "my password is swordfish")
    [log] = (bedroom.vault / "Users/mira/learning/feedback").iterdir()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["verdict"], line["about"], line["text"]) for line in lines] == [
        ("bad", turn, "I never said that"),
        ("good", "", ""),
        ("bad", "", "…"),
    ]


def test_feedback_about_a_mistyped_id_is_refused_with_near_ones(bedroom: Bedroom) -> None:
    turn = record(bedroom, "I live in Ostervik.")
    mistyped = turn[:-1] + ("a" if turn[-1] != "a" else "b")
    options = ("feedback", "bad", "--user", "mira", "--json", "--about")

    refused = bedroom.seen.run(*options, mistyped)

    assert refused.code == 2
    error = refused.json["error"]
    assert (error["code"], error["candidates"][0]) == ("unclear_id", turn)
    assert not (bedroom.vault / "Users/mira/learning/feedback").exists()


def test_feedback_names_a_line_a_fact_or_what_waits(bedroom: Bedroom) -> None:
    options = ("feedback", "good", "--user", "mira", "--about")
    note = "Users/mira/lantern/config/USER.md"
    number = next(
        number
        for number, line in enumerate(bedroom.text(note).splitlines(), 1)
        if line.startswith("- ")
    )
    bedroom.seen.ok(*options, f"{note}:{number}")
    bedroom.seen.ok(*options, hold(bedroom))
    assert bedroom.seen.run(*options, f"{note}:9999").code == 2
