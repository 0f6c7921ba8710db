"""The nights of a session's scopes: their reports, and when the next one begins."""

from collections.abc import Collection
from datetime import date, datetime
from typing import NamedTuple

from markupsafe import Markup

from vault_memory.addons.page import markdown
from vault_memory.api.vault_memory import VaultMemory


class StoredNight(NamedTuple):
    """The report of one night."""

    night: str
    """its local date"""
    text: str
    """Markdown, with the sections of the session's scopes"""
    scopes: tuple[str, ...]
    unfinished: tuple[str, ...]
    """the scopes whose night failed or was interrupted"""


class NightViewer:
    """The nights of a vault, as one session may see them."""

    def __init__(self, memory: VaultMemory, scopes: Collection[str]) -> None:
        self._memory = memory
        self._scopes = scopes

    def reports(self, since: date | None = None) -> list[StoredNight]:
        """Return the nights, newest first."""
        scopes = list(self._scopes)
        reports = self._memory.learning.night_reports(scopes, since=since)
        return [
            StoredNight(report.night, report.text, report.scopes, report.unfinished)
            for report in reports
        ]

    def next_begins(self) -> datetime | None:
        """Return when the next night begins; None when nights are switched off."""
        if not self._memory.vault.config.sleep_cycle.enabled:
            return None
        return self._memory.learning.next_night()

    def report_html(self, night: str) -> Markup:
        """Return the report of a night as HTML; empty without one."""
        try:
            reports = self.reports(since=date.fromisoformat(night))
        except ValueError:
            # The reason of a record may name a day that no calendar has.
            return Markup()
        texts = [report.text for report in reports if report.night == night]
        return as_html(texts[0]) if texts else Markup()


def as_html(report: str) -> Markup:
    """Return a report as HTML. It has names of notes and people, and no links."""
    try:
        return Markup(markdown.render(report, lambda target: None))
    except markdown.TooLong:
        return Markup("<pre>{}</pre>").format(report)
