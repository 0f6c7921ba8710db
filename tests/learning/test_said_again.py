"""What a person deleted comes back when the person says it later, and by no words from before."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.learning.test_law_of_deleted_lines import (
    FACTS,
    MINE,
    SAID,
    SCOPE,
    USER,
    open_vault,
    stands,
)
from vault_memory.api.vault_memory import VaultMemory

DELETED = datetime.now(UTC) - timedelta(hours=6)
"""The moment of each deletion, in the middle of the turns"""
FIRST = DELETED - timedelta(days=2)
BEFORE, AFTER = DELETED - timedelta(minutes=2), DELETED + timedelta(minutes=2)

HOME = ("I moved to Bergen.", "Bergen")
ALLERGY = ("I am allergic to walnuts.", "walnuts")
CHINESE = ("我住在卑尔根。", "卑尔根")
STATEMENTS = [HOME, ALLERGY, CHINESE]

Act = Callable[[VaultMemory, str], None]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    with open_vault(tmp_path, "laptop") as opened:
        yield opened


# ---- what the person does ------------------------------------------------------------------------


def say(memory: VaultMemory, text: str, now: datetime, **more: str) -> None:
    turn = {**SAID, "session": f"{now:%j %H %M}", **more}
    memory.record_turn(text=text, now=now, **turn)


def change(memory: VaultMemory, words: str, new: str) -> None:
    for note in (FACTS, USER):
        path = memory.root / note
        if path.exists() and words in path.read_text(encoding="utf-8"):
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [new if words in line else line for line in lines]
            path.write_text("".join(kept), encoding="utf-8")
            os.utime(path, (DELETED.timestamp(),) * 2)


def by_hand(memory: VaultMemory, words: str) -> None:
    change(memory, words, MINE)


def replaced_by_hand(memory: VaultMemory, words: str) -> None:
    change(memory, words, "- lives_in: Bath\n")


def by_hand_and_seen(memory: VaultMemory, words: str) -> None:
    by_hand(memory, words)
    op = {"op": "add_heading", "heading": "harbour", "lines": ["has: a crane"]}
    memory.apply(FACTS, [op], source="tool", now=DELETED)


def by_op(memory: VaultMemory, words: str) -> None:
    for note in (FACTS, USER):
        path = memory.root / note
        if path.exists() and words in path.read_text(encoding="utf-8"):
            [heading] = [
                line.removeprefix("## ")
                for line in path.read_text(encoding="utf-8").splitlines()
                if line.startswith("## ")
            ]
            op = {"op": "remove", "heading": heading, "match": words}
            memory.apply(note, [op], source="cli", now=DELETED)


DELETIONS = (by_hand, replaced_by_hand, by_hand_and_seen, by_op)


# ---- what the bot does ---------------------------------------------------------------------------


def at_stop(memory: VaultMemory, now: datetime) -> None:
    memory.end_session(f"{now:%j %H %M}", user="alice", now=now + timedelta(minutes=6))


def by_night(memory: VaultMemory, now: datetime) -> None:
    memory.sleep(scopes=SCOPE, now=now + timedelta(hours=5))


def learned(memory: VaultMemory, text: str, words: str) -> None:
    say(memory, text, FIRST)
    at_stop(memory, FIRST)
    assert stands(memory, words)


READERS = (at_stop, by_night)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("delete", DELETIONS)
@pytest.mark.parametrize(("text", "words"), STATEMENTS)
def test_a_fact_comes_back_by_later_words(
    memory: VaultMemory,
    text: str,
    words: str,
    delete: Act,
    read: Callable[[VaultMemory, datetime], None],
):
    learned(memory, text, words)
    delete(memory, words)
    assert stands(memory, words) == []

    say(memory, text, AFTER)
    read(memory, AFTER)

    assert "FACTS.md" in stands(memory, words)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("delete", DELETIONS)
@pytest.mark.parametrize(("text", "words"), STATEMENTS)
def test_a_fact_does_not_come_back_by_words_from_before(
    memory: VaultMemory,
    text: str,
    words: str,
    delete: Act,
    read: Callable[[VaultMemory, datetime], None],
):
    learned(memory, text, words)
    say(memory, text, BEFORE)
    delete(memory, words)

    read(memory, BEFORE if read is at_stop else AFTER)

    assert stands(memory, words) == []


@pytest.mark.parametrize("time", [0.0, 1.0])
def test_a_file_with_a_time_of_old_is_as_old_as_its_change(
    memory: VaultMemory, time: float
):
    text, words = HOME
    learned(memory, text, words)
    say(memory, text, AFTER)
    by_hand(memory, words)
    os.utime(memory.root / FACTS, (time, time))

    memory.sleep(scopes=SCOPE, now=datetime.now(UTC) + timedelta(minutes=1))

    assert stands(memory, words) == []


def test_later_words_hold_till_the_next_deletion(memory: VaultMemory):
    text, words = HOME
    learned(memory, text, words)
    by_hand(memory, words)
    say(memory, text, AFTER)
    at_stop(memory, AFTER)
    assert "FACTS.md" in stands(memory, words)

    path = memory.root / FACTS
    path.write_text(path.read_text().replace("lives_in: Bergen", "likes: tea"))
    memory.add_fact("alice", "lives_in", "Bergen", scope="user:alice", source="tool")
    assert stands(memory, words) == []

    later = datetime.now(UTC) + timedelta(hours=1)
    say(memory, text, later)
    at_stop(memory, later)
    assert "FACTS.md" in stands(memory, words)


@pytest.mark.parametrize(
    "others",
    [
        {"role": "assistant"},
        {"role": "tool"},
        {"origin": "email"},
        {"user": "bob"},
    ],
)
def test_later_words_of_others_bring_no_fact_back(
    memory: VaultMemory, others: dict[str, str]
):
    text, words = HOME
    learned(memory, text, words)
    by_hand(memory, words)

    say(memory, text, AFTER, **others)
    at_stop(memory, AFTER)
    by_night(memory, AFTER)

    assert stands(memory, words) == []


def test_a_tool_leaves_it_to_the_words_themselves(memory: VaultMemory):
    text, words = HOME
    learned(memory, text, words)
    by_hand(memory, words)
    say(memory, text, AFTER)

    memory.remember("Alice moved to Bergen", scope="user:alice", source="tool")
    memory.add_fact("alice", "lives_in", "Bergen", scope="user:alice", source="tool")
    assert stands(memory, words) == []

    at_stop(memory, AFTER)
    assert "FACTS.md" in stands(memory, words)
