"""Calls of `VaultMemory` that import the memory of other systems, and export the vault."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vault_memory.addons.transfer import (
    chat_importer,
    chat_report,
    exporter,
    import_report,
    importer,
    okf_bundles,
    workspace,
)
from vault_memory.conversations import calls as conversation_calls
from vault_memory.edits.calls import EditCalls, aware
from vault_memory.rules.call_values import checked_calls
from vault_memory.rules.paths.scopes import check_scopes

if TYPE_CHECKING:
    from vault_memory.addons.transfer.chat_report import ChatReport
    from vault_memory.addons.transfer.exporter import ExportReport
    from vault_memory.addons.transfer.import_report import ImportReport


@checked_calls
class TransferCalls:
    """Import and export of one vault."""

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
        format: Literal["", "okf"] = "",
    ) -> "ImportReport":
        """Import a database of Istota, a workspace of OpenClaw or Hermes, or a CLAUDE.md.

        With `format` the source is a bundle of the Open Knowledge Format.

        The source is only read, and text that the vault has is not added again.
        `scopes` None means all people and channels of the source. Raises UsageError.
        """
        if scopes is not None:
            check_scopes(scopes)
        with self._edits.transaction():
            return importer.import_from(
                self._edits,
                Path(source),
                scopes=scopes,
                now=now,
                dry_run=dry_run,
                is_bundle=bool(format),
            )

    def import_notes(
        self,
        source: str | Path,
        names: Sequence[str],
        target: str,
        *,
        scopes: Sequence[str],
        now: datetime | None = None,
    ) -> "ImportReport":
        """Copy files of a folder to the folder `target` of the vault; `names` are below `source`.

        A file that is not in one of `scopes` there is left out. Raises UsageError.
        """
        check_scopes(scopes)
        request = import_report.ImportRequest(scopes, aware(now), dry_run=False)
        with self._edits.transaction():
            return workspace.import_notes(self._edits, Path(source), names, target, request)

    def import_chats(
        self,
        program: Literal["chatgpt", "claude"],
        source: str | Path,
        *,
        user: str = "",
        channel: str = "",
        dry_run: bool = False,
    ) -> "ChatReport":
        """Import the conversations of an export into the transcripts of a person or a channel.

        Without `user` they are those of the vault's owner. Turns that are recorded already are
        not added again. Raises NoExport, OwnerUnknown, NightRuns, TurnNotRecorded.
        """
        person = user or self.vault.owner
        if not person:
            raise conversation_calls.OwnerUnknown("")
        request = chat_report.ChatRequest(program, person, channel, dry_run)
        conversations = conversation_calls.ConversationCalls(self.vault)
        return chat_importer.import_chats(conversations, Path(source), request)

    def export(
        self,
        target: str | Path,
        *,
        scopes: Sequence[str] | None = None,
        format: Literal["", "okf"] = "",
    ) -> "ExportReport":
        """Write notes, transcripts and audit logs to a new folder, with a dump in JSON Lines.

        With `format` the notes become a bundle of the Open Knowledge Format.

        A `target` that ends in `.jsonl` gets only the dump. `scopes` None means the complete
        vault. Raises UsageError.
        """
        if scopes is not None:
            check_scopes(scopes)
        with self._edits.transaction():
            write = partial(okf_bundles.write_bundle, self._edits) if format else None
            return exporter.export(self._edits, Path(target), scopes=scopes, write=write)
