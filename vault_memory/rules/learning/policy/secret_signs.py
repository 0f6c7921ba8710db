"""Finds signs of a secret in a text, without the tables of phrases.

A text without any sign has no secret, so most texts need no further search.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from vault_memory.rules.conversations import statements
from vault_memory.rules.learning.policy import code_words
from vault_memory.rules.learning.policy.code_words import fold
from vault_memory.rules.search.stopwords import language_tables
from vault_memory.rules.sentences import sentence_splitter

_TOKEN = re.compile(
    r"(?<![\w-])(?:"
    r"sk-(?:[A-Za-z]+-)?[A-Za-z0-9_-]{16,}|sk_(?:live|test)_[A-Za-z0-9]{16,}|"
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|"
    r"(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{30,}|xox[abprs]-[A-Za-z0-9-]{10,}|"
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r")|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_CARD = re.compile(r"(?<![\d.,-])(?:\d[ -]?){12,18}\d(?![\d.,-]*\d)")
_IBAN = re.compile(
    r"(?<![\w-])[a-z]{2}\d{2}(?:[ -]?[a-z0-9]{4}){2,7}(?:[ -]?[a-z0-9]{1,4})?(?!\w)", re.IGNORECASE
)
_LEAST_DIGITS = 8
"""Digits of an IBAN at least"""
_CREDENTIALS = re.compile(r"://[^\s:/@]+:[^\s/@]+@")
"""A name and a password in a URL"""
KEY_LINE = re.compile(r"^[A-Za-z0-9+/=]{60,}$", re.MULTILINE)
"""A line of a key, of which a chunk may have no more"""
_FIRST_RUN = "\u0e00"
"""From here on scripts write no blanks"""
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w+")


@cache
def cue_tables() -> Mapping[str, Mapping[str, list[str]]]:
    """Returns the lists of cues of each language."""
    return language_tables(__package__, "secret_cues.toml")


def has_sign(text: str) -> bool:
    """Returns whether a text may have a secret: the format of one, or a cue."""
    if has_format(text) or KEY_LINE.search(text):
        return True
    folded = fold(text)
    words = frozenset(_WORD.findall(folded))
    words_of_cues, runs = _cues()
    if any(map(words.issuperset, words_of_cues)):
        return True
    return any(run in folded for run in runs) or code_words.may_tell(folded)


def has_format(text: str) -> bool:
    """Returns whether a text has a key, a number of a card or of an account, or an address with a password."""
    # Fault: a pasted key has no word such as "password" before it.
    if _TOKEN.search(text) or _CREDENTIALS.search(text):
        return True
    return _has_card(text) or _has_iban(text)


@cache
def _cues() -> tuple[Sequence[frozenset[str]], Sequence[str]]:
    """Returns the words of each cue, and the cues of scripts that write no blanks."""
    lists = (words for table in cue_tables().values() for words in table.values())
    cues = {fold(cue) for words in lists for cue in words}
    spaced = (cue for cue in cues if cue < _FIRST_RUN)
    runs = tuple(cue for cue in cues if cue >= _FIRST_RUN)
    return tuple(frozenset(_WORD.findall(cue)) for cue in spaced), runs


def _has_iban(text: str) -> bool:
    """Returns whether a text has the number of a bank account, an IBAN, in any grouping."""
    for match in _IBAN.finditer(text):
        parts = re.split("[ -]", match[0])
        # Fault: a word may follow at once: "… 0130 00 please".
        while len(parts) > 1 and not _DIGIT.search(parts[-1]):
            del parts[-1]
        number = "".join(parts).upper()
        turned = number[4:] + number[:4]
        remainder = int("".join(str(int(letter, 36)) for letter in turned)) % 97
        if remainder == 1 and len(_DIGIT.findall(number)) >= _LEAST_DIGITS:
            return True
    return False


def _has_card(text: str) -> bool:
    """Returns whether a text has a number of a bank card with a valid check digit."""
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        # Cards begin with 2 to 6; telephone numbers and times rarely do and pass the check.
        if digits[0] in "23456" and _passes_luhn(digits):
            return True
    return False


def _passes_luhn(digits: str) -> bool:
    total = 0
    for position, digit in enumerate(reversed(digits)):
        number = int(digit)
        if position % 2:
            number = number * 2 - 9 if number > 4 else number * 2
        total += number
    return total % 10 == 0


MASK = "[a secret is left out]"
_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL
)


def masked(text: str, is_secret: Callable[[str], bool]) -> str:
    """Returns a turn in which each sentence with a secret is replaced by `MASK`."""
    text = KEY_LINE.sub(MASK, _KEY_BLOCK.sub(MASK, text))
    stretches: list[str] = []
    place = 0
    for start, end in sentence_splitter.sentence_spans(text):
        sentence = text[start:end].strip()
        # Fault: the name of a speaker before a colon would be a value.
        if is_secret(statements.without_speaker(sentence)):
            first = text.index(sentence, start)
            stretches += text[place:first], MASK
            place = first + len(sentence)
    text = "".join(stretches) + text[place:]
    # Fault: the cue may be in one sentence and the value in the next one.
    return MASK if is_secret(statements.without_speaker(text)) else text


def masked_lines(text: str, is_secret: Callable[[str], bool]) -> str:
    """Returns lines of a transcript without the secrets in their turns."""
    lines = text.splitlines(keepends=True)
    return "".join(_masked_line(line, is_secret) for line in lines)


def is_same(recorded: str, text: str) -> bool:
    """Returns whether a recorded turn may be this text, without its secrets."""
    if MASK not in recorded:
        return recorded == text
    first, *between, last = recorded.split(MASK)
    place = len(first)
    for part in between:
        start = text.find(part, place)
        if start < 0:
            return False
        place = start + len(part)
    return text.startswith(first) and text.endswith(last) and place + len(last) <= len(text)


def _masked_line(line: str, is_secret: Callable[[str], bool]) -> str:
    try:
        record = json.loads(line)
        words = record["text"]
        plain = masked(words, is_secret)
    except (ValueError, KeyError, TypeError, AttributeError):
        # A torn line is no turn.
        return masked(line, is_secret)
    if plain == words:
        return line
    return json.dumps({**record, "text": plain}, ensure_ascii=False) + "\n"
