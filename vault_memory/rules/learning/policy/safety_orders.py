"""Recognizes an order to keep silent about help: "don't ever ask me if I'm safe". Pure.

Such an order has a stop ("never", "you mustn't"), an act of the bot ("ask me") and a topic of help
("if I'm safe", "a hotline"), in any order. So one list for each serves all ways to say it.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from vault_memory.rules.learning.policy.own_statements import OwnStatements
from vault_memory.rules.learning.policy.phrase_spans import PhraseSpans

LISTS = ("safety_stops", "safety_acts", "safety_topics")
"""Phrases for a stop, for an act of the bot, and for a topic of help. A phrase after `!` is an exception"""
LONGEST_SPAN = 120
"""Characters between a stop and the act or the topic that it is about"""
_BREAK = re.compile(r"[.!?。！？\n]")


class SafetyOrders:
    """The phrases of all languages."""

    def __init__(
        self,
        lists: Mapping[str, Iterable[str]],
        pattern_of: Callable[[str], str],
        own_statements: OwnStatements,
    ) -> None:
        """`pattern_of` returns the regular expression of a phrase."""
        self._phrases = PhraseSpans(lists, pattern_of)
        self._own_statements = own_statements

    def contains(self, folded: str) -> bool:
        """Returns whether a folded text orders the bot to keep silent about help."""
        # Most texts have no topic of help.
        if not self._phrases.spans("safety_topics", folded):
            return False
        return any(map(self._is_order, _BREAK.split(folded)))

    def _is_order(self, sentence: str) -> bool:
        stops, acts, topics = (self._phrases.spans(name, sentence) for name in LISTS)
        if not (stops and acts and topics):
            return False
        return any(
            _is_near(stop, topics)
            and _is_near(stop, acts)
            # Fault: "my brother never asks me for help" orders nothing.
            and not self._own_statements.begins_with_subject(
                sentence[: min(stop[0], acts[0][0])], sentence
            )
            for stop in stops
        )


def _is_near(stop: tuple[int, int], spans: list[tuple[int, int]]) -> bool:
    return any(
        start - stop[1] >= -LONGEST_SPAN and end - stop[0] <= LONGEST_SPAN for start, end in spans
    )
