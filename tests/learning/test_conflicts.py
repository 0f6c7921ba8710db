"""What the notes say twice and differently is settled at night, or a person is asked."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.learning.conftest import Bedroom

SCOPE = "user:mira"
FACTS = "Users/mira/lantern/config/FACTS.md"
PROFILE = "Users/mira/lantern/config/USER.md"
RULES = "Users/mira/lantern/config/RULES.md"


def note_of(day: int) -> str:
    return f"Users/mira/memories/2026-05-{day}.md"


def night_after(bedroom: Bedroom, day: int) -> dict[str, object]:
    return bedroom.sleep(now=f"2026-05-{day + 1}T02:05+01:00")[SCOPE]


def add_fact(bedroom: Bedroom, *words: str, day: int = 20, source: str = "tool") -> str:
    added = bedroom.seen.ok(
        "add-fact",
        "--user",
        "mira",
        "--source",
        source,
        *words,
        "--now",
        f"2026-05-{day}T12:00:00+01:00",
    )
    return str(added["id"])


def facts(bedroom: Bedroom, entity: str = "mira") -> list[dict[str, object]]:
    listed = bedroom.seen.ok(
        "facts", "--user", "mira", "--entity", entity, "--now", "2026-05-30T12:00+01:00"
    )
    return list(listed["facts"])


def line(bedroom: Bedroom, words: str, note: str = FACTS) -> str:
    [line] = [line for line in bedroom.text(note).splitlines() if words in line]
    return line


def test_of_likes_and_dislikes_the_later_one_holds(bedroom: Bedroom) -> None:
    liked = add_fact(bedroom, "mira", "likes", "espresso", day=20)
    add_fact(bedroom, "mira", "dislikes", "espresso", day=22)

    night = night_after(bedroom, 25)

    assert night["conflicts"] == 1
    assert "~~likes: espresso~~" in line(bedroom, "~~likes: espresso")
    assert "conf:0.3" in line(bedroom, "~~likes: espresso")
    assert f"supersedes:{liked}" in line(bedroom, "dislikes: espresso")


@pytest.mark.parametrize(("mode", "winner"), [("keep_existing", "likes"), ("use_new", "dislikes")])
def test_the_mode_of_a_predicate_decides(bedroom: Bedroom, mode: str, winner: str) -> None:
    bedroom.set(FACTS_CONFLICTS=mode)
    add_fact(bedroom, "mira", "likes", "espresso", "--from", "2024-01-01", day=20)
    add_fact(bedroom, "mira", "dislikes", "espresso", "--from", "2020-01-01", day=22)

    night_after(bedroom, 25)

    holding = [fact["predicate"] for fact in facts(bedroom) if fact["object"] == "espresso"]
    assert holding == [winner]


def test_two_birthdays_wait_for_the_person(bedroom: Bedroom) -> None:
    first = add_fact(bedroom, "mira", "born_on", "1980-06-09")
    second = add_fact(bedroom, "mira", "born_on", "1981-06-09", day=21)

    night_after(bedroom, 25)

    assert f"unclear:{second}" in line(bedroom, "born_on: 1980")
    assert f"unclear:{first}" in line(bedroom, "born_on: 1981")
    born = [fact["object"] for fact in facts(bedroom) if fact["predicate"] == "born_on"]
    assert sorted(born) == ["1980-06-09", "1981-06-09"]
    again = bedroom.sleep(now="2026-05-27T02:05+01:00")[SCOPE]
    assert again["conflicts"] == 0


def test_one_birthday_in_two_forms_is_no_conflict(bedroom: Bedroom) -> None:
    add_fact(bedroom, "mira", "born_on", "1980-06-09")
    add_fact(bedroom, "mira", "born_on", "9 June 1980", day=21)

    assert night_after(bedroom, 25)["conflicts"] == 0


def test_two_ports_stand_side_by_side_until_the_person_decides(bedroom: Bedroom) -> None:
    sentence = (
        "Remember that the staging database of the billing service listens on port {} "
        "of the host behind the old firewall."
    )
    bedroom.say(sentence.format(5433), day="2026-05-25")
    night_after(bedroom, 25)
    bedroom.say(sentence.format(5434), day="2026-05-26")

    assert night_after(bedroom, 26)["conflicts"] == 1

    assert "unclear:" in line(bedroom, "5433", PROFILE)
    assert "unclear:" in line(bedroom, "5434", PROFILE)
    lines = [item["op"]["line"] for item in bedroom.seen.ok("inbox")["items"]]
    assert len(lines) == 2
    assert all("conf:0.3" in line for line in lines)


def test_of_two_numbers_that_the_bot_noted_the_later_one_holds(bedroom: Bedroom) -> None:
    sentence = "My favourite place in town is bench number {} of the old promenade."
    bedroom.say(sentence.format(12), day="2026-05-25")
    night_after(bedroom, 25)
    bedroom.say(sentence.format(14), day="2026-05-26")

    assert night_after(bedroom, 26)["conflicts"] == 1

    assert "conf:0.3" in line(bedroom, "number 12", note_of(25))
    assert "supersedes:" in line(bedroom, "number 14", note_of(26))
    assert night_after(bedroom, 27)["conflicts"] == 0


def test_a_ticked_proposal_settles_what_is_unclear(bedroom: Bedroom) -> None:
    wrong = add_fact(bedroom, "mira", "born_on", "1980-06-09")
    add_fact(bedroom, "mira", "born_on", "1981-06-09", day=21)
    night_after(bedroom, 25)
    [proposal] = [
        item
        for item in bedroom.seen.ok("inbox")["items"]
        if "1980" in item["op"]["match"] and "unclear" in item["op"]["match"]
    ]

    bedroom.seen.ok("inbox", "approve", proposal["id"])

    [born] = [fact for fact in facts(bedroom) if fact["predicate"] == "born_on"]
    assert born["object"] == "1981-06-09"
    bedroom.sleep(now="2026-05-27T02:05+01:00")
    assert "- born_on: 1981-06-09\n" in bedroom.text(FACTS)
    assert wrong not in line(bedroom, "born_on: 1981")


def questions(bedroom: Bedroom) -> list[str]:
    items = bedroom.seen.ok("inbox")["items"]
    return [str(item["op"]["match"]) for item in items]


def test_each_of_two_birthdays_is_asked_about_once(bedroom: Bedroom) -> None:
    add_fact(bedroom, "mira", "born_on", "1980-06-09")
    add_fact(bedroom, "mira", "born_on", "1981-06-09", day=21)

    night_after(bedroom, 25)

    marked = [text for text in questions(bedroom) if "unclear:" in text]
    assert len(questions(bedroom)) == len(marked) == 2


@pytest.mark.sampled
@pytest.mark.parametrize("nights", [0, 1])
@pytest.mark.parametrize(
    "settle",
    [
        lambda page: page.replace("- born_on: 1980-06-09", "- ~~born_on: 1980-06-09~~"),
        lambda page: "".join(line for line in page.splitlines(True) if "1980-06-09" not in line),
    ],
    ids=["struck", "deleted"],
)
def test_what_a_person_settles_on_the_page_is_not_asked_any_more(
    bedroom: Bedroom, settle: Callable[[str], str], nights: int
) -> None:
    """A tick on the other question would end the line that is right, too."""
    add_fact(bedroom, "mira", "born_on", "1980-06-09")
    add_fact(bedroom, "mira", "born_on", "1981-06-09", day=21)
    for number in range(nights):
        night_after(bedroom, 25 + number)
    page = bedroom.vault / FACTS
    page.write_text(settle(page.read_text()))

    night_after(bedroom, 27)

    assert questions(bedroom) == []
    assert "- born_on: 1981-06-09\n" in bedroom.text(FACTS)


def test_a_settled_choice_is_not_shown_as_unclear(bedroom: Bedroom) -> None:
    add_fact(bedroom, "mira", "born_on", "1980-06-09")
    add_fact(bedroom, "mira", "born_on", "1981-06-09", day=21)
    page = bedroom.vault / FACTS
    page.write_text(page.read_text().replace("- born_on: 1980-06-09\n", ""))

    prompt = bedroom.seen.run("context", "--user", "mira", "when was I born?").out
    listed = bedroom.seen.run("facts", "--user", "mira", "--entity", "mira").out

    assert "born_on: 1981-06-09" in prompt
    assert "born_on: 1981-06-09" in listed
    assert "unclear" not in prompt + listed


@pytest.mark.sampled
def test_of_three_birthdays_each_is_a_choice_until_one_is_left(bedroom: Bedroom) -> None:
    for number in range(3):
        add_fact(bedroom, "mira", "born_on", f"198{number}-06-09", day=20 + number)
    night_after(bedroom, 25)
    choice = "(unclear: 1980-06-09 or 1981-06-09 or 1982-06-09)"

    prompt = bedroom.seen.run("context", "--user", "mira", "when was I born?").out
    page = bedroom.vault / FACTS
    for number in (0, 1):
        born = f"- born_on: 198{number}-06-09"
        page.write_text(page.read_text().replace(born, f"- ~~{born[2:]}~~"))
        night_after(bedroom, 26 + number)

    assert prompt.count(choice) == 3
    assert questions(bedroom) == []
    assert "- born_on: 1982-06-09\n" in bedroom.text(FACTS)


def test_a_removed_mark_means_that_both_lines_hold(bedroom: Bedroom) -> None:
    first = add_fact(bedroom, "mira", "born_on", "1980-06-09")
    second = add_fact(bedroom, "mira", "born_on", "1981-06-09", day=21)
    night_after(bedroom, 25)
    page = bedroom.vault / FACTS
    page.write_text(page.read_text().replace(f" (unclear:{second})", ""))

    for day in (27, 28):
        night = bedroom.sleep(now=f"2026-05-{day}T02:05+01:00")[SCOPE]
        assert night["conflicts"] == 0

    assert "unclear" not in bedroom.text(FACTS)
    assert first != second


def test_a_line_of_a_person_loses_only_after_a_yes(bedroom: Bedroom) -> None:
    page = bedroom.vault / FACTS
    page.write_text(page.read_text() + "\n## bo\n\n- likes: chess\n")
    add_fact(bedroom, "bo", "dislikes", "chess", day=21)

    assert night_after(bedroom, 25)["conflicts"] == 1

    assert "- likes: chess\n" in bedroom.text(FACTS)
    [proposal] = bedroom.seen.ok("inbox")["items"]
    assert proposal["op"]["line"].startswith("~~likes: chess~~")
    assert bedroom.sleep(now="2026-05-27T02:05+01:00")[SCOPE]["conflicts"] == 0


@pytest.mark.sampled
def test_values_that_a_person_wrote_below_those_of_the_bot_are_not_asked_about(
    bedroom: Bedroom,
) -> None:
    """Breaks when a person gets a box for each line that `facts` shows already."""
    page = bedroom.vault / FACTS
    page.write_text("")
    values = "lives_in", "works_at", "has_role", "has_status"
    for number, predicate in enumerate(values):
        add_fact(bedroom, f"bo{number}", predicate, "Old Place", day=20)
    by_hand = "- {0}: Old Place\n- {0}: New Town\n- {0}: Third Hill"
    text = page.read_text()
    for predicate in values:
        text = text.replace(f"- {predicate}: Old Place", by_hand.format(predicate))
    page.write_text(text)

    for day in (25, 26):
        night_after(bedroom, day)

    assert bedroom.seen.ok("inbox")["items"] == []
    for number, predicate in enumerate(values):
        assert f"- {predicate}: New Town\n" in bedroom.text(FACTS)
        [fact] = facts(bedroom, f"bo{number}")
        assert (fact["predicate"], fact["object"]) == (predicate, "Third Hill")


def test_a_persons_value_above_that_of_the_bot_loses_only_after_a_yes(bedroom: Bedroom) -> None:
    page = bedroom.vault / FACTS
    page.write_text("## bo\n\n- lives_in: Bergen\n")
    add_fact(bedroom, "bo", "likes", "chess", day=21)
    bedroom.seen.ok("apply", FACTS, "--source", "tool", "--ops", str(_ops(bedroom)))

    night_after(bedroom, 25)

    assert "- lives_in: Bergen\n" in bedroom.text(FACTS)
    [proposal] = bedroom.seen.ok("inbox")["items"]
    assert proposal["op"]["line"].startswith("~~lives_in: Bergen~~")


def _ops(bedroom: Bedroom) -> Path:
    file = bedroom.vault.parent / "ops.json"
    op = {"op": "append", "heading": "bo", "line": "lives_in: Oslo (2026-05-21)"}
    file.write_text(json.dumps([op]))
    return file


def test_a_question_about_a_line_is_closed_by_a_later_line_of_the_person(bedroom: Bedroom) -> None:
    page = bedroom.vault / FACTS
    page.write_text("## bo\n\n- lives_in: Bergen\n")
    add_fact(bedroom, "bo", "lives_in", "Oslo", day=21)
    assert len(bedroom.seen.ok("inbox")["items"]) == 1
    page.write_text(page.read_text() + "- lives_in: Lima (from 2026-05-22)\n")

    night_after(bedroom, 25)

    assert bedroom.seen.ok("inbox")["items"] == []
    assert "- lives_in: Bergen\n" in bedroom.text(FACTS)
    assert [fact["object"] for fact in facts(bedroom, "bo")] == ["Lima"]


def test_the_later_of_two_rules_for_the_language_holds(bedroom: Bedroom) -> None:
    bedroom.say("From now on, always answer in French.", day="2026-05-25")
    night_after(bedroom, 25)
    bedroom.say("From now on, always answer in German.", day="2026-05-26")

    assert night_after(bedroom, 26)["conflicts"] == 1

    active, _, archived = bedroom.text(RULES).partition("## Archived")
    assert "German" in active
    assert "French" not in active
    assert "French" in archived


@pytest.mark.sampled
def test_two_devices_settle_alike(bedroom: Bedroom) -> None:
    """The pages differ in the order of their lines, the nights in their day."""
    add_fact(bedroom, "mira", "likes", "espresso", day=20)
    add_fact(bedroom, "mira", "dislikes", "espresso", day=22)
    add_fact(bedroom, "mira", "born_on", "1980-06-09", day=22)
    add_fact(bedroom, "mira", "born_on", "1981-06-09", day=23)
    add_fact(bedroom, "bo", "reports_to", "ann", "--from", "2026-02-01", day=23)
    copy = bedroom.vault.with_name("second device")
    shutil.copytree(bedroom.vault, copy)
    night_after(bedroom, 25)
    settled = bedroom.text(FACTS)

    shutil.rmtree(bedroom.vault)
    shutil.move(copy, bedroom.vault)
    shutil.rmtree(bedroom.seen.state, ignore_errors=True)
    night_after(bedroom, 28)

    assert bedroom.text(FACTS) == settled


def test_prompts_and_facts_name_both_values(bedroom: Bedroom) -> None:
    add_fact(bedroom, "mira", "born_on", "1980-06-09")
    add_fact(bedroom, "mira", "born_on", "1981-06-09", day=21)
    night_after(bedroom, 25)

    prompt = bedroom.seen.run("context", "--user", "mira", "when was I born?").out

    assert prompt.count("(unclear: 1980-06-09 or 1981-06-09)") == 2
    [first, second] = [fact for fact in facts(bedroom) if fact["predicate"] == "born_on"]
    assert first["unclear"] == second["unclear"] == ["1980-06-09", "1981-06-09"]


def test_what_a_newer_statement_replaced_is_not_recalled(bedroom: Bedroom) -> None:
    sentence = "My favourite place in town is bench number {} of the old promenade."
    bedroom.say(sentence.format(12), day="2026-05-15")
    night_after(bedroom, 15)
    bedroom.say(sentence.format(14), day="2026-05-16")
    night_after(bedroom, 16)

    prompt = bedroom.seen.ok(
        "context",
        "--user",
        "mira",
        "--now",
        "2026-05-26T12:00+01:00",
        "which bench of the promenade is my favourite?",
    )["text"]

    assert "number 14" in str(prompt)
    assert "conf:0.3" not in str(prompt)


@pytest.mark.parametrize("ends", ["~~likes: herring~~", "~~likes: herring~~ (2020)"])
def test_a_fact_that_has_ended_is_in_no_prompt(bedroom: Bedroom, ends: str) -> None:
    bedroom.seen.write(FACTS, f"## mira\n\n- {ends}\n- likes: pickled eel\n")
    question = ("--user", "mira", "does mira like herring or pickled eel?")

    prompt = bedroom.seen.run("context", *question).out
    answer = bedroom.seen.run("search", *question).out

    assert "herring" not in prompt
    assert "pickled eel" in prompt
    assert "herring" in answer


def test_a_first_name_finds_the_facts_of_the_only_person(bedroom: Bedroom) -> None:
    add_fact(bedroom, "Sarah Nilsen", "works_at", "the harbour office")

    [fact] = facts(bedroom, "Sarah")
    prompt = bedroom.seen.run("context", "--user", "mira", "write to Sarah").out
    add_fact(bedroom, "Sarah Berg", "works_at", "the school")

    assert fact["subject"] == "Sarah Nilsen"
    assert "harbour office" in prompt
    assert facts(bedroom, "Sarah") == []
