"""Separates turns with statements from questions and empty answers. Pure."""

import re
from collections.abc import Collection
from functools import cache

from vault_memory.rules.conversations import request_words
from vault_memory.rules.search import stopwords, tokens
from vault_memory.rules.search.stopwords import words_of
from vault_memory.rules.sentences.sentence_splitter import split_sentences

HALF = 0.5
ENOUGH = 0.8
"""The share of a turn's words in the query from which the turn only repeats the query"""
LONGEST_EMPTY = 400
"""Letters of the longest empty answer"""
LONGEST_OF_A_PERSON = 80
"""Letters from which on a person's turn states something"""
LATEST = 60
"""Letters before which the phrase of an empty answer begins"""
BOTS = frozenset({"assistant", "bot"})
"""Names of the bot as a speaker"""

_speaker = re.compile(r"\A\s*(?:[-*+]\s+)?(?:\*\*[^*\n]{1,80}\*\*:\s)?")
"""The beginning of a turn or an item, with the speaker"""


def without_speaker(text: str) -> str:
    """Returns a turn without the marker of an item and the name of the speaker."""
    return _speaker.sub("", text, count=1)


def repeats(text: str, query: Collection[str]) -> bool:
    """Returns whether a turn asks the same as the query, and states nothing else.

    `query` has the words of the query. A statement is never a repetition.
    """
    plain = without_speaker(text)
    wished = request_words.wished_part(plain, query)
    if not wished and asked_part(plain, _speaker_of(text)) <= HALF:
        return False
    terms = tokens.terms(wished or plain)
    terms = [term for term in terms if term not in words_of(stopwords.QUESTION_WORDS)]
    if wished:
        terms = [term for term in terms if not request_words.serves(term)]
    shared = sum(term in query for term in terms)
    return shared > 0 and shared >= ENOUGH * len(terms)


def tells_nothing(turn: str, who: str) -> bool:
    """Returns whether a turn with its speaker only asks or orders, or is an empty answer."""
    if not turn.startswith("**"):
        return False
    plain = without_speaker(turn)
    return asked_part(plain, who) == 1.0 or empty_part(plain, who) == 1.0


def is_empty_answer(turn: str) -> bool:
    """Returns whether a turn with its speaker is an empty answer."""
    return empty_part(without_speaker(turn), _speaker_of(turn)) == 1.0


def _speaker_of(turn: str) -> str:
    match = _speaker.match(turn)
    return match[0].strip("-+*: \n") if match else ""


def only_serves(turn: str, query: Collection[str], question: str) -> bool:
    """Returns whether a turn of the bot has no word beyond the query, its question and its service.

    `query` has the words of the query; `question` is the turn before, or empty.
    """
    plain = without_speaker(turn)
    familiar = {*query, *tokens.words(without_speaker(question))}
    remaining = request_words.without_service(plain)
    if not all(request_words.is_among(word, familiar) for word in remaining):
        return False
    # Fault: "The office is closed on Fridays" answers a question that has its words.
    return asks(familiar) or len(remaining) < len(request_words.content_words(plain))


def is_bot(who: str) -> bool:
    """Returns whether a speaker is the bot."""
    return who.casefold() in BOTS


def asks(words: Collection[str]) -> bool:
    """Returns whether one of these words is a word of a question, such as `where`."""
    return not words_of(stopwords.QUESTION_WORDS).isdisjoint(words)


def asking_part(text: str) -> float:
    """Returns the share of a text, by letters, that asks."""
    if "?" in text or not text.isascii():
        share = tokens.asking(text)
        if share:
            return share
    # People leave question marks out.
    return float(_begins_as_question(text))


def asked_part(text: str, who: str) -> float:
    """Returns the share of a turn, by letters, that asks or orders something.

    An order of the bot is advice, and so an answer; a line of a note orders nothing.
    """
    asking = asking_part(text)
    if asking == 1.0 or not who or is_bot(who) or not _may_order(text):
        return asking
    sentences = split_sentences(text)
    letters = sum(map(len, sentences)) or 1
    questions_and_orders = [
        sentence for sentence in sentences if tokens.is_question(sentence) or _is_order(sentence)
    ]
    return max(asking, sum(map(len, questions_and_orders)) / letters)


def _may_order(text: str) -> bool:
    """Returns quickly whether a text has any word with which an order begins."""
    if not _order_words().isdisjoint(_non_words.sub(" ", text.lower()).split()):
        return True
    return not text.isascii() and any(phrase in text for phrase in _orders_in_runs())


