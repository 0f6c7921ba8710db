"""Many writes, many savers, errors and deaths of the process, all by the roll of a seeded die: every line is there."""

import errno
import random
from collections.abc import Iterator

import pytest

from tests.simulated.files import Crash, SimulatedFiles
from tests.vault.write.templates import NOTE, OLD, TEMPLATES, begin
from tests.vault.write.world import World
from vault_memory.vault.write.journal import JournalUnavailable

WRITES = 5


class Savers:
    """People who save the note, each in one of the ways of editors, step by step between the calls of the writer."""

    def __init__(self, files: SimulatedFiles, dice: random.Random) -> None:
        self.files, self.dice = files, dice
        self.saved = 0
        self.steps: Iterator[None] = iter(())
        self.often = dice.choice((0.0, 0.01, 0.03, 0.1))

    def chance(self) -> None:
        if self.dice.random() < self.often:
            self.step()

    def step(self) -> None:
        """The next step of who is saving, or a new save."""
        if next(self.steps, self) is self and self.files.text(NOTE) is not None:
            self.saved += 1
            line = f"ann-{self.saved}\n".encode()
            ways = (self.by_rename, self.by_rename, self.in_place, self.as_vim, self.by_appending)
            self.steps = self.dice.choice(ways)(line)
            next(self.steps, None)

    def finish(self) -> None:
        for _ in self.steps:
            pass

    def by_rename(self, line: bytes) -> Iterator[None]:
        self.files.person_saves(NOTE, (self.files.text(NOTE) or b"") + line)
        yield

    def by_appending(self, line: bytes) -> Iterator[None]:
        number = self._opened()
        yield
        self._written(number, self.files.inodes[number].data + line)
        yield

    def in_place(self, line: bytes) -> Iterator[None]:
        number = self._opened()
        raw = self.files.inodes[number].data
        self.files.person_writes(number, b"")
        yield
        self.files.person_writes(number, raw[: raw.rfind(b"\n", 0, len(raw) // 2) + 1])
        yield
        self._written(number, raw + line)
        yield

    def as_vim(self, line: bytes) -> Iterator[None]:
        raw = self.files.text(NOTE) or b""
        self.files.person_removes(NOTE)
        number = self.files.person_saves(NOTE, b"")
        self.files.others[number] = 1
        yield
        self._written(number, raw + line)
        yield

    def _opened(self) -> int:
        number = self.files.number_of(NOTE)
        self.files.others[number] = self.files.others.get(number, 0) + 1
        return number

    def _written(self, number: int, raw: bytes) -> None:
        self.files.person_writes(number, raw)
        self.files.others[number] -= 1


def run(seed: int) -> World:
    """One life of a vault."""
    dice = random.Random(seed)
    world = begin(TEMPLATES[0])
    files = world.files
    files.exchanges = dice.random() < 0.8
    files.leases = dice.random() < 0.8
    savers = Savers(files, dice)
    files.chance = savers.chance
    for number in range(1, WRITES + 1):
        if dice.random() < 0.3:
            files.crash_at = files.calls + dice.randint(1, 60)
        if dice.random() < 0.3:
            files.faults[files.calls + dice.randint(1, 50)] = dice.choice((errno.ENOSPC, errno.EIO))
        write(world, number)
        world.later(dice.choice((0.0, 0.5, 4.0)))
    files.chance = files.crash_at = None
    savers.finish()
    files.faults.clear()
    for _ in range(40):
        world.later(200.0 if files.leases else 90_000.0)
        world.writer.tend(world.now)
    check(world, savers.saved)
    return world


def write(world: World, number: int) -> None:
    """Until it is in the journal, also when the process dies of it; errors of the disk make it wait."""
    while True:
        text = world.files.text(NOTE)
        whole = text if text is not None and text.startswith(OLD) and text.endswith(b"\n") else OLD
        try:
            world.write(NOTE, whole + f"bot-{number}\n".encode(), whole, f"op-{number}")
            world.writer.tend(world.now)
            return
        except JournalUnavailable:
            continue
        except Crash:
            world.files.revive()
            world.start()


def check(world: World, saved: int) -> None:
    lines = (world.files.text(NOTE) or b"").decode().split()
    seen = {
        line
        for version in world.writer.snapshots.chain(NOTE)
        for line in (world.writer.snapshots.bytes_of(version.revision) or b"").decode().split()
    }
    assert {f"ann-{number}" for number in range(1, saved + 1)} <= set(lines)
    assert {f"bot-{number}" for number in range(1, WRITES + 1)} <= set(lines) | seen
    assert len(lines) == len(set(lines))
    assert world.writer.pending() == []
    assert world.writer.displaced() == []
    assert world.strays() == []
    assert sorted(op.op_id for op in world.writer.finished()) == [
        f"op-{number}" for number in range(1, WRITES + 1)
    ]


@pytest.mark.scenario("A1", "A2", "A5", "B33", "B39", "B48")
@pytest.mark.parametrize("first", range(0, 300, 100))
def test_every_line_survives_to_the_end(first: int) -> None:
    for seed in range(first, first + 100):
        try:
            run(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


@pytest.mark.deep
def test_every_line_survives_to_the_end_in_many_more_runs() -> None:
    for seed in range(1000, 21_000):
        try:
            run(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
