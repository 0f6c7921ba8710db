"""What was said before is not written again, and supports the item that says it."""

from datetime import date

import pytest

from tests.learning.conftest import Bedroom
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.edits.audit_reader import read_record
from vault_memory.rules.edits.skipped_duplicates import supports

SCOPE = "user:mira"
FACTS = "Users/mira/lantern/config/FACTS.md"
PROFILE = "Users/mira/lantern/config/USER.md"


def note_of(day: int) -> str:
    return f"Users/mira/memories/2026-05-{day}.md"


def night_after(bedroom: Bedroom, day: int) -> dict[str, object]:
    return bedroom.sleep(now=f"2026-05-{day + 1}T02:05+01:00")[SCOPE]


def say_by_day(bedroom: Bedroom, *texts: str) -> tuple[list[str], list[dict[str, object]]]:
    """Says a text each day, with a night after it. Returns the turns and the nights."""
    turns: list[str] = []
    nights: list[dict[str, object]] = []
    for day, text in enumerate(texts, start=25):
        turns.append(bedroom.say(text, day=f"2026-05-{day}"))
        nights.append(night_after(bedroom, day))
    return turns, nights


def support(bedroom: Bedroom, note: str, key: str) -> frozenset[str]:
    """Returns the turns that repeated an item, as the audit of its note says."""
    records = [read_record(record) for record in bedroom.records(note)]
    by_key = supports(record for record in records if record is not None)
    return by_key.get(key, frozenset())


def all_notes(bedroom: Bedroom) -> str:
    files = (bedroom.vault / "Users/mira/memories").glob("2026-05-*.md")
    return "".join(file.read_text() for file in files)


def test_one_sentence_on_three_days_is_one_item_with_three_turns(bedroom: Bedroom) -> None:
    text = "I always drink my coffee black in the old harbour cafe"
    turns, nights = say_by_day(bedroom, text, f"{text}.", f"{text}!")

    assert [night["memories"] for night in nights] == [1, 0, 0]
    assert [night["duplicates"] for night in nights] == [0, 1, 1]
    assert all_notes(bedroom).count(text) == 1
    key = content_key(SCOPE, text)
    assert support(bedroom, note_of(25), key) == {turns[1], turns[2]}
    assert turns[0] in bedroom.text(note_of(25))


NEAR = {
    "English": (
        "My favourite place in town is the small bakery behind the old red lighthouse.",
        "My favourite place in town is the bakery behind the old red lighthouse.",
    ),
    "Russian": (
        "Я всегда пью чёрный чай с лимоном каждое утро перед работой на кухне у окна.",
        "Я всегда пью чёрный чай с лимоном каждое утро перед работой у окна.",
    ),
    "Chinese": (
        "请记住，我住在上海，周末常常和朋友们一起去公园散步，也很喜欢喝热的绿茶。",
        "请记住，我住在上海，周末常常和朋友们一起去公园散步，也很喜欢喝热绿茶。",
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("language", NEAR)
def test_a_sentence_in_almost_the_same_words_is_not_written_again(
    bedroom: Bedroom, language: str
) -> None:
    first, second = NEAR[language]

    _, nights = say_by_day(bedroom, first, second)

    assert [night["memories"] for night in nights] == [1, 0]
    assert nights[1]["duplicates"] == 1


def test_two_ports_in_one_sentence_are_both_kept(bedroom: Bedroom) -> None:
    sentence = (
        "Remember that the staging database of the billing service listens on port {} "
        "of the host behind the old firewall."
    )

    _, nights = say_by_day(bedroom, sentence.format(5433), sentence.format(5434))

    assert [night["memories"] for night in nights] == [1, 1]
    assert "5433" in bedroom.text(PROFILE)
    assert "5434" in bedroom.text(PROFILE)


def test_an_attribute_of_a_person_is_in_the_facts_alone(bedroom: Bedroom) -> None:
    turn = bedroom.say("I live in Bergen.")

    night = bedroom.sleep()[SCOPE]

    assert (night["facts"], night["memories"], night["duplicates"]) == (1, 0, 0)
    assert "- lives_in: Bergen (" in bedroom.text(FACTS)
    assert "Bergen" not in all_notes(bedroom)
    [skip] = bedroom.records(FACTS)[-1]["applied"]
    assert (skip["outcome"], skip["op"]["turn"]) == ("noop_dup", turn)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Ich wohne in Köln.", "lives_in: Köln"),
        ("J'habite à Paris.", "lives_in: Paris"),
        ("Vivo en Lima.", "lives_in: Lima"),
        ("Я живу в Осло.", "lives_in: Осло"),
        ("我住在上海。", "lives_in: 上海"),
        ("我喜欢咖啡。", "likes: 咖啡"),
        ("我对花生过敏。", "allergic_to: 花生"),
    ],
)
def test_an_attribute_is_in_the_facts_alone_in_each_language(bedroom, text, fact):
    turn = bedroom.say(text)

    bedroom.sleep()

    assert f"- {fact} " in bedroom.text(FACTS)
    assert f"ref:{turn}" in bedroom.text(FACTS)
    assert text.strip(".。") not in bedroom.text(note_of(25))


