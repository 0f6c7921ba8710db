"""Makes and reverts unified diffs of bytes. Lines end at LF alone; a CR belongs to its line."""

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

CONTEXT = 3
_NO_END = b"\\ No newline at end of file\n"
_HEAD = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")

Row = tuple[bytes, bytes]
"""Sign and line: ``b" "`` in both texts, ``b"-"`` only in the older, ``b"+"`` only in the newer"""
_Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Hunk:
    """A block of changed lines in a diff."""

    new_start: int
    """index of its first line in the newer text"""
    rows: tuple[Row, ...]


def lines_of(raw: bytes) -> list[bytes]:
    """Returns the lines with their LF."""
    lines = raw.split(b"\n")
    last = lines.pop()
    complete = [line + b"\n" for line in lines]
    return [*complete, last] if last else complete


# --- Making -----------------------------------------------------------------------------------


def unified(before: bytes, after: bytes, name: str) -> bytes:
    """Returns a unified diff; ``b""`` for equal texts."""
    if before == after:
        return b""
    # SequenceMatcher takes quadratic time, and most edits change a few lines of a long note.
    head, tail = _equal_bytes(before, after)
    first_line = before.count(b"\n", 0, head)
    old = lines_of(before[head : len(before) - tail])
    new = lines_of(after[head : len(after) - tail])
    # A line break in the name of a note would begin a line of the diff.
    label = name.encode("utf-8", "replace").replace(b"\n", b" ")
    blocks = [b"--- ", label, b"\n+++ ", label, b"\n"]
    matcher = difflib.SequenceMatcher(None, old, new)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        blocks.append(_hunk_head(group, first_line))
        for sign, line in _rows(group, old, new):
            blocks += (sign, line)
            if not line.endswith(b"\n"):
                blocks += (b"\n", _NO_END)
    return b"".join(blocks)


def _equal_bytes(before: bytes, after: bytes) -> tuple[int, int]:
    """Returns how many bytes at the start and at the end are equal.

    Both end at a line, and leave `CONTEXT` equal lines around the difference.
    """
    shortest = min(len(before), len(after))
    equal_start = _greatest(shortest, lambda size: before.startswith(after[:size]))
    head = _line_start(before, equal_start)
    tail = _greatest(shortest - head, lambda size: before.endswith(after[len(after) - size :]))
    end = len(before) - tail
    if _is_inside_line(before, head, tail) or _is_inside_line(after, head, tail):
        end = _next_line(before, end)
    for _ in range(CONTEXT):
        previous_end = max(head - 1, 0)
        head = _line_start(before, previous_end)
        end = _next_line(before, end)
    return head, len(before) - end


def _is_inside_line(text: bytes, head: int, tail: int) -> bool:
    """Returns whether the equal end of a text begins inside a line."""
    start = len(text) - tail
    return start > head and text[start - 1 : start] != b"\n"


def _line_start(text: bytes, position: int) -> int:
    return text.rfind(b"\n", 0, position) + 1


def _next_line(text: bytes, position: int) -> int:
    newline = text.find(b"\n", position)
    return len(text) if newline < 0 else newline + 1


def _greatest(most: int, holds: Callable[[int], bool]) -> int:
    """Returns the greatest number up to `most` for which `holds` is true, by bisection."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if holds(middle):
            least = middle
        else:
            most = middle - 1
    return least


def _hunk_head(group: Sequence[_Opcode], offset: int) -> bytes:
    """Returns the line with the line numbers of a hunk."""
    _, old_start, _, new_start, _ = group[0]
    _, _, old_end, _, new_end = group[-1]
    old_count = old_end - old_start
    new_count = new_end - new_start
    # An empty range names the line before it; others count from 1.
    old_line = old_start + offset + (old_count > 0)
    new_line = new_start + offset + (new_count > 0)
    return b"@@ -%d,%d +%d,%d @@\n" % (old_line, old_count, new_line, new_count)


def _rows(group: Sequence[_Opcode], old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Row]:
    for tag, old_start, old_end, new_start, new_end in group:
        old_lines = old[old_start:old_end]
        if tag == "equal":
            yield from zip(repeat(b" "), old_lines)
            continue
        yield from zip(repeat(b"-"), old_lines)
        yield from zip(repeat(b"+"), new[new_start:new_end])


# --- Reading and reverting --------------------------------------------------------------------


def hunks_of(diff: bytes) -> list[Hunk]:
    """Returns the hunks of a diff; an empty list for text that is no diff."""
    lines = lines_of(diff)
    hunks: list[Hunk] = []
    index = 0
    while index < len(lines):
        head = _HEAD.match(lines[index])
        index += 1
        if not head:
            continue
        old_count = int(head[2] or 1)
        new_count = int(head[4] or 1)
        rows, index = _read_rows(lines, index, old_count, new_count)
        # An empty range names the line before it; others count from 1.
        first_line = int(head[3])
        new_start = first_line - 1 if new_count else first_line
        # A person may have written the line number 0 into the audit file.
        hunks.append(Hunk(max(new_start, 0), tuple(rows)))
    return hunks


def _read_rows(
    lines: list[bytes], index: int, old_count: int, new_count: int
) -> tuple[list[Row], int]:
    """Returns the rows of a hunk with so many lines, and the index after them."""
    rows: list[Row] = []
    while index < len(lines):
        sign = lines[index][:1]
        line = lines[index][1:]
        is_complete = old_count + new_count <= 0
        if sign == b"\\" and rows:
            # "No newline at end of file" is about the row above it.
            last_sign, last_line = rows[-1]
            rows[-1] = (last_sign, last_line.removesuffix(b"\n"))
        elif is_complete or sign not in (b" ", b"-", b"+"):
            break
        else:
            rows.append((sign, line))
            if sign != b"+":
                old_count -= 1
            if sign != b"-":
                new_count -= 1
        index += 1
    return rows, index


def taken_back(now: bytes, diff: bytes) -> bytes | None:
    """Returns the older text, byte for byte; None when `now` is not the newer text of the diff."""
    lines = lines_of(now)
    older: list[bytes] = []
    index = 0
    for hunk in hunks_of(diff):
        start = hunk.new_start
        new_lines = [line for sign, line in hunk.rows if sign != b"-"]
        old_lines = [line for sign, line in hunk.rows if sign != b"+"]
        end = start + len(new_lines)
        # A diff that a person edited may have hunks that overlap.
        if start < index or lines[start:end] != new_lines:
            return None
        older += lines[index:start]
        older += old_lines
        index = end
    return b"".join(older + lines[index:])
