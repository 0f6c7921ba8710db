"""Cues of the write policy: lists of phrases that tell why a sentence is not kept as it is.

In a phrase `*` matches one to three words, `(a|b)` either alternative, `…` any words of the sentence,
`~` any ending of a word, `$` the end of a clause, and `^` allows only opening words such as "please" before the phrase.
A phrase after `?` counts only in a sentence that speaks to the bot. A phrase after `!` is an
exception: "my star sign is cancer" is no illness. What an exception covers does not count.
Case and the kind of apostrophe are ignored. The phrases of all languages apply to each sentence.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from vault_memory.errors import ConfigError
from vault_memory.rules.learning.policy import sentence_kinds
from vault_memory.rules.learning.policy.code_words import fold
from vault_memory.rules.learning.policy.secret_signs import MASK
from vault_memory.rules.learning.policy.secret_words import SecretWords
from vault_memory.rules.learning.policy.sentence_kinds import (
    OwnStatements,
    SafetyOrders,
    SelfBeliefs,
    any_word,
)
from vault_memory.rules.search.tokens import is_run

REASONS = tuple(
    (
        "crisis safety_bypass memory_control turn_scoped hypothetical joke hearsay mood "
        "self_belief pattern hedged explicit sensitive implicit decided withdrawals moving"
    ).split()
)
"""Lists whose phrases are looked for; `secret` has a grammar of its own"""
SECRET_LISTS = tuple(
    (
        "secret secret_numbers not_secrets copulas not_values skips change_verbs change_words "
        "asks of_words persons"
    ).split()
)
WORD_LISTS = (
    "negations",
    "openers",
    "currencies",
    "streets",
    *sentence_kinds.STATEMENT_LISTS,
    *sentence_kinds.SAFETY_LISTS,
    *sentence_kinds.BELIEF_LISTS,
)
LISTS = (*REASONS, *SECRET_LISTS, *WORD_LISTS)
"""The lists of the table `[policy]`; every language has all of them"""
NEGATED = frozenset(
    {"memory_control", "turn_scoped", "self_belief", "pattern", "explicit", "withdrawals"}
)
"""Lists whose phrases mean nothing after a negation: "don't forget that I …" """
NEGATED_AFTER = frozenset({"self_belief", "pattern"})
"""Those that a following negation also denies: "ich hasse mich nicht" """
WORDS_BEFORE = 3
"""Words before a phrase in which a negation counts"""
RUN_BEFORE = 4
"""The same for scripts without spaces, in characters"""
_KEY = 3
"""Characters of a part of a word by which a phrase is looked up"""
_WORDS = r"[^\s,;.!?]+(?:[ \t]++[^\s,;.!?]+){0,2}?"
_PIECES = {
    "": "",
    "*": _WORDS,
    "(": "(?:",
    ")": ")",
    "|": "|",
    " ": r"[ \t]++",
    "…": r"[^.!?。！？\n]{1,120}?",
    "~": r"\w*",
    "$": r"(?=[^\w']*$|[ \t]*[,;:.!?()，。；：！？、—–])",
}
_TOKENS = re.compile(r"([*()|~…$ ])")
_BREAK = re.compile(r"[,;:.!?()，。；：！？、—–]")
_WORD = re.compile(r"\w+")
_BRACKETS = re.compile(r"[()|]")
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


class Cue(NamedTuple):
    """A phrase in a sentence."""

    reason: str
    start: int
    """position in the folded sentence"""
    end: int


class _Phrase(NamedTuple):
    reason: str
    text: str
    is_opening: bool
    """whether only opening words may stand before it"""
    is_weak: bool
    """whether it counts only in a sentence that speaks to the bot"""


class _Group(NamedTuple):
    """The phrases of one list with one first word."""

    reason: str
    pattern: re.Pattern[str]
    is_opening: bool
    is_weak: bool


class PolicyCues:
    """The phrases of all languages."""

    def __init__(self, tables: Iterable[Mapping[str, Any]]) -> None:
        """`tables` are tables `[policy]`. Raises ConfigError for a list that is none."""
        lists: dict[str, list[str]] = {name: [] for name in LISTS}
        for table in tables:
            for name, phrases in table.items():
                _check(name, phrases)
                lists[name] += map(_folded_phrase, phrases)
        self._phrases: dict[str, list[_Phrase]] = {}
        self._exceptions: dict[str, list[str]] = {}
        self._compiled_exceptions: dict[str, re.Pattern[str]] = {}
        for reason in REASONS:
            for phrase in lists[reason]:
                self._add(reason, phrase)
        self._groups: dict[str, tuple[_Group, ...]] = {}
        self._negations = any_word(lists["negations"])
        self._openers = any_word(lists["openers"], closed=True)
        self._own_statements = OwnStatements(
            {name: lists[name] for name in sentence_kinds.STATEMENT_LISTS},
            phrase_pattern,
            self._openers,
        )
        self._addresses = NamedAddresses(lists["currencies"], lists["streets"])
        self._safety_orders = SafetyOrders(
            {name: lists[name] for name in sentence_kinds.SAFETY_LISTS},
            phrase_pattern,
            self._own_statements,
        )
        self._self_beliefs = SelfBeliefs(
            {name: lists[name] for name in sentence_kinds.BELIEF_LISTS},
            phrase_pattern,
            self._is_negated,
        )
        self._secrets = SecretWords({name: lists[name] for name in SECRET_LISTS})
        self.find = lru_cache(maxsize=1_000)(self._find)
        self.reasons = lru_cache(maxsize=1_000)(self._reasons)

    def _reasons(self, sentence: str) -> frozenset[str]:
        """Returns the lists with a phrase in the sentence, `secret` and `address` if it tells one."""
        reasons = {cue.reason for cue in self.find(sentence)}
        if self._safety_orders.contains(fold(sentence)):
            reasons.add("safety_bypass")
        if self._self_beliefs.contains(fold(sentence)):
            reasons.add("self_belief")
        # Fault: a model keeps the words that replace a secret.
        if MASK in sentence or self.is_secret(sentence):
            reasons.add("secret")
        if self._addresses.has(fold(sentence)):
            reasons.add("address")
        return frozenset(reasons)

    def is_secret(self, sentence: str) -> bool:
        """Returns whether a sentence tells a password, a key or a number of a card."""
        return self._secrets.tells(sentence, fold(sentence))

    def is_own_statement(self, sentence: str) -> bool:
        """Returns whether a sentence with the words of a wish tells about the speaker's life."""
        return self._own_statements.contains(fold(sentence))

    def stands_alone(self, sentence: str, reason: str) -> bool:
        """Returns whether a sentence says nothing else: "Please don't save this." """
        folded = fold(sentence)
        for cue in self.find(sentence):
            if cue.reason == reason:
                before, after = folded[: cue.start], folded[cue.end :]
                words = _WORD.findall(self._openers.sub(" ", f"{before} {after}"))
                return sum(map(_weight, words)) <= 1
        return False

    def _find(self, sentence: str) -> tuple[Cue, ...]:
        """Returns the phrases in a sentence, the first one of each list."""
        folded = fold(sentence)
        cues: dict[str, Cue] = {}
        for start in _starts(folded):
            for key in _keys_at(folded, start):
                # Most words begin no phrase.
                if key not in self._phrases:
                    continue
                for group in self._groups_of(key):
                    if group.reason in cues:
                        continue
                    match = group.pattern.match(folded, start)
                    if (
                        match
                        and self._counts(group, folded, start, match.end())
                        and not self._is_excepted(group, folded, match.span())
                    ):
                        cues[group.reason] = Cue(group.reason, start, match.end())
        return tuple(cues.values())

    def _counts(self, group: _Group, folded: str, start: int, end: int) -> bool:
        clause = folded[:start]
        for mark in _BREAK.finditer(folded, 0, start):
            clause = folded[mark.end() : start]
        if group.is_opening and self._openers.sub(" ", clause).strip():
            return False
        if group.reason not in NEGATED:
            return True
        if self._is_negated(clause):
            return False
        if group.reason not in NEGATED_AFTER:
            return True
        following = re.match(r"[ \t]+(\w+)", folded[end:])
        return not (following and self._negations.fullmatch(following[1]))

    def _is_negated(self, before: str) -> bool:
        """Returns whether the last words before a phrase deny it."""
        return bool(self._negations.search(_last_words(before)))

    def _is_excepted(self, group: _Group, folded: str, span: tuple[int, int]) -> bool:
        """Returns whether a phrase belongs to an exception, or to a statement about oneself."""
        if group.is_weak and not self._own_statements.speaks_to_bot(folded):
            return True
        # Fault: "from now on I work there" would become a rule for the bot.
        if group.reason == "explicit" and self._own_statements.contains(folded):
            return True
        exceptions = self._exceptions_of(group.reason)
        if exceptions is None:
            return False
        start, end = span
        return any(
            match.start() < end and start < match.end() for match in exceptions.finditer(folded)
        )

    def _exceptions_of(self, reason: str) -> re.Pattern[str] | None:
        phrases = self._exceptions.get(reason)
        if phrases is None:
            return None
        if reason not in self._compiled_exceptions:
            pattern = "|".join(map(phrase_pattern, phrases))
            self._compiled_exceptions[reason] = re.compile(pattern)
        return self._compiled_exceptions[reason]

    def _groups_of(self, key: str) -> tuple[_Group, ...]:
        groups = self._groups.get(key)
        if groups is not None:
            return groups
        # Few sentences need few phrases: each group is compiled at its first use.
        patterns: dict[tuple[str, bool, bool], list[str]] = {}
        for phrase in self._phrases[key]:
            kind = (phrase.reason, phrase.is_opening, phrase.is_weak)
            patterns.setdefault(kind, []).append(phrase_pattern(phrase.text))
        groups = tuple(
            _Group(reason, re.compile("|".join(alternatives)), is_opening, is_weak)
            for (reason, is_opening, is_weak), alternatives in patterns.items()
        )
        self._groups[key] = groups
        return groups

    def _add(self, reason: str, phrase: str) -> None:
        if phrase.startswith("!") and _WORD.search(phrase):
            self._exceptions.setdefault(reason, []).append(phrase[1:].strip())
            return
        is_weak = phrase.startswith("?")
        text = phrase.removeprefix("?")
        is_opening = text.startswith("^")
        text = text.removeprefix("^").strip()
        entry = _Phrase(reason, text, is_opening, is_weak)
        for key in dict.fromkeys(map(_key_of, _beginnings(text))):
            # Fault: a phrase without a first word is looked up nowhere, and would do nothing.
            if not key:
                raise ConfigError(
                    f"the phrase `{phrase}` in `{reason}` begins with no word",
                    hint="begin each phrase, and each alternative at its beginning, with a word",
                )
            self._phrases.setdefault(key, []).append(entry)