def test_a_sentence_that_says_more_than_its_fact_is_kept(bedroom: Bedroom) -> None:
    bedroom.say("I live in Bergen because of the rain and the seven mountains.")

    night = bedroom.sleep()[SCOPE]

    assert (night["facts"], night["memories"]) == (1, 1)
    assert "seven mountains" in bedroom.text(note_of(25))


def test_a_longer_sentence_replaces_the_line_of_the_bot(bedroom: Bedroom) -> None:
    old = "My favourite place in town is the bakery behind the old red lighthouse."
    new = old.replace("bakery", "small bakery")

    (first, second), nights = say_by_day(bedroom, old, new)

    assert [night["memories"] for night in nights] == [1, 1]
    assert all_notes(bedroom).count("favourite place") == 1
    assert f"{new[:-1]} (2026-05-26, ref:{second}" in bedroom.text(note_of(25))
    assert support(bedroom, note_of(25), content_key(SCOPE, new)) == {first}
    [replacement] = [
        record
        for record in bedroom.records(note_of(25))
        if any(op["op"]["op"] == "replace" for op in record["applied"])
    ]
    bedroom.seen.ok("undo", str(replacement["id"]))
    assert f"{old[:-1]} (2026-05-25, ref:{first}" in bedroom.text(note_of(25))


@pytest.mark.parametrize("title", ["# Mira", "# Mira\n\n## Places"])
def test_a_line_of_a_person_is_never_replaced(bedroom: Bedroom, title: str) -> None:
    mine = "My favourite place in town is the bakery behind the old red lighthouse"
    bedroom.seen.write(PROFILE, f"{title}\n\n- {mine}\n")
    turn = bedroom.say(mine.replace("bakery", "small bakery") + ".")

    night = bedroom.sleep()[SCOPE]

    assert (night["memories"], night["duplicates"]) == (0, 1)
    assert bedroom.text(PROFILE) == f"{title}\n\n- {mine}\n"
    assert support(bedroom, PROFILE, content_key(SCOPE, mine)) == {turn}


def test_undoing_a_skip_takes_its_support_and_undoing_that_gives_it_back(bedroom: Bedroom) -> None:
    text = "I always drink my coffee black in the old harbour cafe"
    (_, turn), _ = say_by_day(bedroom, text, text)
    key = content_key(SCOPE, text)
    before = bedroom.text(note_of(25))
    skip = bedroom.records(note_of(25))[-1]

    assert skip["applied"][0]["outcome"] == "noop_dup"
    assert skip["applied"][0]["op"]["twin"] == key
    assert support(bedroom, note_of(25), key) == {turn}

    bedroom.seen.ok("undo", str(skip["id"]))
    assert support(bedroom, note_of(25), key) == frozenset()

    bedroom.seen.ok("undo", str(bedroom.records(note_of(25))[-1]["id"]))
    assert support(bedroom, note_of(25), key) == {turn}
    assert bedroom.text(note_of(25)) == before


