"""Tells a wish from a statement: "from now on, answer in French" from "from now on I work at ACME".

Both have the words of a lasting wish. A sentence that speaks to the bot is a wish; one whose main
clause begins with a person or a thing of the speaker's life is a statement. Pure.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from vault_memory.rules.search.tokens import is_run

LISTS = ("since", "whenever", "subjects", "addressed", "orders")
"""Phrases for a time, for a condition, for what a clause is about, for the bot, and for orders"""
_JOINTS = " \t,:：，—–-"
_COMMA = re.compile(r"[,，]")


class OwnStatements:
    """The phrases by which statements about the speaker's own life are recognized."""

    def __init__(
        self,
        lists: Mapping[str, Iterable[str]],
        pattern_of: Callable[[str], str],
        openers: re.Pattern[str],
    ) -> None:
        """`pattern_of` returns the regular expression of a phrase."""
        self._lists = lists
        self._pattern_of = pattern_of
        self._openers = openers
        self._compiled: dict[str, re.Pattern[str]] = {}

    def contains(self, folded: str) -> bool:
        """Returns whether a folded sentence tells about the speaker's life from some time on."""
        condition = self._phrases("whenever").search(folded)
        marker = condition or self._phrases("since").search(folded)
        if marker is None or self._is_addressed(folded):
            return False
        before = self._clause(folded[: marker.start()])
        subjects = self._phrases("subjects")
        # "Use from now on the metric units" begins with what the bot is to do.
        if before:
            return subjects.match(before) is not None
        after = folded[marker.end() :]
        comma = _COMMA.search(after)
        # The main clause follows: "whenever it rains, I take the bus".
        if condition and comma:
            after = after[comma.end() :]
        return subjects.match(self._clause(after)) is not None

    def begins_with_subject(self, before: str, sentence: str) -> bool:
        """Returns whether the words before an order begin with a person of the speaker's life.

        A sentence that addresses the bot has no such beginning.
        """
        clause = self._clause(before)
        return self._phrases("subjects").match(clause) is not None and not self._is_addressed(
            sentence
        )

    def speaks_to_bot(self, folded: str) -> bool:
        """Returns whether a folded sentence addresses the bot, or gives it an order."""
        is_order = self._phrases("orders").search(folded) is not None
        return is_order or self._is_addressed(folded)

    def _is_addressed(self, folded: str) -> bool:
        return self._phrases("addressed").search(folded) is not None

    def _phrases(self, name: str) -> re.Pattern[str]:
        # Few sentences need these lists: each is compiled at its first use.
        if name not in self._compiled:
            self._compiled[name] = any_of(self._lists[name], self._pattern_of)
        return self._compiled[name]

    def _clause(self, text: str) -> str:
        """Returns a clause without opening words such as "and" or "ok"."""
        text = text.lstrip(_JOINTS)
        opener = self._openers.match(text)
        while opener and opener.end():
            text = text[opener.end() :].lstrip(_JOINTS)
            opener = self._openers.match(text)
        return text


def any_of(phrases: Iterable[str], pattern_of: Callable[[str], str]) -> re.Pattern[str]:
    """Returns a pattern for any of these phrases; nothing for none."""
    ordered = sorted(set(phrases), key=len, reverse=True)
    patterns = [f"{_edge(phrase)}{pattern_of(phrase)}" for phrase in ordered]
    return re.compile("|".join(patterns) or "(?!)")


def _edge(phrase: str) -> str:
    """Returns what must come before a phrase: no letter, in scripts with spaces."""
    first = phrase.lstrip("(~ ")[:1]
    return "" if is_run(first) else r"(?<!\w)"
