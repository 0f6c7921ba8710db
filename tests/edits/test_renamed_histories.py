"""A history with renames says the same as the same history without them.

Two vaults live through one random history: ops of a bot and of a person, saves from an editor, undo,
two devices, restarts. In one of them notes are renamed in between, in every way that programs have.
At the end both have the same texts, the same log, and the same owners of each line.
"""

import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from tests.edits.conftest import Desk
from tests.effort import cases
from vault_memory.errors import VaultMemoryError
from vault_memory.markdown.document import parse
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.blame import bots_lines
from vault_memory.rules.edits.ownership import replay

HISTORIES = 200
STEPS = 14
NOTES = ("errands", "boats", "garden")
WORDS = {
    "errands": "tea bread salt soap oil rice".split(),
    "boats": "sloop ketch yawl cutter canoe punt".split(),
    "garden": "fern moss ivy rose sage mint".split(),
}
FOLDERS = ("memory", "memory/2026", "memory/old things")
SOURCES = ("tool", "tool", "nightly", "cli")


@dataclass
class World(Desk):
    """A vault whose clock moves ten minutes with each step, so that no save counts as just seen."""

    paths: dict[str, str] = field(default_factory=dict)
    """Present path of each note, by its first name"""
    ids: list[str] = field(default_factory=list)
    """All records of commands, the oldest first"""
    answers: list[object] = field(default_factory=list)
    ticks: int = 0
    devices: tuple[Path, ...] = ()

    @property
    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(minutes=10 * self.ticks)

    def path(self, note: str) -> Path:
        return self.vault / self.paths[note]

    def ask(self, call: Callable[[], Any]) -> None:
        """Carries out a command, and notes how it ended."""
        try:
            edit = call()
        except VaultMemoryError as error:
            self.answers.append(type(error).__name__)
            return
        if edit.audit_id:
            self.ids.append(edit.audit_id)
        self.answers.append(
            (
                [(dict(op.op), op.outcome) for op in edit.applied],
                [op.reason for op in edit.rejected],
                [dict(op.op) for op in edit.proposed],
                [op.reason for op in edit.pending],
            )
        )

    def use_device(self, number: int) -> None:
        """The other device goes on, and looks at what is there."""
        self.close()
        self.state = self.devices[number]
        look(self)


# --- What happens in both vaults ------------------------------------------------------------------


def bot_or_person_op(rng: random.Random, note: str) -> Callable[[World], None]:
    source = rng.choice(SOURCES)
    word, other = rng.choice(WORDS[note][:3]), rng.choice(WORDS[note])
    op = rng.choice(
        (
            {"op": "append", "heading": "List", "line": f"some {word}"},
            {"op": "append", "heading": "List", "line": f"more {word}"},
            {"op": "remove", "heading": "List", "match": f"plain {word}"},
            {"op": "remove", "heading": "List", "match": f"some {word}"},
            {"op": "replace", "heading": "List", "match": f"some {word}", "line": f"some {other}"},
        )
    )
    return lambda world: world.ask(lambda: world.do(op, note=world.paths[note], source=source))


def persons_save(rng: random.Random, note: str) -> Callable[[World], None]:
    """A line is added, reworded or deleted, in place or by a new file."""
    kind = rng.choice(("add", "reword", "delete"))
    word, number = rng.choice(WORDS[note]), rng.randrange(100)
    in_place = rng.random() < 0.5

    def save(world: World) -> None:
        text = changed(world.path(note).read_text(), kind, word, number)
        if in_place:
            world.path(note).write_text(text)
        else:
            world.save(text, world.paths[note])

    return save


def changed(text: str, kind: str, word: str, number: int) -> str:
    lines = text.splitlines(keepends=True)
    items = [index for index, line in enumerate(lines) if line.startswith("- ")]
    if kind == "add" or len(items) < 6:
        return text + f"- {word} by hand\n"
    index = items[number % len(items)]
    lines[index : index + 1] = [] if kind == "delete" else [f"- {word} again\n"]
    return "".join(lines)