def _is_order(sentence: str) -> bool:
    """Returns whether a sentence only orders something from the bot."""
    words = _non_words.sub(" ", sentence.lower()).split()
    while words and words[0] in words_of(stopwords.POLITE):
        del words[0]
    if not words:
        return False
    first, *following = words
    if first in words_of(stopwords.ORDERS) or first.startswith(_orders_in_runs()):
        return True
    return (
        first in words_of(stopwords.ORDERS_OF)
        and bool(following)
        and following[0] in words_of(stopwords.ORDER_OBJECTS)
    )


@cache
def _orders_in_runs() -> tuple[str, ...]:
    return tuple(stopwords.ORDERS_IN_RUNS.split())


@cache
def _order_words() -> frozenset[str]:
    return words_of(stopwords.ORDERS) | words_of(stopwords.ORDERS_OF)


def _begins_as_question(text: str) -> bool:
    """Returns whether a single sentence begins with `where`, or with `can you`."""
    match = _first_words.match(text)
    if match is None:
        return False
    first, second = (word.lower() for word in match.groups(""))
    is_inverted = second in _asked_after().get(first, ())
    if first not in words_of(stopwords.QUESTION_WORDS) and not is_inverted:
        return False
    # Fault: "could you remember that the code is 4711" says what the code is.
    if is_inverted and not words_of(stopwords.KEEPING).isdisjoint(tokens.words(text)):
        return False
    return len(split_sentences(text)) == 1


_first_words = re.compile(r"([^\W\d_]+)(?:[ \t-]([^\W\d_]+))?")


@cache
def _asked_after() -> dict[str, list[str]]:
    """Returns the words that make a question, for each verb at the beginning."""
    persons = stopwords.ASKED_PERSONS.split()
    objects = stopwords.ASKED_THINGS.split()
    verbs = dict.fromkeys(stopwords.ASKING_VERBS.split(), persons)
    more_verbs = stopwords.ASKING_VERBS_OF_THINGS.split()
    return verbs | dict.fromkeys(more_verbs, persons + objects)


def empty_part(text: str, who: str) -> float:
    """Returns the share of a text, by letters, that answers nothing, such as `I do not know`.

    A sentence of the bot may name what it does not know. A person's sentence must say nothing else,
    because search may want to find what a person does not know.
    """
    by_bot = is_bot(who)
    if (len(text) > LONGEST_OF_A_PERSON and not by_bot) or not _may_be_empty(text):
        return 0.0
    sentences = split_sentences(text)
    letters = sum(len(sentence) for sentence in sentences)
    empty = sum(len(sentence) for sentence in sentences if _is_empty(sentence, by_bot=by_bot))
    return empty / letters if letters else 0.0


def _is_empty(sentence: str, *, by_bot: bool) -> bool:
    plain = sentence.casefold().replace("’", "'")
    if len(plain) > LONGEST_EMPTY or tokens.is_question(plain):
        return False
    match = _any_of(stopwords.NO_ANSWER).search(plain, 0, LONGEST_EMPTY)
    if match is None or match.start() > LATEST:
        return False
    # "I do not know, but the harbour office does" answers something.
    if _any_of(stopwords.CONTRAST).search(plain, match.end()):
        return False
    remaining = plain[: match.start()] + " " + plain[match.end() :]
    return by_bot or _fillers().issuperset(tokens.words(remaining))


def _may_be_empty(text: str) -> bool:
    """Returns quickly whether a text has any word of an empty answer; most have none."""
    if not words_of(stopwords.NO_ANSWER_MARKS).isdisjoint(
        _non_words.sub(" ", text.lower()).split()
    ):
        return True
    return not text.isascii() and any(
        phrase in text for phrase in words_of(stopwords.NO_ANSWER_PIECES)
    )


_non_words = re.compile(r"[^\w\u0900-\u0963\u0966-\u097f]+")


@cache
def _fillers() -> frozenset[str]:
    return frozenset(tokens.words(stopwords.FILLERS))


@cache
def _any_of(listed: str) -> re.Pattern[str]:
    """Returns a pattern for phrases separated by ``|``, as complete words."""
    phrases = [phrase.strip() for phrase in " ".join(listed.split()).split(" | ")]
    spaced = [phrase for phrase in phrases if not tokens.is_run(phrase)]
    runs = [phrase for phrase in phrases if tokens.is_run(phrase)]
    return re.compile("|".join([rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)", *runs]))
