"""Had the author of a text on the server read the one that it replaced? Pure.

Some programs upload without a precondition: what such a text lacks was removed by its author only if that author had
read it. Where nothing shows that, it counts as not read, and the lines stay.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vault_memory.vault.jsonl_log import merge_records


@dataclass(frozen=True, slots=True)
class Step:
    """A text that came to stand on the server lately, and the text that it replaced there."""

    raw: bytes
    before: bytes
    older: frozenset[bytes]
    """lines of all texts that were here before this one"""
    at_once: bool
    """whether its new lines came to the server in one moment: this device uploaded it, and it arrived whole"""


def has_read(raw: bytes, steps: Sequence[Step]) -> bool:
    """Whether the author of a text had read the latest of these, the newest first.

    A line that stood in no text before can only be known from the step that brought it, or from a later one. One that
    was joined in from elsewhere proves nothing. A text of others may have come in several writes, and one of this device
    in two parts, of which the author knew the first: of such a step all lines have to be known.
    """
    mine = items_of(raw)
    for step in steps:
        fresh = items_of(step.raw) - items_of(step.before)
        proof = fresh - step.older
        if fresh:
            return (
                not mine.isdisjoint(proof)
                if step.at_once
                else bool(proof) and fresh <= mine
            )
    return True


def items_of(raw: bytes) -> set[bytes]:
    """The lines of a note that tell texts apart. A program that adds a line makes the heading above it anew."""
    lines = (line.strip() for line in raw.splitlines())
    return {line for line in lines if line and not line.startswith(b"#")}


def without_torn(raw: bytes, whole: bytes, older: Iterable[bytes]) -> bytes:
    """A text without the lines that are only the first part of a line in a text that the server cut short.

    `older`: texts from before; a line that stood in one of them was not torn.
    """
    lines, past = (
        set(whole.splitlines()),
        set[bytes]().union(*(text.splitlines() for text in older)),
    )

    def is_torn(line: bytes) -> bool:
        is_new = bool(line.strip()) and line not in lines and line not in past
        return is_new and any(one.startswith(line) for one in lines)

    return b"".join(
        line
        for line in raw.splitlines(keepends=True)
        if not is_torn(line.rstrip(b"\r\n"))
    )


def torn_end(raw: bytes, later: bytes) -> bytes:
    """The last line of a text that was read from an unfinished upload: a later text has the whole line. Else empty."""
    last = raw.rpartition(b"\n")[2]
    begins_a_line = b"\n" + last in b"\n" + later
    is_torn = bool(last.strip()) and begins_a_line and last not in later.splitlines()
    return last if is_torn else b""


def without_line(raw: bytes, line: bytes) -> bytes:
    """A text without the lines that are equal to this one."""
    parts = raw.splitlines(keepends=True)
    return b"".join(part for part in parts if part.rstrip(b"\r\n") != line)


def join_records(texts: Sequence[bytes]) -> bytes:
    """Records of several texts in one, without what is only the first part of one of them."""
    joined = merge_records(texts)
    lines = joined.splitlines()

    def is_torn(line: bytes) -> bool:
        if not line.strip() or _is_json(line):
            return False
        return any(one.startswith(line) and one != line for one in lines)

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
