"""Says each turn of the fixed set to a vault, ends its session, lets a night pass, and counts.

Each turn has a person of its own, so that no turn changes what another one teaches.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from vault_memory.api.vault_memory import VaultMemory

FOLDER = Path(__file__).parent
LANGUAGES = ("de", "en", "es", "fr", "ru", "zh")
NOON = datetime(2026, 5, 25, 12, 0, tzinfo=UTC)
NOT_LEARNED = ("INBOX.md", "transcripts", "learning")
"""What a vault keeps without having learned it"""
_ITEM = re.compile(r"^[-*] (?P<text>.*?)(?P<marks> \([^()]*\))?$")
_QUOTE = re.compile(' — "[^"]*"$')
_FACT = re.compile(r"^(?P<predicate>[a-z_]+): (?P<object>.*)$")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a turn says that is to be kept."""

    kind: str
    words: tuple[str, ...]
    """each right line has all of them"""
    object: str = ""
    """the whole object of a fact"""


@dataclass(frozen=True, slots=True)
class FixedTurn:
    """One turn of the set."""

    id: str
    text: str
    keep: tuple[Statement, ...]
    reason: str
    """why nothing of it is to be kept; empty for a turn with statements"""


@dataclass(frozen=True, slots=True)
class Line:
    """One learned line, without its marks and its quotation."""

    note: str
    text: str
    is_ended: bool

    def says(self, statement: Statement) -> bool:
        """Whether the line is a right one for the statement."""
        fact = _FACT.match(self.text)
        words = statement.words
        if fact:
            has_ended = statement.kind == "ended"
            # Only the name is in a fact; its end is told by a mark.
            words = words[:1]
            if has_ended != self.is_ended:
                return False
            if statement.object and fact["object"] != statement.object:
                return False
        if statement.kind == "rule" and "RULES" not in self.note:
            return False
        folded = self.text.casefold()
        return all(word.casefold() in folded for word in words)


@dataclass(slots=True)
class Measured:
    """The counts of some turns."""

    statements: int = 0
    missed: list[tuple[FixedTurn, Statement]] = field(default_factory=list)
    lines: int = 0
    """lines of turns with statements"""
    wrong: list[tuple[FixedTurn, Line]] = field(default_factory=list)
    unwanted: list[tuple[FixedTurn, Line]] = field(default_factory=list)
    """lines of turns of which nothing is to be kept"""

    @property
    def kept(self) -> int:
        return self.statements - len(self.missed)

    @property
    def right(self) -> int:
        return self.lines - len(self.wrong)

    def add(self, turn: FixedTurn, lines: Sequence[Line]) -> None:
        if turn.reason:
            self.unwanted += [(turn, line) for line in lines]
            return
        self.statements += len(turn.keep)
        self.missed += [
            (turn, statement)
            for statement in turn.keep
            if not any(line.says(statement) for line in lines)
        ]
        self.lines += len(lines)
        self.wrong += [
            (turn, line)
            for line in lines
            if not any(line.says(statement) for statement in turn.keep)
        ]


def turns_of(language: str) -> tuple[FixedTurn, ...]:
    """The turns of one language."""
    table = tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return tuple(
        FixedTurn(
            f"{language}{number:02}",
            row["text"],
            tuple(_statement(entry) for entry in row.get("keep", ())),
            row.get("not", ""),
        )
        for number, row in enumerate(table["turns"], start=1)
    )


def _statement(entry: Mapping[str, Any]) -> Statement:
    return Statement(entry["kind"], tuple(entry["words"]), entry.get("object", ""))


def learned(turns: Sequence[FixedTurn], root: Path, **settings: str) -> dict[str, list[Line]]:
    """The lines that are learned from each turn, by its id."""
    environment = {
        **{name: value for name, value in os.environ.items() if "VAULT_MEMORY" not in name},
        "VAULT_MEMORY_STATE": str(root / "state"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
        "VAULT_MEMORY_BRAIN_KIND": "rules",
        **{f"VAULT_MEMORY_{name}": value for name, value in settings.items()},
    }
    vault = root / "vault"
    vault.mkdir(parents=True)
    with VaultMemory.open(vault, environment=environment) as memory:
        for turn in turns:
            session = f"session {turn.id}"
            memory.record_turn(
                session=session, role="user", user=turn.id, text=turn.text, now=NOON, again=True
            )
            memory.end_session(session, user=turn.id, now=NOON + timedelta(minutes=5))
        memory.sleep(now=NOON + timedelta(hours=14))
    return {turn.id: list(lines_of(vault, turn.id)) for turn in turns}


def lines_of(vault: Path, person: str) -> Iterator[Line]:
    """The lines that a vault has learned of a person."""
    for note in sorted(vault.rglob("*.md")):
        path = note.relative_to(vault).as_posix()
        if person not in path or any(part in path for part in NOT_LEARNED):
            continue
        for line in note.read_text(encoding="utf-8").splitlines():
            if item := _ITEM.match(line):
                marks = item["marks"] or ""
                text = _QUOTE.sub("", item["text"])
                is_ended = "~~" in text or "until:" in marks
                text = re.sub(r"^\[\w+\] ", "", text.replace("~~", ""))
                yield Line(path, text, is_ended)


def measure(turns: Sequence[FixedTurn], root: Path, **settings: str) -> dict[str, Measured]:
    """What is measured, by language."""
    lines = learned(turns, root, **settings)
    counts: dict[str, Measured] = {}
    for turn in turns:
        counts.setdefault(turn.id[:2], Measured()).add(turn, lines[turn.id])
    return counts
