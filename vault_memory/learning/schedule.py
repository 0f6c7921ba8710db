"""Decides which night is due. Pure: the caller brings the clock and the time zone.

There is no timer. A night has the local date on which it begins, such as 02:00 on the 5th of May
in Lisbon. It is due when it has begun and is not finished. So a machine that was off catches up,
a clock that is set back repeats no night, and summer time neither skips nor doubles one.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

SCHEDULE = re.compile(r"\s*(\d{1,2})\s+(\d{1,2})\s+\*\s+\*\s+\*\s*")


@dataclass(frozen=True, slots=True)
class Schedule:
    """A local time of day, once a day."""

    hour: int
    minute: int

    @classmethod
    def read(cls, text: str) -> "Schedule | None":
        """Parses `M H * * *`; None for anything else."""
        match = SCHEDULE.fullmatch(text)
        if match is None:
            return None
        minute, hour = int(match[1]), int(match[2])
        if minute > 59 or hour > 23:
            return None
        return cls(hour, minute)

    def begins(self, night: date, zone: tzinfo) -> datetime:
        """Returns when the night of this date begins, in UTC.

        An hour that a clock change skips is the one after it. Of an hour that comes twice, the
        first counts.
        """
        moment = datetime.combine(night, time(self.hour, self.minute), zone)
        # Fault: summer time skips or doubles a local hour. In UTC each night begins once.
        return moment.astimezone(UTC)

    def latest(self, now: datetime, zone: tzinfo) -> date:
        """Returns the last night that has begun."""
        night = now.astimezone(zone).date() + timedelta(days=1)
        while self.begins(night, zone) > now:
            night -= timedelta(days=1)
        return night

    def next(self, now: datetime, zone: tzinfo) -> datetime:
        """Returns when the next night begins, in the zone."""
        night = self.latest(now, zone) + timedelta(days=1)
        return self.begins(night, zone).astimezone(zone)

    def due(self, now: datetime, zone: tzinfo, *, done: date | None) -> date | None:
        """Returns the last night that has begun, if it is later than `done`, the last finished one.

        It includes missed nights: a cycle reads all turns since the last one.
        """
        night = self.latest(now, zone)
        # Fault: a clock that is set back shows a night that is done. It must not run twice.
        return night if done is None or night > done else None
