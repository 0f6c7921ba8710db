"""The calls of VaultMemory that take in what others knew, write out all that is known, and forget for good."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from vault_memory.edits.calls import NoteEditCalls
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.conversations.calls import ConversationCalls
    from vault_memory.forgetting import calls
    from vault_memory.forgetting.calls import Forgotten
    from vault_memory.transfer import exporter, importer
    from vault_memory.transfer.exporter import Exported
    from vault_memory.transfer.importer import Imported
else:
    calls = lazy_module("vault_memory.forgetting.calls")
    exporter = lazy_module("vault_memory.transfer.exporter")
    importer = lazy_module("vault_memory.transfer.importer")


class TransferCalls(NoteEditCalls):
    """What VaultMemory is made of besides."""

    def forget(
        self,
        text: str,
        *,
        scopes: Sequence[str] | None = None,
        now: datetime | None = None,
        dry_run: bool = False,
    ) -> "Forgotten":
        """Take `text` out of all that is kept, and look whether it is gone; `scopes` None means all of the vault.

        Raises TextTooShort, UsageError, JournalUnavailable.
        """
        with self._there(), self._lock:
            return calls.forget(
                cast("ConversationCalls", self),
                text,
                scopes=scopes,
                now=now,
                dry_run=dry_run,
            )

    def import_from(
        self,
        source: str | Path,
        *,
        scopes: Sequence[str] | None = None,
        now: datetime | None = None,
        dry_run: bool = False,
    ) -> "Imported":
        """Take in what a database of Istota, a workspace of OpenClaw or Hermes, or a CLAUDE.md says;
        it is only read, and what is known is not added again. `scopes` None means everybody in it. Raises UsageError.
        """
        with self._there():
            return importer.import_from(
                cast("ConversationCalls", self),
                Path(source),
                scopes=scopes,
                now=now,
                dry_run=dry_run,
            )

    def export(
        self, target: str | Path, *, scopes: Sequence[str] | None = None
    ) -> "Exported":
        """Write all notes, transcripts and records as they are, and one dump of them in JSON Lines, into a new folder;
        into a file that ends in `.jsonl` the dump alone. `scopes` None means all of the vault. Raises UsageError.
        """
        with self._there():
            return exporter.export(
                cast("ConversationCalls", self), Path(target), scopes=scopes
            )
