"""The text of a life: the setting, and every decision that was taken in it.

    # Power is lost while a temporary file is removed
    disk: posix
    features: errors, power
    ann: backup, vim; careful, locks
    ---
     0.5 s  ann     loads
       4 s  ann     adds an item below first-002
     0.5 s  bot     appends under Home, as nightly
                    dies at call 27, power is lost
            before call 12: 0 s ann saves with vim

A number of seconds is the pause before a step. Calls are those of the engine, counted from the
beginning of a step. What goes wrong in a step, and who steps in, stands below it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from tests.simulated.actors import STYLES
from tests.simulated.dice import Line, RecordingDice, ScriptedDice
from tests.simulated.files import MODELS, Model
from tests.simulated.phrases import AFTER, FAULTS, WHO, Decision, decision_of
from tests.simulated.world import ALWAYS_THERE, FEATURES, HABITS, Setting, Step

LIVES = Path(__file__).with_name("lives")
PEOPLE = ("ann", "bob")
PROGRAMS = ("log", "sync", "tick")
DEFAULT_STYLES = ("rename",)
_STEP = re.compile(r" *([\d.]+) s +(\w+)(?: +(\S.*))?")
_STEP_IN = re.compile(r" +before call (\d+): ([\d.]+) s (\w+)(?: (\S.*))?")
_HEADER = re.compile(r"(\w+): (.*)")
_END_OF_HEADER = "---"


@dataclass(frozen=True)
class Life:
    """A setting, and lines for its steps."""

    title: str
    setting: Setting
    lines: tuple[Line, ...]

    @property
    def steps(self) -> list[Step]:
        """The steps, each decided by its line."""
        return [Step(_value(line, WHO), partial(ScriptedDice, line)) for line in self.lines]


def pinned_lives() -> list[Path]:
    """The texts of lives that once went wrong."""
    return sorted(LIVES.glob("*.txt"))


def recorded(steps: Sequence[Step], lines: list[Line]) -> list[Step]:
    """Steps that do the same, and add a line for each that is taken."""

    def record(step: Step) -> RecordingDice:
        line = Line([Decision(WHO, step.who)])
        lines.append(line)
        return RecordingDice(step.dice(), line)

    return [Step(step.who, partial(record, step)) for step in steps]


# --- Writing ---


def text_of(life: Life) -> str:
    """The text of a life; `read` gives the life back."""
    setting = life.setting
    features = [name for name in FEATURES if name in setting.features]
    people = [who for who in PEOPLE if who in (*ALWAYS_THERE, *features)]
    written = [
        f"# {life.title}",
        f"disk: {setting.model}",
        f"features: {', '.join(features)}".rstrip(),
        *(_person_text(who, setting) for who in people),
        _END_OF_HEADER,
    ]
    for line in life.lines:
        written.extend(_step_text(line))
    return "".join(f"{row}\n" for row in written)


def _person_text(who: str, setting: Setting) -> str:
    index = PEOPLE.index(who)
    habits = [habit for habit in HABITS if habit in setting.habits[index]]
    styles = ", ".join(setting.styles[index])
    return "; ".join(filter(None, (f"{who}: {styles}", ", ".join(habits))))


def _step_text(line: Line) -> Iterator[str]:
    pause = f"{_value(line, AFTER)} s"
    deeds = _decisions_text(line, faults=False)
    yield f"{pause:>6}  {_value(line, WHO):<6}  {deeds}".rstrip()
    if faults := _decisions_text(line, faults=True):
        yield f"{'':16}{faults}"
    for call, step_in in sorted(line.step_ins.items()):
        pause = f"{_value(step_in, AFTER)} s"
        who = _value(step_in, WHO)
        text = _decisions_text(step_in, faults=False)
        yield f"{'':8}before call {call}: {pause} {who} {text}".rstrip()


def _decisions_text(line: Line, *, faults: bool) -> str:
    """What goes wrong, or what the actor does."""
    return ", ".join(
        str(decision)
        for decision in line.decisions
        if decision.phrase not in (AFTER, WHO) and (decision.phrase in FAULTS) == faults
    )


def _value(line: Line, phrase: str) -> str:
    return next(decision.value for decision in line.decisions if decision.phrase == phrase)


# --- Reading ---


def read(path: Path) -> Life:
    """The life in this file. Raises ValueError with the file and the line that cannot be read."""
    return Parser(path.name, path.read_text(encoding="utf-8")).life()


class Parser:
    """Reads the text of a life, and refuses every word that it does not know."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._rows = iter(text.splitlines())
        self._number = 0
        self._model: Model | None = None
        self._features: frozenset[str] = frozenset()
        self._styles: dict[str, tuple[str, ...]] = {}
        self._habits: dict[str, frozenset[str]] = {}

    def life(self) -> Life:
        """The life that the text tells."""
        title = self._next_row()
        if not title.startswith("# "):
            self._fail(f"`{title}` is no title; a title begins with `# `")
        self._read_header()
        lines = tuple(self._read_lines())
        ann, bob = PEOPLE
        setting = Setting(
            self._features,
            self._model or MODELS[0],
            _pauses(lines),
            0.0,
            (self._styles.get(ann, DEFAULT_STYLES), self._styles.get(bob, DEFAULT_STYLES)),
            (self._habits.get(ann, frozenset()), self._habits.get(bob, frozenset())),
        )
        return Life(title.removeprefix("# "), setting, lines)

    def _next_row(self) -> str:
        self._number += 1
        row = next(self._rows, None)
        if row is None:
            self._fail(f"the text ends without `{_END_OF_HEADER}`")
        return row

    def _fail(self, problem: str) -> NoReturn:
        raise ValueError(f"{self._name}:{self._number}: {problem}")

    def _read_header(self) -> None:
        while (row := self._next_row()) != _END_OF_HEADER:
            match = _HEADER.fullmatch(row)
            if match is None:
                self._fail(f"`{row}` names no part of the setting")
            key, value = match[1], match[2].strip()
            match key:
                case "disk":
                    [name] = self._words(value, MODELS)
                    self._model = next(model for model in MODELS if model == name)
                case "features":
                    self._features = frozenset(self._words(value, FEATURES))
                case "ann" | "bob":
                    styles, _, habits = value.partition(";")
                    self._styles[key] = self._words(styles, tuple(STYLES))
                    self._habits[key] = frozenset(self._words(habits, HABITS))
                case _:
                    self._fail(f"`{key}` is no part of the setting")

    def _words(self, text: str, vocabulary: Sequence[str]) -> tuple[str, ...]:
        words = tuple(word.strip() for word in text.split(",") if word.strip())
        for word in words:
            if word not in vocabulary:
                self._fail(f"`{word}` is none of {', '.join(vocabulary)}")
        return words

    def _read_lines(self) -> Iterator[Line]:
        line: Line | None = None
        for row in self._rows:
            self._number += 1
            if step := _STEP.fullmatch(row):
                line = self._line(*step.groups())
                yield line
            elif line and (step_in := _STEP_IN.fullmatch(row)):
                call, *parts = step_in.groups()
                line.step_ins[int(call)] = self._line(*parts)
            elif line and row.startswith(" "):
                line.decisions += self._decisions(_value(line, WHO), row.strip())
            else:
                self._fail(f"`{row}` is no step")

    def _line(self, pause: str, who: str, text: str | None) -> Line:
        cast = (*ALWAYS_THERE, *self._features.intersection(PEOPLE + PROGRAMS))
        if who not in cast:
            self._fail(f"there is no `{who}` in this life")
        start = [Decision(AFTER, pause), Decision(WHO, who)]
        return Line(start + self._decisions(who, text) if text else start)

    def _decisions(self, who: str, text: str) -> list[Decision]:
        decisions = []
        for phrase in text.split(", "):
            decision = decision_of(who, phrase)
            if decision is None:
                self._fail(f"`{phrase}` is nothing that `{who}` does")
            decisions.append(decision)
        return decisions


def _pauses(lines: Sequence[Line]) -> tuple[float, ...]:
    """Every pause before a step."""
    return tuple(sorted({float(_value(line, AFTER)) for line in lines})) or (0.0,)
