"""Reads the filters of a search as callers write them. Raises UsageError for wrong ones."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import get_args

from vault_memory.contract import SearchedKind
from vault_memory.errors import UsageError
from vault_memory.rules.learning import relative_days
from vault_memory.rules.paths import globs

Day = date | str
"""A day, or a text that names one: `2026-01-31`, `yesterday`, `last week`"""
DAY_HINT = "write it like 2026-01-31, 2026-01, `yesterday` or `3 days ago`"


def days(
    since: Day | None, until: Day | None, now: datetime | None
) -> tuple[date | None, date | None]:
    """Return the first and the last day from which filters pass text."""
    first = first_day(since, "since", now)
    last = last_day(until, "until", now)
    # Fault: no day is in such a range, so the answer would be empty without a reason.
    if first and last and first > last:
        raise UsageError(f"`since` ({first}) is after `until` ({last})", hint="swap the two days")
    return first, last


def first_day(value: Day | None, option: str, now: datetime | None) -> date | None:
    """Return the day from which a filter passes text; `option` is its name for errors."""
    return _day(value, option, now, 0)


def last_day(value: Day | None, option: str, now: datetime | None) -> date | None:
    """Return the day until which a filter passes text; `option` is its name for errors."""
    return _day(value, option, now, 1)


def _day(value: Day | None, option: str, now: datetime | None, end: int) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    if value is None or isinstance(value, date):
        return value
    if isinstance(value, str):
        # Most filters are dates, which need none of the words for days.
        if _is_iso(value):
            return date.fromisoformat(value)
        days = relative_days.days_of(value, now=now or datetime.now().astimezone())
        if days is not None:
            return days[end]
    raise UsageError(f"`{option} {value}` is not a date", hint=DAY_HINT)


def _is_iso(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def texts(values: object, option: str) -> tuple[str, ...]:
    """Return the values of a filter; a single text is one of them."""
    if isinstance(values, str):
        values = (values,)
    # Fault: a program may pass a number, of which no tuple can be made.
    listed = tuple(values) if isinstance(values, Iterable) else (values,)
    names = list[str]()
    for value in listed:
        # Fault: an empty name would filter out all text without a word.
        if not isinstance(value, str) or not value.strip(" #/="):
            raise UsageError(f"`{option}` needs a name", hint=f"leave `{option}` out for all notes")
        names.append(value)
    return tuple(names)


def paths(values: object, option: str) -> tuple[str, ...]:
    """Return the globs of a filter."""
    listed = texts(values, option)
    problem = globs.problem_of_all(listed)
    if problem:
        raise UsageError(
            f"`{option}`: {problem}",
            hint="name a folder, such as `memory`, or a glob, such as `Projects/**/*.md`",
        )
    return listed


def fields(values: object, option: str) -> tuple[str, ...]:
    """Return the fields of a filter as `key=value`, or `key` for any value."""
    if isinstance(values, Mapping):
        return texts([_field(key, value) for key, value in values.items()], option)
    listed = texts(values, option)
    for value in listed:
        if not value.partition("=")[0].strip():
            raise UsageError(
                f"`{option} {value}` names no field",
                hint="write `status=done`, or `status` for notes that have the field",
            )
    return listed


def _field(key: str, value: object) -> str:
    if value is None:
        return str(key)
    # YAML writes booleans in small letters.
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{key}={text}"


def check_kinds(kinds: Iterable[str]) -> None:
    """Raise UsageError for a kind of notes that search does not read."""
    searched_kinds = get_args(SearchedKind)
    unknown = sorted(set(kinds) - set(searched_kinds))
    if unknown:
        raise UsageError(
            f"search reads no notes of kind {unknown[0]!r}",
            hint=f"the kinds are {', '.join(searched_kinds)}",
            known=list(searched_kinds),
        )
