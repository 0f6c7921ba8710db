"""Tells turns that state something from those that only ask, and from empty answers. Pure."""

import re
from collections.abc import Collection
from functools import cache

from vault_memory.rules.search import stopwords, tokens

HALF = 0.5
ENOUGH = 0.8
"""Of the words of a turn that only repeats the query, at least this part stands in the query"""
LONGEST_EMPTY = 400
"""Letters: no sentence that answers nothing is longer"""
LONGEST_OF_A_PERSON = 80
"""Letters: a person who says more says something"""
LATEST = 60
"""Letters before which the words of an empty answer begin"""
BOTS = frozenset({"assistant", "bot"})
"""Names under which the bot speaks"""

_speaker = re.compile(r"\A\s*(?:[-*+]\s+)?(?:\*\*[^*\n]{1,80}\*\*:\s)?")
"""The beginning of a turn or an item, with who speaks"""


def without_speaker(text: str) -> str:
    """Return what is said, without the mark of an item and the name of the speaker."""
    return _speaker.sub("", text, count=1)


def repeats(text: str, query: Collection[str]) -> bool:
    """Whether a turn asks what the query asks, and says nothing beside it.

    `query` has the words of the query. A statement is never a repetition, however alike it is.
    """
    said = without_speaker(text)
    if asking_part(said) <= HALF:
        return False
    terms = tokens.terms(said)
    known = sum(term in query for term in terms)
    return known > 0 and known >= ENOUGH * len(terms)


def tells_nothing(turn: str, who: str) -> bool:
    """Whether a turn, with its speaker before it, only asks or is an empty answer."""
    if not turn.startswith("**"):
        return False
    said = without_speaker(turn)
    return asking_part(said) == 1.0 or empty_part(said, who) == 1.0


def is_empty_answer(turn: str) -> bool:
    """Whether a turn, with its speaker before it, answers nothing at all."""
    match = _speaker.match(turn)
    who = match[0].strip("-+*: ") if match else ""
    return empty_part(without_speaker(turn), who) == 1.0


def asking_part(text: str) -> float:
    """Return which part of a text, by letters, asks; people leave question marks out."""
    if "?" in text or not text.isascii():
        part = tokens.asking(text)
        if part:
            return part
    return float(_begins_as_question(text))


def _begins_as_question(text: str) -> bool:
    """Whether a single sentence begins with a word such as `where`."""
    first = _first_word.match(text)
    if first is None or first[0].lower() not in _question_words():
        return False
    return len(tokens.split_sentences(text)) == 1


_first_word = re.compile(r"[^\W\d_]+")


@cache
def _question_words() -> frozenset[str]:
    return frozenset(stopwords.QUESTION_WORDS.split())


def empty_part(text: str, who: str) -> float:
    """Return which part of a text, by letters, answers nothing, such as `I do not know`.

    A sentence of the bot may name what it does not know. What a person does not know may be worth
    finding, so their sentence has to say nothing else.
    """
    is_bot = who.casefold() in BOTS
    if (len(text) > LONGEST_OF_A_PERSON and not is_bot) or not _may_be_empty(text):
        return 0.0
    sentences = tokens.split_sentences(text)
    letters = sum(len(sentence) for sentence in sentences)
    empty = sum(
        len(sentence) for sentence in sentences if _is_empty(sentence, is_bot=is_bot)
    )
    return empty / letters if letters else 0.0


def _is_empty(sentence: str, *, is_bot: bool) -> bool:
    plain = sentence.casefold().replace("’", "'")
    if len(plain) > LONGEST_EMPTY or tokens.is_question(plain):
        return False
    match = _no_answer().search(plain, 0, LONGEST_EMPTY)
    if match is None or match.start() > LATEST or _goes_on().search(plain, match.end()):
        return False
    return is_bot or not _tells_more(
        plain[: match.start()] + " " + plain[match.end() :]
    )


def _tells_more(rest: str) -> bool:
    return any(word not in _fillers() for word in tokens.words(rest))


def _may_be_empty(text: str) -> bool:
    """Tell quickly that a text has no words of an empty answer: most texts have none."""
    if not _marks().isdisjoint(_apart.sub(" ", text.lower()).split()):
        return True
    return not text.isascii() and any(piece in text for piece in _pieces())


_apart = re.compile(r"[^\w\u0900-\u0963\u0966-\u097f]+")


@cache
def _marks() -> frozenset[str]:
    return frozenset(stopwords.NO_ANSWER_MARKS.split())


@cache
def _pieces() -> tuple[str, ...]:
    return tuple(stopwords.NO_ANSWER_PIECES.split())


@cache
def _no_answer() -> re.Pattern[str]:
    return _any_of(stopwords.NO_ANSWER)


@cache
def _goes_on() -> re.Pattern[str]:
    return _any_of(stopwords.CONTRAST)


@cache
def _fillers() -> frozenset[str]:
    return frozenset(tokens.words(stopwords.FILLERS))


def _any_of(listed: str) -> re.Pattern[str]:
    """A pattern for phrases parted by ``|`` that stand alone: in parentheses no phrase has any."""
    phrases = [phrase.strip() for phrase in " ".join(listed.split()).split(" | ")]
    spaced = [phrase for phrase in phrases if not tokens.is_run(phrase)]
    runs = [phrase for phrase in phrases if tokens.is_run(phrase)]
    return re.compile("|".join([rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)", *runs]))