def phrase_pattern(phrase: str) -> str:
    """Returns the regular expression of a folded phrase."""
    pattern = "".join(_PIECES.get(token, re.escape(token)) for token in _TOKENS.split(phrase))
    last = phrase.rstrip(")|~ ")[-1:]
    is_word = last.isalnum() and not is_run(last)
    if not is_word or phrase.endswith("~"):
        return pattern
    # In a script without spaces, another alternative may go on at once.
    if any(map(is_run, phrase)):
        return rf"{pattern}(?:(?<![a-z])|(?!\w))"
    # A phrase that ends with an elided word, as "que j'", may go on at once.
    return rf"{pattern}(?:(?<=')|(?!\w))"


def _folded_phrase(phrase: str) -> str:
    # Folding would turn the sign of a gap into three full stops.
    return "…".join(map(fold, phrase.split("…")))


def _check(name: str, phrases: object) -> None:
    is_list = isinstance(phrases, list) and all(
        isinstance(phrase, str) and phrase.strip() for phrase in phrases
    )
    if name in LISTS and is_list:
        return
    raise ConfigError(
        f"`{name}` is no list of phrases of the write policy",
        hint=f"the lists of `[policy]` are {', '.join(LISTS)}",
    )


def _starts(folded: str) -> Iterable[int]:
    """Yields where a phrase may begin: at words, and at each letter of a script without spaces."""
    for word in _WORD.finditer(folded):
        yield word.start()
        if not folded.isascii():
            for position in range(word.start() + 1, word.end()):
                if is_run(folded[position]):
                    yield position


