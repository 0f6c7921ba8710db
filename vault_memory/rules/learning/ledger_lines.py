"""Judges the lines of ledgers, which are stored beside the notes in `learning/`. Pure.

A ledger is append-only JSON Lines. A crash may tear a line, and a person or a sync program may
change one: readers skip what is no record of the ledger.

A record of the days on which items were read has the cumulative counts of one device. So the order
of records and their repetition do not matter: of each device the maximum counts, and the devices
are added up.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

Record = Mapping[str, Any]

HELD = "held"
COUNTS = "counts"
SAFETY = "safety"
FEEDBACK = "feedback"
DAILY = (SAFETY, FEEDBACK)
"""Ledgers with a file for each day, in a folder of their name"""


def ledger_of(name: str) -> str:
    """Returns which ledger a file belongs to, from its name below `learning/` without suffix."""
    first, slash, _ = name.partition("/")
    return first if slash else first.partition(".")[0]


def is_record(ledger: str, record: Record) -> bool:
    """Returns whether a line is a record of its ledger, with values of the right types."""
    check = _CHECKS.get(ledger)
    return _has_time(record) and (check is None or check(record))


def day_of_record(ts: str, today: date) -> date:
    """Returns the day of a record. A future day counts as today: a clock may have been wrong."""
    try:
        day = datetime.fromisoformat(ts).date()
    except ValueError:
        return today
    # Fault: a clock of another device was wrong. A day in the future would never expire.
    return min(day, today)


def _has_time(record: Record) -> bool:
    try:
        datetime.fromisoformat(record["ts"])
    except (KeyError, TypeError, ValueError):
        return False
    return True


def _is_held(record: Record) -> bool:
    texts = ("id", "state", "class", "reason", "kind", "text")
    # Fault: a person or a sync program may change a line. Values of a wrong type would end the
    # night.
    if not all(isinstance(record.get(name), str) for name in texts):
        return False
    supports = record.get("supports")
    withdrawn = record.get("withdrawn", [])
    return (
        isinstance(supports, list)
        and all(map(_is_support, supports))
        and isinstance(withdrawn, list)
        and all(isinstance(turn, str) for turn in withdrawn)
    )


def _is_support(support: object) -> bool:
    if not isinstance(support, dict):
        return False
    return all(isinstance(support.get(name), str) for name in ("turn", "session"))


def _is_count(record: Record) -> bool:
    reads = record.get("reads")
    if not isinstance(record.get("device"), str) or not isinstance(reads, dict):
        return False
    return all(map(_is_read, reads.values()))


def _is_read(entry: object) -> bool:
    match entry:
        case [int() as count, str() as day]:
            # Fault: in Python, `true` is a number as well.
            return not isinstance(count, bool) and count >= 0 and _is_day(day)
        case _:
            return False


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_safety(record: Record) -> bool:
    return isinstance(record.get("turn"), str) and isinstance(record.get("reason"), str)


def _is_feedback(record: Record) -> bool:
    texts = (record.get(name, "") for name in ("user", "about", "text"))
    return record.get("verdict") in ("good", "bad") and all(isinstance(text, str) for text in texts)


_CHECKS: dict[str, Callable[[Record], bool]] = {
    HELD: _is_held,
    COUNTS: _is_count,
    SAFETY: _is_safety,
    FEEDBACK: _is_feedback,
}


class ReadCount(NamedTuple):
    """How often an item was read."""

    days: int
    """on how many days"""
    last: str
    """the latest day, ISO 8601"""


Counts = dict[str, dict[str, ReadCount]]
"""By content key, the counts of each device"""

_NEVER = ReadCount(0, "")


def counts_in(records: Iterable[Record]) -> Counts:
    """Returns the counts in records of the ledger, whose types were checked."""
    counts: Counts = {}
    for record in records:
        device = str(record["device"])
        for key, (days, last) in record["reads"].items():
            devices = counts.setdefault(key, {})
            devices[device] = _later(devices.get(device, _NEVER), ReadCount(days, last))
    return counts


def merged(first: Counts, second: Counts) -> Counts:
    """Returns the counts of both: of each device the maximum."""
    counts = {key: dict(devices) for key, devices in first.items()}
    for key, devices in second.items():
        of_key = counts.setdefault(key, {})
        for device, count in devices.items():
            of_key[device] = _later(of_key.get(device, _NEVER), count)
    return counts


def totals(counts: Counts) -> dict[str, ReadCount]:
    """Returns the counts of all devices together, by content key."""
    return {
        key: ReadCount(
            sum(count.days for count in devices.values()),
            max(count.last for count in devices.values()),
        )
        for key, devices in counts.items()
    }


def folded(counts: Counts, device: str, reads: Iterable[tuple[str, date]]) -> dict[str, ReadCount]:
    """Returns the new counts of a device, by key, after reads of keys on days.

    A day counts once, and only after the latest counted day. So folding the same reads again
    changes nothing.
    """
    days_of: dict[str, set[str]] = {}
    for key, day in reads:
        days_of.setdefault(key, set()).add(day.isoformat())
    new_counts: dict[str, ReadCount] = {}
    for key, days in days_of.items():
        previous = counts.get(key, {}).get(device, _NEVER)
        new_days = [day for day in days if day > previous.last]
        if new_days:
            new_counts[key] = ReadCount(previous.days + len(new_days), max(new_days))
    return new_counts


def as_record(moment: str, device: str, counts: Mapping[str, ReadCount]) -> dict[str, Any]:
    """Returns the record of a device's new counts; `moment` is ISO 8601 with an offset."""
    reads = {key: list(count) for key, count in sorted(counts.items())}
    return {"ts": moment, "device": device, "reads": reads}


def _later(first: ReadCount, second: ReadCount) -> ReadCount:
    return ReadCount(max(first.days, second.days), max(first.last, second.last))
