"""The memory block for a prompt, in process: one person with 10,000 chunks, a channel, facts, rules and an audit.

The index is up to date, as in the daemon; the notes are read anew for each prompt, and nothing of a block is kept.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from benchmarks import vaults
from benchmarks.place import Place
from benchmarks.searching import _texts, floor
from benchmarks.table import Row
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.sections import LifecycleSettings
from vault_memory.rules.learning import fading

UNITS = (600, 10_000, 600, 600, 600, 600, 600, 600, 600)
"""Chunks of eight persons and a channel"""
PERSON = 1
QUESTIONS = 60
REACH = 25.0
"""CPU milliseconds"""
MOST_FADING = 1.15
"""Of the CPU time of a block without fading"""
NOW = datetime(2026, 5, 25, 9, tzinfo=UTC)


def rows(place: Place) -> Iterator[Row]:
    """The block as a bot gets it, and what its parts are without a prompt."""
    vault = place.root / "prompted"
    vaults.write_units(vault, UNITS)
    _furnish(vault, vaults.USERS[PERSON])
    with place.open(vault) as memory:
        memory.index(embed=False)
        scopes = [f"user:{vaults.USERS[PERSON]}", "channel:harbour"]
        texts = _texts(memory.vault.indexing.index(), scopes)
        asked = [one for one in vaults.questions(texts, QUESTIONS) if _recalls(memory, one, scopes)]
        bare = _median(lambda question: floor(memory.vault.indexing.index(), question), asked[:20])
        peer = "none gives a block with places"
        for figure, prompts in (("for a prompt", asked), ("without a prompt", [""] * 10)):
            ours = _median(lambda prompt: _block(memory, prompt, scopes), prompts)
            yield Row(
                f"memory block {figure}, 10,000 chunks",
                peer,
                f"{bare:.1f} CPU ms: one OR over all",
                f"{ours:.1f} CPU ms",
                f"≤ {REACH:.0f} CPU ms",
                ours <= REACH,
            )
        _let_fade(vault, vaults.USERS[PERSON])
        memory.index(embed=False)
        yield from _fading_rows(memory, asked, scopes)


def _fading_rows(memory: VaultMemory, prompts: Sequence[str], scopes: list[str]) -> Iterator[Row]:
    """What fading costs a block, and what the hot cache saves a question."""
    config = memory.vault.config
    off = config._replace(lifecycle=LifecycleSettings(enabled=False))
    took: dict[bool, list[float]] = {True: [], False: []}
    for number, prompt in enumerate([prompts[0], *prompts, *prompts]):
        # By turns, so that both meet the same load. The first one of a prompt reads its notes,
        # so each is the first one of every second prompt.
        for fades in (True, False) if number % 2 else (False, True):
            memory.vault.config = config if fades else off
            block = partial(_block, memory, prompt, scopes)
            took[fades].append(_milliseconds(block))
    memory.vault.config = config
    faded, plain = (statistics.median(took[fades][1:]) for fades in (True, False))
    ratio = faded / plain
    yield Row(
        "memory block with 4,000 fading items, against fading off",
        "–",
        f"{plain:.1f} CPU ms: fading off",
        f"{faded:.1f} CPU ms: {ratio:.2f} ×",
        f"≤ {MOST_FADING:.2f} ×",
        ratio <= MOST_FADING,
    )

    def ask(prompt: str) -> float:
        return _milliseconds(lambda: memory.search(prompt, scopes=scopes, now=NOW, refresh=False))

    pairs = []
    for prompt in prompts:
        memory.searcher._cache = None
        pairs.append((ask(prompt), ask(prompt)))
    first, again = (statistics.median(column) for column in zip(*pairs, strict=True))
    yield Row(
        "question asked again, against the first time",
        "–",
        f"{first:.2f} CPU ms: the first time",
        f"{again:.2f} CPU ms: 1/{first / again:.0f}",
        "≤ 1/10",
        again <= first / 10,
    )


def _milliseconds(act: Callable[[], object]) -> float:
    started = time.thread_time()
    act()
    return 1000 * (time.thread_time() - started)


def _block(memory: VaultMemory, prompt: str, scopes: list[str]) -> None:
    # The hot cache would answer: `_recalls` has asked the same.
    memory.searcher._cache = None
    block = memory.context(prompt, scopes=scopes, private=True, now=NOW, refresh=False)
    kinds = [part.kind for part in block.parts]
    wanted = ["user", "facts", "channel", "rules", "dated", "dated", "reflection"]
    if [kind for kind in kinds if kind != "recalled"] != wanted:
        raise SystemExit(f"error: the block has {kinds} for {prompt!r}")


def _recalls(memory: VaultMemory, prompt: str, scopes: list[str]) -> bool:
    """Whether the vault has something to say to it, as to nearly all of them."""
    return any(
        part.kind == "recalled"
        for part in memory.context(prompt, scopes=scopes, private=True, now=NOW).parts
    )


def _median(ask: Callable[[str], object], questions: Sequence[str]) -> float:
    ask(questions[0])
    took = []
    for question in questions:
        started = time.thread_time()
        ask(question)
        took.append(1000 * (time.thread_time() - started))
    return statistics.median(took)


def _furnish(vault: Path, person: str) -> None:
    """What stands in every prompt of a person, and what the nights wrote down about each note."""
    words = vaults.Words(5)
    config = vault / "Users" / person / "bot" / "config"
    profile = "".join(
        f"\n## {words.text(6, 20)}\n\n" + vaults._bullets(words, 900) for _ in range(6)
    )
    facts = "".join(
        f"\n## {person if number == 0 else words.text(6, 14)}\n\n"
        + "".join(f"- likes_{at}: {words.text(8, 30)}\n" for at in range(20 if number == 0 else 8))
        for number in range(40)
    )
    for path, text in (
        (config / "USER.md", f"# {person}\n{profile}"),
        (config / "FACTS.md", facts),
        (config / "RULES.md", "".join(f"- {words.text(40, 120)}\n" for _ in range(20))),
        (vault / "Channels" / "harbour" / "CHANNEL.md", profile),
        (vault / "Users" / person / "memories" / "2026-05-24.md", profile),
        (vault / "Users" / person / "memories" / "2026-05-23.md", profile),
        (vault / "Users" / person / "memories" / "reflections" / "2026-W20.md", profile),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for note in [*vault.glob(f"Users/{person}/memories/*.md")]:
        _record(note, note.relative_to(vault).as_posix(), person)


def _let_fade(vault: Path, person: str) -> None:
    """Notes of 400 days with ten items each that the bot wrote, of all types."""
    words = vaults.Words(7)
    types = fading.TYPES
    for number in range(400):
        day = (NOW - timedelta(days=number + 10)).date()
        path = f"Users/{person}/memories/{day}-nightly.md"
        items = [f"[{types[(number + at) % len(types)]}] {words.text(20, 90)}" for at in range(10)]
        lines = "".join(f"- {item}\n" for item in items)
        (vault / path).write_text(f"# Day\n\n## Learned\n\n{lines}", encoding="utf-8")
        _record(vault / path, path, person)


def _record(note: Path, path: str, person: str) -> None:
    """Ten nights, each with an item of the note."""
    items = [
        line[2:] for line in note.read_text(encoding="utf-8").splitlines() if line.startswith("- ")
    ][:10]
    lines = []
    for at, item in enumerate(items):
        done = {"op": {"op": "append", "heading": "Learned", "line": item}, "outcome": "applied"}
        ts = (NOW - timedelta(days=100 - at)).isoformat()
        record = {
            "id": f"{at:06}",
            "ts": ts,
            "user_id": person,
            "source": "nightly",
            "note": path,
            "applied": [done],
        }
        lines.append(json.dumps(record) + "\n")
    note.with_name(note.name + ".audit.jsonl").write_text("".join(lines), encoding="utf-8")
