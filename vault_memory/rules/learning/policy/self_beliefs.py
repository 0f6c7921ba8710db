"""Recognizes a hard judgement about oneself: "one mistake means I'm just incompetent". Pure.

Such a judgement has a self ("I'm", "makes me") and a flaw ("incompetent", "a bad mother"), with
nothing but words of degree between them ("just", "such"). So each list grows by itself.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from vault_memory.rules.learning.policy.phrase_spans import PhraseSpans, Span

LISTS = ("selves", "flaws", "flaw_degrees")
"""Phrases for oneself and for a flaw, and the words that may be between them"""
_WORD = re.compile(r"\w+")
_STOP = re.compile(r"[.!?;。！？；\n]")


class SelfBeliefs:
    """The phrases of all languages."""

    def __init__(
        self,
        lists: Mapping[str, Iterable[str]],
        pattern_of: Callable[[str], str],
        is_negated: Callable[[str], bool],
    ) -> None:
        """`pattern_of` returns the regular expression of a phrase.

        `is_negated` returns whether the words before a phrase deny it.
        """
        self._is_negated = is_negated
        self._phrases = PhraseSpans(lists, pattern_of)
        self._degrees = frozenset(lists["flaw_degrees"])

    def contains(self, folded: str) -> bool:
        """Returns whether a folded text says that its speaker is worth little."""
        flaws = self._phrases.spans("flaws", folded)
        # Most texts name no flaw.
        if not flaws:
            return False
        selves = self._phrases.spans("selves", folded)
        return any(self._belongs_to(folded, self_, flaw) for flaw in flaws for self_ in selves)

    def _belongs_to(self, folded: str, self_: Span, flaw: Span) -> bool:
        if self_[1] > flaw[0]:
            return False
        before, gap = folded[: self_[0]], folded[self_[1] : flaw[0]]
        if _STOP.search(gap) or self._is_negated(_STOP.split(before)[-1]):
            return False
        # Fault: "I'm not stupid" denies it, and "I'm married to an idiot" is about another person.
        return self._degrees.issuperset(_WORD.findall(gap))
