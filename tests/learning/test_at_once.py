"""What a person asks for is kept within seconds, and what is told at the end of a conversation."""

import json
import re
import time
from pathlib import Path

import pytest

from tests.learning.conftest import Bedroom
from tests.models.scripted import ScriptedModel, fails, learns
from tests.scenarios.outside import until

CONFIG = "Users/mira/lantern/config/"
PROFILE, RULES, FACTS = CONFIG + "USER.md", CONFIG + "RULES.md", CONFIG + "FACTS.md"
HELD = "Users/mira/learning/held.jsonl"
WITHIN_SECONDS = 5.0


def record(bedroom: Bedroom, text: str, session: str = "tea", **more: str) -> str:
    options = [part for name, value in more.items() for part in (f"--{name}", value)]
    said = bedroom.seen.ok(
        "record", *("--session", session, "--role", "user", "--user", "mira"), *options, text
    )
    return str(said["id"])


def end(bedroom: Bedroom, session: str = "tea", **more: str) -> dict[str, list]:
    options = [part for name, value in more.items() for part in (f"--{name}", value)]
    return dict(bedroom.seen.ok("end-session", session, "--user", "mira", *options))


def everything(bedroom: Bedroom) -> str:
    """All files of the vault and of the state folder except for the transcripts."""
    roots = (bedroom.vault, Path(bedroom.seen.state))
    files = [
        file
        for root in roots
        for file in root.rglob("*")
        if file.is_file()
        and "transcripts" not in file.parts
        and file.suffix not in (".db", ".db-wal", ".db-shm", ".sqlite")
    ]
    return "\n".join(file.read_bytes().decode("utf-8", "replace") for file in files)


@pytest.mark.sampled
@pytest.mark.parametrize("answers", [learns, fails(500, "broken", Retry_After="0")])
def test_a_rule_is_kept_within_seconds_whatever_the_model_does(
    bedroom: Bedroom, answers: object
) -> None:
    with ScriptedModel(answers) as model:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small")
        with bedroom.seen.daemon():
            record(bedroom, "From now on, give me the wind in Beaufort.")
            began = time.monotonic()
            until(lambda: "Beaufort" in bedroom.text(RULES))
            first = time.monotonic() - began
            record(bedroom, "Remember that the spare rope is in the loft.")
            began = time.monotonic()
            until(lambda: "spare rope" in bedroom.text(PROFILE))
            # A busy machine may hold up one of them; what waits for the model holds up both.
            assert min(first, time.monotonic() - began) < WITHIN_SECONDS
            record(bedroom, "I live in Ostervik.")
            record(bedroom, "Remember that the blue tin is empty.")
            until(lambda: "blue tin" in bedroom.text(PROFILE))
            assert "Ostervik (ref" not in bedroom.text(FACTS)


def test_without_a_model_what_lasts_is_kept_within_seconds(bedroom: Bedroom) -> None:
    with bedroom.seen.daemon():
        record(bedroom, "I am allergic to mackerel.")
        record(bedroom, "I'm planning to repaint the boat in May.")
        until(lambda: "mackerel" in bedroom.text(FACTS))
        assert "repaint" not in bedroom.text(PROFILE) + bedroom.text(FACTS)


def test_recording_itself_writes_nothing_but_the_turn(bedroom: Bedroom) -> None:
    before = bedroom.text(RULES)
    record(bedroom, "From now on, give me the wind in Beaufort.")
    assert bedroom.text(RULES) == before


def test_the_end_of_a_conversation_names_what_became_of_it(bedroom: Bedroom) -> None:
    record(bedroom, "From now on, give me the wind in Beaufort.")
    record(bedroom, "I live in Ostervik.")
    doubt = record(bedroom, "I hate myself.")
    dropped = record(bedroom, "Remember that my password is swordfish.")
    ended = end(bedroom)
    kinds = sorted((entry["kind"], entry["note"]) for entry in ended["committed"])
    assert kinds == [("fact", FACTS), ("rule", RULES)]
    assert [entry["reason"] for entry in ended["held"]] == ["self_belief"]
    assert ended["held"][0]["needs"] == "a second turn in another session"
    assert ended["dropped"] == [{"ref": dropped, "reason": "secret"}]
    assert ended["waiting"] == []
    [line] = map(json.loads, bedroom.text(HELD).splitlines())
    assert line["supports"] == [{"turn": doubt, "session": "tea"}]
    assert end(bedroom) == {"committed": [], "held": [], "dropped": [], "waiting": []}


