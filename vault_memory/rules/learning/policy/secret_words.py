"""Detects passwords, keys and numbers of cards, accounts and persons in a sentence.

A token format counts anywhere. A cue such as "password" counts beside a word that can be its value,
in any order: "my password is swordfish" has one, "the password hint is the cat" has none.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from vault_memory.rules.learning.policy import code_words
from vault_memory.rules.learning.policy.code_words import with_digits
from vault_memory.rules.learning.policy.secret_signs import has_format
from vault_memory.rules.search.tokens import is_run

LONGEST_GAP = 4
"""Words between a cue and the copula: "the password for the router is …" """
SHORTEST_CODE = 4
"""Characters of a value with a digit that follows a cue directly: "PIN 4417" """
WORDS_BETWEEN = 6
"""Words before a cue among which its value is: "quayfish is the new wifi password" """
WORDS_OF_NAME = 2
"""Words that may name what a password is for, directly before it: "the guest wifi password" """
LONGEST_SIDE = 200
"""Characters on each side of a cue among which its value is"""
LONGEST_COMPOUND = 60
"""Characters before a cue in which a name of which it is a part may stand"""
_CODE = re.compile(r"[ \t]*+[#:：=]?+[ \t]*+(?P<value>[^\s,;，。；]+)")
_RUN_CODE = re.compile(r"[ \t]*+[#:：=]?+[ \t]*+(?P<value>[!-~]+)")
_QUOTED = re.compile(r"[\"'“„«‚‘「『`]")
_DIGIT = re.compile(r"\d")
_NUMBER_AFTER = re.compile(r"[ \t]+[^\W\d_]+[ \t]+\d{4,}[ \t]*(?:$|[.,;!])")
"""The number in "my PIN today 4417", which has no verb"""
_CLAUSE = re.compile(r"[.,;:!?…\n，。；：！？]")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[\n;。！？；]")
_BESIDE = re.compile(r"[:=—–,，(-](?=\s|$)|[:=,，(]|[^\s,，:=()]+")
"""A word, or a mark between a cue and its value"""
_LINKS = frozenset(":=—–-(")
_PAUSES = frozenset(",，—–-()")
_RUN_LATIN = re.compile(r"[ \t]*+[:：=]?+[ \t]*+(?P<value>[a-z][!-+\--~]{3,})")
_RUN_LAST = re.compile(r"(?P<value>[^\W\d_]{2,8})[ \t]*(?:$|[,.!，。！])")
_NUMBER = re.compile(r"\d[\d-]*")
_DAY = re.compile(r"(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])")
_GAP = rf"(?:[ \t]+[\w'’\"/.-]+){{0,{LONGEST_GAP}}}?"


class SecretWords:
    """The words by which secrets are recognized, in all languages."""

    def __init__(self, lists: Mapping[str, Iterable[str]]) -> None:
        self._words = {name: _WordPatterns(words) for name, words in lists.items()}
        self._word_cue = re.compile(self._words["secret"].pattern)
        self._number_cue = re.compile(self._words["secret_numbers"].pattern)
        self._not_values = frozenset(lists["not_values"])
        self._run_beginnings = tuple(filter(is_run, self._not_values))
        self._skips = frozenset(lists["skips"])
        # Fault: "in" of "keep in mind" begins a place, too: "the password is in the safe".
        self._asks = frozenset(lists["asks"]) - self._not_values
        self._of_words = frozenset(lists["of_words"])
        # Fault: "bei uns" has no noun to come, as "for our router" has.
        self._determiners = self._not_values - frozenset(lists["persons"])
        self._copulas = frozenset(lists["copulas"])
        self._change_words = frozenset(lists["change_words"])
        self._links = _LINKS | self._copulas | self._change_words
        self._fillings = self._not_values | self._asks | self._skips | self._links
        self._endings = _PAUSES | self._asks | self._of_words
        run_asks = sorted(filter(is_run, self._asks), key=len, reverse=True)
        self._run_asks = re.compile("|".join(map(re.escape, run_asks)) or "(?!)")
        self._run_skips = tuple(filter(is_run, sorted(self._skips, reverse=True)))

    def tells(self, sentence: str, folded: str) -> bool:
        """Returns whether a sentence tells a secret. `folded` is the same in lower case."""
        if has_format(sentence):
            return True
        # Fault: the day of "the fuses are in the blue tin (2026-05-04)" is no number of a tin.
        folded = _DAY.sub(" ", folded)
        if self._is_word_told(folded) or self._is_any_number_told(folded):
            return True
        changes = self._change_words
        if code_words.tells(folded, self._copulas, changes, self._fillings):
            return True
        # Fault: a dictated code has no digit.
        in_digits = with_digits(folded)
        return in_digits != folded and self._is_any_number_told(in_digits)

    def _is_word_told(self, folded: str) -> bool:
        cues = list(self._word_cue.finditer(folded))
        plain = [cue for cue in cues if not self._is_compound(folded, cue)]
        if any(self._is_told(folded, cue) for cue in plain):
            return True
        if any(self._is_told_beside(folded, cue) for cue in plain):
            return True
        return bool(cues) and self._is_told_around(folded)

    def _is_any_number_told(self, folded: str) -> bool:
        cues = list(self._number_cue.finditer(folded))
        if any(self._is_number_told(folded, cue) for cue in cues):
            return True
        if any(self._is_number_before(folded, cue) for cue in cues):
            return True
        return bool(cues) and self._run_number_before.search(folded) is not None

    # ---- patterns that few sentences need ----------------------------------------------------

    @cached_property
    def _value(self) -> re.Pattern[str]:
        copulas = self._words["copulas"].spaced
        verb = rf",?[ \t]+(?:{copulas})[ \t]+|[ \t]*[:：=][ \t]*|'s[ \t]+"
        return re.compile(rf"{_GAP}(?:{verb})(?P<value>[^\n]{{1,80}})")

    @cached_property
    def _run_value(self) -> re.Pattern[str]:
        copulas = self._words["copulas"].runs
        return re.compile(
            rf"[^\s,;，。；！？]{{0,6}}?(?:{copulas}|[:：=])[ \t]*(?P<value>[^\n]{{1,80}})"
        )

    @cached_property
    def _values_around(self) -> tuple[re.Pattern[str], ...]:
        """Patterns of "剑鱼是我的密码" and "I changed my password to swordfish"."""
        cue = self._words["secret"].pattern
        copulas = self._words["copulas"]
        changes = self._words["change_verbs"].spaced
        to = self._words["change_words"].spaced
        run_before = (
            rf"(?<![^\s,;，。；！？])(?P<value>[^\s,;，。；！？]+?)(?:{copulas.runs})我?[^\s\d,;，。；！？]{{0,6}}?的"
            rf"(?:{self._words['secret'].runs})[ \t]*(?:$|[.,;!，。；！])"
        )
        run_as = (
            rf"(?<![!-~])(?P<value>[!-~]{{{SHORTEST_CODE},}})[ \t]*(?:{copulas.runs})[^\W\da-z_]{{0,4}}?"
            rf"(?:{self._words['secret'].runs})[ \t]*(?:$|[.,;!，。；！])"
        )
        changed = (
            rf"(?<!\w)(?:{changes})(?!\w)(?:[ \t]+[\w'’-]+){{0,3}}?[ \t]+{cue}{_GAP}"
            rf"[ \t]+(?:{to})[ \t]+(?P<value>[^\n]{{1,80}})"
        )
        changed_after = (
            rf"{cue}{_GAP}[ \t]+(?:{to})[ \t]+(?P<value>[^\s,;]+)[ \t]+(?:{changes})(?!\w)"
        )
        return tuple(map(re.compile, (run_before, run_as, changed, changed_after)))

    @cached_property
    def _run_number_before(self) -> re.Pattern[str]:
        """The pattern of "4417是我的密码"."""
        copulas = self._words["copulas"].runs
        return re.compile(
            rf"(?<![\w.])\d[\d-]{{{SHORTEST_CODE - 1},}}(?:{copulas})"
            rf"[^\W\d_]{{0,4}}?{self._words['secret_numbers'].pattern}"
        )

    @cached_property
    def _compound_after(self) -> re.Pattern[str]:
        return re.compile(rf"[ \t-]*{self._words['not_secrets'].pattern}")

    @cached_property
    def _compound_before(self) -> re.Pattern[str]:
        compounds = self._words["not_secrets"].pattern
        return re.compile(rf"{compounds}(?:[ \t]+(?:de|del|des|du))?[ \t]+(?:la[ \t]+|las[ \t]+)?$")

    # ---- values --------------------------------------------------------------------------------

    def _is_told_around(self, folded: str) -> bool:
        return any(
            self._is_value(match["value"])
            for pattern in self._values_around
            for match in pattern.finditer(folded)
        )

    def _is_told(self, folded: str, cue: re.Match[str]) -> bool:
        values = self._values_after(folded, cue)
        return any(map(self._is_value, values)) or self._has_code(folded, cue)

    # ---- values beside a cue -----------------------------------------------------------------

    def _is_told_beside(self, folded: str, cue: re.Match[str]) -> bool:
        """Returns whether a value is beside a cue, in any order and without a verb."""
        if is_run(cue[0]):
            return self._is_run_told_beside(folded, cue)
        before, after = _words_around(folded, cue)
        return self._is_told_after(before, after) or self._is_told_before(before, after)

    def _is_told_after(self, before: list[str], after: list[str]) -> bool:
        """Returns whether a value follows: "the wifi password quayfish" """
        position = self._begin_of_value(after)
        if position >= len(after) or not self._is_value(after[position]):
            return False
        value, remainder = after[position], after[position + 1 :]
        if _is_code(value) or _QUOTED.match(value):
            return True
        # Fault: "my password expired on Monday" goes on after its verb.
        is_last = all(word in self._fillings for word in remainder)
        return is_last and self._is_plain(before)

    def _begin_of_value(self, after: list[str]) -> int:
        """Returns where a value may begin, behind words such as "for the guest network"."""
        position = 0
        while position < len(after):
            word = after[position]
            if word in self._of_words:
                position += 1
                while position < len(after) and after[position] in self._determiners:
                    position += 1
            elif not (word in self._links or word in self._skips or word in self._asks):
                break
            position += 1
        return position

    def _is_told_before(self, before: list[str], after: list[str]) -> bool:
        """Returns whether a value comes first: "quayfish, that's my password" """
        if after and after[0] not in self._endings:
            return False
        near = before[-WORDS_BETWEEN:]
        links = [number for number, word in enumerate(near) if word in self._links]
        if not links:
            return False
        words = before[: len(before) - len(near) + links[-1] + 1]
        # Fault: "for the meeting: change the password" has a subject before the colon.
        if words[-1] == ":" and not self._not_values.isdisjoint(words[:-2]):
            return False
        value = next(self._without_links(words), "")
        return bool(value) and self._is_value(value)

    def _without_links(self, words: list[str]) -> Iterator[str]:
        """Yields the words before a copula, the last one first."""
        has_pause = False
        for word in reversed(words):
            has_pause = has_pause or word in _PAUSES
            is_between = word in self._links or word in self._skips or word in _PAUSES
            # After a pause, "that" of "that's my password" is no value.
            if not is_between and not (has_pause and word in self._not_values):
                yield word

    def _is_plain(self, words: list[str]) -> bool:
        """Returns whether words before a cue say no more than "remember my wifi" """
        names = 0
        for word in reversed(words):
            # Fault: "for the harbour meeting: password quayfish" speaks of the meeting first.
            if word in _PAUSES or word == ":":
                return True
            if word in self._fillings:
                names = WORDS_OF_NAME
            elif names < WORDS_OF_NAME:
                names += 1
            else:
                return False
        return True

    def _is_run_told_beside(self, folded: str, cue: re.Match[str]) -> bool:
        """The same for a script without spaces: "记住密码quayfish" """
        match = _RUN_LATIN.match(folded, cue.end())
        if match is not None:
            return self._is_value(match["value"])
        match = _RUN_LAST.match(folded, cue.end())
        before = _CLAUSE.split(_near(folded, cue)[0])[-1]
        is_asked = before != "" and not self._run_asks.sub("", before)
        return match is not None and is_asked and self._is_value(match["value"])

    def _is_number_before(self, folded: str, cue: re.Match[str]) -> bool:
        """Returns whether a number comes first: "4417 is my PIN" """
        if is_run(cue[0]) or self._is_compound(folded, cue):
            return False
        for word in reversed(_words_around(folded, cue)[0][-WORDS_BETWEEN:]):
            if _is_code(word) and _NUMBER.fullmatch(word):
                return True
            if not (word in self._fillings or word in _PAUSES or word in self._links):
                return False
        return False

    def _is_number_told(self, folded: str, cue: re.Match[str]) -> bool:
        if _NUMBER_AFTER.match(folded, cue.end()):
            return True
        values = self._values_after(folded, cue)
        return any(map(_begins_with_digit, values)) or self._has_code(folded, cue)

    def _is_compound(self, folded: str, cue: re.Match[str]) -> bool:
        """Returns whether the cue is a part of a name: "password manager" """
        if self._compound_after.match(folded, cue.end()):
            return True
        # Fault: with many cues in a long text, each search of all that precedes took seconds.
        begin = max(0, cue.start() - LONGEST_COMPOUND)
        compound = self._compound_before.search(folded, begin, cue.start())
        return compound is not None

    def _values_after(self, folded: str, cue: re.Match[str]) -> list[str]:
        pattern = self._run_value if is_run(cue[0]) else self._value
        # Fault: the colon of the cue "pw:" is the colon before the value.
        start = cue.end() - (cue[0][-1] in ":：=")
        match = pattern.match(folded, start)
        return [match["value"]] if match else []

    def _has_code(self, folded: str, cue: re.Match[str]) -> bool:
        """Returns whether a word with a digit follows the cue without a verb."""
        pattern = _RUN_CODE if is_run(cue[0]) else _CODE
        match = pattern.match(folded, cue.end())
        return match is not None and _is_code(match["value"])

    def _is_value(self, text: str) -> bool:
        """Returns whether the words after a copula begin with the secret itself."""
        text = text.strip()
        for skip in self._run_skips:
            text = text.removeprefix(skip)
        words = text.split()
        while words and words[0].strip(".,!") in self._skips:
            del words[0]
        if not words:
            return False
        # A quoted value may be any word: "the password is 'in'".
        if _QUOTED.match(words[0]):
            return True
        first = words[0].strip(".,;:!?()…*_\"'，。；：！？")
        if not first or first in self._not_values:
            return False
        # "密码是管理员设置的" tells who has set it.
        if first.endswith("的"):
            return False
        if is_run(first):
            return not first.startswith(self._run_beginnings)
        elided = first.split("'")[0]
        return elided == first or elided not in self._not_values


def _near(folded: str, cue: re.Match[str]) -> tuple[str, str]:
    """Returns the text on each side of a cue that may have its value."""
    # Fault: with many cues in a long text, all that precedes each took seconds.
    begin = max(0, cue.start() - LONGEST_SIDE)
    return folded[begin : cue.start()], folded[cue.end() : cue.end() + LONGEST_SIDE]


def _words_around(folded: str, cue: re.Match[str]) -> tuple[list[str], list[str]]:
    """Returns the words and marks of the sentence before a cue, and those after it."""
    left, right = _near(folded, cue)
    before = _SENTENCE_END.split(left)[-1]
    after = _SENTENCE_END.split(right, maxsplit=1)[0]
    words, following = (
        [word.rstrip(".…!?") or word for word in _BESIDE.findall(text)] for text in (before, after)
    )
    if cue[0][-1] in ":=":
        following.insert(0, ":")
    return words, following


def _begins_with_digit(value: str) -> bool:
    """Returns whether one of the first two words has a digit."""
    return any(_DIGIT.search(word) for word in value.split()[:2])


def _is_code(word: str) -> bool:
    return len(word) >= SHORTEST_CODE and _DIGIT.search(word) is not None


class _WordPatterns:
    """Words as regular expressions: those between spaces, and those of scripts without spaces."""

    def __init__(self, words: Iterable[str]) -> None:
        ordered = sorted(set(words), key=len, reverse=True)
        spaced = [_escaped(word) for word in ordered if not is_run(word)]
        runs = [_escaped(word) for word in ordered if is_run(word)]
        self.spaced = "|".join(spaced) or "(?!)"
        self.runs = "|".join(runs) or "(?!)"
        # Fault: "мой пин" begins at an earlier word than "пин-код", and ends inside it.
        end = r"(?!\w|-[^\W\d_])"
        self.pattern = rf"(?:(?<!\w)(?:{self.spaced}){end}|{self.runs})"


def _escaped(word: str) -> str:
    return r"[ \t]+".join(map(re.escape, word.split()))
