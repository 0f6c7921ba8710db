"""Who wrote the lines of a note: the diffs of the audit, replayed, tell which came from the bot; the rest is people's.

`ownership` knows items, which ops change. Texts are edited line by line, also where there is no item: so this knows
lines, whatever they are. A line that a person wrote once more is the person's.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.unified_diff import hunks_of, lines_of

_UNSEEN = frozenset({"retention", "forget"})
"""Sources that take lines away without anybody having looked at them"""
_SAYS_LITTLE = re.compile(rb"#.*|\W*(?:\w\W*){0,2}")


def bots_lines(records: Iterable[Record]) -> Counter[bytes]:
    """The lines that the bot wrote and has not taken away again, with how often; blanks around them do not count.

    One of them that is not in the note any more was deleted by a person.
    """
    written: Counter[bytes] = Counter()
    for record in records:
        came, went = _changed(record.diff)
        if record.by_bot:
            written += came
            written -= went
        else:
            written -= came
            if record.source in _UNSEEN:
                written -= went
    return written


def of_people(raw: bytes, bots: Mapping[bytes, int]) -> frozenset[bytes]:
    """The lines of a note that a person wrote; one that stands there more often than the bot wrote it is theirs."""
    return frozenset(
        line for line, times in _lines(raw).items() if times > bots.get(line, 0)
    )


def taken_away(before: bytes, after: bytes) -> frozenset[bytes]:
    """The lines that a note lacks after a change."""
    return frozenset(_lines(before) - _lines(after))


def added(before: bytes, after: bytes) -> list[bytes]:
    """The lines that a change brought in, in their order."""
    fresh, found = _lines(after) - _lines(before), []
    for line in lines_of(after):
        if fresh[line.strip()] > 0:
            fresh[line.strip()] -= 1
            found.append(line.strip())
    return found


def were_deleted(
    lines: Iterable[bytes], before: bytes, bots: Mapping[bytes, int]
) -> bool:
    """Whether one of these lines was once written by the bot, and a person deleted it. Headings do not count."""
    there = _lines(before)
    return any(
        bots.get(line, 0) and not there[line] and not _SAYS_LITTLE.fullmatch(line)
        for line in lines
    )


def _lines(raw: bytes) -> Counter[bytes]:
    found = Counter(line.strip() for line in lines_of(raw))
    del found[b""]
    return found


def _changed(diff: bytes) -> tuple[Counter[bytes], Counter[bytes]]:
    """The lines that came and that went; one that only moved, or now ends otherwise, did neither."""
    came: Counter[bytes] = Counter()
    went: Counter[bytes] = Counter()
    for hunk in hunks_of(diff):
        for sign, line in hunk.rows:
            if sign != b" " and line.strip():
                (came if sign == b"+" else went)[line.strip()] += 1
    return came - went, went - came