def undo(rng: random.Random, note: str) -> Callable[[World], None]:
    number = rng.randrange(1000)

    def run(world: World) -> None:
        if world.ids:
            chosen = world.ids[number % len(world.ids)]
            # As each call does that looks back.
            if world.curator.trail.without_note():
                world.curator.follow_renames(world.now)
            world.ask(lambda: world.undo(chosen))

    return run


def daemon_looks(rng: random.Random, note: str) -> Callable[[World], None]:
    """A daemon stores what people saved."""

    return look


def look(world: World) -> None:
    world.curator.follow_renames(world.now)
    notes = [world.curator.there(path) for path in world.paths.values()]
    world.curator.keep([each for each in notes if each], world.now)


def restart(rng: random.Random, note: str) -> Callable[[World], None]:
    return lambda world: world.close()


def other_device(rng: random.Random, note: str) -> Callable[[World], None]:
    number = rng.randrange(2)
    return lambda world: world.use_device(number)


STEPS_OF_BOTH = (
    *(bot_or_person_op,) * 7,
    *(persons_save,) * 2,
    *(undo,) * 2,
    daemon_looks,
    restart,
    other_device,
)


# --- What happens in one vault only ---------------------------------------------------------------

Rename = Callable[[random.Random, "World", str], None]


def seen_first(rename: Rename) -> Rename:
    """Lets a program look before: this rename moves audit files, too, and has to find them beside their notes."""

    @wraps(rename)
    def run(rng: random.Random, world: World, note: str) -> None:
        world.curator.follow_renames(world.now)
        rename(rng, world, note)

    return run


def free_path(rng: random.Random, world: World) -> str:
    return f"{rng.choice(FOLDERS)}/{rng.choice('klmnop')}{world.ticks}.md"


def put(world: World, note: str, new: str, *, copied: bool = False) -> None:
    old = world.path(note)
    target = world.vault / new
    target.parent.mkdir(parents=True, exist_ok=True)
    if copied:
        shutil.copyfile(old, target)
        old.unlink()
    else:
        old.rename(target)
    world.paths[note] = new


def by_hand(rng: random.Random, world: World, note: str) -> None:
    put(world, note, free_path(rng, world))


def as_another_file(rng: random.Random, world: World, note: str) -> None:
    put(world, note, free_path(rng, world), copied=True)


def other_case(rng: random.Random, world: World, note: str) -> None:
    folder, _, name = world.paths[note].rpartition("/")
    put(world, note, f"{folder}/{name.removesuffix('.md').swapcase()}.md")


@seen_first
def with_the_audit(rng: random.Random, world: World, note: str) -> None:
    old, new = world.path(note), free_path(rng, world)
    put(world, note, new)
    for audit in old.parent.glob(f"{old.name}.audit.*jsonl"):
        audit.rename(str(world.path(note)) + audit.name.removeprefix(old.name))


@seen_first
def whole_folder(rng: random.Random, world: World, note: str) -> None:
    """All files of the note's folder go to a new one."""
    folder = world.paths[note].rpartition("/")[0]
    if folder == "memory":
        return
    new = f"memory/moved {world.ticks}"
    (world.vault / folder).rename(world.vault / new)
    for name, path in world.paths.items():
        if path.rpartition("/")[0] == folder:
            world.paths[name] = new + path.removeprefix(folder)


def two_names_swapped(rng: random.Random, world: World, note: str) -> None:
    other = rng.choice([name for name in world.paths if name != note])
    look(world)
    between = world.vault / "memory/between.tmp"
    mine, theirs = world.path(note), world.path(other)
    mine.rename(between)
    theirs.rename(mine)
    between.rename(theirs)
    world.paths[note], world.paths[other] = world.paths[other], world.paths[note]
    # The next look sees it. A further rename of them before that cannot be told apart.
    world.curator.follow_renames(world.now)


def name_used_again(rng: random.Random, world: World, note: str) -> None:
    """The note goes away and comes back to its first name, with a look in between."""
    first = world.paths[note]
    put(world, note, free_path(rng, world))
    world.curator.follow_renames(world.now)
    put(world, note, first)
    world.curator.follow_renames(world.now)


