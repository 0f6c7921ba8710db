"""Which night is due. Pure: the caller brings the clock and the time zone.

There is no timer. A night has the local date on which it begins, such as 02:00 on the 5th of May in Lisbon, and it is
due when it has begun and is not done. So a machine that was off catches up, a clock that is set back repeats nothing,
and the change to summer time neither drops a night nor doubles one.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

SCHEDULE = re.compile(r"\s*(\d{1,2})\s+(\d{1,2})\s+\*\s+\*\s+\*\s*")


@dataclass(frozen=True, slots=True)
class Schedule:
    """Once in each local day, at this time of it."""

    hour: int
    minute: int

    @classmethod
    def read(cls, text: str) -> "Schedule | None":
        """Of `M H * * *`; None for anything else."""
        found = SCHEDULE.fullmatch(text)
        if found is None or int(found[1]) > 59 or int(found[2]) > 23:
            return None
        return cls(int(found[2]), int(found[1]))

    def begins(self, night: date, zone: tzinfo) -> datetime:
        """When the night of this date begins, in UTC. An hour that a clock change leaves out is the one after it;
        of an hour that comes twice, it is the first."""
        return datetime.combine(night, time(self.hour, self.minute), zone).astimezone(
            UTC
        )

    def latest(self, now: datetime, zone: tzinfo) -> date:
        """The last night that has begun."""
        night = now.astimezone(zone).date() + timedelta(days=1)
        while self.begins(night, zone) > now:
            night -= timedelta(days=1)
        return night

    def next(self, now: datetime, zone: tzinfo) -> datetime:
        """When the next night begins, in the zone."""
        return self.begins(self.latest(now, zone) + timedelta(days=1), zone).astimezone(
            zone
        )

    def due(self, now: datetime, zone: tzinfo, *, done: date | None) -> date | None:
        """The night to be done now: the last that has begun, if it is later than the last that was done.

        Nights that were missed before it are part of it: it takes in everything since the last one.
        """
        night = self.latest(now, zone)
        return night if done is None or night > done else None
