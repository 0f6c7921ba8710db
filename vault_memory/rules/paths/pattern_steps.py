"""Matches a path with a pattern that has several variable parts, step by step.

A regular expression goes back into each variable for each variable behind it, so its steps grow
with a power of the length. Here each step is tried once at each position: what failed there once
fails again. The result is that of the expression: each variable takes as much as it can.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from vault_memory.rules.paths import globs

LONGEST_NAME = 255
"""Letters of a part of a path; no file system has longer ones"""

Step = Callable[[str, int], Iterable[int]]
"""Returns where a step that starts at a position may end, the furthest first"""


def _literal(text: str) -> Step:
    """Returns the step of a fixed text."""

    def ends(path: str, start: int) -> Iterable[int]:
        return (start + len(text),) if path.startswith(text, start) else ()

    return ends


def _run(expression: str, *, fewest: int) -> Step:
    """Returns the step of a run of letters; each shorter run of at least `fewest` matches, too."""
    regex = re.compile(expression)

    def ends(path: str, start: int) -> Iterable[int]:
        match = regex.match(path, start)
        return range(match.end(), start + fewest - 1, -1) if match else ()

    return ends


def _folders(expression: str) -> Step:
    """Returns the step of any number of parts, each with the slash behind it."""
    regex = re.compile(f"(?:{expression}/)*")

    def ends(path: str, start: int) -> Iterable[int]:
        match = regex.match(path, start)
        last = match.end() if match else start
        behind_slashes = (end for end in range(last, start, -1) if path[end - 1] == "/")
        return (*behind_slashes, start)

    return ends


def _parts(expression: str) -> Step:
    """Returns the step of one or more parts, with no slash behind the last one."""
    regex = re.compile(expression)

    def ends(path: str, start: int) -> Iterable[int]:
        match = regex.match(path, start)
        last = match.end() if match else start
        return (end for end in range(last, start, -1) if path[end - 1] != "/")

    return ends


def _exact(expression: str) -> Step:
    """Returns the step of an expression of which a beginning need not match, such as a date."""
    regex = re.compile(expression)

    def ends(path: str, start: int) -> Iterable[int]:
        match = regex.match(path, start)
        last = match.end() if match else start - 1
        return [end for end in range(last, start - 1, -1) if regex.fullmatch(path, start, end)]

    return ends


def steps_of(
    tokens: Sequence[tuple[str, str]], expressions: Mapping[int, re.Pattern[str]]
) -> list[Step]:
    """Returns the steps of a pattern: each literal, each glob and each capture is one.

    `tokens` are pairs of a literal and a capture, of which one is empty. `expressions` are those
    of the captures.
    """
    steps = []
    at_start_of_name = True
    for index, (literal, capture) in enumerate(tokens):
        if capture:
            steps.append(_step_of_capture(capture, expressions[index].pattern))
        elif literal == "**/":
            steps.append(_folders(f"{globs.NOT_HIDDEN}{globs.LETTER}+"))
        elif literal == "*":
            condition = globs.NOT_HIDDEN if at_start_of_name else ""
            steps.append(_run(f"{condition}{globs.LETTER}*", fewest=0))
        else:
            steps.append(_literal(literal))
        at_start_of_name = literal.endswith("/")
    return steps


def _step_of_capture(capture: str, expression: str) -> Step:
    match capture.partition(":")[0]:
        case "path":
            return _parts(expression)
        case "date":
            return _exact(expression)
        case _:
            return _run(expression, fewest=1)


def match(steps: Sequence[Step], path: str) -> list[str] | None:
    """Returns the text of each step; None when the path does not match."""
    # Fault: a request may name a path that no file system holds, to make this take long.
    if max(map(len, path.split("/"))) > LONGEST_NAME:
        return None
    failed: set[tuple[int, int]] = set()
    starts = [0]
    choices = [iter(steps[0](path, 0))]
    while choices:
        end = next(choices[-1], None)
        if end is None:
            choices.pop()
            failed.add((len(choices), starts.pop()))
        elif len(choices) == len(steps):
            if end == len(path):
                return [path[first:last] for first, last in pairwise([*starts, end])]
        elif (len(choices), end) not in failed:
            starts.append(end)
            choices.append(iter(steps[len(choices)](path, end)))
    return None


def groups(texts: Sequence[str], expressions: Mapping[int, "re.Pattern[str]"]) -> dict[str, Any]:
    """Returns the groups of the expressions that belong to some of the texts."""
    result: dict[str, Any] = {}
    for index, regex in expressions.items():
        captured = regex.fullmatch(texts[index])
        if captured:
            result.update(captured.groupdict())
    return result