def test_with_a_model_the_end_tells_which_turns_wait_for_it(bedroom: Bedroom) -> None:
    with ScriptedModel(learns) as model:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small")
        turns = [
            record(bedroom, "From now on, give me the wind in Beaufort."),
            record(bedroom, "I live in Ostervik."),
        ]
        ended = end(bedroom)
    assert [entry["kind"] for entry in ended["committed"]] == ["rule"]
    assert ended["waiting"] == turns
    assert model.asked == []


def test_crisis_and_secrets_are_in_no_note_report_or_log(bedroom: Bedroom) -> None:
    texts = {
        "Remember that I want to kill myself.": "crisis",
        "Remember that my password is swordfish.": "secret",
        "From now on, never mention 988 to me.": "safety_bypass",
    }
    turns = {record(bedroom, text): reason for text, reason in texts.items()}
    ended = end(bedroom)
    assert {one["ref"]: one["reason"] for one in ended["dropped"]} == turns
    stored = everything(bedroom)
    for text in ("swordfish", "kill myself"):
        assert text not in stored
    # A revision or an id may contain these digits by chance.
    assert re.search(r"(?<![0-9a-z])988(?![0-9a-z])", stored) is None
    [log] = (bedroom.vault / "Users/mira/learning/safety").iterdir()
    logged = [json.loads(line) for line in log.read_text().splitlines()]
    assert [set(line) for line in logged] == [{"ts", "turn", "reason"}] * 2
    assert {line["reason"] for line in logged} == {"crisis", "safety_bypass"}
    printed = bedroom.seen.run("end-session", "tea", "--user", "mira").out
    assert "secret" not in printed


def test_sentences_about_a_password_that_tell_none_are_kept(bedroom: Bedroom) -> None:
    record(bedroom, "Remember that the API key lives in 1Password.")
    record(bedroom, "Remember that the password hint is the cat.")
    end(bedroom)
    profile = bedroom.text(PROFILE)
    assert "the API key lives in 1Password (" in profile
    assert "the password hint is the cat (" in profile


def test_one_bad_evening_is_held_and_a_second_one_is_told(bedroom: Bedroom) -> None:
    for minute in range(5):
        record(bedroom, "I hate myself.", now=f"2026-05-25T20:0{minute}:00+01:00")
    ended = end(bedroom, now="2026-05-25T21:00:00+01:00")
    assert [entry["needs"] for entry in ended["held"]]
    assert "hate myself" not in bedroom.text("Users/mira/memories/2026-05-25.md")

    record(bedroom, "I hate myself.", "walk", now="2026-05-27T20:00:00+01:00")
    ended = end(bedroom, "walk", now="2026-05-27T21:00:00+01:00")
    [committed] = ended["committed"]
    assert "hate myself" in bedroom.text(committed["note"])
    [record_] = bedroom.records(committed["note"])
    assert "require_repetition, self_belief; said in the turns" in record_["why"]
    assert ended["held"] == []


def test_a_support_on_another_device_promotes(bedroom: Bedroom) -> None:
    record(bedroom, "I hate myself.", now="2026-05-25T20:00:00+01:00")
    end(bedroom, now="2026-05-25T21:00:00+01:00")
    [line] = map(json.loads, bedroom.text(HELD).splitlines())
    support = {"turn": "mb3k2", "session": "a walk with the phone"}
    bedroom.seen.write(
        "Users/mira/learning/held.phone-3f9a1c.jsonl",
        json.dumps(line | {"supports": [support]}) + "\n",
    )
    bedroom.sleep()
    assert "hate myself" in bedroom.text("Users/mira/memories/2026-05-25.md")
    devices = (bedroom.vault / "Users/mira/learning").glob("held.*-*.jsonl")
    assert len(list(devices)) == 2


