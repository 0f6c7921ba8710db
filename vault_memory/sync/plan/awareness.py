"""Decides whether the author of a text on the server had read the text it replaced. Pure.

Some programs upload without a precondition. A line that such a text lacks was removed on purpose only
if its author had read the line. Without evidence, the text counts as unread, and the line stays.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vault_memory.vault.jsonl_log import merge_records


@dataclass(frozen=True, slots=True)
class Step:
    """A recent text on the server, and the text that it replaced there."""

    raw: bytes
    before: bytes
    older: frozenset[bytes]
    """lines of all texts in the vault before this one"""
    at_once: bool
    """whether its new lines arrived together: this device uploaded it, and no part was missing"""


def has_read(raw: bytes, steps: Sequence[Step]) -> bool:
    """Whether the author of a text had read the latest of these, the newest first.

    Only the step that brought a new line, or a later one, can make that line known. A line that was
    merged in from elsewhere proves nothing. A text of another device may have come in several writes,
    and one of this device in two parts, of which the author knew the first: then all lines must be
    known.
    """
    items = items_of(raw)
    for step in steps:
        added = items_of(step.raw) - items_of(step.before)
        if not added:
            continue
        proof = added - step.older
        if step.at_once:
            return not items.isdisjoint(proof)
        return bool(proof) and added <= items
    return True


def items_of(raw: bytes) -> set[bytes]:
    """The lines that identify a text. Headings do not: a program that adds a line also adds its heading."""
    lines = (line.strip() for line in raw.splitlines())
    return {line for line in lines if line and not line.startswith(b"#")}


def without_torn(raw: bytes, complete: bytes, older: Iterable[bytes]) -> bytes:
    """Remove the lines that are only the beginning of a line of a text that the server cut short.

    `older`: earlier texts; a line that was in one of them is not torn.
    """
    lines = set(complete.splitlines())
    older_lines = set[bytes]().union(*(text.splitlines() for text in older))

    def is_torn(line: bytes) -> bool:
        if not line.strip() or line in lines or line in older_lines:
            return False
        return any(candidate.startswith(line) for candidate in lines)

    return b"".join(
        line
        for line in raw.splitlines(keepends=True)
        if not is_torn(line.rstrip(b"\r\n"))
    )


def torn_end(raw: bytes, later: bytes) -> bytes:
    """The last line of a text from an unfinished upload, if a later text has the complete line; else empty."""
    last = raw.rpartition(b"\n")[2]
    begins_a_line = b"\n" + last in b"\n" + later
    is_torn = bool(last.strip()) and begins_a_line and last not in later.splitlines()
    return last if is_torn else b""


def without_line(raw: bytes, line: bytes) -> bytes:
    """Remove the lines that are equal to this one."""
    lines = raw.splitlines(keepends=True)
    return b"".join(kept for kept in lines if kept.rstrip(b"\r\n") != line)


def join_records(texts: Sequence[bytes]) -> bytes:
    """Merge the records of several texts, without torn records."""
    joined = merge_records(texts)
    lines = joined.splitlines()

    def is_torn(line: bytes) -> bool:
        if not line.strip() or _is_json(line):
            return False
        return any(record.startswith(line) and record != line for record in lines)

    return b"".join(
        line
        for line in joined.splitlines(keepends=True)
        if not is_torn(line.rstrip(b"\r\n"))
    )


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
