"""Each night the people of the fixed set say the same again, in other words around it: it is kept once."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from tests.effort import FULL
from tests.in_memory import folder_in_memory
from tests.learning.turns.measuring import LANGUAGES, NOON, FixedTurn, Line, lines_of, turns_of
from vault_memory.api.vault_memory import VaultMemory

NIGHTS = 30 if FULL else 6
MOST_REPEATS = 0.03
"""Share of the lines that say again what a line of the same kind of note says"""
SAID_AGAIN = {
    "en": ("{}", "As I said, {}", "By the way, {}", "Again: {}", "Like I told you, {}"),
    "de": ("{}", "Wie gesagt, {}", "Übrigens, {}", "Noch einmal: {}", "Ach ja, {}"),
    "es": ("{}", "Como ya dije, {}", "Por cierto, {}", "Repito: {}", "Además, {}"),
    "fr": ("{}", "Comme je l'ai dit, {}", "Au fait, {}", "Pour rappel, {}", "Bon, {}"),
    "ru": ("{}", "Как я уже сказал, {}", "Кстати, {}", "Повторяю: {}", "Ну, {}"),
    "zh": ("{}", "我说过，{}", "对了，{}", "再说一遍，{}", "你知道的，{}"),
}
LAST_FRIDAY = "上周五"
"""In another week it is another day, and the sentence another statement"""
KEPT = [
    turn
    for language in LANGUAGES
    for turn in turns_of(language)
    if not turn.reason and LAST_FRIDAY not in turn.text
]


def variation(turn: FixedTurn, night: int) -> str:
    forms = SAID_AGAIN[turn.id[:2]]
    return forms[night % len(forms)].format(turn.text)


def lines_after_nights(turns: Sequence[FixedTurn], root: Path) -> dict[str, list[Line]]:
    environment = {
        **{name: value for name, value in os.environ.items() if "VAULT" not in name},
        "VAULT_MEMORY_STATE": str(root / "state"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
        "VAULT_MEMORY_BRAIN_KIND": "rules",
    }
    vault = root / "vault"
    vault.mkdir()
    with VaultMemory.open(vault, environment=environment) as memory:
        for night in range(NIGHTS):
            # Within one month: "last month" names another one in June.
            noon = NOON.replace(day=1) + timedelta(days=night)
            for turn in turns:
                session = f"{turn.id} {night}"
                memory.record_turn(
                    session=session,
                    role="user",
                    user=turn.id,
                    text=variation(turn, night),
                    now=noon,
                )
                evening = noon + timedelta(hours=1)
                memory.end_session(session, user=turn.id, now=evening)
            memory.sleep(now=noon + timedelta(hours=14))
    return {turn.id: list(lines_of(vault, turn.id)) for turn in turns}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(4 if FULL else 12, id="a part of the set"),
        # Thirty nights of so many people take half an hour.
        pytest.param(1, id="the whole set", marks=[pytest.mark.deep, pytest.mark.timeout(7200)]),
    ],
)
def again(request: pytest.FixtureRequest) -> list[FixedTurn]:
    """The statements that people say again each night."""
    return KEPT[:: request.param]


@pytest.fixture(scope="module")
def lines(again: list[FixedTurn]) -> Iterator[dict[str, list[Line]]]:
    with folder_in_memory() as folder:
        yield lines_after_nights(again, folder)


def kind_of(line: Line) -> str:
    return "memories" if "/memories/" in line.note else line.note.rpartition("/")[2]


def repeats_in(turn: FixedTurn, lines: Sequence[Line]) -> int:
    """Lines that say a statement which an earlier line of the same kind of note says."""
    repeats = 0
    said: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for line in lines:
        folded = line.text.casefold()
        statements = [
            (kind_of(line), entry.words)
            for entry in turn.keep
            if all(word.casefold() in folded for word in entry.words)
        ]
        repeats += bool(statements) and all(said[statement] for statement in statements)
        said.update(statements)
    return repeats


@pytest.mark.sampled
def test_after_many_nights_few_lines_say_the_same_again(
    again: list[FixedTurn], lines: dict[str, list[Line]]
) -> None:
    repeats = {turn.text: repeats_in(turn, lines[turn.id]) for turn in again}
    count = sum(map(len, lines.values()))

    assert count >= len(again) // 2
    assert sum(repeats.values()) <= MOST_REPEATS * count, repeats


def test_after_many_nights_each_rule_stands_once(
    again: list[FixedTurn], lines: dict[str, list[Line]]
) -> None:
    for turn in again:
        rules = [line for line in lines[turn.id] if "RULES" in line.note]

        assert len(rules) <= sum(entry.kind == "rule" for entry in turn.keep), rules