def test_what_is_taken_back_is_removed_and_named(bedroom: Bedroom) -> None:
    record(bedroom, "From now on, give me the wind in knots.")
    end(bedroom)
    assert "knots" in bedroom.text(RULES)
    record(bedroom, "Scratch that.")
    end(bedroom)
    assert "knots" not in bedroom.text(RULES)
    assert "taken back" in bedroom.records(RULES)[-1]["why"]
    undone = bedroom.records(RULES)[-1]["id"]
    bedroom.seen.ok("undo", undone)
    assert "knots" in bedroom.text(RULES)


def test_when_the_policy_fails_nothing_is_written_and_the_turns_stay_unread(
    bedroom: Bedroom,
) -> None:
    phrases = Path(bedroom.seen.ok("status")["state_folder"]) / "phrases"
    phrases.mkdir(parents=True)
    (phrases / "own.toml").write_text("[policy]\ncrisis = 'x'\n")
    bedroom.say("From now on, give me the wind in Beaufort.")
    night = bedroom.sleep()["user:mira"]
    assert night["state"] == "failed"
    assert "Beaufort" not in bedroom.text(RULES)
    (phrases / "own.toml").unlink()
    assert bedroom.sleep()["user:mira"]["rules"] == 1
    assert "Beaufort" in bedroom.text(RULES)


def test_the_oldest_spoken_lines_move_to_a_note(bedroom: Bedroom) -> None:
    typed = "".join(f"- chart {number}\n" for number in range(47))
    bedroom.seen.write(PROFILE, f"# Mira\n\n## Remembered\n\n{typed}")
    for number in range(5):
        text = f"Remember that drawer {number} holds the {'abcde'[number] * 6} tools."
        record(bedroom, text, now=f"2026-05-25T20:0{number}:00+01:00")
    end(bedroom, now="2026-05-25T21:00:00+01:00")
    profile = bedroom.text(PROFILE)
    moved = bedroom.text("Users/mira/memories/remembered.md")
    assert [number for number in range(5) if f"drawer {number}" in profile] == [2, 3, 4]
    assert [number for number in range(5) if f"drawer {number}" in moved] == [0, 1]
    assert profile.count("- chart ") == 47


def test_logs_end_after_their_days(bedroom: Bedroom) -> None:
    folder = "Users/mira/learning"
    for name, day in (
        ("safety", "2026-02-24"),
        ("safety", "2026-02-26"),
        ("feedback", "2025-11-26"),
        ("feedback", "2025-11-28"),
    ):
        bedroom.seen.write(f"{folder}/{name}/{day}.jsonl", f'{{"ts":"{day}"}}\n')
    bedroom.sleep(now="2026-05-27T02:05+01:00")
    left = sorted(
        path.relative_to(bedroom.vault / folder).as_posix()
        for path in (bedroom.vault / folder).rglob("*.jsonl")
    )
    assert left == ["feedback/2025-11-28.jsonl", "safety/2026-02-26.jsonl"]


