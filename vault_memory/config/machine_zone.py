"""The time zone of this machine, whatever form it is given in."""

import os
from datetime import UTC, datetime, timedelta, tzinfo

LOCALTIME = "/etc/localtime"


def local_zone() -> tzinfo:
    """The zone that TZ names, else that of the machine."""
    from zoneinfo import ZoneInfo

    name = os.environ.get("TZ")
    try:
        if name is not None:
            return ZoneInfo(name.removeprefix(":"))
        with open(LOCALTIME, "rb") as file:
            return ZoneInfo.from_file(file, key="localtime")
    except (
        OSError,
        ValueError,
        KeyError,
    ):  # KeyError: TZ holds a rule such as `UTC0`, or no zone at all
        return SystemZone()


class SystemZone(tzinfo):
    """The zone of the C library: it reads every form of TZ, with summer time, and takes UTC for what is none."""

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        return _local(when).utcoffset() if when is not None else None

    def dst(self, when: datetime | None) -> timedelta | None:
        """Not known: the library tells the offset from UTC alone."""
        return None

    def tzname(self, when: datetime | None) -> str | None:
        return _local(when).tzname() if when is not None else None

    def fromutc(self, when: datetime) -> datetime:
        local = when.replace(tzinfo=UTC).astimezone()
        first = local.replace(tzinfo=self, fold=0)
        # of an hour that comes twice, the second is told by its offset
        return (
            first if first.utcoffset() == local.utcoffset() else first.replace(fold=1)
        )


def _local(when: datetime) -> datetime:
    """The time on the clock as the C library understands it; outside of its years as in UTC."""
    naive = when.replace(tzinfo=None)
    try:
        return naive.astimezone()
    except (OverflowError, ValueError, OSError):
        return naive.replace(tzinfo=UTC)


__all__ = ["SystemZone", "local_zone"]
