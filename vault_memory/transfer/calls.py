"""Calls that import other memories, and export a vault."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.edits.calls import EditCalls
from vault_memory.lazy import lazy_module
from vault_memory.rules.paths.scopes import check_scopes

if TYPE_CHECKING:
    from vault_memory.transfer import exporter, importer
    from vault_memory.transfer.exporter import Exported
    from vault_memory.transfer.importer import Imported
else:
    exporter = lazy_module("vault_memory.transfer.exporter")
    importer = lazy_module("vault_memory.transfer.importer")


class TransferCalls:
    """Import into one vault, and export it."""

    def __init__(self, edits: EditCalls) -> None:
        self.vault = edits.vault
        self._edits = edits

    def import_from(
        self,
        source: str | Path,
        *,
        scopes: Sequence[str] | None = None,
        now: datetime | None = None,
        dry_run: bool = False,
    ) -> "Imported":
        """Import a database of Istota, a workspace of OpenClaw or Hermes, or a CLAUDE.md.

        The source is only read, and text that the vault has is not added again. `scopes` None means all people and
        channels of the source. Raises UsageError.
        """
        if scopes is not None:
            check_scopes(scopes)
        with self._edits.transaction():
            return importer.import_from(
                self._edits, Path(source), scopes=scopes, now=now, dry_run=dry_run
            )

    def export(
        self, target: str | Path, *, scopes: Sequence[str] | None = None
    ) -> "Exported":
        """Write notes, transcripts and records, and a dump of them in JSON Lines, into a new folder.

        A `target` that ends in `.jsonl` gets the dump alone. `scopes` None means the whole vault. Raises UsageError.
        """
        if scopes is not None:
            check_scopes(scopes)
        with self._edits.transaction():
            return exporter.export(self._edits, Path(target), scopes=scopes)
