"""Calls that forget a text for good, or take it back as a bot may."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Unpack

from vault_memory.conversations.calls import ConversationCalls
from vault_memory.edits.calls import EditCalls, EditKeywords, EditOptions
from vault_memory.forgetting import forget_text, retract
from vault_memory.rules.call_values import checked_calls
from vault_memory.rules.paths.scopes import check_scopes
from vault_memory.search.calls import SearchCalls

if TYPE_CHECKING:
    from vault_memory.forgetting.forget_text import Forgotten
    from vault_memory.forgetting.retract import TakenBack


@checked_calls
class ForgettingCalls:
    """Remove a text from one vault."""

    def __init__(
        self, edits: EditCalls, searcher: SearchCalls, conversations: ConversationCalls
    ) -> None:
        self.vault = edits.vault
        self._edits = edits
        self._searcher = searcher
        self._conversations = conversations

    def forget(
        self,
        text: str,
        *,
        scopes: Sequence[str] | None = None,
        now: datetime | None = None,
        dry_run: bool = False,
    ) -> "Forgotten":
        """Remove `text` from notes, history, index and state folder; see `VaultMemory.forget`."""
        if scopes is not None:
            check_scopes(scopes)
        with self._edits.transaction(), self.vault.lock:
            if not dry_run:
                # Fault: a turn in the drop folder would be recorded after its text is
                # forgotten.
                self._conversations.take_dropped()
            return forget_text.forget(self._edits, text, scopes=scopes, now=now, dry_run=dry_run)

    def take_back(
        self,
        text: str,
        *,
        scopes: Sequence[str],
        note: str | None = None,
        **keywords: Unpack[EditKeywords],
    ) -> "TakenBack":
        """Remove the list items that contain `text` from the notes of these scopes.

        `undo` brings them back. With source `tool`, items that a person wrote are only proposed to
        them; `cli` is the person's own act. Transcripts stay. Raises TextTooShort, TooManyItems,
        NoteChanged, UsageError.
        """
        check_scopes(scopes)
        options = EditOptions(source="tool", why="asked to forget")
        return retract.take_back(
            self._edits,
            self._searcher,
            text,
            scopes=scopes,
            note=note,
            options=options._replace(**keywords),
        )
