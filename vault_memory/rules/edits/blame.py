"""Replays the diffs of the audit to find the lines that the bot wrote; all others are people's.

`ownership` knows the items that ops change. Edits of a text change lines, also where there is no
item, so this module knows lines. A line that a person wrote again is the person's.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from vault_memory.markdown.items import normalised_text
from vault_memory.markdown.note_items import text_of
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.unified_diff import hunks_of, lines_of

_UNSEEN = frozenset({"retention", "forget"})
"""Sources that remove lines without a decision of a person about each"""
_SAYS_LITTLE = re.compile(rb"#.*|\W*(?:\w\W*){0,2}")
"""A heading, or a line with fewer than three letters, such as a rule of dashes"""


def bots_lines(records: Iterable[Record]) -> Counter[bytes]:
    """Returns the stripped lines that the bot wrote and has not removed, with their counts.

    A line of them that the note no longer has was deleted by a person.
    """
    written: Counter[bytes] = Counter()
    for record in records:
        added_lines, removed_lines = changed_lines(record.diff)
        if record.by_bot:
            written += added_lines
            written -= removed_lines
        else:
            written -= added_lines
            if record.source in _UNSEEN:
                written -= removed_lines
    return written


def of_people(raw: bytes, bots: Mapping[bytes, int]) -> frozenset[bytes]:
    """Returns the lines of a note that it has more often than the bot wrote them."""
    return frozenset(line for line, count in _count_lines(raw).items() if count > bots.get(line, 0))


def taken_away(before: bytes, after: bytes) -> frozenset[bytes]:
    """Returns the lines that a change removed."""
    return frozenset(_count_lines(before) - _count_lines(after))


def added(before: bytes, after: bytes) -> list[bytes]:
    """Returns the lines that a change added, in order."""
    remaining = _count_lines(after) - _count_lines(before)
    lines: list[bytes] = []
    for line in map(bytes.strip, lines_of(after)):
        if remaining[line] > 0:
            remaining[line] -= 1
            lines.append(line)
    return lines


def were_deleted(lines: Iterable[bytes], before: bytes, bots: Mapping[bytes, int]) -> bool:
    """Returns whether a person deleted one of these lines of the bot. Headings do not count."""
    existing = _count_lines(before)
    return any(
        bots.get(line, 0) and not existing[line] and not _SAYS_LITTLE.fullmatch(line)
        for line in lines
    )


def _count_lines(raw: bytes) -> Counter[bytes]:
    counts = Counter(map(bytes.strip, lines_of(raw)))
    del counts[b""]
    return counts


def changed_lines(diff: bytes) -> tuple[Counter[bytes], Counter[bytes]]:
    """Returns the added and the removed lines of a diff, without lines that only moved."""
    added_lines: Counter[bytes] = Counter()
    removed_lines: Counter[bytes] = Counter()
    for hunk in hunks_of(diff):
        for sign, line in hunk.rows:
            text = line.strip()
            if not text:
                continue
            if sign == b"+":
                added_lines[text] += 1
            elif sign == b"-":
                removed_lines[text] += 1
    return added_lines - removed_lines, removed_lines - added_lines


def record_of_line(records: Sequence[Record], text: str) -> Record | None:
    """Returns the newest record that added an item with this text; None: a person wrote it."""
    wanted = normalised_text(text)
    for record in reversed(records):
        if any(normalised_text(line) == wanted for line in added_lines(record)):
            return record
    return None


def added_lines(record: Record) -> Iterator[str]:
    """Yields the text of each line that a record added."""
    for line in record.diff.split(b"\n"):
        if line.startswith(b"+") and not line.startswith(b"+++"):
            text = text_of(line[1:])
            if text:
                yield text


def with_id(records: Iterable[Record], prefix: str) -> list[Record]:
    """Returns the records whose ids begin so."""
    return [record for record in records if record.id.startswith(prefix)]
