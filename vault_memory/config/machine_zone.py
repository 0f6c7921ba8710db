"""The time zone of this machine."""

import os
from datetime import UTC, datetime, timedelta, tzinfo

LOCALTIME = "/etc/localtime"


def local_zone() -> tzinfo:
    """Return the zone in the variable TZ, else that of the machine."""
    from zoneinfo import ZoneInfo

    name = os.environ.get("TZ")
    try:
        if name is not None:
            return ZoneInfo(name.removeprefix(":"))
        with open(LOCALTIME, "rb") as file:
            return ZoneInfo.from_file(file, key="localtime")
    except (OSError, ValueError, KeyError):
        # TZ may contain a rule such as `UTC0`, or no zone at all.
        return SystemZone()


class SystemZone(tzinfo):
    """The zone of the C library, which reads every form of TZ and uses UTC for an invalid one."""

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        if when is not None:
            return _local(when).utcoffset()
        return None

    def dst(self, when: datetime | None) -> timedelta | None:
        """Return None: the library gives only the offset from UTC."""
        return None

    def tzname(self, when: datetime | None) -> str | None:
        if when is not None:
            return _local(when).tzname()
        return None

    def fromutc(self, when: datetime) -> datetime:
        local = when.replace(tzinfo=UTC).astimezone()
        first = local.replace(tzinfo=self, fold=0)
        # When clocks go back, an hour comes twice; the second one has another offset.
        if first.utcoffset() == local.utcoffset():
            return first
        return first.replace(fold=1)


def _local(when: datetime) -> datetime:
    """Return a local time with its offset; UTC for years that the C library does not know."""
    naive = when.replace(tzinfo=None)
    try:
        return naive.astimezone()
    except (OverflowError, ValueError, OSError):
        return naive.replace(tzinfo=UTC)


__all__ = ["SystemZone", "local_zone"]
