"""Counts of the days on which items were read, from the ledgers of all devices. Pure.

A record of the ledger has the cumulative counts of one device. So the order of records and their
repetition do not matter: of each device the maximum counts, and the devices are added up.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, NamedTuple

Record = Mapping[str, Any]


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
