"""Finds what a person took back: "scratch that" withdraws what the own turn before it says. Pure."""

from collections.abc import Iterable, Mapping

from vault_memory.rules.conversations.quotation_marks import unquoted
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.policy_cues import PolicyCues
from vault_memory.rules.learning.write_policy import sentences_about
from vault_memory.rules.sentences.sentence_splitter import split_sentences

WITHDRAWN = "withdrawn"
"""The reason of candidates that were taken back"""
Sentences = frozenset[str]


def withdrawn_sentences(turns: Iterable[Turn], cues: PolicyCues) -> dict[str, Sentences]:
    """Returns the sentences that were taken back, by the id of their turn.

    `turns` are a person's own turns in the order of time. A withdrawal after other sentences of
    its turn takes back these; at the beginning of a turn it takes back the turn before, in the
    same session.
    """
    withdrawn: dict[str, Sentences] = {}
    previous: dict[str, Turn] = {}
    for turn in turns:
        sentences = split_sentences(turn.text)
        position = _position_of_withdrawal(sentences, cues)
        if position:
            withdrawn[turn.id] = frozenset(sentences[:position])
        elif position == 0 and turn.session in previous:
            # Fault: a withdrawal must not take back what the person says in another session.
            before = previous[turn.session]
            withdrawn[before.id] = frozenset(split_sentences(before.text))
        previous[turn.session] = turn
    return withdrawn


def opens_with_withdrawal(turn: Turn, cues: PolicyCues) -> bool:
    """Returns whether a turn takes back the one before it."""
    return _position_of_withdrawal(split_sentences(turn.text), cues) == 0


def is_withdrawn(text: str, turn: Turn, withdrawn: Mapping[str, Sentences]) -> bool:
    """Returns whether the person took back what a turn says about a text."""
    sentences = withdrawn.get(turn.id)
    if not sentences:
        return False
    return not sentences.isdisjoint(sentences_about(text, turn.text))


def _position_of_withdrawal(sentences: list[str], cues: PolicyCues) -> int | None:
    for position, sentence in enumerate(sentences):
        if any(cue.reason == "withdrawals" for cue in cues.find(unquoted(sentence))):
            return position
    return None
