"""A simulated world: who is in it, what goes wrong, and who does the next small step.

A life is a setting and a list of steps, each with dice of its own. So steps can be left out of a life
that failed, and the remaining ones still do what they did. People also step in between the calls of the
engine, as on a real system.
"""

import errno
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from tests.simulated import oracles, phrases
from tests.simulated.actors import (
    LOCK,
    STYLES,
    Actor,
    Logger,
    Person,
    Reader,
    SyncClient,
    heading_name,
    item_name,
    new_item,
)
from tests.simulated.dice import Dice, SeededDice
from tests.simulated.disk import ENGINE, NOTE, Disk
from tests.simulated.engines import Engine, Make
from tests.simulated.files import MODELS, Crash, Model
from tests.simulated.ledger import Ledger, items_in
from tests.simulated.violation import Violation

FIRST = b"""# Ann

## Home

- first-001 lives by the river
- first-002 keeps two cats

## Work

- first-003 mends old clocks
- first-004 is away on Fridays
"""
CHANGES = (phrases.REMOVES, phrases.REPLACES)
LENGTH = 60
LONGEST_SAVE = 0.25
"""Seconds that a save takes, where nobody is slow"""
ROUNDS = 40
"""Times the engine may be looked after until all is quiet"""
HABITS = ("careful", "stale", "locks")
ALWAYS_THERE = ("bot", "engine", "ann")
FEATURES = (
    "bob",
    "log",
    "sync",
    "tick",
    "crash",
    "power",
    "errors",
    "no exchange",
    "no replace",
    "no leases",
    "coarse",
    "meanwhile",
    "no space",
    "slow",
)


class Step(NamedTuple):
    """Who does something, and what makes the dice that decide how."""

    who: str
    dice: Callable[[], Dice]


@dataclass(frozen=True)
class Setting:
    """What a world is like."""

    features: frozenset[str]
    model: Model
    pauses: tuple[float, ...]
    step_in: float
    """How likely it is that somebody steps in before a call of the engine"""
    styles: tuple[tuple[str, ...], tuple[str, ...]]
    habits: tuple[frozenset[str], frozenset[str]]


def drawn_life(seed: int) -> tuple[Setting, list[Step]]:
    """A setting in which each fault and each actor is there or not, and the steps."""
    dice = random.Random(seed)
    features = frozenset(name for name in FEATURES if dice.random() < 0.5)
    styles = tuple(
        tuple(style for style in STYLES if dice.random() < 0.5) or ("rename",) for _ in "ab"
    )
    habits = tuple(frozenset(habit for habit in HABITS if dice.random() < 0.4) for _ in "ab")
    pauses = dice.choice(((0.0, 0.05, 0.2), (0.0, 0.2, 1.0, 4.0), (0.5, 4.0, 20.0)))
    step_in = dice.choice((0.02, 0.05, 0.15)) if "meanwhile" in features else 0.0
    model = dice.choice(MODELS)
    setting = Setting(features, model, pauses, step_in, styles, habits)  # type: ignore[arg-type]
    cast = ["bot", "engine", *["ann"] * 6, *["bob"] * 4, "log", "log", *["sync"] * 3, "tick"]
    cast = [name for name in cast if name in (*ALWAYS_THERE, *features)]
    return setting, [
        Step(dice.choice(cast), partial(SeededDice, dice.getrandbits(32))) for _ in range(LENGTH)
    ]


