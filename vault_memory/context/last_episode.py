"""Quotes the newest summary of a conversation, at the first turn of the next one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vault_memory.index import exclusion, note_queries
from vault_memory.markdown import document
from vault_memory.rules.context import assemble
from vault_memory.rules.conversations import statements
from vault_memory.rules.conversations import turn as conversations_turn
from vault_memory.rules.learning import episodes

if TYPE_CHECKING:
    from vault_memory.context.blocks import ContextRequest
    from vault_memory.context.live_notes import LiveNotes
    from vault_memory.index.note_queries import DatedNote
    from vault_memory.index.store import Index
    from vault_memory.rules.context.assemble import Quotation

KIND = "episode"


def quotation(
    index: "Index", notes: "LiveNotes", request: "ContextRequest", query: str
) -> "Quotation | None":
    """Returns the newest episode of the open scopes; None at a later turn, or without any.

    `query` is the prompt without the names and times of a chat.
    """
    if not request.episode:
        return None
    scope_ids = index.scope_ids(request.open)
    newest = _newest_note(index, scope_ids, request)
    # Fault: the session goes on. Its own turns are in the prompt of the host already.
    if newest is None or _has_own_turn(index, scope_ids, request, query):
        return None
    note = document.parse(notes.text(newest.path).encode())
    heading, text = episodes.newest_episode(note)
    return assemble.whole_note(KIND, newest.path, text, date=newest.day or "", conversation=heading)


def _newest_note(
    index: "Index", scope_ids: Sequence[int], request: "ContextRequest"
) -> "DatedNote | None":
    """Returns the newest note about conversations."""
    for note in note_queries.newest_of_kind(index, scope_ids, KIND):
        # Fault: the newest note may be another person's. It must not go into the block of a
        # channel.
        if not request.is_personal(KIND, note.scope):
            return note
    return None


def _has_own_turn(
    index: "Index", scope_ids: Sequence[int], request: "ContextRequest", query: str
) -> bool:
    """Returns whether the person spoke in this conversation before this prompt."""
    if not request.session:
        return False
    # The host may have recorded the prompt before it asked for the block.
    prompts = {_words(query), _words(request.prompt)}
    heading = conversations_turn.heading_of(request.session)
    return any(
        _words(statements.without_speaker(text)) not in prompts
        for text in exclusion.own_turns_of(index, scope_ids, heading)
    )


def _words(text: str) -> str:
    return " ".join(text.split())
