"""Counts what a night's questions cost, and lets the rules answer when the budget is spent."""

import json
import logging
import os
from collections import defaultdict
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.config import state_file
from vault_memory.errors import BrainUnavailable
from vault_memory.models.base import Brain, BrainAnswer
from vault_memory.models.llm import factory
from vault_memory.models.llm.model_access import CallTokens, ModelAccess
from vault_memory.models.llm.phrase_rules import RulesBrain

if TYPE_CHECKING:
    from vault_memory.contract.source_answers import TokensJson
    from vault_memory.models.llm.self_test import Way
    from vault_memory.rules.learning.model_prompt import Prompt, Role
    from vault_memory.search.open_vault import OpenVault

MOST_QUESTIONS = 6
"""Questions to a model in one round"""
TOO_MANY = f"a round asks a model {MOST_QUESTIONS} questions at most"
logger = logging.getLogger(__name__)

NAME = "usage.jsonl"
LARGEST = 256 << 10
"""Bytes from which on the lines of a scope and month become one line"""


class TokenBudget:
    """The tokens of one run, and the limit of the month on this device."""

    def __init__(self, state: Path, limit: int, now: datetime) -> None:
        """`limit` is a number of tokens for the month of `now`; 0: none."""
        self._log = UsageLog(state)
        self._log.fold()
        self._limit = limit
        self._now = now
        self._scope = ""
        self._spent = self._log.of_month(now)
        self._questions = 0

    def begin_round(self, scope: str) -> None:
        """Counts the calls from now on for a scope."""
        self._scope = scope
        self._questions = 0

    def count(self, tokens: CallTokens) -> None:
        """Adds one call of a model."""
        self._log.add(self._scope, self._now, tokens)
        usage = Usage(tokens.read, tokens.written, 1, int(tokens.is_estimated))
        self._spent[self._scope] = self._spent.get(self._scope, Usage()).plus(usage)

    def reason_to_stop(self) -> str:
        """Returns why the model may not be asked once more; empty when it may."""
        total = sum(usage.total for usage in self._spent.values())
        # Fault: a loop of failing answers would cost the person money without a limit.
        if 0 < self._limit <= total:
            month = f"{self._now:%Y-%m}"
            return (
                f"the {self._limit} tokens of {month} are spent"
                " (`[brain] monthly_tokens`): rules answer"
            )
        return TOO_MANY if self._questions >= MOST_QUESTIONS else ""

    def note_question(self) -> None:
        """Counts a question of this round."""
        self._questions += 1

    def as_json(self, scope: str) -> "TokensJson":
        """Returns what a scope spent this month, for the report."""
        usage = self._spent.get(scope, Usage())
        return {
            "in": usage.read,
            "out": usage.written,
            "calls": usage.calls,
            "estimated": usage.estimated,
        }


def load_brain(vault: "OpenVault", role: "Role", budget: TokenBudget, *, backed: bool) -> Brain:
    """Returns the configured brain for a role, within the budget."""
    settings = vault.config.brain
    brain = factory.load_brain(
        settings,
        role,
        backed=backed,
        state=vault.state.path,
        access=ModelAccess(vault.root, budget.count),
    )
    # Phrase rules cost nothing.
    return brain if settings.kind == "rules" else BudgetedBrain(brain, budget)


def chosen_way(vault: "OpenVault", now: datetime) -> "Way":
    """Returns how the configured model is asked; tests a new model, whose tokens count.

    Raises `BrainUnavailable`, also when the budget is spent.
    """
    settings = vault.config.brain
    budget = TokenBudget(vault.state.path, settings.monthly_tokens, now)
    reason = budget.reason_to_stop()
    # Fault: the test of a model would cost the person tokens beyond the limit.
    if reason:
        raise BrainUnavailable(reason, hint="raise `monthly_tokens` of [brain]")
    # The test belongs to no scope.
    access = ModelAccess(vault.root, budget.count)
    return factory.chosen_way(settings, vault.state.path, access)


