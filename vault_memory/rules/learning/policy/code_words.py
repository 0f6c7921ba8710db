"""Detects the number of a door and a pair of name and password, which no word for a secret names.

"The code for the garage is 4417" has one, "the error code is 4041" and "the code review is at 4"
have none. Pure.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import takewhile, zip_longest
from typing import NamedTuple

from vault_memory.rules.search import stopwords
from vault_memory.rules.search.stopwords import language_tables
from vault_memory.rules.search.tokens import is_run

NEAR = 9
"""Words on each side of a number among which its code or its place is"""
BESIDE_LINK = 4
"""Words between a copula and the end of the name of a place: "the alarm of the boathouse is" """
_NUMBER = re.compile(
    r"[*#]?(?<![0-9_a-z\u00df-\u04ff.,/-])(?<!\d:)\d(?:[ -]?\d){3,7}"
    r"(?![0-9_a-z\u00df-\u04ff:/-]|[., ]\d)(?: ?[*#](?!\w))?"
)
"""A number of four to eight digits in any grouping, with the keys that are pressed around it"""
_YEAR = re.compile(r"(?:19|20)\d\d")
_LETTER = r"[^\W\u3400-\u9fff]"
"""Of a script with blanks: "登录用admin" ends with a name"""
_PAIR = re.compile(
    rf"(?<![.@-])(?<!{_LETTER})(?:{_LETTER}|[.@-])+(?: ?[/|] ?|:)"
    r"[^\s/|:.,;!?\u3400-\u9fff]{4,}[ \t]*"
)
"""A name and a password: "admin / quayfish" """
_PAIR_END = re.compile(r"$|[.,;!\n。，；！]")
_WORD = re.compile(r"[:=—–,，(-](?=\s|$)|[:=,，(]|[^\s,，:=()]+")
_COMPONENT = re.compile(r"[^\W_]+")
"""What "l'alarme" and "router-login" consist of"""
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[\n;。！？；]")
_SIGNS = frozenset(":=—–-")
_PAUSES = frozenset(",，—–-(")
_MARK = "\x00"
"""Stands for a number among the words, which no text has"""
LEAST_SPOKEN = 3
"""Names of digits in a row that are a number: "four four one seven" """
_GAP = r"[\s,.;:!?-]"
"""A character between words"""


class _Lists(NamedTuple):
    """The words of all languages."""

    spaced: frozenset[str]
    runs: tuple[str, ...]
    """those of scripts that write no blanks, which have no ends"""

    def are_in(self, words: Sequence[str]) -> bool:
        """Returns whether one of the phrases is among the words or their components."""
        text = f" {' '.join(words)} "
        if not self.spaced.isdisjoint([*words, *_COMPONENT.findall(text)]):
            return True
        has_run = any(run in text for run in self.runs)
        return has_run or any(f" {phrase} " in text for phrase in self.spaced if " " in phrase)

    def are_at_end(self, word: str) -> bool:
        """Returns whether a word is one of them, or ends with one without a blank before it."""
        return self.are_in([word]) and (not is_run(word) or word.endswith(self.runs))


class NearNumber(NamedTuple):
    """A number, with the words before it and after it in its sentence."""

    before: Sequence[str]
    after: Sequence[str]
    is_year: bool
    is_pressed: bool
    """a key of a lock ends it: "4417#" """


def may_tell(folded: str) -> bool:
    """Returns quickly whether a text has the words of a code and a number, or a pair."""
    words = _WORD.findall(folded)
    if _lists("accounts").are_in(words) and (
        _PAIR.search(folded) or _lists("passes").are_in(words)
    ):
        return True
    if not (_lists("codes").are_in(words) or _lists("places").are_in(words)):
        return False
    return _NUMBER.search(with_digits(folded)) is not None


def tells(
    folded: str, copulas: Collection[str], changes: Collection[str], fillings: Collection[str]
) -> bool:
    """Returns whether a sentence has the number of a door, or a pair of name and password.

    `changes` has words such as "to" of "changed the code to 4417". `fillings` may follow a number.
    """
    if not may_tell(folded):
        return False
    links = _SIGNS.union(copulas)
    for sentence in _SENTENCE_END.split(folded):
        if _is_pair_told(sentence, links, fillings) or _is_pass_told(sentence, links, fillings):
            return True
    return any(
        _is_code_told(number, links, changes, fillings)
        for number in _numbers(with_digits(folded), copulas)
    )


def _is_pair_told(sentence: str, links: Set[str], fillings: Collection[str]) -> bool:
    """Returns whether a pair is beside its account: "router login: admin / quayfish" """
    pair = _PAIR.search(sentence)
    if pair is None:
        return False
    before = [word for word in _WORD.findall(sentence[: pair.start()]) if word not in links]
    if _PAIR_END.match(sentence, pair.end()) and _lists("accounts").are_in(before[-2:]):
        return True
    after = list(_apart(_WORD.findall(sentence[pair.end() :]), _runs(links)))
    return _is_login(after, links, fillings)


def _is_login(after: list[str], links: Set[str], fillings: Collection[str]) -> bool:
    """Returns whether words behind a pair say what it opens: "for the router login" """
    clause = list(takewhile(lambda word: word not in _PAUSES, after))[: BESIDE_LINK + 1]
    if not clause or not (clause[0] in links or clause[0] in fillings):
        return False
    # "for the login page" has another noun, "para el login del router" has not.
    return any(
        _lists("logins").are_at_end(word) and (following is None or following in fillings)
        for word, following in zip_longest(clause, clause[1:])
    )


def _is_pass_told(sentence: str, links: Set[str], fillings: Collection[str]) -> bool:
    """Returns whether a name and a password have a word each: "user admin pass quayfish" """
    words = [word for word in _WORD.findall(sentence) if word not in links | _PAUSES]
    for place, word in enumerate(words[:-1]):
        if word not in _lists("passes").spaced or words[place + 1] in fillings:
            continue
        names = [word for word in words[:place] if word not in fillings][-2:]
        # Fault: "the owner of the account will pass" has more between them than a name.
        if len(names) == 2 and _lists("accounts").are_in(names[:1]):
            return True
    return False


def _runs(links: Collection[str]) -> Sequence[str]:
    return sorted(filter(is_run, links), key=len, reverse=True)


def _numbers(folded: str, copulas: Collection[str]) -> Iterator[NearNumber]:
    """Yields each number that may be a code."""
    runs = _runs(copulas)
    for sentence in _SENTENCE_END.split(folded):
        numbers = _NUMBER.findall(sentence)
        marked = _NUMBER.sub(f" {_MARK} ", sentence)
        words = list(_apart(_WORD.findall(marked), runs))
        places = [place for place, word in enumerate(words) if word == _MARK]
        for place, number in zip(places, numbers, strict=True):
            before = words[max(0, place - NEAR) : place]
            after = words[place + 1 : place + 1 + NEAR]
            # Fault: "#4417" alone is the number of an issue.
            is_pressed = number.startswith("*") or number.endswith(("*", "#"))
            yield NearNumber(before, after, bool(_YEAR.fullmatch(number)), is_pressed)


def _apart(words: Sequence[str], runs: Sequence[str]) -> Iterator[str]:
    """Yields words, and the copula of a script without blanks as a word of its own."""
    for word in words:
        ending = next(filter(word.endswith, runs), "") if is_run(word) else ""
        word = word.removesuffix(ending)
        begin = next(filter(word.startswith, runs), "") if is_run(word) else ""
        yield from filter(None, (begin, word.removeprefix(begin), ending))


def _is_code_told(
    number: NearNumber, links: frozenset[str], changes: Collection[str], fillings: Collection[str]
) -> bool:
    before, after, is_year, _ = number
    if _lists("other_codes").are_in([*before, *after]):
        return False
    if _is_beside(number):
        return True
    # Fault: "the door is 2000 mm wide" goes on with a unit.
    if after and not (after[0] in fillings or after[0] in _PAUSES):
        return False
    if _is_linked(number, links):
        return True
    last = before[-1:]
    # Fault: "the door code was changed in 2019" names a year.
    is_new = not (is_year or frozenset(changes).isdisjoint(last))
    is_named = is_new or _lists("places").are_in(last)
    return is_named and _lists("codes").are_in(before)


def _is_beside(number: NearNumber) -> bool:
    """Returns whether a code is directly before a number, or what the number opens is near it."""
    before, after, _, is_pressed = number
    last = before[-1] if before else ""
    if _lists("codes").are_at_end(last):
        return True
    near = [*before[-BESIDE_LINK:], *after[:BESIDE_LINK]]
    is_used = is_pressed or _lists("uses").are_in([last, *after[:1]])
    return is_used and _lists("places").are_in(near)


def _is_linked(number: NearNumber, links: frozenset[str]) -> bool:
    """Returns whether a link such as "is" is between a number and its code or place."""
    codes, places = _lists("codes"), _lists("places")
    before, after, *_ = number
    sides = (
        (before, before[-1:], before[-BESIDE_LINK - 1 : -1]),
        (after, after[:1], after[1 : BESIDE_LINK + 1]),
    )
    return any(
        codes.are_in(side) or places.are_in(near)
        for side, link, near in sides
        if not links.isdisjoint(link)
    )


@cache
def _lists(name: str) -> _Lists:
    words = frozenset(fold(word) for table in _tables().values() for word in table[name])
    runs = frozenset(filter(is_run, words))
    return _Lists(words - runs, tuple(runs))


@cache
def _tables() -> Mapping[str, Mapping[str, list[str]]]:
    return language_tables(__package__, "code_words.toml")


# --- Spoken digits ---

# Writes numbers that are dictated digit by digit in digits. Pure.


@cache
def _digits() -> dict[str, str]:
    return {
        name: str(digit) for digit, names in enumerate(stopwords.DIGITS) for name in names.split()
    }


@cache
def _dictated() -> re.Pattern[str]:
    """Return what finds names of digits in a row, as whole words."""
    name = f"(?:{'|'.join(map(re.escape, _digits()))})"
    row = rf"{name}(?:{_GAP}+{name}){{{LEAST_SPOKEN - 1},}}"
    return re.compile(rf"(?:(?<={_GAP})|^){row}(?={_GAP}|\Z)")


def with_digits(folded: str) -> str:
    """Returns a text in which three or more names of digits in a row are written as a number."""
    digits = _digits()

    def written(row: re.Match[str]) -> str:
        return "".join(digits[name] for name in re.split(f"{_GAP}+", row[0]))

    return _dictated().sub(written, folded)


_LAUGHING = re.compile("[\N{FACE WITH TEARS OF JOY}\N{ROLLING ON THE FLOOR LAUGHING}]")


def fold(text: str) -> str:
    """Returns a text as phrases are compared: without case, and with plain apostrophes."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = text.replace("’", "'").replace("‘", "'").replace("`", "'")
        text = text.replace("ё", "е").replace("Ё", "Е")
        # Laughter in a picture is laughter in a word.
        text = _LAUGHING.sub(" haha ", text)
    return text.lower()
