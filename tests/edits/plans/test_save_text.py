"""A saved text and what others wrote since: each new line is in the note once, or the person decides."""

import random
from collections import Counter

import pytest

from tests.effort import cases
from vault_memory.edits.commands import EditCommand, SaveText
from vault_memory.edits.edit_errors import SaveConflict
from vault_memory.edits.plans.save_text import plan_save

HEADINGS = ("## Tea", "## Boats", "## People")
WORDS = "amber basil cedar delta ember fjord grove haven inlet jetty kiosk lagoon".split()
ENDS = ("\n", "\r\n")


def command(text: bytes, base: bytes) -> tuple[EditCommand, SaveText]:
    action = SaveText(text.decode(), base.decode())
    moment = "2026-11-23T12:00:00+00:00"
    return EditCommand("1", moment, "USER.md", "user", "cli", action), action


def new_line(dice: random.Random, who: str, number: int) -> str:
    words = " ".join(dice.sample(WORDS, 4))
    return f"- {who} {number} {words}"


def edited(lines: list[str], dice: random.Random, who: str) -> list[str]:
    """Lines after one to three changes of a person."""
    lines = list(lines)
    for number in range(dice.randint(1, 3)):
        places = [i for i, line in enumerate(lines) if line and line[0] != "#"]
        if not places or dice.random() < 0.5:
            lines.insert(dice.randint(1, len(lines)), new_line(dice, who, number))
        elif dice.random() < 0.5:
            lines[dice.choice(places)] += f" {who}{number}"
        else:
            del lines[dice.choice(places)]
    return lines


def first_note(dice: random.Random) -> list[str]:
    lines = ["# Me", ""]
    for heading in HEADINGS:
        items = [f"- {heading[3:]} {new_line(dice, 'x', i)[2:]}" for i in range(3)]
        lines += [heading, "", *items, ""]
    return lines


def counted(lines: list[str]) -> Counter[str]:
    return Counter(line.rstrip("\r") for line in lines if line.strip())


@pytest.mark.parametrize("seed", range(cases(2000) // 50))
def test_each_line_of_both_is_kept_once_or_the_save_is_refused(seed: int) -> None:
    refused = 0
    for number in range(50):
        dice = random.Random(seed * 50 + number)
        end = dice.choice(ENDS)
        first = first_note(dice)
        mine = edited(first, dice, "mine")
        theirs = edited(first, dice, "theirs")
        base, text, disk = (end.join(lines).encode() for lines in (first, mine, theirs))
        try:
            plan = plan_save(*command(text, base), disk)
        except SaveConflict:
            refused += 1
            continue
        assert plan.after is not None
        after = counted(plan.after.decode().split("\n"))
        new = (counted(mine) - counted(first)) | (counted(theirs) - counted(first))
        both = counted(mine) & counted(theirs)
        gone = counted(first) - both - new
        assert not (new | both) - after, (seed, number)
        assert not [line for line in gone if line in after], (seed, number)
        assert max(after.values()) == 1, (seed, number)
    assert refused < 25
