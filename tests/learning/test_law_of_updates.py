"""However a fact changes, by turns, tools and hands, its newest value is the first answer, and no earlier one is current."""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.effort import costly
from tests.learning.quiet_vault import quiet_vault
from vault_memory import VaultMemory

FACTS = 30
NOON = datetime(2026, 5, 25, 12, tzinfo=UTC)
SYLLABLES = ("Ber", "lun", "dor", "mai", "ten", "vik", "sal", "pra", "nor", "gau")


@dataclass
class Home:
    """Where one person lives, as it changed."""

    user: str
    values: list[str] = field(default_factory=list)

    @property
    def scope(self) -> str:
        return f"user:{self.user}"

    @property
    def newest(self) -> str:
        return self.values[-1]


def town(number: int) -> str:
    """A name of its own, which no other one begins with."""
    first, second, third = (number // 10**place % 10 for place in range(3))
    return f"{SYLLABLES[first]}{SYLLABLES[second].lower()}{SYLLABLES[third].lower()}"


def by_a_turn(memory: VaultMemory, home: Home, place: str, now: datetime) -> None:
    verb = "moved to" if home.values else "live in"
    memory.record_turn(
        session=f"{home.user}-{len(home.values)}",
        role="user",
        user=home.user,
        text=f"I {verb} {place}.",
        now=now,
    )
    memory.end_session(f"{home.user}-{len(home.values)}", now=now)


def by_a_tool(memory: VaultMemory, home: Home, place: str, now: datetime) -> None:
    memory.add_fact(home.user, "lives_in", place, scope=home.scope, now=now)


def by_hand(memory: VaultMemory, home: Home, place: str, now: datetime) -> None:
    """The person puts the new value in the place of the old one, or adds a line."""
    page = memory.root / f"Users/{home.user}/bot/config/FACTS.md"
    line = f"- lives_in: {place}\n"
    if not page.exists():
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"## {home.user}\n\n{line}", encoding="utf-8")
    else:
        text = page.read_text(encoding="utf-8")
        current = [
            row
            for row in text.splitlines(keepends=True)
            if "lives_in" in row and not row.startswith("- ~~")
        ]
        page.write_text(text.replace(current[-1], line), encoding="utf-8")
    # The save has settled: an edit need not wait for it.
    os.utime(page, (0, 0))


def by_hand_below(memory: VaultMemory, home: Home, place: str, now: datetime) -> None:
    """The person writes the new value below the old one, which has no day, and strikes nothing."""
    page = memory.root / f"Users/{home.user}/bot/config/FACTS.md"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    # A value with a day holds longer than one without, wherever it stands.
    if "(since" in text or "~~" in text:
        by_hand(memory, home, place, now)
        return
    page.parent.mkdir(parents=True, exist_ok=True)
    heading = "" if text else f"## {home.user}\n\n"
    line = f"{heading}- lives_in: {place}\n"
    page.write_text(f"{text.rstrip()}\n{line}".lstrip(), encoding="utf-8")
    os.utime(page, (0, 0))
    memory.index(embed=False)


def places_on_page(memory: VaultMemory, home: Home) -> list[str]:
    """Earlier values that the person left on the page: who takes one out does not want it back."""
    page = memory.root / f"Users/{home.user}/bot/config/FACTS.md"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    earlier = set(home.values[:-1]) - {home.newest} if home.values else set()
    return sorted(place for place in earlier if f"lives_in: {place}" in text)


WAYS: tuple[Callable[[VaultMemory, Home, str, datetime], None], ...] = (
    by_a_turn,
    by_a_tool,
    by_hand,
    by_hand_below,
)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(costly(10)))
def test_the_newest_value_is_first_in_facts_context_and_search(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    homes = [Home(f"person{number:03}") for number in range(FACTS)]
    with quiet_vault(tmp_path) as memory:
        numbers = iter(range(1000))
        for round_ in range(5):
            now = NOON + timedelta(days=3 * round_)
            for home in homes:
                if round_ <= 1 or chance.random() < 0.5:
                    place = town(next(numbers))
                    earlier = places_on_page(memory, home)
                    # Some people move back.
                    if earlier and chance.random() < 0.25:
                        place = chance.choice(earlier)
                    chance.choice(WAYS)(memory, home, place, now)
                    home.values.append(place)
        memory.index(embed=False)
        later = NOON + timedelta(days=30)

        wrong = [home for home in homes if not is_right(memory, home, later)]

    assert [(home.user, home.values) for home in wrong] == []


def is_right(memory: VaultMemory, home: Home, now: datetime) -> bool:
    """Whether the newest value answers first at each of three doors."""
    scopes = [home.scope]
    current = [fact.object for fact in memory.facts(scopes=scopes, now=now)]
    question = f"Where does {home.user} live?"
    block = memory.context(question, scopes=scopes, now=now).text
    hits = memory.search(question, scopes=scopes, now=now).hits
    others = set(home.values) - {home.newest}
    earlier = [place for place in others if f"lives_in: {place}" in block]
    return (
        current == [home.newest]
        and home.newest in block
        and not earlier
        and home.newest in hits[0].text
    )
