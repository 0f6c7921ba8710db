"""Nights of many people, to most of whom nothing was said: the vault is walked once, not once for each."""

import json
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.outside import Outside, until
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.learning.calls import LearningCalls
from vault_memory.service import background_turns
from vault_memory.service.turn_lane import TurnJob, TurnLane

PEOPLE = 200
TURN = {
    "ts": "2026-11-21T20:00:00+00:00",
    "session": "s",
    "role": "user",
    "channel": "",
    "origin": "owner",
}


class Listings:
    """Counts the folders that each thread lists."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.of = Counter[str]()
        self._scandir = os.scandir
        monkeypatch.setattr(os, "scandir", self._listed)

    def _listed(self, *arguments: Any) -> Any:
        self.of[threading.current_thread().name] += 1
        return self._scandir(*arguments)


@pytest.fixture
def people(outside: Outside) -> Path:
    for number in range(PEOPLE):
        outside.write(f"Users/person{number}/memories/2026-01-01.md", "- an old line\n")
    return outside.vault


def folders_of(vault: Path) -> int:
    return 1 + sum(path.is_dir() for path in vault.rglob("*"))


@pytest.mark.sampled
def test_a_night_without_new_turns_walks_the_vault_once(
    outside: Outside, people: Path, monkeypatch: pytest.MonkeyPatch
):
    listings = Listings(monkeypatch)
    with VaultMemory.open(people, environment=outside.environment) as memory:
        memory.index()
        listings.of.clear()
        slept = memory.sleep()

    assert len(slept.scopes) == PEOPLE
    assert {one["state"] for one in slept.scopes} == {"quiet"}
    walks = listings.of.total() / folders_of(people)
    assert walks < 3, "one walk for all nights, and one to bring the index up to date"


def test_only_a_scope_where_something_was_said_or_changed_has_a_first_night(outside: Outside):
    for person in ("ann", "bob", "cem"):
        outside.write(f"Users/{person}/memories/2026-01-01.md", "- an old line\n")

    def scopes_of_night() -> list[str]:
        with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
            memory.index()
            waiting = memory.status()["night"]["due"]
            slept = memory.sleep(due=True)
        scopes = [outcome["scope"] for outcome in slept.scopes]
        assert scopes == waiting
        return scopes

    assert scopes_of_night() == []
    outside.write("Users/ann/memories/2026-01-01.md", "- an old line\n- a new line\n")
    said = TURN | {"id": "0123456789abcdef", "user": "bob", "text": "I moved", "source": "talk"}
    outside.write("Users/bob/transcripts/2026-11-21.jsonl", json.dumps(said) + "\n")
    assert scopes_of_night() == ["user:ann", "user:bob"]
    assert scopes_of_night() == []


@pytest.mark.sampled
def test_a_daemon_lists_no_folder_until_a_night_begins_or_a_new_person_speaks(
    outside: Outside, people: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(background_turns, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(background_turns, "ENDED_SECONDS", 0.02)
    listings = Listings(monkeypatch)
    with VaultMemory.open(people, environment=outside.environment) as memory:
        memory.index()
        looks = Counter[str]()
        next_night = LearningCalls.next_night
        monkeypatch.setattr(
            LearningCalls,
            "next_night",
            lambda *given: (looks.update(["none due"]), next_night(*given))[1],
        )
        fork, lane = memory.fork(), TurnLane("nights", 1)
        watched = background_turns.NightTurns(fork)
        lane.start()
        lane.plan(TurnJob(watched.night_turn))
        try:
            until(lambda: looks["none due"])
            before, turns = listings.of["nights 0"], _turns(watched)
            until(lambda: _turns(watched) > turns + 1.0)
            assert listings.of["nights 0"] == before

            said = TURN | {
                "id": "0123456789abcdef",
                "user": "zoe",
                "text": "I moved to Lisbon",
                "source": "talk",
            }
            outside.write("Users/zoe/transcripts/2026-11-21.jsonl", json.dumps(said) + "\n")
            memory.index()
            until(lambda: looks["none due"] == 2)
            assert listings.of["nights 0"] > before
        finally:
            lane.stop()
            assert lane.join(30)
            fork.close()


def _turns(watched: background_turns.NightTurns) -> float:
    """How far the looks have come: a look that finds nothing puts the next one off."""
    return watched._next_night