@dataclass
class World:
    """One life of a vault."""

    setting: Setting
    make: Make
    disk: Disk = field(default_factory=Disk)
    ledger: Ledger = field(default_factory=Ledger)
    story: list[str] = field(default_factory=list)
    """What happened, for whoever reads of a failure"""

    def __post_init__(self) -> None:
        disk, setting = self.disk, self.setting
        disk.acting = "nobody"
        disk.person_saves(NOTE, FIRST)
        self.ledger.saved("first", b"", FIRST)
        disk.clock += 3600
        disk.exchanges = "no exchange" not in setting.features
        disk.replaces_not = "no replace" not in setting.features
        disk.leases = "no leases" not in setting.features
        disk.model = setting.model
        disk.coarse = 2 if "coarse" in setting.features else 0
        self.actors = self._cast()
        self.engine: Engine = self.make(disk)
        self.alive = False
        self.count = 0

    def _cast(self) -> dict[str, Actor]:
        disk, ledger, setting = self.disk, self.ledger, self.setting
        people = ("ann", "bob") if "bob" in setting.features else ("ann",)
        cast: dict[str, Actor] = {
            name: Person(disk, ledger, name, list(setting.styles[index]), setting.habits[index])
            for index, name in enumerate(people)
        }
        if "log" in setting.features:
            cast["log"] = Logger(disk, ledger)
        if "sync" in setting.features:
            cast["sync"] = SyncClient(disk, ledger)
        if "tick" in setting.features:
            cast["tick"] = Reader(disk, ledger)
        return cast

    # --- Steps ---

    def step(self, step: Step) -> None:
        """One small thing happens."""
        dice = step.dice()
        self._wait(_pause(dice, self.setting.pauses))
        if step.who in self.actors:
            self._act(step.who, dice)
        else:
            self._run_engine(step.who, dice)

    def _wait(self, seconds: float) -> None:
        """Time passes; who is saving is done soon, unless this is a slow world."""
        disk = self.disk
        for name, actor in self.actors.items():
            began = actor.saving_since
            if (
                began is not None
                and disk.clock + seconds - began > LONGEST_SAVE
                and "slow" not in self.setting.features
            ):
                acting, disk.acting = disk.acting, name
                actor.end_save()
                disk.acting = acting
                self.story.append(f"{disk.clock:.2f} {name} has saved soon")
        disk.clock += seconds

    def _act(self, name: str, dice: Dice) -> None:
        self.disk.acting = name
        outcome = self.actors[name].step(dice)
        if outcome in phrases.REMARKS:
            dice.note(outcome)
        self.story.append(f"{self.disk.clock:.2f} {name} {outcome}")

    def _run_engine(self, who: str, dice: Dice) -> None:
        disk = self.disk
        calls = itertools.count(1)
        self._plan_faults(dice)
        disk.look_on = lambda: self._between(next(calls), dice)
        try:
            self._engine_does(who, dice)
        except Crash:
            self._died(dice)
        else:
            dice.retract(phrases.DIES, phrases.HALFWAY)
        if all(number > disk.calls for number in disk.faults):
            dice.retract(phrases.MEETS, phrases.AT_CALL)
        disk.look_on = lambda: None
        disk.crash_at = None
        disk.faults.clear()
        disk.acting = "nobody"
        self._look()
        if self.alive and disk.open_files:
            raise Violation("O12 bounded", f"descriptors are left open: {disk.open_files}")

    def _engine_does(self, who: str, dice: Dice) -> None:
        self.disk.acting = ENGINE
        if not self.alive:
            self.engine.start()
            self.alive = True
            self.story.append(f"{self.disk.clock:.2f} the engine starts")
        if who == "bot":
            self._ask(dice)
        else:
            dice.note("tends")
            self.engine.tend()
            self.story.append(f"{self.disk.clock:.2f} the engine has tended")

    def _ask(self, dice: Dice) -> None:
        self.count += 1
        run_id = f"{self.count:012x}00000000"
        count = dice.choose(
            phrases.ASKS_FOR, (1, 1, 2), lambda number: "two changes" if number == 2 else ""
        )
        ops = tuple(self._op(dice) for _ in range(count))
        self.story.append(f"{self.disk.clock:.2f} the bot asks: {ops}")
        source = dice.choose(phrases.SOURCE, ("nightly", "tool"))
        self.engine.ask(run_id, ops, source)

    def _op(self, dice: Dice) -> dict[str, object]:
        number = len(self.ledger.asked) + 1
        item = new_item("bot", number)
        line = item[2:].decode()
        raw = self.disk.text(NOTE) or FIRST
        items = items_in(raw)
        targets = self._targets(items, dice)
        kind = dice.kind(
            {
                phrases.APPENDS: 0.6,
                phrases.ADDS_SECTION: 0.7,
                phrases.REMOVES: 0.85,
                phrases.REPLACES: 1.0,
            },
            otherwise=phrases.APPENDS,
            free=bool(targets),
        )
        if kind == phrases.APPENDS or (kind in CHANGES and not targets):
            heading = _choose_heading(raw, dice)
            self.ledger.asked[item] = "append"
            return {"op": "append", "heading": heading, "line": line}
        if kind == phrases.ADDS_SECTION:
            dice.note(kind)
            self.ledger.asked[item] = "add_heading"
            return {"op": "add_heading", "heading": f"Section {number}", "lines": [line]}
        target = dice.choose(kind, targets, lambda target: item_name(items, target))
        heading = _heading_of(raw, target)
        if target in self.ledger.asked or "tick" in self.actors:
            self.ledger.dismissed.add(target)
        match = target[2:].decode()
        if kind == phrases.REMOVES:
            return {"op": "remove", "heading": heading, "match": match}
        self.ledger.asked[item] = "replace"
        return {"op": "replace", "heading": heading, "match": match, "line": line}

    def _targets(self, items: Sequence[bytes], dice: Dice) -> list[bytes]:
        """The items that the bot thinks of: all of its own, and few of the people's."""
        complete = self.ledger.typed | self.ledger.asked.keys()
        return [
            item
            for item in items
            if item in complete
            and (item.startswith(b"- bot") or dice.foresees(CHANGES, 0.1, item_name(items, item)))
        ]

    def _between(self, call: int, dice: Dice) -> None:
        """Before this call of the engine, somebody may look, or step in.

        While the handlers of a dead engine run, it makes calls without effect. They are counted, too.
        """
        self._look()
        actor_dice = dice.step_in(call, self.setting.step_in)
        if actor_dice is not None:
            self._wait(_pause(actor_dice, (0.0, 0.01)))
            self._act(actor_dice.choose(phrases.WHO, sorted(self.actors)), actor_dice)
            self.story[-1] += f"  [before call {self.disk.calls + 1}]"
            self.disk.acting = ENGINE

    def _look(self) -> None:
        oracles.whole(self.disk)

    # --- What goes wrong ---

    def _plan_faults(self, dice: Dice) -> None:
        features, disk = self.setting.features, self.disk
        disk.space = 1 << 40
        if "no space" in features and dice.chance(phrases.DISK_IS_FULL, 0.1):
            disk.space = 10
        if features & {"crash", "power"} and dice.foresees((phrases.DIES,), 0.25):
            disk.crash_at = disk.calls + dice.choose(phrases.DIES, range(1, 71))
            disk.torn = dice.chance(phrases.HALFWAY, 0.5)
        if "errors" in features and dice.foresees((phrases.MEETS,), 0.25):
            error = dice.choose(
                phrases.MEETS, (errno.EIO, errno.ENOSPC), errno.errorcode.__getitem__
            )
            call = disk.calls + dice.choose(phrases.AT_CALL, range(1, 61))
            disk.faults[call] = error

    def _died(self, dice: Dice) -> None:
        self.alive = False
        if self._loses_power(dice):
            self.disk.acting = "nobody"
            self.disk.lose_power(self.setting.model, dice)
            self.story.append(f"{self.disk.clock:.2f} power is lost")
            for actor in self.actors.values():
                self.disk.acting = actor.name
                actor.reboot()
        else:
            self.disk.revive()
            self.story.append(
                f"{self.disk.clock:.2f} the engine dies before call {self.disk.calls}"
            )

    def _loses_power(self, dice: Dice) -> bool:
        """Whether it is the whole machine that stops."""
        features = self.setting.features
        if "power" not in features:
            return False
        if "crash" in features:
            return dice.chance(phrases.POWER_IS_LOST, 0.5)
        dice.note(phrases.POWER_IS_LOST)
        return True

    # --- The end ---

    def settle(self) -> None:
        """Everybody ends what they began, and the engine is looked after until nothing is left to do."""
        disk = self.disk
        disk.space = 1 << 40
        for actor in self.actors.values():
            disk.acting = actor.name
            actor.finish()
        if disk.find(LOCK) is not None:
            disk.person_removes(LOCK)
        disk.acting = ENGINE
        if not self.alive:
            self.engine.start()
        for _ in range(ROUNDS):
            if not self._tended(200.0 if disk.leases else 90_000.0):
                break
        else:
            raise Violation(
                "O10 progress",
                f"after {ROUNDS} rounds it still writes; it waits: {self.engine.waits()}",
            )
        if self._tended(200.0):
            raise Violation(
                "O4 idempotent", f"it writes although nothing happened: {disk.trace[-30:]}"
            )

    def _tended(self, seconds: float) -> bool:
        """Whether that changed anything."""
        before = self.disk.changed, self.engine.writes()
        self.disk.clock += seconds
        self.engine.tend()
        return before != (self.disk.changed, self.engine.writes())

    def judge(self) -> None:
        """Everything that must be true in the end."""
        oracles.no_loss(self.disk, self.ledger, self.engine)
        features = self.setting.features
        alone = not features & {"bob", "log", "sync"}
        halves = bool(features & {"slow", "coarse"})
        if not halves:  # there, half a save may be taken for a whole one
            oracles.each_once(self.disk)
            oracles.no_halves(self.disk, self.ledger)
            if alone:
                oracles.human_order(self.disk, self.ledger)
        oracles.nothing_left(self.disk, self.engine)
        oracles.audit(self.disk, self.ledger, self.engine, alone=alone, halves=halves)

    def digest(self) -> str:
        """Equal for runs in which the same happened."""
        end = repr(
            (
                sorted(self.disk.folders[""].entries.items()),
                self.disk.text(NOTE),
                self.disk.others_texts(),
            )
        )
        return sha256("\n".join((*self.disk.trace, *self.story, end)).encode()).hexdigest()


def _pause(dice: Dice, pauses: Sequence[float]) -> float:
    return dice.choose(phrases.AFTER, pauses, lambda seconds: f"{seconds:g}")


def _choose_heading(raw: bytes, dice: Dice) -> str:
    headings = [line[3:].decode() for line in raw.split(b"\n") if line.startswith(b"## ")] or [
        "Home"
    ]
    chosen = dice.choose(
        phrases.APPENDS, range(len(headings)), lambda index: heading_name(headings, index)
    )
    return headings[chosen]


def _heading_of(raw: bytes, item: bytes) -> str:
    heading = "Home"
    for line in raw.split(b"\n"):
        if line.startswith(b"## "):
            heading = line[3:].decode()
        elif line.strip() == item:
            break
    return heading


def live(setting: Setting, steps: Sequence[Step], make: Make) -> World:
    """A whole life of a vault; raises Violation."""
    world = World(setting, make)
    for step in steps:
        world.step(step)
    world.settle()
    world.judge()
    return world


def run(seed: int, make: Make) -> World:
    """The life that a seed tells."""
    return live(*drawn_life(seed), make)
