"""Finds where a sentence would send something: addresses of mail, web and streets, numbers, and money.

A rule with one of them moves messages or money, so a person decides about it. Pure.
"""

import re
from collections.abc import Iterable

from vault_memory.rules.search.tokens import is_run

_NET = re.compile(
    r"\w@\w|\w://|(?<!\w)www\.|[\[(]at[\])]|[\[(]dot[\])]"
    r"|\w\.(?:com|org|net|info|biz|io|dev|app|ai|co|me|eu|uk|us|de|fr|es|ru|cn|at|ch|it|nl|pl|xyz|site|online"
    r"|top|link|shop|example|test|onion|рф)(?![\w.-]*\w)"
)
_NUMBER = re.compile(r"\+?\d(?:[ ()/.-]{0,2}\d){6}")
"""A phone number or the number of an account; a day has a digit less in a row of seven"""
_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2}/\d{1,2}/\d{4}")
_IBAN = re.compile(r"(?<!\w)[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){2}")
_DIGIT = re.compile(r"\d")
_SIGNS = "$€£¥₽₹₿"


class NamedAddresses:
    """The words of money and streets, in all languages."""

    def __init__(self, currencies: Iterable[str], streets: Iterable[str]) -> None:
        money = _any_of(currencies)
        self._money = re.compile(
            rf"[{_SIGNS}] ?\d|\d[\d.,]{{0,20}} ?(?:[{_SIGNS}]|{money})|(?:{money}) ?\d"
        )
        self._street = re.compile(_any_of(streets))

    def has(self, folded: str) -> bool:
        """Returns whether a folded sentence has an address, a long number or an amount of money."""
        if _NET.search(folded):
            return True
        if not _DIGIT.search(folded):
            return False
        without_days = _DAY.sub(" ", folded)
        return any(
            pattern.search(without_days) is not None
            for pattern in (_NUMBER, _IBAN, self._money, self._street)
        )


def _any_of(words: Iterable[str]) -> str:
    """Returns a pattern of words; one that begins with `~` is the end of a longer word."""
    ordered = sorted(set(words), key=len, reverse=True)
    # Fault: a gap at the beginning would be tried at each letter of a long word.
    alternatives = [rf"{_edge(word)}{re.escape(word.strip('~'))}{_end(word)}" for word in ordered]
    return "|".join(alternatives)


def _edge(word: str) -> str:
    return "" if is_run(word) or word.startswith("~") else r"(?<![^\W\d_])"


def _end(word: str) -> str:
    return "" if is_run(word) or word.endswith("~") else r"(?!\w)"
