"""Knows words with a point inside a sentence, from a table for each language. Pure."""

import re
from dataclasses import dataclass
from functools import cache

from vault_memory.rules.search import stopwords
from vault_memory.rules.search.stopwords import language_tables

_FIRST_SIGNS = "\"'“”„«»‹›「『《([{*_~`¿¡"
_GOES_ON = frozenset("–—-&+/%§$€£¥=×")
"""Signs that begin no sentence"""

SPACED = re.compile(r"(?<![^\s(\[\"'“„«])(?:[^\W\d_]\.[ \u00a0\u202f]){1,4}[^\W\d_]{1,3}\Z")
"""`z. B` and `p. ej`, without their last point"""
_WORD = re.compile(r"[\w'’]+")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
_ORDINAL = re.compile(r"(?:\d{1,2}\.)?\d{1,3}")
"""A number with four digits is a year"""
_ROMAN = re.compile(r"[IVXLC]{2,}")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{2,5}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Table:
    """The words of all languages."""

    never: frozenset[str]
    open: frozenset[str]
    numbered: frozenset[str]
    endings: tuple[str, ...]
    starters: frozenset[str]
    runs: tuple[str, ...]
    """starters of scripts without spaces"""
    ordinals: frozenset[str]
    clubs: frozenset[str]


@dataclass(frozen=True, slots=True)
class FullStop:
    """A point in a text, with the words on both sides."""

    word: str
    """the text before the point, without blanks"""
    before: str
    """the word before that"""
    following: str
    """the text after the point, without blanks at its beginning"""

    @property
    def next_word(self) -> str:
        match = _WORD.match(self.following.lstrip(_FIRST_SIGNS))
        return match[0].replace("’", "'") if match else ""


def sentence_goes_on(point: FullStop) -> bool:
    """Returns whether a point belongs to an abbreviation or a number inside a sentence."""
    table = _table()
    name = _name(point.word)
    if not point.following or not name:
        return False
    if name in table.never:
        return True
    # Fault: in "CC. AA.", the first word is a Roman number, too.
    for decide in (_plural_goes_on, _number_goes_on):
        goes_on = decide(point)
        if goes_on is not None:
            return goes_on
    is_beside_number = point.before[-1:].isdigit() or point.next_word[:1].isdigit()
    if name in table.numbered:
        return is_beside_number and _no_starter_follows(point)
    return _is_short_form(point.word, name) and _no_starter_follows(point)


def _plural_goes_on(point: FullStop) -> bool | None:
    """Returns whether a sentence goes on in or after "RR. HH."; None for other words."""
    if not _is_doubled(point.word):
        return None
    if _is_doubled(point.next_word):
        return True
    is_second = _is_doubled(point.before.rstrip("."))
    return _no_starter_follows(point) if is_second else None


def _is_doubled(word: str) -> bool:
    """Returns whether a word is half of a Spanish plural such as "RR. HH." """
    bare = word.strip(_FIRST_SIGNS)
    return len(bare) == 2 and bare[0] == bare[1] and bare.isupper()


def is_abbreviation(word: str) -> bool:
    """Returns whether a word is known to be written with a point at its end."""
    name = _name(word)
    table = _table()
    return (
        name in table.never
        or name in table.open
        or name.endswith(table.endings)
        or _DOTTED.fullmatch(name) is not None
    )


def continues_quotation(following: str) -> bool:
    """Returns whether a text goes on with the sentence of a quotation or of points before it."""
    table = _table()
    first = following[0]
    match = _WORD.match(following)
    word = match[0].replace("’", "'") if match else ""
    if word in table.starters or word.startswith(table.runs):
        return False
    return first in ",;:–—-" or first.isdigit() or (first.isalpha() and not first.isupper())


def follows_ordinal(word: str) -> bool:
    """Returns whether a word after a number with a point shows that it is an ordinal number."""
    folded = word.strip(",;.:!?").casefold()
    return folded in stopwords.MONTH_NUMBERS or folded in _table().clubs


def _name(word: str) -> str:
    """Returns the form in which a word is listed: `z. B` as `z.b`."""
    bare = word.strip(_FIRST_SIGNS).casefold()
    return re.sub(r"[ \u00a0\u202f]", "", bare)


def _is_short_form(word: str, name: str) -> bool:
    bare = word.strip(_FIRST_SIGNS)
    if len(name) == 1:
        # Fault: "J. R. R. Tolkien", "z. B." and "a. m." are cut at their points.
        return name.isalpha()
    if is_abbreviation(name):
        return True
    # "Send me the PDF." ends; "bldg." is written without vowels to be short.
    return _CONSONANTS.fullmatch(bare) is not None and not bare.isupper()


def _number_goes_on(point: FullStop) -> bool | None:
    """Returns whether a number with a point is an ordinal; None when there is no number."""
    word = point.word.strip(_FIRST_SIGNS)
    is_roman = _ROMAN.fullmatch(word) is not None and point.before[:1].isupper()
    if not is_roman and _ORDINAL.fullmatch(word) is None:
        return None
    table = _table()
    following = point.next_word
    if following in table.starters or following.startswith(table.runs):
        return False
    if following[:1].islower() or following[:1].isdigit():
        return True
    if follows_ordinal(following):
        return True
    # "in the 2. Liga" goes on; "I have 2. Tea is fine." does not.
    return point.before.casefold() in table.ordinals and bool(following)


def _no_starter_follows(point: FullStop) -> bool:
    """Returns whether what follows an abbreviation may belong to its sentence."""
    table = _table()
    word = point.next_word
    if not word:
        return point.following[:1] in _GOES_ON
    # "Apt. No. 5"
    rest = point.following.lstrip(_FIRST_SIGNS)[len(word) :]
    if rest.startswith(".") and word.casefold() in table.numbered:
        return True
    elided = word[: word.find("'") + 1]
    is_starter = word in table.starters or elided in table.starters
    is_contracted = word.partition("'")[0] in table.starters
    return not (is_starter or is_contracted or word.startswith(table.runs))


@cache
def _table() -> _Table:
    tables = language_tables(__package__, "abbreviations.toml").values()

    def words(key: str) -> frozenset[str]:
        return frozenset(" ".join(table[key] for table in tables).split())

    starters = words("starters")
    return _Table(
        words("never"),
        words("open"),
        words("numbered"),
        tuple(sorted(words("endings"))),
        starters,
        tuple(sorted(word for word in starters if word > "\u3000")),
        words("ordinals"),
        words("clubs"),
    )
