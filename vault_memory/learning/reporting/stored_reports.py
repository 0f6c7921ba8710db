"""Reads the stored reports of nights, for some scopes only, and which nights are unfinished."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from vault_memory.learning.checkpoint import CheckpointStore

_SECTION = re.compile(r"^(?=## )", re.MULTILINE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class NightReport:
    """What a night did in some scopes."""

    night: str
    """its local date"""
    text: str
    """Markdown with a section for each scope; empty for a night that is unfinished everywhere"""
    scopes: tuple[str, ...] = ()
    """the scopes with a section"""
    unfinished: tuple[str, ...] = ()
    """the scopes whose night failed or was interrupted; it is tried again"""


def read_reports(
    store: CheckpointStore, scopes: Collection[str], since: str = ""
) -> list[NightReport]:
    """Returns the nights of these scopes from the date `since` on, newest first."""
    unfinished = _unfinished(store, scopes)
    nights = {file.stem for file in store.reports() if _DATE.fullmatch(file.stem)}
    reports = [
        _read(store, night, scopes, tuple(unfinished.get(night, ())))
        for night in sorted(nights | unfinished.keys(), reverse=True)
        if night >= since
    ]
    # Fault: the bare date of a night would say that something happened to another person.
    return [report for report in reports if report.scopes or report.unfinished]


def _unfinished(store: CheckpointStore, scopes: Collection[str]) -> dict[str, list[str]]:
    """Returns the scopes of each unfinished night."""
    nights: dict[str, list[str]] = {}
    for scope in sorted(scopes):
        cycle = store.open_cycle(scope)
        if cycle is None or cycle.session:
            continue
        # It may have crashed after committing, before it removed its checkpoint.
        if cycle.serial > store.last(scope).serial:
            nights.setdefault(cycle.night, []).append(scope)
    return nights


def _read(
    store: CheckpointStore, night: str, scopes: Collection[str], unfinished: tuple[str, ...]
) -> NightReport:
    sections = dict(_sections(store.report_text(night)))
    own = {scope: text for scope, text in sections.items() if scope in scopes}
    # A night that ran again has a report already.
    return NightReport(night, "\n\n".join(own.values()), tuple(own), unfinished)


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Yields the scopes of a report, each with its section."""
    for section in _SECTION.split(text):
        heading = section.partition("\n")[0]
        if heading.startswith("## "):
            yield heading.removeprefix("## ").strip(), section.rstrip()