def _keys_at(folded: str, start: int) -> Iterable[str]:
    if is_run(folded[start]):
        return (folded[start],)
    word = _WORD.match(folded, start)
    return _keys_of(word[0] if word else "")


@lru_cache(maxsize=4_096)
def _keys_of(word: str) -> tuple[str, ...]:
    """Returns the keys of phrases that begin with a word, or with its first letters."""
    prefixes = (f"{word[:length]}~" for length in range(1, _KEY + 1))
    return tuple(dict.fromkeys((word, *prefixes)))


def _key_of(beginning: str) -> str:
    """Returns the first word of a phrase; for a part of a word, its first letters and `~`."""
    word = _WORD.match(beginning.lstrip())
    if word is None:
        return ""
    text = word[0]
    if is_run(text):
        return text[0]
    remainder = beginning.lstrip()[word.end() :]
    # Most phrases have a blank after their first word.
    if remainder.startswith(" "):
        return text
    endings = [remainder]
    if remainder.startswith("("):
        choices, end = _alternatives(remainder)
        endings = [choice + remainder[end:] for choice in choices]
    is_part = any(_goes_on(ending) for ending in endings)
    return f"{text[:_KEY]}~" if is_part else text


def _goes_on(ending: str) -> bool:
    return ending[:1] in ("~", "(", "*", "…") or ending[:1].isalnum()


