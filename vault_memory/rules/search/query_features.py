"""Features of queries and texts beside their words: speaker, time, number, question. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from typing import NamedTuple

from vault_memory.rules.conversations import statements
from vault_memory.rules.search import date_expressions, stopwords, tokens
from vault_memory.rules.search.date_expressions import Days
from vault_memory.rules.search.scoring import Weights
from vault_memory.rules.search.stopwords import words_of

LONGEST_SPEAKER = 3
"""Words of the name of a speaker"""
LONGEST_NAME = 6
"""Words of the name of a note that is looked for"""
MOST_WORDS = 40
"""Words of a sentence in which names are looked for"""
SHORTEST_NAME = 3
"""Letters of the name of a note that is looked for"""
HALF = 0.5
"""The name of a note that is named like a query has more of its content words"""
CACHED_TEXTS = 4_096
"""The number of texts whose features are cached"""


class QueryFeatures(NamedTuple):
    """The features of a query."""

    names: frozenset[str]
    """its words, which may be names of a speaker"""
    days: tuple[tuple[str, str], ...] = ()
    """ranges of days (ISO 8601) around the days that it names"""
    named_days: tuple[tuple[str, str], ...] = ()
    """the days that it names"""

    when: bool = False
    how_many: bool = False
    terms: frozenset[str] = frozenset()
    """its words without stop-words"""

    @property
    def single_days(self) -> frozenset[str]:
        """The days that it names one by one, without weeks, months and years."""
        return frozenset(first for first, last in self.named_days if first == last)


def asked(query: str, days: Iterable[Days]) -> QueryFeatures:
    """Returns the features of a query; `days` are the days that it names."""
    ranges = tuple(days)
    return QueryFeatures(
        names=frozenset(tokens.words(query)),
        days=tuple(_as_text(day_range.near()) for day_range in ranges),
        named_days=tuple(map(_as_text, ranges)),
        when=asks_when(query),
        how_many=asks_how_many(query),
        terms=frozenset(tokens.terms(query)),
    )


def _as_text(days: Days) -> tuple[str, str]:
    return days.first.isoformat(), days.last.isoformat()


def asks_for_a_day(query: QueryFeatures) -> bool:
    """Returns whether a query asks for all of the days that it names, of any topic.

    "What happened on 9 May?" does. "Tonight" and "what shall I cook tonight?" do not.
    """
    further = [word for word in query.terms if not date_expressions.is_date_word(word)]
    if not query.named_days or not words_of(stopwords.EVENT_WORDS).issuperset(further):
        return False
    has_digits = any(word.isdecimal() for word in query.terms)
    return bool(further) or has_digits or statements.asks(query.names)


def names_in(query: str) -> frozenset[str]:
    """Returns the names that a note may have which is named like the query."""
    return frozenset(name for sentence in tokens.sentences(query) for name in _names_in(sentence))


def _names_in(sentence: str) -> Iterator[str]:
    """Yields each run of words with most of the content words, as a name may write it."""
    words = tokens.words(sentence)[:MOST_WORDS]
    # Fault: `.NET` is another name than that of the note `Net.md`.
    if any(map(tokens.is_name_with_signs, words)):
        return
    empty = tokens.stop_words(words) | words_of(stopwords.ABOUT_WORDS)
    counts = [0, *accumulate(word not in empty for word in words)]
    for start in range(len(words)):
        for end in range(start + 1, min(start + LONGEST_NAME, len(words)) + 1):
            # Fault: a note `What.md` would be named by each question.
            if counts[end] - counts[start] <= counts[-1] * HALF:
                continue
            for name in _spellings(words[start:end]):
                if len(name) >= SHORTEST_NAME:
                    yield name


def _spellings(words: Sequence[str]) -> Iterator[str]:
    """Yields the names of files that say these words."""
    for gap in (" ", "-", "_", "") if len(words) > 1 else ("",):
        name = gap.join(words)
        yield name
        # `Flashcards.md` answers what a flashcard is.
        yield name[:-1] if name.endswith("s") else f"{name}s"


def is_near(date: str | None, days: Iterable[tuple[str, str]]) -> bool:
    """Returns whether a day (ISO 8601) is in one of these ranges."""
    if date is None:
        return False
    return any(first <= date <= last for first, last in days)


def names_speaker(who: str, names: frozenset[str]) -> bool:
    """Returns whether the query has a word of the speaker's name."""
    words = [word for word in tokens.words(who) if len(word) > 1]
    # Fault: a label such as "To find all notes" would be the name of a speaker.
    is_label = len(words) > LONGEST_SPEAKER or (len(words) > 1 and tokens.stop_words(words))
    return not is_label and not names.isdisjoint(words)


def of_text(
    text: str, query: QueryFeatures, weights: Weights, *, who: str = ""
) -> dict[str, float]:
    """Returns the weighted features of a text for a query; `who` is its speaker."""
    scores: dict[str, float] = {}
    if query.when and weights.when and has_time_word(_without_block_id(text)):
        scores["when"] = weights.when
    if query.how_many and weights.number and has_number(_without_block_id(text)):
        scores["number"] = weights.number
    if weights.question:
        asking = _asking_share(text, who)
        if asking:
            scores["question"] = asking * _question_weight(text, query, weights)
    empty = weights.empty * _empty_share(text, who)
    if empty:
        scores["empty"] = empty
    return scores