def test_a_turn_that_is_read_twice_supports_once(bedroom: Bedroom) -> None:
    text = "I always drink my coffee black in the old harbour cafe."
    bedroom.say(text, day="2026-05-25")
    bedroom.say(text, day="2026-05-25", at="19:00")
    night_after(bedroom, 25)
    before = bedroom.files()
    for file in (bedroom.seen.state / "nights").glob("*.json"):
        file.unlink()

    again = night_after(bedroom, 25)

    assert again["gathered"] == 2
    assert bedroom.files() == before


def test_what_is_said_about_one_day_is_kept_on_each_day(bedroom: Bedroom) -> None:
    text = "Remember that we ate fish soup with the neighbours today."
    for day in (25, 26):
        bedroom.say(text, day=str(date(2026, 5, day)))
        assert night_after(bedroom, day)["duplicates"] == 0
    profile = bedroom.text("Users/mira/lantern/config/USER.md")
    assert "with the neighbours 2026-05-25 — " in profile
    assert "with the neighbours 2026-05-26 — " in profile


def test_nothing_is_compared_across_people(bedroom: Bedroom) -> None:
    text = "I always drink my coffee black in the old harbour cafe."
    bedroom.say(text, user="mira")
    bedroom.say(text, user="tomas")

    nights = bedroom.sleep()

    assert nights[SCOPE]["memories"] == 1
    assert nights["user:tomas"]["memories"] == 1


# --- Rules ------------------------------------------------------------------------------------

RULES = "Users/mira/lantern/config/RULES.md"
RULE = "From now on, give me the wind in Beaufort"


def test_a_rule_that_is_asked_for_again_is_one_rule_with_two_turns(bedroom: Bedroom) -> None:
    (_, turn), nights = say_by_day(bedroom, f"{RULE}.", f"{RULE}!")

    assert [night["rules"] for night in nights] == [1, 0]
    assert bedroom.text(RULES).count("Beaufort") == 1
    assert support(bedroom, RULES, content_key(SCOPE, RULE)) == {turn}


def test_a_rule_of_the_archive_that_is_asked_for_again_moves_back(bedroom: Bedroom) -> None:
    bedroom.seen.write(RULES, f"# Rules\n\n## Archived\n\n- {RULE} (2026-01-01)\n")
    turn = bedroom.say(f"{RULE}.")

    night = bedroom.sleep()[SCOPE]

    assert night["rules"] == 1
    assert bedroom.text(RULES).count("Beaufort") == 1
    assert f"- {RULE} (2026-05-25, ref:{turn})" in bedroom.text(RULES)
    bedroom.seen.ok("undo", str(bedroom.records(RULES)[-1]["id"]))
    assert f"- {RULE} (2026-01-01)" in bedroom.text(RULES)


# --- Requests to remember ---------------------------------------------------------------------

PLACE = "My favourite place in town is the bakery behind the old red lighthouse"


def remember(bedroom: Bedroom, text: str, source: str = "tool") -> dict[str, object]:
    options = ("--user", "mira", "--source", source, "--now", "2026-05-27T12:00+01:00")
    return bedroom.seen.ok("remember", text, *options)


def test_what_a_dated_note_says_is_not_remembered_again(bedroom: Bedroom) -> None:
    say_by_day(bedroom, f"{PLACE}.")
    profile = bedroom.text(PROFILE)

    answer = remember(bedroom, f"{PLACE}!")

    assert (answer["outcome"], answer["note"]) == ("duplicate", note_of(25))
    assert bedroom.text(PROFILE) == profile
    [skip] = bedroom.records(note_of(25))[-1]["applied"]
    assert skip["op"]["twin"] == content_key(SCOPE, PLACE)


