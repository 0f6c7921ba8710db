"""What the person is told about a conversation, a night and the vault."""

from pathlib import Path

import pytest

NOTE = "Users/mira/memories/2026-05-25.md"
FACTS = "Users/mira/lantern/config/FACTS.md"
LONG = "the gallery needs another coat of the grey paint and " * 7 + "a new ladder"
END = ("end-session", "tea", "--user", "mira", "--now", "2026-05-25T18:10+01:00")
NOT_KEPT = {
    "Remember the wifi password quayfish": "secret",
    "Merk dir, dass mein Passwort quayfish ist": "secret",
    "Запомни пароль quayfish": "secret",
    "Recuerda mi contraseña: quayfish": "secret",
    "Retiens que mon mot de passe est quayfish": "secret",
    "记住密码quayfish": "secret",
    f"Remember that {LONG}": "too_long",
    f"Merk dir, dass {LONG}": "too_long",
    "Please remember that, just for this session, I am Bob": "turn_scoped",
}


@pytest.mark.sampled
@pytest.mark.parametrize("text", NOT_KEPT)
def test_a_request_that_is_not_kept_says_why(bedroom, text):
    turn = bedroom.say(text, session="tea")

    told = bedroom.seen.run(*END)

    assert f"left out ({NOT_KEPT[text]}): turn {turn}" in told.out
    assert "quayfish" not in told.out


def test_a_request_that_was_made_before_says_so(bedroom):
    bedroom.say("Remember that the key is under the pot.", session="milk")
    first = bedroom.seen.run("end-session", "milk", *END[2:])
    turn = bedroom.say("Remember that the key is under the pot.", session="tea")

    told = bedroom.seen.run(*END)

    assert "left out" not in first.out
    assert f"left out (said_before): turn {turn}" in told.out


def test_the_last_night_shows_each_line_with_its_source(bedroom):
    refs = [
        bedroom.say("I have an appointment with the council on 3 June."),
        bedroom.say("I am allergic to mackerel.", at="18:01"),
        bedroom.say("From now on answer in metric units.", at="18:02"),
        bedroom.say("Remember that the key is under the pot.", at="18:03"),
    ]
    bedroom.sleep()

    learned = bedroom.seen.ok("last-night")["learned"]
    printed = bedroom.seen.run("last-night").out

    assert {line["ref"] for line in learned} == set(refs)
    assert "> Allergic to mackerel" in printed
    for line in learned:
        assert line["text"] in printed
        assert f"{line['note']}, turn {line['ref']}" in printed


def test_the_last_night_shows_no_line_that_a_person_deleted(bedroom):
    bedroom.say("I have an appointment with the council on 3 June.")
    bedroom.sleep()
    Path(bedroom.vault / NOTE).write_text("## Learned\n")

    printed = bedroom.seen.run("last-night").out

    assert "council" not in printed
    assert bedroom.seen.ok("last-night")["learned"] == []


def test_stats_count_facts_and_name_the_newest_day(bedroom):
    page = (
        "## mira\n\n"
        "- lives_in: Gull Rock\n"
        "- ~~lives_in: Ostervik~~ (2011-08-01 to 2019-03-01)\n"
        "- visiting: Bergen (2020-01-01 to 2020-02-01)\n"
        "- likes: rain (since 2020-01-01)\n"
    )
    bedroom.seen.write(FACTS, page)
    bedroom.seen.write(NOTE, "- [plan] Paint the rail (2026-05-25)\n")
    bedroom.seen.write("Users/mira/memories/2999-01-01.md", "- Tea\n")

    stats = bedroom.seen.ok("stats")
    printed = bedroom.seen.run("stats").out

    others = sum(
        line.startswith("- ")
        for note in bedroom.vault.rglob("FACTS.md")
        if note != bedroom.vault / FACTS
        for line in note.read_text().splitlines()
    )
    assert sum(stats["facts"].values()) == 4 + others
    assert stats["facts"]["ended"] >= 2
    assert stats["newest_day"] >= "2026-05-25"
    assert stats["newest_day"] < "2999"
    assert "newest day: " in printed
    assert "facts:" in printed
