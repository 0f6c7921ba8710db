"""The nights of a session's scopes: their reports, and when the next one begins."""

from collections.abc import Collection
from datetime import datetime
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

    def next_begins(self) -> datetime | None:
        """Return when the next night begins; None when nights are switched off."""
        if not self._memory.vault.config.sleep_cycle.enabled:
            return None
        return self._memory.learning.next_night()