class BudgetedBrain:
    """Answers with a model while the budget lasts, then with the phrase rules."""

    def __init__(self, model: Brain, budget: TokenBudget) -> None:
        self._model = model
        self._budget = budget
        self.name = model.name

    def answer(self, prompt: "Prompt") -> BrainAnswer:
        """Answer a prompt. Raises ``BrainUnavailable`` as the model does."""
        reason = self._budget.reason_to_stop()
        # Fault: without an answer the turns would stay unread until the next month.
        if reason:
            answer = RulesBrain().answer(prompt)
            return BrainAnswer(answer.text, answer.rung, answer.model, reason)
        self._budget.note_question()
        return self._model.answer(prompt)


# --- Usage log ---

# The tokens that this device spent, by scope and month: `usage.jsonl` in the state folder.
#
# Each call of a model is a line. Losing the file costs the count and nothing else.


class Usage(NamedTuple):
    """Tokens of several calls."""

    read: int = 0
    written: int = 0
    calls: int = 0
    estimated: int = 0
    """calls whose server does not name their tokens"""

    def plus(self, other: "Usage") -> "Usage":
        """Returns the sum."""
        return Usage(*(own + added for own, added in zip(self, other, strict=True)))

    @property
    def total(self) -> int:
        """Tokens in both directions."""
        return self.read + self.written


class UsageLog:
    """The tokens spent by one device on one vault."""

    def __init__(self, state: Path) -> None:
        self._file = state / NAME

    def add(self, scope: str, moment: datetime, tokens: CallTokens) -> None:
        """Adds one call. A failure is logged: the answer of the model must not be lost."""
        usage = Usage(tokens.read, tokens.written, 1, int(tokens.is_estimated))
        line = _line(f"{moment:%Y-%m}", scope, usage)
        try:
            with self._file.open("ab") as file:
                # A crash may have torn the last line.
                file.write(b"\n" + line if self._is_torn() else line)
        except OSError as error:
            logger.warning("the tokens of a call cannot be counted: %s", error)

    def of_month(self, moment: datetime) -> dict[str, Usage]:
        """Returns what each scope spent in the month of a moment."""
        month = f"{moment:%Y-%m}"
        return {
            scope: usage
            for (line_month, scope), usage in self._sums().items()
            if line_month == month
        }

    def fold(self) -> None:
        """Makes one line of those of a scope and month when the file is large."""
        with suppress(OSError):
            if self._file.stat().st_size < LARGEST:
                return
            lines = (_line(*key, usage) for key, usage in self._sums().items())
            state_file.write(self._file, b"".join(lines).decode())

    def _is_torn(self) -> bool:
        with suppress(OSError), self._file.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
        return False

    def _sums(self) -> dict[tuple[str, str], Usage]:
        sums: dict[tuple[str, str], Usage] = defaultdict(Usage)
        for month, scope, usage in self._entries():
            sums[month, scope] = sums[month, scope].plus(usage)
        return dict(sums)

    def _entries(self) -> list[tuple[str, str, Usage]]:
        try:
            raw = self._file.read_bytes()
        except OSError:
            return []
        entries = (_entry(line) for line in raw.split(b"\n"))
        return [entry for entry in entries if entry is not None]


def _line(month: str, scope: str, usage: Usage) -> bytes:
    record = {
        "month": month,
        "scope": scope,
        "in": usage.read,
        "out": usage.written,
        "calls": usage.calls,
        "estimated": usage.estimated,
    }
    return json.dumps(record).encode() + b"\n"


def _entry(line: bytes) -> tuple[str, str, Usage] | None:
    """Returns month, scope and tokens of a line; None for a torn or damaged one."""
    try:
        record = json.loads(line)
        counts = [record[name] for name in ("in", "out", "calls", "estimated")]
        month, scope = record["month"], record["scope"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    # Fault: a damaged line with a negative number would raise the limit of the month.
    if not all(map(_is_count, counts)):
        return None
    if not isinstance(month, str) or not isinstance(scope, str):
        return None
    return month, scope, Usage(*counts)


def _is_count(value: Any) -> bool:
    # Fault: in Python, `true` is a number as well.
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
