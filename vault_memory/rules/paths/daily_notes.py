"""Daily notes: which pattern the names of a vault follow, and which path a day has."""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import date

from vault_memory.rules.paths import date_formats
from vault_memory.rules.paths.filenames import MARKDOWN
from vault_memory.rules.paths.layout import Pattern

FEWEST = 2
"""Dated names in a folder from which it counts as the folder of daily notes"""
_NAME_FORMATS = (
    ("YYYY-MM-DD", re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")),
    ("YYYY_MM_DD", re.compile(r"[0-9]{4}_[0-9]{2}_[0-9]{2}")),
    ("YYYY.MM.DD", re.compile(r"[0-9]{4}\.[0-9]{2}\.[0-9]{2}")),
    ("YYYYMMDD", re.compile(r"(?:19|20)[0-9]{6}")),
    ("DD.MM.YYYY", re.compile(r"[0-9]{2}\.[0-9]{2}\.[0-9]{4}")),
    ("DD-MM-YYYY", re.compile(r"[0-9]{2}-[0-9]{2}-[0-9]{4}")),
    ("YYYY年MM月DD日", re.compile(r"[0-9]{4}年[0-9]{2}月[0-9]{2}日")),
    ("YYYY年M月D日", re.compile(r"[0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日")),
    ("YYYY-MM-DD ddd", re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [A-Z][a-z]{2}")),
    ("YYYY-MM-DD dddd", re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [A-Z][a-z]+day")),
)
_FOLDER_FORMATS = "YYYY MM YYYY-MM YYYY_MM MM-MMMM MMMM YYYY年 MM月 M月".split()
_DATE = re.compile(r"\{date(?::([^{}]*))?\}")
_NOT_OF_A_DAY = re.compile(r"\*|\{(?:name|path|bot)\}")
_OWNER = re.compile(r"\{(?:user|channel|group)\}")


def pattern_of(folder: str, date_format: str) -> str:
    """Returns the path of a pattern; "" when a pattern cannot express the folder or the format."""
    # Obsidian stores an empty format for its default, and accepts one that ends in `.md`.
    date_format = date_format.removesuffix(".md") or date_formats.ISO
    if date_formats.problem_of(date_format) or any(mark in folder for mark in "{}*"):
        return ""
    capture = "{date}"
    if date_format != date_formats.ISO:
        capture = f"{{date:{date_format}}}"
    parent = folder.strip("/ ")
    return f"{parent}/{capture}.md" if parent else f"{capture}.md"


def pattern_by_names(paths: Iterable[str]) -> str:
    """Returns the pattern of the daily notes among paths; "" when there are too few."""
    counts: Counter[tuple[str, str]] = Counter()
    for path in paths:
        if path.endswith(MARKDOWN):
            form = _form_of(path)
            if form is not None:
                counts[form] += 1
    if not counts:
        return ""
    _join_forms_of_months(counts)
    # Fault: one note that is named after a day is no sign of daily notes.
    (folder, date_format), count = counts.most_common(1)[0]
    return pattern_of(folder, date_format) if count >= FEWEST else ""


def _join_forms_of_months(counts: Counter[tuple[str, str]]) -> None:
    """Counts October to December, where `MM月` equals `M月`, with the other months."""
    for folder, date_format in list(counts):
        *folders, name = date_format.split("/")
        shorter = ["M月" if part == "MM月" else part for part in folders]
        form = folder, "/".join([*shorter, name])
        # Fault: three notes of autumn would decide against two of spring.
        if form in counts and form != (folder, date_format):
            counts[form] += counts.pop((folder, date_format))


def _form_of(path: str) -> tuple[str, str] | None:
    """Returns the folder and the date format of a path that names a day; None for any other."""
    *folders, name = path.split("/")
    stem = name.rpartition(".")[0]
    for date_format, expression in _NAME_FORMATS:
        day = _day(date_format, stem) if expression.fullmatch(stem) else None
        # Fault: `2026-05-04 Zoo` looks like a day with its weekday, and is a title.
        if day is not None and date_formats.render(date_format, day) == stem:
            return _with_folders(folders, date_format, day)
    return None


def _day(date_format: str, text: str) -> date | None:
    match = re.fullmatch(date_formats.expression(date_format), text)
    try:
        return date_formats.day_of(match) if match else None
    except ValueError:
        # A name such as `2026-02-30` looks like a day, and is none.
        return None


def _with_folders(folders: list[str], date_format: str, day: date) -> tuple[str, str]:
    """Extends the format to the folders above a note that name its year or month."""
    formats: dict[str, str] = {}
    for name in _FOLDER_FORMATS:
        formats.setdefault(date_formats.render(name, day), name)
    while folders and folders[-1] in formats:
        date_format = f"{formats[folders[-1]]}/{date_format}"
        folders = folders[:-1]
    return "/".join(folders), date_format


def path_of_day(patterns: Iterable[Pattern], scope: str, owner: str) -> str:
    """Returns the pattern of the daily notes of a scope, with a date as its only capture.

    "" without one. `owner` is the person of a pattern that names no other.
    """
    kind, _, name = scope.partition(":")
    for pattern in patterns:
        if pattern.kind != "dated" or _NOT_OF_A_DAY.search(pattern.path):
            continue
        path = pattern.path.replace(f"{{{kind}}}", name)
        # A pattern without the capture of its scope is about the owner of the vault.
        holder = owner if path == pattern.path else name
        is_own = pattern.scope.replace(f"{{{kind}}}", holder) == scope
        if is_own and not _OWNER.search(path):
            return path
    return ""


def render(path: str, day: date) -> str:
    """Returns the path of a day."""
    return _DATE.sub(lambda match: date_formats.render(match[1] or date_formats.ISO, day), path)