def _question_weight(text: str, query: QueryFeatures, weights: Weights) -> float:
    """Returns the weight of a question: one that repeats the query answers nothing."""
    return weights.question + weights.asked_again * _similarity(text, query)


@lru_cache(CACHED_TEXTS)
def _asking_share(text: str, who: str) -> float:
    """Returns the share of questions in a text, and of orders in the turn of a person."""
    return statements.asked_part(_spoken(text), who)


def _similarity(text: str, query: QueryFeatures) -> float:
    """Returns how far a question repeats the query, from 0 to 1.

    1 when one of them has no new word, 0 when half of the words of each are new.
    """
    query_share = _share_in(query.terms, _words_in(text))
    if not query_share:
        return 0.0
    text_share = _share_in(_terms_in(text), query.names)
    return max(0.0, 2 * max(text_share, query_share) - 1)


def _share_in(terms: frozenset[str], words: frozenset[str]) -> float:
    """Returns the share of terms that are among these words."""
    if not terms:
        return 0.0
    return len(terms & words) / len(terms)


@lru_cache(CACHED_TEXTS)
def _words_in(text: str) -> frozenset[str]:
    return frozenset(tokens.words(_spoken(text)))


@lru_cache(CACHED_TEXTS)
def _terms_in(text: str) -> frozenset[str]:
    return frozenset(tokens.terms(_spoken(text)))


@lru_cache(CACHED_TEXTS)
def _empty_share(text: str, who: str) -> float:
    """Returns the share of a text that answers nothing."""
    return statements.empty_part(_spoken(text), who)


def _spoken(text: str) -> str:
    """Returns the words of a turn or an item, without its speaker and block id."""
    return statements.without_speaker(_without_block_id(text))


def _without_block_id(text: str) -> str:
    """Returns the text without the id of its block at the end."""
    beginning, mark, name = text.rpartition(" ^")
    # A caret before several words is a sign of the text, such as in `2 ^ 3 is 8`.
    if not mark or " " in name.strip():
        return text
    return beginning


def may_have_ended(text: str) -> bool:
    """Returns whether a text looks like a fact, a struck line or one with a confidence."""
    return "~~" in text or "conf:" in text or _fact().match(text) is not None


@cache
def _fact() -> re.Pattern[str]:
    marker = r"\s*+(?:[-*+]|\d{1,9}[.)])[ \t]++(?:\[[^\]]\][ \t]++)?"
    return re.compile(rf"{marker}[^\W\d_][\w-]*+[ \t]*+[:：]")


@cache
def _asking(source: str, plain: bool) -> re.Pattern[str]:
    """Returns a pattern for complete words, or for any place in scripts without spaces.

    `plain`: for a text in ASCII.
    """
    lines = source.strip().splitlines()
    patterns = _alternatives("|".join(line.strip(" |") for line in lines))
    if plain:
        ascii_patterns = [pattern for pattern in patterns if pattern[0].isascii()]
        return re.compile(_as_words(ascii_patterns))
    spaced = [pattern for pattern in patterns if not tokens.is_run(pattern)]
    runs = [pattern for pattern in patterns if tokens.is_run(pattern)]
    return re.compile("|".join([_as_words(spaced), *runs]))


def _as_words(patterns: list[str]) -> str:
    return rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)"


def _alternatives(source: str) -> list[str]:
    """Splits a pattern at each ``|`` outside of brackets."""
    alternatives = [""]
    depth = 0
    for letter in source:
        depth += (letter in "([") - (letter in ")]")
        if letter == "|" and depth == 0:
            alternatives.append("")
        else:
            alternatives[-1] += letter
    return list(map(str.strip, alternatives))


def asks_when(query: str) -> bool:
    """Returns whether a query asks for a time."""
    return _asks_for(stopwords.WHEN, query)


def asks_how_many(query: str) -> bool:
    """Returns whether a query asks for a number."""
    return _asks_for(stopwords.HOW_MANY, query)


def _asks_for(source: str, query: str) -> bool:
    pattern = _asking(source, query.isascii())
    return pattern.search(query[-2000:].casefold()) is not None


_POINTS = str.maketrans(dict.fromkeys(".,;:!?()[]{}\"'*_/\\-–—…«»„“”’¿¡#|", " "))


def _words_of(text: str) -> list[str]:
    """Returns words without punctuation; quicker than `tokens.words`."""
    return text.lower().translate(_POINTS).split()


@cache
def _time_words() -> frozenset[str]:
    years = map(str, range(1900, 2100))
    return frozenset(stopwords.TIME_WORDS.split()).union(years, stopwords.MONTH_NUMBERS)


@lru_cache(CACHED_TEXTS)
def has_time_word(text: str) -> bool:
    """Returns whether the text has a word of time."""
    if not _time_words().isdisjoint(_words_of(text)):
        return True
    if text.isascii():
        return False
    return any(phrase in text for phrase in stopwords.TIME_PIECES.split())


_digit = re.compile(r"\d")


@lru_cache(CACHED_TEXTS)
def has_number(text: str) -> bool:
    """Returns whether the text has a number, in digits or as a word."""
    if _digit.search(text):
        return True
    return not words_of(stopwords.NUMBER_WORDS).isdisjoint(_words_of(text))
