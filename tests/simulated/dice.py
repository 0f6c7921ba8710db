"""Who decides what happens in a simulated world: a seed, or the text of a life.

Every draw has a phrase, which says what is decided. Seeded dice ignore it. Scripted dice look it up
in a line of a life, and recording dice write such lines. Where a line says nothing, scripted dice take
the first option and let nothing happen: a life still goes on when the product makes other calls than
on the day it was written.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tests.simulated.phrases import Decision

T = TypeVar("T")
Label = Callable[[T], str]
"""What an option is called in a text; empty for the one that goes without saying"""


class Dice(ABC):
    """Decides what happens in one step."""

    @abstractmethod
    def choose(self, phrase: str, options: Sequence[T], label: Label[T] = str) -> T:
        """One of these options."""

    @abstractmethod
    def chance(self, phrase: str, probability: float) -> bool:
        """Whether this happens."""

    @abstractmethod
    def kind(self, bounds: Mapping[str, float], otherwise: str, *, free: bool = True) -> str:
        """One of these phrases, up to whose bound a number between 0 and 1 falls.

        Where the draw is not `free`, a seed has to take `otherwise`; a script says what it says.
        A phrase that takes a value is written by the `choose` that follows, any other by `note`.
        """

    @abstractmethod
    def foresees(
        self, phrases: Collection[str], probability: float, value: str | None = None
    ) -> bool:
        """Whether one of these phrases, with this value if there is one, is still to come."""

    @abstractmethod
    def step_in(self, call: int, probability: float) -> "Dice | None":
        """The dice of an actor who steps in before this call of the engine; None if nobody does."""

    @abstractmethod
    def note(self, phrase: str) -> None:
        """Something happens that was not drawn, or was drawn as a `kind`."""

    @abstractmethod
    def retract(self, *phrases: str) -> None:
        """What these phrases announced has not happened."""


class SeededDice(Dice):
    """Draws from the generator of a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def choose(self, phrase: str, options: Sequence[T], label: Label[T] = str) -> T:
        return self._random.choice(options)

    def chance(self, phrase: str, probability: float) -> bool:
        return self._random.random() < probability

    def kind(self, bounds: Mapping[str, float], otherwise: str, *, free: bool = True) -> str:
        number = self._random.random()
        if not free:
            return otherwise
        return next(phrase for phrase, bound in bounds.items() if number < bound)

    def foresees(
        self, phrases: Collection[str], probability: float, value: str | None = None
    ) -> bool:
        return self._random.random() < probability

    def step_in(self, call: int, probability: float) -> Dice | None:
        return self if self._random.random() < probability else None

    def note(self, phrase: str) -> None:
        """A seed decides without words."""

    def retract(self, *phrases: str) -> None:
        """A seed decides without words."""


@dataclass
class Line:
    """The decisions of one step, and of those who step in before calls of the engine."""

    decisions: list[Decision] = field(default_factory=list)
    step_ins: "dict[int, Line]" = field(default_factory=dict)


class ScriptedDice(Dice):
    """Takes the decisions of a line, each once."""

    def __init__(self, line: Line) -> None:
        self._remaining = list(line.decisions)
        self._step_ins = line.step_ins

    def choose(self, phrase: str, options: Sequence[T], label: Label[T] = str) -> T:
        for decision in self._remaining:
            if decision.phrase != phrase:
                continue
            for option in options:
                if label(option) == decision.value:
                    self._remaining.remove(decision)
                    return option
        return options[0]

    def chance(self, phrase: str, probability: float) -> bool:
        decision = Decision(phrase)
        if decision not in self._remaining:
            return False
        self._remaining.remove(decision)
        return True

    def kind(self, bounds: Mapping[str, float], otherwise: str, *, free: bool = True) -> str:
        phrases = (decision.phrase for decision in self._remaining)
        return next((phrase for phrase in phrases if phrase in bounds), otherwise)

    def foresees(
        self, phrases: Collection[str], probability: float, value: str | None = None
    ) -> bool:
        return any(
            decision.phrase in phrases and value in (None, decision.value)
            for decision in self._remaining
        )

    def step_in(self, call: int, probability: float) -> Dice | None:
        line = self._step_ins.get(call)
        return None if line is None else ScriptedDice(line)

    def note(self, phrase: str) -> None:
        self.chance(phrase, 1.0)

    def retract(self, *phrases: str) -> None:
        """The line stays as it is."""


class RecordingDice(Dice):
    """Writes down what other dice decide."""

    def __init__(self, dice: Dice, line: Line) -> None:
        self._dice, self._line = dice, line

    def _write(self, phrase: str, value: str = "") -> None:
        self._line.decisions.append(Decision(phrase, value))

    def choose(self, phrase: str, options: Sequence[T], label: Label[T] = str) -> T:
        option = self._dice.choose(phrase, options, label)
        if name := label(option):
            self._write(phrase, name)
        return option

    def chance(self, phrase: str, probability: float) -> bool:
        happens = self._dice.chance(phrase, probability)
        if happens:
            self._write(phrase)
        return happens

    def kind(self, bounds: Mapping[str, float], otherwise: str, *, free: bool = True) -> str:
        return self._dice.kind(bounds, otherwise, free=free)

    def foresees(
        self, phrases: Collection[str], probability: float, value: str | None = None
    ) -> bool:
        return self._dice.foresees(phrases, probability, value)

    def step_in(self, call: int, probability: float) -> Dice | None:
        dice = self._dice.step_in(call, probability)
        if dice is None:
            return None
        line = self._line.step_ins[call] = Line()
        return RecordingDice(dice, line)

    def note(self, phrase: str) -> None:
        self._dice.note(phrase)
        self._write(phrase)

    def retract(self, *phrases: str) -> None:
        self._line.decisions[:] = [
            decision for decision in self._line.decisions if decision.phrase not in phrases
        ]
