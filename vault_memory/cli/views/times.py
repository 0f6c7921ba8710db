"""Short local times for a person: `today 14:05`, `Mon 3 Mar`."""

from datetime import date, datetime, timedelta

from vault_memory.cli.views.screen import Screen

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_NEAR = {-1: "yesterday", 0: "today", 1: "tomorrow"}
"""Days from today → their name"""
WITH_HOURS = timedelta(days=7)
"""Times nearer than this are shown with hours and minutes"""


def time_text(text: str | None, screen: Screen | None) -> str:
    """Return a time of ISO 8601 in short form for a terminal; unchanged for anything else."""
    if screen is None or not text:
        return text or ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        # An audit record of another program may hold any text there.
        return text
    if len(text) == len("2026-01-31"):
        return short_day(moment.date(), screen.now.date())
    return short_time(moment, screen.now)


def short_time(moment: datetime, now: datetime) -> str:
    """Return a time in the zone of `now`: `today 14:05`, `Mon 3 Mar 14:05`, `Mon 3 Mar`."""
    local = moment.astimezone(now.tzinfo)
    day = short_day(local.date(), now.date())
    if abs(local - now) > WITH_HOURS:
        return day
    return f"{day} {local:%H:%M}"


def short_day(day: date, today: date) -> str:
    """Return a day: `today`, `Mon 3 Mar`, and with its year if that is another one."""
    near = _NEAR.get((day - today).days)
    if near:
        return near
    # The names are English, as all text of the program is.
    text = f"{day.day} {_MONTHS[day.month - 1]}"
    if day.year == today.year:
        return f"{_DAYS[day.weekday()]} {text}"
    return f"{text} {day.year}"
