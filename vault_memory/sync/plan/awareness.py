"""Decides whether the author of a text on the server had read the text it replaced. Pure.

Some programs upload without a precondition. A line that such a text lacks was removed on purpose only
if its author had read the line. Without evidence, the text counts as unread, and the line stays.
"""

import json
from collections.abc import Callable, Iterable, Sequence
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


def has_read(
    raw: bytes,
    steps: Sequence[Step],
) -> bool:
    """Whether the author of a text had read the latest of these, the newest first.

    The latest step with new lines decides. Its lines prove that the author had read that step, or a
    later one.
    """
    items = items_of(raw)
    for step in steps:
        added = items_of(step.raw) - items_of(step.before)
        if not added:
            continue
        # Fault: a line was merged in from an older text. It proves nothing.
        proof = added - step.older
        if step.at_once:
            return not items.isdisjoint(proof)
        # Fault: another device's text came in several writes, or ours in two parts, and the author
        # had read only the first. So all new lines must be in its text.
        return bool(proof) and added <= items
    return True


def items_of(raw: bytes) -> set[bytes]:
    """The lines that identify a text. Headings do not: a program that adds a line also adds its heading."""
    lines = (line.strip() for line in raw.splitlines())
    return {line for line in lines if line and not line.startswith(b"#")}


def without_torn(
    raw: bytes,
    complete: bytes,
    older: Iterable[bytes],
) -> bytes:
    """Remove the lines that are only the beginning of a line of a text that the server cut short.

    `older`: earlier texts; a line that was in one of them is not torn.
    """
    lines = set(complete.splitlines())
    older_lines = set[bytes]().union(*(text.splitlines() for text in older))

    def is_torn(line: bytes) -> bool:
        # Fault: a person may have written a short line that begins like a longer one.
        # It is in an earlier text, or in the complete one.
        if not line.strip() or line in lines or line in older_lines:
            return False
        return any(candidate.startswith(line) for candidate in lines)

    return _without(raw, is_torn)


def torn_end(
    raw: bytes,
    later: bytes,
) -> bytes:
    """The last line of a text from an unfinished upload, if a later text has the complete line; else empty."""
    last = raw.rpartition(b"\n")[2]
    begins_a_line = b"\n" + last in b"\n" + later
    is_torn = bool(last.strip()) and begins_a_line and last not in later.splitlines()
    return last if is_torn else b""


def without_line(
    raw: bytes,
    line: bytes,
) -> bytes:
    """Remove the lines that are equal to this one."""
    return _without(raw, lambda candidate: candidate == line)


def join_records(texts: Sequence[bytes]) -> bytes:
    """Merge the records of several texts, without torn records."""
    joined = merge_records(texts)
    lines = joined.splitlines()

    # Fault: an upload was cut off in the middle of a record, and another program read that part.
    def is_torn(line: bytes) -> bool:
        if not line.strip() or _is_json(line):
            return False
        return any(record.startswith(line) and record != line for record in lines)

    return _without(joined, is_torn)


def _without(
    raw: bytes,
    is_dropped: Callable[[bytes], bool],
) -> bytes:
    """A text without some lines. `is_dropped` gets each line without its ending."""
    lines = raw.splitlines(keepends=True)
    return b"".join(line for line in lines if not is_dropped(line.rstrip(b"\r\n")))


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