def _beginnings(phrase: str) -> Iterable[str]:
    """Yields the phrase with each choice of its first alternatives, until it begins with a word."""
    if not phrase.startswith("("):
        return [phrase]
    choices, end = _alternatives(phrase)
    beginnings: set[str] = set()
    for choice in choices:
        remainder = (choice + phrase[end:]).lstrip()
        beginnings.update(_beginnings(remainder))
    return sorted(beginnings)


def _alternatives(phrase: str) -> tuple[list[str], int]:
    """Returns the alternatives in the first brackets of a phrase, and where these end."""
    depth = 0
    begin = 1
    choices: list[str] = []
    for mark in _BRACKETS.finditer(phrase):
        sign = mark[0]
        depth += (sign == "(") - (sign == ")")
        # Fault: a phrase of nested brackets would never be looked up.
        if depth > 1 or sign == "(":
            continue
        if not depth or sign == "|":
            choices.append(phrase[begin : mark.start()])
            begin = mark.end()
        if not depth:
            return choices, begin
    return [], len(phrase)


def _last_words(clause: str) -> str:
    if clause[-1:].strip() and is_run(clause[-1]):
        return clause[-RUN_BEFORE:]
    return " ".join(clause.split()[-WORDS_BEFORE:])


def _weight(word: str) -> int:
    """Returns 1 for a word; for a run of letters without spaces, about its words."""
    return (len(word) + 1) // 2 if is_run(word) else 1


# --- Named addresses ---

# Finds where a sentence would send something: addresses of mail, web and streets, numbers, and
# money.
#
# A rule with one of them moves messages or money, so a person decides about it. Pure.


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
