"""What learning costs: a night by rules, and the end of a conversation."""

import shutil
import statistics
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

from benchmarks.cost import cpu_seconds
from benchmarks.place import Place
from benchmarks.table import Row
from vault_memory.api.vault_memory import VaultMemory

TURNS = 2_000
BEFORE_SECONDS = 1.6
"""The same night before the write policy, beside one of 1.7 s, on two busy processors (load 9)"""
CONVERSATION = 100
END_MS = 60.0
ROUNDS = 5
NOW = datetime(2026, 5, 25, 9, tzinfo=UTC)
TEXTS = (
    "The lamp was trimmed at nine, and number {} of the spare wicks is in the blue tin.",
    "I bought {} metres of rope for the small boat.",
    "I love the song with the number {}.",
    "What does the tide table say about day {}?",
    "Remember that locker {} is empty.",
    "ok",
    "Thanks, that is all about number {} for now.",
    "I hate myself on page {}.",
    "We sailed past buoy {} and saw two seals.",
    "From now on, give me report {} in the morning.",
)


def rows(place: Place) -> Iterator[Row]:
    """Yields two rows, in CPU time."""
    yield from _night(place)
    yield from _conversation(place)


def _night(place: Place) -> Iterator[Row]:
    vault = place.root / "night"
    vault.mkdir()
    with place.open(vault) as memory:
        for number in range(TURNS):
            _record(memory, number, f"s{number // 50}")
    seconds = []
    for number in range(3):
        copy = place.root / "night-of" / str(number) / "vault"
        shutil.copytree(vault, copy, ignore=shutil.ignore_patterns(".vault-memory*"))
        with place.open(copy) as memory:
            seconds.append(cpu_seconds(partial(_sleep, memory)))
    ours = statistics.median(seconds)
    yield Row(
        f"night of {TURNS:,} turns, by rules",
        "–",
        f"{BEFORE_SECONDS} CPU s: before policy and episodes, measured once",
        f"{ours:.2f} CPU s",
        f"≤ {2 * BEFORE_SECONDS:.2f} CPU s",
        ours <= 2 * BEFORE_SECONDS,
    )


def _sleep(memory: VaultMemory) -> None:
    slept = memory.sleep(scopes=["user:alma"], now=NOW + timedelta(days=1))
    if slept.scopes[0]["state"] not in ("done", "partial"):
        raise SystemExit(f"error: the night ended {slept.scopes[0]['state']}")


def _conversation(place: Place) -> Iterator[Row]:
    vault = place.root / "conversation"
    vault.mkdir()
    took = []
    with place.open(vault) as memory:
        for conversation in range(ROUNDS):
            first = CONVERSATION * conversation
            for number in range(first, first + CONVERSATION):
                _record(memory, number, f"c{conversation}")
            moment = NOW + timedelta(seconds=first + CONVERSATION)
            took.append(
                1000 * cpu_seconds(partial(memory.end_session, f"c{conversation}", now=moment))
            )
    ours = statistics.median(took)
    yield Row(
        f"`end-session` of {CONVERSATION} turns, in process",
        "–",
        "–",
        f"{ours:.0f} CPU ms",
        f"≤ {END_MS:.0f} CPU ms",
        ours <= END_MS,
    )


def _record(memory: VaultMemory, number: int, session: str) -> None:
    memory.record_turn(
        session=session,
        role="user",
        user="alma",
        text=TEXTS[number % len(TEXTS)].format(number),
        now=NOW + timedelta(seconds=number),
    )
