"""What counts as the news of a week: the facts that were said in it, whenever the night wrote them."""

from datetime import date, timedelta

import pytest

OF_THE_SAMPLE_VAULT = "2026-W19.md"
FIRST = date(2026, 5, 25)
STATEMENTS = (
    "I am allergic to mackerel.",
    "I love sour cherries.",
    "I hate foghorns.",
    "My sister is called Anneke.",
    "I work at the harbour.",
    "I prefer tea.",
)


def night_after(day: date) -> str:
    return f"{day + timedelta(days=1)}T02:05+01:00"


def reflections(bedroom) -> list[str]:
    folder = bedroom.vault / "Users/mira/memories/reflections"
    names = sorted(path.name for path in folder.glob("*.md"))
    return [name for name in names if name != OF_THE_SAMPLE_VAULT]


@pytest.mark.sampled
def test_one_fact_on_each_of_six_nights_is_a_reflection(bedroom):
    lines = 0
    for number, text in enumerate(STATEMENTS):
        day = FIRST + timedelta(days=number)
        bedroom.say(text, day=day.isoformat())
        lines += bedroom.sleep(now=night_after(day))["user:mira"]["reflected"]

    assert lines > 0
    assert reflections(bedroom)


def test_facts_said_in_the_week_count_although_another_device_wrote_them(bedroom):
    """The page came by sync, without an audit of this device."""
    refs = [
        bedroom.say(text, day=f"2026-05-2{number + 5}")
        for number, text in enumerate(STATEMENTS[:3])
    ]
    lines = "".join(
        f"- likes: thing {name} (ref:{ref})\n"
        for name, ref in zip(("ann", "bo", "cy"), refs, strict=True)
    )
    bedroom.seen.write("Users/mira/lantern/config/FACTS.md", f"## mira\n\n{lines}")

    bedroom.set(SLEEP_CYCLE_LOOKBACK_HOURS="1")
    bedroom.say("Good morning.", day="2026-05-28", at="01:30")
    bedroom.sleep(now="2026-05-28T02:05+01:00")

    assert reflections(bedroom) == ["2026-W22.md"]


def test_old_facts_that_a_late_night_writes_are_no_news_of_the_week(bedroom):
    for number, text in enumerate(STATEMENTS[:3]):
        bedroom.say(text, day=f"2026-05-0{number + 1}")
    bedroom.set(SLEEP_CYCLE_LOOKBACK_HOURS="2000")

    slept = bedroom.sleep(now="2026-05-26T02:05+01:00")["user:mira"]

    assert slept["facts"] == 3
    assert reflections(bedroom) == []