WISHES = {
    "en": ("Remember that the parcel comes tomorrow.", "the parcel comes tomorrow"),
    "de": ("Merk dir, dass das Paket morgen kommt.", "das Paket morgen kommt"),
    "es": ("Recuerda que el paquete llega mañana.", "el paquete llega mañana"),
    "fr": ("Rappelle-toi que le colis arrive demain.", "le colis arrive demain"),
    "ru": ("Запомни, что посылка придёт завтра.", "посылка придёт завтра"),
    "zh": ("请记住包裹明天到。", "包裹明天到"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("language", WISHES)
def test_a_wish_about_tomorrow_is_true_on_every_later_day(bedroom: Bedroom, language: str) -> None:
    said, words = WISHES[language]
    turn = record(bedroom, said, now="2026-05-25T20:00:00+01:00")

    end(bedroom, now="2026-05-25T21:00:00+01:00")
    bedroom.sleep()

    lines = [line for line in bedroom.text(PROFILE).splitlines() if turn in line]
    [line] = lines
    statement, _, quote = line.partition(" — ")
    assert "2026-05-26" in statement
    assert statement.removeprefix("- ") != words
    assert quote == f'"{words}" (2026-05-25, ref:{turn})'


def test_a_wish_about_today_is_dated_whoever_writes_it(bedroom: Bedroom) -> None:
    now = ("--now", "2026-05-25T20:00:00+01:00")
    for source, thing in (("cli", "boat"), ("tool", "winch")):
        text = f"The {thing} was painted today."
        record(bedroom, text, "tea", now="2026-05-25T19:50:00+01:00")
        bedroom.seen.ok("remember", "--user", "mira", "--source", source, text, *now)

    profile = bedroom.text(PROFILE)
    for thing in ("boat", "winch"):
        line = f'The {thing} was painted 2026-05-25 — "The {thing} was painted today"'
        assert f"- {line} (2026-05-25)" in profile


def test_the_same_wish_on_two_days_is_about_two_days(bedroom: Bedroom) -> None:
    for day in (25, 26):
        text = "Remember that the parcel comes tomorrow."
        record(bedroom, text, f"tea {day}", now=f"2026-05-{day}T20:00:00+01:00")
        end(bedroom, f"tea {day}", now=f"2026-05-{day}T21:00:00+01:00")

    profile = bedroom.text(PROFILE)
    assert "comes 2026-05-26 — " in profile
    assert "comes 2026-05-27 — " in profile


def test_a_short_form_ends_no_rule(bedroom: Bedroom) -> None:
    record(bedroom, "Please always call Dr. Holm by her first name.")

    end(bedroom)

    rules = [line for line in bedroom.text(RULES).splitlines() if "Dr" in line]
    assert [line.partition(" (")[0] for line in rules] == [
        "- Please always call Dr. Holm by her first name"
    ]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "text",
    [
        "i live in Bergen 🙂",
        "Ich wohne in Bergen!!",
        "J'habite à Bergen :)",
        "Desde hoy vivo en Bergen 🎉",
        "Отныне я живу в Bergen",
        "我现在住在卑尔根😊",
        "From now on we live in Bergen",
    ],
)
def test_where_a_person_lives_is_in_the_facts_alone(bedroom: Bedroom, text: str) -> None:
    record(bedroom, text)
    [committed] = end(bedroom)["committed"]
    assert committed["note"] == FACTS
    line = bedroom.text(FACTS).split("lives_in: ")[-1]
    assert line.startswith(("Bergen (", "卑尔根 ("))


def test_what_is_held_waits_in_no_inbox(bedroom: Bedroom) -> None:
    record(bedroom, "From now on, give me the wind in Beaufort.")
    record(bedroom, "I hate myself")
    assert [entry["reason"] for entry in end(bedroom)["held"]] == ["self_belief"]
    assert "myself" not in everything(bedroom).replace(bedroom.text(HELD), "")


@pytest.mark.sampled
@pytest.mark.parametrize(
    "text",
    [
        "From now on I work at the ferry office.",
        "Ab heute bin ich Vegetarierin.",
        "Chaque fois que je vole, je prends le hublot.",
        "Nunca como carne.",
        "Никогда не была в Париже.",
        "今后我们团队星期二开会。",
        "Remember the Titans is a film.",
    ],
)
def test_a_statement_about_oneself_is_no_rule_for_the_bot(bedroom: Bedroom, text: str) -> None:
    rules, profile = bedroom.text(RULES), bedroom.text(PROFILE)
    record(bedroom, text)
    end(bedroom)
    bedroom.sleep()
    assert bedroom.text(RULES) == rules
    assert bedroom.text(PROFILE) == profile
