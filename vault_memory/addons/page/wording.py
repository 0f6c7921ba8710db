"""How the page writes times, scopes and notes: for a person, without ids and paths."""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from string import capwords

from vault_memory.rules.paths.conflict_names import conflict_copy

EVERYBODY = frozenset({"group:main", "group:global"})
TITLES = {
    "USER": "Profile",
    "FACTS": "Facts",
    "USER.FACTS": "Facts",
    "RULES": "Rules",
    "MEMORY": "Memory",
    "CHANNEL": "Profile",
}
"""Name of a note of the vault format → its title"""
PERSON = "by hand"
AUTHORS: Mapping[str, str] = {
    "tool": "the bot",
    "nightly": "the bot, at night",
    "proposal": "the bot, approved by a person",
    "inbox": "the bot, approved by a person",
    "merge": "sync",
    "talk": "the bot",
}
"""Source of the record that added a line → who wrote it; all others are a person"""
LABEL_LENGTH = 60
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_WEEK = re.compile(r"(\d{4})-W(\d{2})")


def moment(text: str) -> str:
    """Returns a time of ISO 8601 in full, as people write it here: `2026-05-03 14:02`."""
    time = _time(text)
    return time.strftime("%Y-%m-%d %H:%M") if time else text


def when(text: str, now: datetime | None = None) -> str:
    """Returns a time of ISO 8601: `14:02`, `yesterday 11:00`, `Thu 26 Nov`; of other years the year."""
    time = _time(text)
    if time is None:
        return text
    today = (now or datetime.now()).date()
    clock = time.strftime("%H:%M")
    if time.date() == today:
        return clock
    if time.date() == today - timedelta(days=1):
        return f"yesterday {clock}"
    return _named(time.date(), today)


def day(text: str, now: datetime | None = None) -> str:
    """Returns a day, a month or a year of ISO 8601: `today`, `Thu 26 Nov`, `May 2019`, `2019`."""
    today = (now or datetime.now()).date()
    try:
        if re.fullmatch(r"\d{4}-\d{2}", text):
            return date.fromisoformat(f"{text}-01").strftime("%B %Y")
        chosen = date.fromisoformat(text)
    except ValueError:
        time = _time(text)
        if time is None:
            return text
        chosen = time.date()
    near = {today: "today", today - timedelta(days=1): "yesterday"}
    return near.get(chosen) or _named(chosen, today)


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        # A person may edit the audit, and a sync program may cut it.
        return None


def _calendar_day(text: str) -> str:
    try:
        return _named(date.fromisoformat(text), datetime.now().date())
    except ValueError:
        return text


def _named(chosen: date, today: date) -> str:
    # A platform writes years below 1000 in its own way.
    year = "" if chosen.year == today.year else f" {chosen.year}"
    return f"{chosen:%a} {chosen.day} {chosen:%b}{year}"


def night(text: str, now: datetime | None = None) -> str:
    """Returns what the night that ended on a day is called: `Last night`, `The night of Thu 26 Nov`."""
    named = day(text, now)
    return "Last night" if named == "today" else f"The night of {named}"


def whose(scope: str) -> str:
    """Returns whose a scope is: `Mira`, `#harbour`, `everybody`."""
    kind, _, name = scope.partition(":")
    if scope in EVERYBODY:
        return "everybody"
    if kind == "channel":
        return f"#{name}"
    return person(name or scope)


def said_in(scope: str, reader: str) -> str:
    """Returns who said what a note of this scope has from a turn."""
    if scope == reader:
        return "you said it"
    return f"{whose(scope)} said it" if scope.startswith("user:") else f"said in {whose(scope)}"


def person(name: str) -> str:
    """Returns the name of a person or a group as one writes it: `mira` is Mira."""
    return capwords(name.replace("_", " ")) if name.islower() else name


def note_title(path: str) -> str:
    """Returns what a note is called: `Profile`, the day of a dated note, or the name of its file."""
    name = path.rpartition("/")[2]
    original = conflict_copy(name)
    if original is not None:
        return f"Copy of {note_title(original)}"
    stem, dot, _ = name.rpartition(".")
    title = stem if dot else name
    if title in TITLES:
        return TITLES[title]
    title = _WEEK.sub(r"Week \2 of \1", days_named(title))
    return title.replace("_", " ").strip() or name


def days_named(text: str) -> str:
    """Returns a text with its days of ISO 8601 as people write them."""
    return _DAY.sub(lambda match: _calendar_day(match[0]), text)


def author_of(source: str) -> str:
    """Returns who made what a record of this source says."""
    return AUTHORS.get(source, PERSON)


def cut_label(words: str) -> str:
    """Returns the beginning of a sentence."""
    # Fault: a name of 4 kB would be in the page five times for each row.
    return words if len(words) <= LABEL_LENGTH else f"{words[:LABEL_LENGTH]}…"
