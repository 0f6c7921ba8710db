"""Finds the sentences of a turn that ask the bot for something that lasts."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vault_memory.learning.learned_rules import LONGEST_RULE, LONGEST_TURN, is_rule
from vault_memory.rules.conversations.quotation_marks import unquoted
from vault_memory.rules.search.tokens import clean, is_question

if TYPE_CHECKING:
    from vault_memory.rules.learning.policy_cues import PolicyCues

_CLAUSES = re.compile("[,;，；、]")


def count_of_orders(rule: str, cues: "PolicyCues") -> int:
    """Returns how many orders a rule has: "never use emoji, and always call me Bo" has two."""
    _, *clauses = _CLAUSES.split(rule)
    # Fault: of "answer in grams, never in ounces" the second clause is no order of its own.
    return 1 + sum(
        any(cue.reason == "explicit" for cue in cues.find(clause.strip())) for clause in clauses
    )


def spoken_rules(
    text: str, cues: "PolicyCues", own_sentences: Callable[[str], Sequence[str]]
) -> dict[str, bool]:
    """Returns the rules in a turn, and whether the person plainly asks for each.

    `own_sentences` returns the person's own statements in a text.
    """
    # Fault: a long pasted text is a document, and its sentences are no rules of the person.
    if len(text) > LONGEST_TURN:
        return {}
    rules: dict[str, bool] = {}
    for sentence in own_sentences(text):
        rule = " ".join(clean(sentence).split())
        spoken = unquoted(rule)
        # Fault: a question such as "should you always …?" asks for nothing.
        if len(rule) > LONGEST_RULE or is_question(spoken):
            continue
        # Fault: "from now on I work at ACME" has the words of a rule, and asks for nothing.
        if is_rule(rule) and not cues.is_own_statement(spoken):
            rules[rule] = True
            continue
        reasons = {cue.reason for cue in cues.find(spoken)}
        if not reasons.isdisjoint({"explicit", "implicit"}):
            rules.setdefault(rule, "explicit" in reasons)
    return rules
