"""A night with a model behind it, in all its moods: each leaves a line in the audit, and other people's files alone."""

import json
import os
import threading
from contextlib import contextmanager

import pytest

from tests.models import scripted
from tests.models.scripted import (
    Asked,
    ScriptedModel,
    Sent,
    completion,
    fails,
    learned,
    learns,
    learns_fenced,
    says,
)
from vault_memory.markdown.document import parse
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import items_of

NOTE = "Users/mira/memories/2026-05-25.md"
FACTS = "Users/mira/lantern/config/FACTS.md"
PROFILE = "Users/mira/lantern/config/USER.md"
SCOPE = "user:mira"


@contextmanager
def model(bedroom, *script, **settings):
    with ScriptedModel(*script) as found:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=found.url, BRAIN_MODEL="small", **settings)
        yield found


def about_turns(model: ScriptedModel) -> list[Asked]:
    """Returns the questions about what was said; others are about the notes."""
    return [asked for asked in model.asked if "<turns>" in asked.text]


def cut_off(asked: Asked) -> Sent:
    return Sent(200, completion('{"memories": [{"text": "I am aller', finish="length"))


PATIENCE = "1"
"""Seconds for the model that is too slow; the others have as long as a busy machine takes"""
MOODS = {
    "answers well": ([learns], "schema", ""),
    "fences its JSON": ([learns_fenced], "text", ""),
    "is cut off": ([cut_off], "rules", "truncated"),
    "knows no schema": ([scripted.knows_only({"json_object", ""})], "json", ""),
    "is busy once": ([fails(429, "busy", Retry_After="0"), learns], "schema", ""),
    "is broken": ([fails(500, "broken", Retry_After="0")], "rules", "500"),
    "is too slow": ([says({"memories": []}, wait=30)], "rules", f"no answer within {PATIENCE} s"),
    "answers with another schema": ([says(scripted.ANOTHER_SCHEMA)], "rules", "is unusable"),
    "talks nonsense": ([says(scripted.NONSENSE)], "rules", "is unusable"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("mood", MOODS)
def test_however_the_model_answers_the_night_learns_and_the_audit_records_how(bedroom, mood):
    script, rung, reason = MOODS[mood]
    said = bedroom.say("I am allergic to mackerel since I was a child.")
    others = {
        name: raw for name, raw in bedroom.files().items() if not name.startswith("Users/mira")
    }

    patience = {"BRAIN_TIMEOUT_SECONDS": PATIENCE} if mood == "is too slow" else {}
    with model(bedroom, *script, **patience):
        out = bedroom.sleep()[SCOPE]

    assert (out["rung"], out["memories"], out["state"]) == (rung, 1, "done")
    assert reason in out["reason"]
    assert f"ref:{said}" in bedroom.text(NOTE)
    [record] = bedroom.records(NOTE)
    assert record["source"] == "nightly"
    assert f"({rung})" in record["why"]
    assert reason in record["why"]
    assert {
        name: raw for name, raw in bedroom.files().items() if not name.startswith("Users/mira")
    } == others


@pytest.mark.sampled
@pytest.mark.parametrize("and_learns", [True, False])
def test_an_attempt_of_the_model_to_write_elsewhere_is_refused_and_recorded(bedroom, and_learns):
    def answers(asked: Asked) -> Sent:
        said = json.loads(
            json.loads(scripted.trespasses(asked).body)["choices"][0]["message"]["content"]
        )
        said["memories"] += learned(asked)["memories"] if and_learns else []
        return Sent(200, completion(json.dumps(said)))

    bedroom.say("I am allergic to mackerel since I was a child.")
    others = {
        name: raw for name, raw in bedroom.files().items() if not name.startswith("Users/mira")
    }

    with model(bedroom, answers):
        out = bedroom.sleep()[SCOPE]

    assert {
        name: raw for name, raw in bedroom.files().items() if not name.startswith("Users/mira")
    } == others
    assert not any("bob" in name.casefold() for name in bedroom.files())
    assert "Bob" not in bedroom.text(PROFILE) + bedroom.text(NOTE) + bedroom.text(FACTS)
    assert "mackerel" in bedroom.text(NOTE)
    [record] = bedroom.records(NOTE)
    refused = [str(one["op"]["reason"]) for one in record["rejected"]]
    assert out["refused"] == len(refused)
    if and_learns:
        assert "(schema)" in record["why"]
        assert "it names a place of its own (`path`)" in refused
    else:
        assert "(repair)" in record["why"]
        assert out["proposed"] == 1


def test_a_memory_without_evidence_is_only_proposed(bedroom):
    def answers(asked: Asked) -> Sent:
        said = learned(asked)
        said["memories"].append(
            {"text": "Keeps bees", "type": "context", "topic": "", "evidence": []}
        )
        return Sent(200, completion(json.dumps(said)))

    bedroom.say("I am allergic to mackerel since I was a child.")
    with model(bedroom, answers):
        out = bedroom.sleep()[SCOPE]

    assert out["proposed"] == 1
    assert "bees" not in bedroom.text(NOTE) + bedroom.text(PROFILE)
    assert ["Keeps bees"] in [one["op"].get("lines") for one in bedroom.seen.ok("inbox")["items"]]


def test_a_turn_without_news_writes_no_note_and_is_not_read_again(bedroom):
    bedroom.say("Good morning.")
    before = bedroom.files()

    with model(bedroom, says("NO_NEW_MEMORIES")) as asked:
        bedroom.sleep()
        bedroom.sleep(now="2026-05-27T02:05+01:00")

    assert bedroom.files() == before
    assert len(about_turns(asked)) == 1


@pytest.mark.sampled
def test_the_prompts_contain_nothing_of_other_people(bedroom):
    for user in ("mira", "tomas", "mir"):
        bedroom.say(f"The boat of {user} is {user}-sesame.", user=user)
        bedroom.say(f"In the channel {user} says {user}-aloud.", user=user, channel="fogbell")
    bedroom.seen.write("Users/tomas/lantern/config/USER.md", "## About\n\n- tomas-profile\n")
    bedroom.seen.write("Users/mira/lantern/config/USER.md", "## About\n\n- mira-profile\n")

    with model(bedroom, learns, SLEEP_CYCLE_CURATE_USER_MEMORY="true") as asked:
        bedroom.sleep("--user", "mira")
        of_mira = "".join(json.dumps(one.body) for one in asked.asked)
        asked.asked.clear()
        bedroom.sleep("--channel", "fogbell", now="2026-05-26T03:05+00:00")
        of_channel = "".join(json.dumps(one.body) for one in asked.asked)

    assert "mira-sesame" in of_mira
    assert "mira-profile" in of_mira
    for text in ("tomas-sesame", "mir-sesame", "tomas-aloud", "tomas-profile"):
        assert text not in of_mira
    assert "tomas-aloud" in of_channel
    for text in ("mira-sesame", "tomas-sesame", "mira-profile", "tomas-profile"):
        assert text not in of_channel


def test_the_model_may_edit_the_profile_within_the_policy(bedroom):
    ops = [
        {"op": "append", "heading": "Preferences", "line": "Is allergic to mackerel"},
        {"op": "remove", "heading": "The house", "match": "The pump of the well"},
        {"op": "append", "heading": "Nowhere", "line": "lost"},
    ]

    def answers(asked: Asked) -> Sent:
        said = {"ops": ops} if "You keep the note" in asked.system else learned(asked)
        return Sent(200, completion(json.dumps(said)))

    bedroom.say("I am allergic to mackerel since I was a child.")
    with model(bedroom, answers, SLEEP_CYCLE_CURATE_USER_MEMORY="true"):
        out = bedroom.sleep()[SCOPE]

    assert out["curated"] == 1
    assert "- Is allergic to mackerel\n" in bedroom.text(PROFILE)
    assert "The pump of the well" in bedroom.text(PROFILE)
    assert any(
        "The pump of the well" in str(one["op"]) for one in bedroom.seen.ok("inbox")["items"]
    )
    assert bedroom.records(PROFILE)[-1]["rejected"][0]["reason"] == "heading_missing"


def test_saves_during_the_models_answer_are_kept_and_the_night_still_completes(bedroom):
    bedroom.say("I am allergic to mackerel since I was a child.")
    bedroom.seen.write(NOTE, "## Mine\n\n- before\n")
    edited = threading.Event()

    def answers(asked: Asked) -> Sent:
        if not edited.is_set():
            edited.set()
            for note, line in (
                (NOTE, "- of the day\n"),
                (FACTS, "- likes: rain\n"),
                (PROFILE, "- of mine\n"),
            ):
                with (bedroom.vault / note).open("a", encoding="utf-8") as file:
                    file.write(line)
        said = learned(asked)
        said["facts"] = (
            [
                {
                    "subject": "mira",
                    "predicate": "allergic_to",
                    "object": "mackerel",
                    "from": "",
                    "until": "",
                }
                | {"evidence": [asked.turns[0][0]]}
            ]
            if asked.turns
            else []
        )
        said["ops"] = (
            []
            if asked.turns
            else [{"op": "append", "heading": "Preferences", "line": "Is allergic to mackerel"}]
        )
        return Sent(200, completion(json.dumps(said)))

    with model(bedroom, answers, SLEEP_CYCLE_CURATE_USER_MEMORY="true"):
        out = bedroom.sleep()[SCOPE]

    assert out["waiting"] == 0
    for note, theirs, ours in (
        (NOTE, "- of the day\n", "mackerel"),
        (FACTS, "- likes: rain\n", "allergic_to: mackerel"),
        (PROFILE, "- of mine\n", "Is allergic to mackerel"),
    ):
        assert theirs in bedroom.text(note)
        assert ours in bedroom.text(note)


def test_a_note_saved_just_now_gets_its_new_lines_a_moment_later(bedroom):
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo

    # The night does not learn from a talk of the last minutes, so it is past noon there.
    zone = "Etc/GMT-12" if datetime.now(UTC).hour < 12 else "UTC"
    now = datetime.now(ZoneInfo(zone))
    bedroom.set(SLEEP_CYCLE_ZONE=zone)
    note = f"Users/mira/memories/{now:%Y-%m-%d}.md"
    morning = now.replace(hour=0, minute=0, second=1, microsecond=0)
    bedroom.seen.ok(
        "record",
        "--session",
        "s",
        "--role",
        "user",
        "--user",
        "mira",
        "--now",
        morning.isoformat(),
        "I am allergic to mackerel since I was a child.",
    )

    def answers(asked: Asked) -> Sent:
        if "<turns>" in asked.text:
            bedroom.seen.write(note, "- saved just now\n")
        return learns(asked)

    with model(bedroom, answers):
        out = bedroom.sleep(now=datetime.now(UTC).isoformat())[SCOPE]

    assert (out["memories"], out["waiting"]) == (1, 0)
    assert "mackerel" in bedroom.text(note)
    assert bedroom.text(note).startswith("- saved just now\n")


SIGHTS = (
    "I saw the Petrel in the bay.",
    "Eleven seals lay on the northern rocks.",
    "A pane of the lantern room is cracked.",
    "My cousin Anneke came by bicycle.",
    "The ferry was two hours late.",
    "Somebody painted the boathouse green.",
    "We ate rhubarb cake at the mill.",
    "A hedgehog sleeps under the stairs.",
)


@pytest.mark.sampled
def test_a_week_with_news_is_reflected_on_once(bedroom):
    def answers(asked: Asked) -> Sent:
        said = learned(asked)
        said["facts"] = [
            {
                "subject": "mira",
                "predicate": "saw",
                "object": text,
                "from": "",
                "until": "",
                "evidence": [id_],
            }
            for id_, _, text in asked.turns
        ]
        if "You look back" in asked.system:
            said["ops"] = [{"op": "append", "heading": "The week", "line": "She saw much"}]
        return Sent(200, completion(json.dumps(said)))

    with model(bedroom, answers):
        for number, text in enumerate(SIGHTS[:4]):
            bedroom.say(text, at=f"18:0{number}")
        bedroom.sleep()
        for number, text in enumerate(SIGHTS[4:]):
            bedroom.say(text, at=f"18:0{number}", day="2026-05-26")
        bedroom.sleep(now="2026-05-27T02:05+01:00")

    assert bedroom.text("Users/mira/memories/reflections/2026-W22.md") == (
        "## The week\n\n- She saw much (2026-05-26, topic:weekly)\n"
    )


@pytest.mark.skipif(
    "VAULT_MEMORY_TEST_LLM_URL" not in os.environ,
    reason="VAULT_MEMORY_TEST_LLM_URL names no server",
)
def test_a_real_model_gives_valid_supported_and_repeatable_answers(bedroom, request):
    said = [
        bedroom.say("I am allergic to mackerel since I was a child."),
        bedroom.say("I moved to Ostervik in May.", at="18:05"),
    ]
    bedroom.set(
        BRAIN_KIND="openai",
        BRAIN_BASE_URL=os.environ["VAULT_MEMORY_TEST_LLM_URL"],
        BRAIN_MODEL="default",
    )

    bedroom.sleep()
    after = bedroom.files()
    bedroom.sleep(now="2026-05-27T02:05+01:00")

    learned_items = [parse_item(item.text) for item in items_of(parse(after[NOTE]))]
    assert learned_items
    assert all(item.ref in said and item.date and item.text for item in learned_items)
    assert bedroom.files() == after


def test_one_invalid_entry_in_an_answer_costs_no_fact_and_is_recorded(bedroom):
    def answers(asked: Asked) -> Sent:
        said = learned(asked)
        fact = {
            "subject": "mira",
            "predicate": "allergic_to",
            "object": "mackerel",
            "from": "",
            "until": "",
        }
        said["facts"] = ["mira avoids fish", fact | {"evidence": [asked.turns[0][0]]}]
        return Sent(200, completion(json.dumps(said)))

    bedroom.say("I am allergic to mackerel since I was a child.")
    with model(bedroom, answers) as asked:
        out = bedroom.sleep()[SCOPE]

    assert (len(about_turns(asked)), out["rung"], out["facts"], out["refused"]) == (
        2,
        "schema",
        1,
        1,
    )
    assert "allergic_to: mackerel" in bedroom.text(FACTS)
    [record] = bedroom.records(NOTE)
    assert [one["op"]["line"] for one in record["rejected"]] == ["mira avoids fish"]