@seen_first
def audit_comes_later(rng: random.Random, world: World, note: str) -> None:
    """A sync program brings the note before its audit."""
    old = world.path(note)
    audits = list(old.parent.glob(f"{old.name}.audit.*jsonl"))
    aside = [audit.rename(audit.with_name(f"{audit.name}.part")) for audit in audits]
    put(world, note, free_path(rng, world), copied=True)
    world.curator.follow_renames(world.now)
    for part, audit in zip(aside, audits, strict=True):
        part.rename(audit)


RENAMES = (
    by_hand,
    as_another_file,
    other_case,
    with_the_audit,
    whole_folder,
    two_names_swapped,
    name_used_again,
    audit_comes_later,
)


# --- The comparison -------------------------------------------------------------------------------


def log_of(world: World, note: str) -> list[object]:
    """The records of a note, without what differs in any two vaults: names, ids and times."""
    return [
        (
            record.source,
            record.before,
            record.after,
            [(dict(op.op), op.outcome, op.removed) for op in record.applied],
            [op.reason for op in record.rejected],
            [(dict(proposal.op), proposal.state) for proposal in record.proposed],
            record.diff.split(b"\n")[2:],
            world.ids.index(record.undoes) if record.undoes else None,
        )
        for record in records_of(world, note)
    ]


def records_of(world: World, note: str) -> tuple[Record, ...]:
    return world.curator.trail.of(world.paths[note])


def owners_of(world: World, note: str) -> tuple[object, ...]:
    records = records_of(world, note)
    owned = replay(records)
    raw = world.path(note).read_bytes()
    items = [(item.heading, item.text) for item in owned.bots_items(parse(raw))]
    return owned.written, owned.buried, items, bots_lines(records)


def state_of(world: World) -> dict[str, object]:
    world.curator.follow_renames(world.now)
    return {
        note: (world.path(note).read_text(), log_of(world, note), owners_of(world, note))
        for note in NOTES
    }


def make_world(folder: Path) -> World:
    vault = folder / "vault"
    devices = (folder / "state", folder / "state of another device")
    for made in (vault, *devices):
        made.mkdir(parents=True)
    world = World(vault, devices[0], devices=devices)
    for note in NOTES:
        world.paths[note] = f"memory/2026/{note}.md"
        lines = "".join(f"- plain {word}\n" for word in WORDS[note])
        world.save(f"# {note}\n\n## List\n\n{lines}", world.paths[note])
    return world


@pytest.fixture
def worlds(tmp_path: Path) -> Iterator[Callable[[], tuple[World, World]]]:
    made: list[World] = []

    def make() -> tuple[World, World]:
        folder = tmp_path / str(len(made))
        pair = make_world(folder / "renamed"), make_world(folder / "plain")
        made.extend(pair)
        return pair

    yield make
    for world in made:
        world.close()


def live(seed: int, renamed: World, plain: World) -> list[str]:
    """Lets both vaults live through one history. Returns what happened, to be read in a failure."""
    rng = random.Random(seed)
    for world in (renamed, plain):
        for number in reversed(range(len(world.devices))):
            world.use_device(number)
    story = []
    for tick in range(STEPS):
        note = rng.choice(NOTES)
        renamed.ticks = plain.ticks = tick
        if rng.random() < 0.35:
            rename = rng.choice(RENAMES)
            rename(rng, renamed, note)
            story.append(f"{tick} {rename.__name__} {note} -> {renamed.paths[note]}")
        kind = rng.choice(STEPS_OF_BOTH)
        step = kind(rng, note)
        step(renamed)
        step(plain)
        story.append(f"{tick} {kind.__name__} {note}: {renamed.answers[-1:]}")
        if renamed.answers != plain.answers:
            story.append(f"without renames: {plain.answers[-1:]}")
            break
    renamed.ticks = plain.ticks = STEPS
    return story


@pytest.mark.sampled
def test_a_history_with_renames_has_the_log_and_the_owners_of_one_without(
    worlds: Callable[[], tuple[World, World]],
):
    for seed in range(cases(HISTORIES)):
        renamed, plain = worlds()
        story = live(seed, renamed, plain)
        told = f"seed {seed}\n" + "\n".join(story)
        assert renamed.answers == plain.answers, told
        assert state_of(renamed) == state_of(plain), told
        assert renamed.curator.renames.unmatched() == [], told
        renamed.close()
        plain.close()
