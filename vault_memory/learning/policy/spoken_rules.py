"""Finds the sentences of a turn that ask the bot for something that lasts."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vault_memory.learning.learned_rules import LONGEST_RULE, LONGEST_TURN, rules_in
from vault_memory.rules.search.tokens import clean, is_question, split_sentences

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
    for sentence in split_sentences(clean(text)):
        reasons = {cue.reason for cue in cues.find(sentence)}
        is_wish = not reasons.isdisjoint({"explicit", "implicit"})
        # Fault: a quoted rule is another author's. Only the person's own statement binds the bot.
        if is_wish and _is_own(sentence, own_sentences(text)):
            asked.setdefault(" ".join(sentence.split()), "explicit" in reasons)
    return asked


def _is_own(
    sentence: str,
    own_sentences: Sequence[str],
) -> bool:
    # Fault: a question such as "should you always …?" asks for nothing.
    if len(sentence) > LONGEST_RULE or is_question(sentence):
        return False
    core = sentence.strip(" .!。！")
    return any(core in own for own in own_sentences)
