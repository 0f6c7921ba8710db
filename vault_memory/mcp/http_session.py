"""Whom a server serves, and what of the vault is theirs. Every tool and resource asks for its scopes here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vault_memory.api.redact_paths import folders_of, hidden, without_paths
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import NoteNotFound, VaultMemoryError
from vault_memory.rules.context.quotations import in_marks, quotation, safe, shown_name
from vault_memory.rules.context.quoting import FLAG, HARMLESS, one_line
from vault_memory.rules.paths.caller import Caller
from vault_memory.rules.paths.filenames import inside
from vault_memory.search.note_reports import NoteText

HINTS = {
    "note_changed": "call memory_get for it again, and then this tool with the revision that it gives",
    "unclear_id": "memory_entity lists the facts about somebody or something with their ids; nothing was changed",
}
"""By code: what a model can do next, where the hint of an error is for a command line"""
CHANGED_SIGNS = (FLAG.strip(), *HARMLESS)
"""What stands in the name of a note only where it was changed for a model"""


@dataclass(frozen=True, slots=True)
class Serving:
    """One caller of one vault."""

    memory: VaultMemory
    caller: Caller
    session: str = ""
    """The conversation that asks, where the host names it"""

    @property
    def scopes(self) -> tuple[str, ...]:
        """All that is open; the caller's own comes first."""
        return self.caller.scopes(self.memory.layout)

    @property
    def reads(self) -> tuple[str, ...]:
        """The scopes that may be read, not all of which may be written."""
        return self.caller.reads(self.memory.layout)

    @property
    def own(self) -> str:
        """The scope that new memories go to: the person's; in a shared room that of the channel."""
        return self.scopes[0]

    def open_conversation(self) -> str:
        """Returns the session that the host names, else the one in which the caller spoke just now."""
        return self.session or self.memory.conversations.open_conversation(
            self.caller.user, self.caller.channel
        )

    def may_read(self, note: str) -> bool:
        """Whether a note is the caller's."""
        return self.caller.may_read(note, self.memory.layout)

    def read(self, note: str) -> NoteText | None:
        """A note of the caller's; None when it is not there or not theirs: nobody can tell which. Raises BadPath."""
        path = self.path_of(inside(note))
        if not self.may_read(path):
            return None
        try:
            return self.memory.read(path)
        except NoteNotFound:
            return None

    def path_of(self, name: str) -> str:
        """The path of the note that a model names.

        A path that holds a mark or an order is shown otherwise than it is written; the model knows it so.
        """
        if not any(sign in name for sign in CHANGED_SIGNS):
            return name
        shown = (
            note.note
            for note in self.memory.notes(self.reads)
            if shown_name(note.note) == name
        )
        return next(shown, name)

    def shown(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """An answer that names no note of others and no folder of the machine."""
        answer = self.caller.shown(found, self.memory.layout)
        fresh = answer["freshness"]
        return {
            **answer,
            "freshness": {
                **fresh,
                "reason": without_paths(str(fresh["reason"]), folders_of(self.memory)),
            },
        }

    def told(self, error: VaultMemoryError) -> str:
        """An error in words for a model: what happened, and what to do next."""
        hint = HINTS.get(error.code, error.hint)
        parts = [
            part for part in (*_message(error), f"hint: {hint}" if hint else "") if part
        ]
        said = "\n\n".join(map(safe, parts))
        folders = folders_of(self.memory)
        return (
            without_paths(said, folders)
            if error.http_status >= 500
            else str(hidden(said, folders))
        )


def _message(error: VaultMemoryError) -> tuple[str, ...]:
    """What happened; facts that an id may have meant are text of notes, and quoted as such."""
    ids, facts = error.details.get("candidates"), error.details.get("facts")
    if not (isinstance(ids, list) and isinstance(facts, list) and facts):
        return (error.message,)
    said = "\n".join(
        f"{id}  {one_line(fact)}" for id, fact in zip(ids, facts, strict=True)
    )
    return error.message.partition("\n")[0], in_marks([quotation("facts", {}, said)])
