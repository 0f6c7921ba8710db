"""Takes recorded edits back from a version of a note, to find out what it said earlier. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import NamedTuple

from vault_memory.rules.edits.audit_record import Record, moment_of, revision
from vault_memory.rules.edits.unified_diff import taken_back


class Rewound(NamedTuple):
    """What a note said at an earlier moment, as far as the records know."""

    raw: bytes | None
    """None: there was no note, or the records do not reach back"""
    is_known: bool
    """whether the records leave nothing open"""


UNKNOWN = Rewound(None, is_known=False)
NO_NOTE = Rewound(None, is_known=True)


def time_of(text: str) -> datetime | None:
    """Returns the time of a record; None for an unreadable one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def rewound(raw: bytes, records: Sequence[Record], moment: datetime) -> Rewound:
    """Returns what a note said at `moment`, from a later version and the records of its edits.

    `records` are those of the note, oldest first. Between two records a person may have written,
    too: then the text of that time is unknown.
    """
    # Fault: a folded record stands for others, and no longer says what they changed.
    folded = filter(attrgetter("folded"), records)
    if any(moment_of(record.ts) > moment for record in folded):
        return UNKNOWN
    current = revision(raw)
    later = False
    for record in reversed(records):
        if record.before == record.after:
            continue
        at = time_of(record.ts)
        if at is not None and at <= moment:
            return Rewound(raw, is_known=record.after == current)
        if record.after != current:
            # The version is older than this edit, or a person wrote after it.
            if later:
                return UNKNOWN
            continue
        later = True
        if not record.before:
            return NO_NOTE
        earlier = taken_back(raw, record.diff)
        # A redacted record no longer has the diff of its edit.
        if earlier is None or revision(earlier) != record.before:
            return UNKNOWN
        raw, current = earlier, record.before
    return Rewound(raw, is_known=False) if later else UNKNOWN
