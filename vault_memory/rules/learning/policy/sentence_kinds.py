"""Recognizes wishes, statements, orders to keep silent and hard judgements in sentences. Pure.

"From now on, answer in French" is a wish and "from now on I work at ACME" a statement, though both
have the words of a lasting wish. A sentence that speaks to the bot is a wish; one whose main
clause begins with a person or a thing of the speaker's life is a statement.

An order to keep silent about help has a stop ("never", "you mustn't"), an act of the bot ("ask
me") and a topic of help ("if I'm safe", "a hotline"), in any order. So one list for each serves
all ways to say it.

A hard judgement about oneself has a self ("I'm", "makes me") and a flaw ("incompetent", "a bad
mother"), with nothing but words of degree between them ("just", "such"). So each list grows by
itself.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from vault_memory.rules.search.tokens import is_run

STATEMENT_LISTS = ("since", "whenever", "subjects", "addressed", "orders")
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


SAFETY_LISTS = ("safety_stops", "safety_acts", "safety_topics")
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
        stops, acts, topics = (self._phrases.spans(name, sentence) for name in SAFETY_LISTS)
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


BELIEF_LISTS = ("selves", "flaws", "flaw_degrees")
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
