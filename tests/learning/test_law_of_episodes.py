"""Each longer conversation has one episode, however often it ends, goes on or is cut off."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.effort import cases
from vault_memory import VaultMemory
from vault_memory.learning.steps import STEPS

SCOPE = "user:ann"
FOLDER = "Users/ann/memories/sessions"
BEGIN = datetime(2026, 5, 25, 8, tzinfo=UTC)
SESSIONS = ("tea", "walk", "bell")
TEXTS = (
    "Could you look up the wind for the crossing to the {} on Saturday, please?",
    "We decided to take the morning ferry to the {}, since the later one is full.",
    "The tent stays at home this time. Which hotel near the {} takes dogs in July?",
    "We agreed to paint the bench beside the {} with what is left of the green colour.",
)
KEY = re.compile(r"- \[episode\] .*session:(\w+)")


class Killed(BaseException):
    """Ends a night as if its process had ended."""


class Life:
    """Conversations of one person over three days, and their nights."""

    def __init__(self, folder: Path, seed: int) -> None:
        (folder / "vault/Users").mkdir(parents=True)
        self.chance = random.Random(seed)
        self.vault = folder / "vault"
        self.now = BEGIN
        self.turns: Counter[str] = Counter()
        environment = {
            "VAULT_MEMORY_STATE": str(folder / "state"),
            "VAULT_MEMORY_EMBEDDING_KIND": "off",
            "VAULT_MEMORY_SLEEP_CYCLE_ZONE": "UTC",
        }
        self.memory = VaultMemory.open(self.vault, environment=environment)

    def say(self, session: str) -> None:
        text = self.chance.choice(TEXTS).format(session)
        self.memory.record_turn(session=session, role="user", user="ann", text=text, now=self.now)
        self.turns[session] += 1

    def end(self, session: str) -> None:
        for _ in range(self.chance.randint(1, 2)):
            self.memory.end_session(session, user="ann", now=self.now)

    def sleep(self, session: str) -> None:
        self.memory.sleep(scopes=[SCOPE], now=self.now)

    def be_killed(self, session: str) -> None:
        step = self.chance.choice(STEPS).__name__

        def kill(_scope: str, done: str) -> None:
            if done == step:
                raise Killed

        try:
            self.memory.sleep(scopes=[SCOPE], now=self.now, after=kill)
        except Killed:
            self.memory.sleep(scopes=[SCOPE], now=self.now)

    def notes(self) -> list[Path]:
        return sorted((self.vault / FOLDER).glob("*.md"))

    def episodes(self) -> Counter[str]:
        """The number of episodes by the key of their conversation."""
        return Counter(key for note in self.notes() for key in KEY.findall(note.read_text()))


@pytest.fixture(params=range(cases(16)))
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    life = Life(tmp_path, request.param)
    with life.memory:
        for _ in range(24):
            # An episode covers three days at most.
            life.now += timedelta(minutes=life.chance.randint(5, 150))
            actions = [life.say] * 5 + [life.end, life.sleep, life.be_killed]
            life.chance.choice(actions)(life.chance.choice(SESSIONS))
        life.now += timedelta(hours=8)
        life.memory.sleep(scopes=[SCOPE], now=life.now)
        yield life


@pytest.mark.sampled
def test_each_longer_conversation_has_one_episode(life: Life) -> None:
    # Fault: a short talk, or the same talk twice, would crowd the first turn of the next one.
    longer = [session for session, count in life.turns.items() if count >= 3]
    episodes = life.episodes()
    assert set(episodes.values()) <= {1}
    assert len(episodes) == len(longer)


@pytest.mark.sampled
def test_further_nights_and_ends_change_no_episode(life: Life) -> None:
    before = [note.read_text() for note in life.notes()]
    for session in SESSIONS:
        life.end(session)
        life.sleep(session)
        life.be_killed(session)
    assert [note.read_text() for note in life.notes()] == before


@pytest.mark.sampled
def test_an_episode_that_a_person_edited_stays_as_it_is(life: Life) -> None:
    edited = {}
    for note in life.notes():
        text = note.read_text().replace("[episode] ", "[episode] In my words: ")
        note.write_text(text)
        edited[note] = text
    assert edited
    for session in SESSIONS:
        life.now += timedelta(minutes=5)
        life.say(session)
        life.be_killed(session)
    life.now += timedelta(hours=8)
    life.sleep("tea")
    for note, text in edited.items():
        for line in text.splitlines():
            assert line in note.read_text().splitlines()
    assert set(life.episodes().values()) == {1}
    audits = [path.read_text() for path in (life.vault / FOLDER).glob("*.jsonl")]
    # The night does not even try to replace it.
    assert '"match":"[episode] In my words' not in "".join(audits)
