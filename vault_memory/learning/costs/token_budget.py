"""Counts what a night's questions cost, and lets the rules answer when the budget is spent."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.errors import BrainUnavailable
from vault_memory.learning.costs.usage_log import Usage, UsageLog
from vault_memory.models.base import Brain, BrainAnswer
from vault_memory.models.llm import factory
from vault_memory.models.llm.model_access import ModelAccess
from vault_memory.models.llm.phrase_rules import RulesBrain
from vault_memory.models.llm.token_count import CallTokens

if TYPE_CHECKING:
    from vault_memory.contract.source_answers import TokensJson
    from vault_memory.models.llm.self_test import Way
    from vault_memory.rules.learning.model_prompt import Prompt, Role
    from vault_memory.search.open_vault import OpenVault

MOST_QUESTIONS = 6
"""Questions to a model in one round"""
TOO_MANY = f"a round asks a model {MOST_QUESTIONS} questions at most"


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
