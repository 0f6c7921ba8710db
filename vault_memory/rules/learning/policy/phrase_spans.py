"""Finds the phrases of a list in a folded text. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from vault_memory.rules.learning.policy.own_statements import any_of
from vault_memory.rules.search.tokens import is_run

Span = tuple[int, int]


class PhraseSpans:
    """Lists of phrases; a phrase after `!` is an exception."""

    def __init__(
        self, lists: Mapping[str, Iterable[str]], pattern_of: Callable[[str], str]
    ) -> None:
        """`pattern_of` returns the regular expression of a phrase."""
        self._lists = lists
        self._pattern_of = pattern_of
        self._compiled: dict[str, tuple[re.Pattern[str], re.Pattern[str]]] = {}

    def spans(self, name: str, text: str) -> list[Span]:
        """Returns where the phrases of a list are, without those that an exception covers."""
        if name not in self._compiled:
            phrases = list(self._lists[name])
            exceptions = [phrase[1:] for phrase in phrases if phrase.startswith("!")]
            plain = [phrase for phrase in phrases if not phrase.startswith("!")]
            self._compiled[name] = (
                any_of(plain, self._pattern_of),
                any_of(exceptions, self._pattern_of),
            )
        pattern, exception = self._compiled[name]
        spans = [match.span() for match in pattern.finditer(text)]
        if not spans:
            return []
        covered = [match.span() for match in exception.finditer(text)]
        return [
            (start, end)
            for start, end in spans
            if not any(first < end and start < last for first, last in covered)
        ]


def any_word(phrases: Sequence[str], *, closed: bool = False) -> re.Pattern[str]:
    """Returns a pattern for any of these words."""
    ordered = sorted(set(phrases), key=len, reverse=True)
    spaced = [re.escape(word) for word in ordered if not is_run(word)]
    runs = [re.escape(word) for word in ordered if is_run(word)]
    edge = "" if closed else r"(?![\w'])"
    alternatives = [rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w){edge}"] if spaced else []
    return re.compile("|".join([*alternatives, *runs]) or "(?!)")
