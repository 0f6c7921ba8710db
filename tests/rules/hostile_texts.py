"""Texts that make a regular expression go back: each repetition in it gets its own letters, many times.

The letters come from the expression itself: a prefix that matches what is before a repetition, the
letters that the repetition takes, and an end that does not match.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

LETTERS = "a 0_-.,:/\\\n\t*[](){}<>\"'`#|=~^!?é字x1Z\r"
ENDS = ("\0", "", "\n\0")
MOST_BRANCHES = 12
LONG_RUN = 20
"""Repetitions from which a part counts as a run"""

Node = tuple[Any, Any]


def hostile_texts(pattern: str, flags: int, length: int) -> Iterator[str]:
    """Yields texts of about this length."""
    tree = _parser.parse(pattern, flags)
    pairs = list(_runs(tree, ""))
    units = list(dict.fromkeys(unit for _, unit in pairs))[:8]
    pairs += [("", unit) for unit in units]
    pairs += [("", one + two) for one in units for two in units if one != two][:24]
    pairs += [("", sample) for sample in _samples(tree, 3) if sample]
    pairs += [("", letter) for letter in LETTERS]
    for prefix, unit in dict.fromkeys(pairs):
        text = (prefix + unit * (length // len(unit) + 1))[:length]
        yield from (text + end for end in ENDS)


def _runs(nodes: Iterable[Node], prefix: str) -> Iterator[tuple[str, str]]:
    """Yields each repetition: what matches before it, and what it repeats."""
    for node in nodes:
        kind, value = node
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, most, body = value
            if most > LONG_RUN:
                yield from ((prefix, unit) for unit in _samples(body, 6) if unit)
            yield from _runs(body, prefix)
        elif kind is sre.SUBPATTERN:
            yield from _runs(value[3], prefix)
        elif kind is sre.ATOMIC_GROUP:
            yield from _runs(value, prefix)
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from _runs(branch, prefix)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _runs(value[1], prefix)
        prefix += (_sample(node, 1) or [""])[0]


def _samples(nodes: Iterable[Node], count: int) -> list[str]:
    """A few texts that a sequence matches."""
    texts = [""]
    for node in nodes:
        parts = _sample(node, count) or [""]
        first = texts[0]
        longer = [text + parts[min(number, len(parts) - 1)] for number, text in enumerate(texts)]
        texts = list(dict.fromkeys([*longer, *(first + part for part in parts[1:])]))
        texts = texts[:count]
    return texts


def _sample(node: Node, count: int) -> list[str]:
    kind, value = node
    if kind is sre.LITERAL:
        return [chr(value)]
    if kind is sre.NOT_LITERAL:
        return [letter for letter in "a 0-\n字" if ord(letter) != value][:count]
    if kind is sre.ANY:
        return ["a", " ", "-", "0"][:count]
    if kind is sre.IN:
        own = [chr(code) for sort, code in value if sort is sre.LITERAL][:2]
        return [one for one in dict.fromkeys([*own, *LETTERS]) if _is_in(value, one)][: count + 2]
    if kind is sre.BRANCH:
        return [text for branch in value[1][:MOST_BRANCHES] for text in _samples(branch, 1)]
    if kind is sre.SUBPATTERN:
        return _samples(value[3], count)
    if kind is sre.ATOMIC_GROUP:
        return _samples(value, count)
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        fewest, _, body = value
        return [text * fewest for text in _samples(body, count)]
    return [""]


def _is_in(members: Sequence[Node], letter: str) -> bool:
    is_negated = any(kind is sre.NEGATE for kind, _ in members)
    return is_negated != any(_fits(kind, value, letter) for kind, value in members)


def _fits(kind: Any, value: Any, letter: str) -> bool:
    if kind is sre.LITERAL:
        return ord(letter) == value
    if kind is sre.RANGE:
        return bool(value[0] <= ord(letter) <= value[1])
    if kind is sre.CATEGORY:
        name = str(value)
        expression = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
        sort = next((sort for sort in expression if name.endswith(sort)), "")
        if not sort:
            return False
        return ("_NOT_" in name) != bool(re.match(expression[sort], letter))
    return False
