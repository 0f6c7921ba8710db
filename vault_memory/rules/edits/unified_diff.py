"""Unified diffs of bytes, made and taken back. Lines end at LF alone: a CR belongs to its line, and stays as it was."""

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

CONTEXT = 3
_NO_END = b"\\ No newline at end of file\n"
_HEAD = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place of a diff."""

    new_start: int
    """index of its first line in the newer text"""
    rows: tuple[tuple[bytes, bytes], ...]
    """sign and line: ``b" "`` in both, ``b"-"`` only in the older, ``b"+"`` only in the newer"""


def lines_of(raw: bytes) -> list[bytes]:
    """The lines with their LF."""
    lines = raw.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def unified(before: bytes, after: bytes, name: str) -> bytes:
    """What changed, as every diff tool shows it; empty when nothing did."""
    if before == after:
        return b""
    top, tail = _around(before, after)
    start = before.count(b"\n", 0, top)
    old, new = (
        lines_of(before[top : len(before) - tail]),
        lines_of(after[top : len(after) - tail]),
    )
    label = name.encode("utf-8", "replace").replace(b"\n", b" ")
    pieces = [b"--- " + label + b"\n+++ " + label + b"\n"]
    for group in difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        pieces.append(
            _head(first[1] + start, last[2] + start, first[3] + start, last[4] + start)
        )
        pieces += (
            sign + line + (b"" if line.endswith(b"\n") else b"\n" + _NO_END)
            for sign, line in _rows(group, old, new)
        )
    return b"".join(pieces)


def hunks_of(diff: bytes) -> list[Hunk]:
    """The places of a diff; what is no diff has none."""
    lines, at, hunks = lines_of(diff), 0, []
    while at < len(lines):
        head = _HEAD.match(lines[at])
        at += 1
        if head:
            old, new = (int(head[2] or 1), int(head[4] or 1))
            rows, at = _read_rows(lines, at, old, new)
            hunks.append(Hunk(max(int(head[3]) - (new > 0), 0), tuple(rows)))
    return hunks


def taken_back(now: bytes, diff: bytes) -> bytes | None:
    """The older text, byte for byte; None when `now` is not the newer text of this diff."""
    lines, older, at = lines_of(now), [], 0
    for hunk in hunks_of(diff):
        news = [line for sign, line in hunk.rows if sign != b"-"]
        if (
            hunk.new_start < at
            or lines[hunk.new_start : hunk.new_start + len(news)] != news
        ):
            return None
        older += lines[at : hunk.new_start]
        older += [line for sign, line in hunk.rows if sign != b"+"]
        at = hunk.new_start + len(news)
    return b"".join(older + lines[at:])


def _around(before: bytes, after: bytes) -> tuple[int, int]:
    """How many bytes at the start and at the end are the same and more than `CONTEXT` lines away from a difference."""
    most = min(len(before), len(after))
    top = (
        before.rfind(
            b"\n", 0, _longest(most, lambda size: before.startswith(after[:size]))
        )
        + 1
    )
    tail = _longest(
        most - top, lambda size: before.endswith(after[len(after) - size :])
    )
    at = len(before) - tail
    if any(
        len(text) - tail > top
        and text[len(text) - tail - 1 : len(text) - tail] != b"\n"
        for text in (before, after)
    ):
        at = before.find(b"\n", at) + 1 or len(before)
    for _ in range(CONTEXT):
        top = before.rfind(b"\n", 0, max(top - 1, 0)) + 1
        at = before.find(b"\n", at) + 1 or len(before)
    return top, len(before) - at


def _longest(most: int, holds: Callable[[int], bool]) -> int:
    """The greatest number up to `most` for which this holds, as it does for all smaller ones."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if holds(middle) else (least, middle - 1)
    return least


def _head(old: int, old_end: int, new: int, new_end: int) -> bytes:
    ranges = (
        (begin + (end > begin), end - begin)
        for begin, end in ((old, old_end), (new, new_end))
    )
    return b"@@ -%d,%d +%d,%d @@\n" % tuple(
        number for pair in ranges for number in pair
    )


def _rows(
    group: Sequence[tuple[str, int, int, int, int]],
    old: Sequence[bytes],
    new: Sequence[bytes],
) -> Iterator[tuple[bytes, bytes]]:
    for tag, old_start, old_end, new_start, new_end in group:
        if tag == "equal":
            yield from ((b" ", line) for line in old[old_start:old_end])
        else:
            yield from ((b"-", line) for line in old[old_start:old_end])
            yield from ((b"+", line) for line in new[new_start:new_end])


def _read_rows(
    lines: list[bytes], at: int, old: int, new: int
) -> tuple[list[tuple[bytes, bytes]], int]:
    """The rows of a hunk that counts so many lines, and the line after them."""
    rows: list[tuple[bytes, bytes]] = []
    while at < len(lines):
        sign, line = lines[at][:1], lines[at][1:]
        if sign == b"\\" and rows:
            rows[-1] = (rows[-1][0], rows[-1][1].removesuffix(b"\n"))
        elif old + new <= 0 or sign not in (b" ", b"-", b"+"):
            break
        else:
            rows.append((sign, line))
            old -= sign != b"+"
            new -= sign != b"-"
        at += 1
    return rows, at
