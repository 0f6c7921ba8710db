"""Of many rules, whoever wrote them, the newest twenty hold and are in the prompt; none is lost."""

from datetime import date, timedelta

import pytest

RULES = "Users/mira/lantern/config/RULES.md"
FIRST = date(2026, 5, 1)


@pytest.mark.sampled
def test_of_45_rules_by_several_writers_twenty_are_active_and_in_the_prompt(bedroom):
    by_hand = [f"Greet the guest of cabin {number}" for number in range(5)]
    lines = "".join(f"- {rule}\n" for rule in by_hand)
    bedroom.seen.write(RULES, f"## Asked for\n\n{lines}")
    names = [f"{first}{second}" for first in "abcd" for second in "abcdefghij"]
    for number, name in enumerate(names):
        day = FIRST + timedelta(days=number // 2)
        rule = f"Always greet captain {name}"
        if number % 2:
            bedroom.seen.ok("remember", rule, "--user", "mira", "--now", f"{day}T20:00+01:00")
        else:
            bedroom.say(f"{rule}.", day=day.isoformat())
            tomorrow = day + timedelta(days=1)
            bedroom.sleep("--user", "mira", now=f"{tomorrow}T02:05+01:00")

    active, _, archived = bedroom.text(RULES).partition("## Archived")
    prompt = bedroom.seen.ok("context", "Good morning", "--user", "mira")
    in_prompt = [line for line in prompt["text"].splitlines() if "captain" in line]

    assert active.count("\n- ") == 20
    assert archived.count("\n- ") == 25
    assert all(f"- {rule}\n" in active for rule in by_hand)
    assert all(f"captain {name} " in active for name in names[-15:])
    assert len(in_prompt) == 15
    assert all(f"captain {name}" not in prompt["text"] for name in names[:-15])
