"""The nights of a session's scopes: their reports, and when the next one begins."""

from collections.abc import Collection
from typing import NamedTuple

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


class NightPlan(NamedTuple):
    """When the next night begins."""

    begins: str
    """a time of ISO 8601; empty when nights are switched off"""
    due: tuple[str, ...]
    """the scopes of the session whose night should have run"""


class NightViewer:
    """The nights of a vault, as one session may see them."""

    def __init__(
        self,
        memory: VaultMemory,
        scopes: Collection[str],
    ) -> None:
        self._memory = memory
        self._scopes = scopes

    def reports(self) -> list[StoredNight]:
        """Return the nights, newest first."""
        reports = self._memory.learning.night_reports(list(self._scopes))
        return [
            StoredNight(report.night, report.text, report.scopes, report.unfinished)
            for report in reports
        ]

    def plan(self) -> NightPlan:
        """Return when the next night begins, and what is late."""
        status = self._memory.learning.status()
        due = tuple(scope for scope in status["due"] if scope in self._scopes)
        return NightPlan(status["next"] or "", due)
