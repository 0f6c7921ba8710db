"""Finds the sentences of a turn that ask the bot for something that lasts."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vault_memory.learning.learned_rules import LONGEST_RULE, LONGEST_TURN, rules_in
from vault_memory.rules.search.tokens import clean, is_question

if TYPE_CHECKING:
    from vault_memory.rules.learning.policy_cues import PolicyCues


def spoken_rules(
    text: str,
    cues: "PolicyCues",
    own_sentences: Callable[[str], Sequence[str]],
) -> dict[str, bool]:
    """Returns the rules in a turn, and whether the person plainly asks for each.

    `own_sentences` returns the person's own statements in a text.
    """
    # Fault: a long pasted text is a document, and its sentences are no rules of the person.
    if len(text) > LONGEST_TURN:
        return {}
    # Fault: "from now on I work at ACME" has the words of a rule, and asks for nothing.
    asked = {
        sentence: True
        for sentence in rules_in(text)
        if not cues.is_own_statement(sentence)
    }
    # Fault: a quoted rule is another author's. Only the person's own statement binds the bot.
    for sentence in map(clean, own_sentences(text)):
        reasons = {cue.reason for cue in cues.find(sentence)}
        is_wish = not reasons.isdisjoint({"explicit", "implicit"})
        # Fault: a question such as "should you always …?" asks for nothing.
        if is_wish and len(sentence) <= LONGEST_RULE and not is_question(sentence):
            asked.setdefault(" ".join(sentence.split()), "explicit" in reasons)
    return asked