def test_a_longer_text_to_remember_replaces_the_line_of_the_bot(bedroom: Bedroom) -> None:
    say_by_day(bedroom, f"{PLACE}.")

    answer = remember(bedroom, PLACE.replace("bakery", "small bakery"))

    assert (answer["outcome"], answer["note"]) == ("added", note_of(25))
    assert "small bakery" in bedroom.text(note_of(25))
    assert all_notes(bedroom).count("favourite place") == 1


@pytest.mark.parametrize(("source", "outcome"), [("tool", "duplicate"), ("cli", "added")])
def test_a_persons_line_stays_when_a_longer_text_is_remembered(
    bedroom: Bedroom, source: str, outcome: str
) -> None:
    bedroom.seen.write(PROFILE, f"# Mira\n\n## Places\n\n- {PLACE}\n")

    answer = remember(bedroom, PLACE.replace("bakery", "small bakery"), source)

    assert answer["outcome"] == outcome
    assert f"- {PLACE}\n" in bedroom.text(PROFILE)


def test_a_text_to_remember_in_a_dry_run_changes_nothing(bedroom: Bedroom) -> None:
    say_by_day(bedroom, f"{PLACE}.")
    before = bedroom.files()

    for text in (PLACE, PLACE.replace("bakery", "small bakery")):
        bedroom.seen.ok("remember", text, "--user", "mira", "--dry-run")

    assert bedroom.files() == before


# --- Copies that two devices wrote ------------------------------------------------------------


def append(bedroom: Bedroom, note: str, line: str, source: str = "tool") -> None:
    if "## Learned" not in bedroom.text(note):
        bedroom.seen.ok("add-heading", note, "Learned", line, "--source", source)
    else:
        bedroom.seen.ok("append", note, "Learned", line, "--source", source)


def test_the_night_removes_copies_of_the_bot_and_keeps_the_oldest(bedroom: Bedroom) -> None:
    for day in (21, 24, 25):
        append(bedroom, note_of(day), f"{PLACE} (2026-05-{day}, ref:t{day})")

    bedroom.sleep("--user", "mira")

    assert PLACE in bedroom.text(note_of(21))
    assert all_notes(bedroom).count(PLACE) == 1
    key = content_key(SCOPE, PLACE)
    assert support(bedroom, note_of(21), key) == {"t24", "t25"}
    assert not bedroom.seen.ok("inbox")["items"]
    removal = bedroom.records(note_of(25))[-1]
    bedroom.seen.ok("undo", str(removal["id"]))
    assert PLACE in bedroom.text(note_of(25))


def test_the_night_leaves_copies_of_a_person(bedroom: Bedroom) -> None:
    append(bedroom, note_of(21), f"{PLACE} (2026-05-21)", "cli")
    append(bedroom, note_of(24), f"{PLACE} (2026-05-24)", "cli")
    append(bedroom, note_of(25), f"{PLACE} (2026-05-25)")

    bedroom.sleep("--user", "mira")

    assert all_notes(bedroom).count(PLACE) == 3


def test_a_second_night_removes_nothing_more(bedroom: Bedroom) -> None:
    for day in (21, 24):
        append(bedroom, note_of(day), f"{PLACE} (2026-05-{day}, ref:t{day})")
    bedroom.sleep("--user", "mira")
    before = bedroom.files()

    bedroom.sleep("--user", "mira", now="2026-05-27T02:05+01:00")

    assert bedroom.files() == before


def test_a_fact_that_is_said_again_is_supported_by_the_turn(bedroom: Bedroom) -> None:
    (_, turn), _ = say_by_day(bedroom, "I live in Bergen.", "I live in Bergen.")

    records = [read_record(record) for record in bedroom.records(FACTS)]
    by_key = supports(record for record in records if record is not None)
    assert [turns for turns in by_key.values() if turn in turns]
