"""The caller that a server serves, and the notes that the caller may read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vault_memory.api.redact_paths import folders_of, hidden, without_paths
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import VaultUnavailable
from vault_memory.errors import NoteNotFound, VaultMemoryError
from vault_memory.rules.context.quotations import in_marks, quotation, safe, shown_name
from vault_memory.rules.context.quoting import FLAG, HARMLESS, one_line
from vault_memory.rules.paths.caller import Caller
from vault_memory.rules.paths.filenames import inside
from vault_memory.search.note_reports import NoteText

HINTS = {
    "note_not_found": "memory_search finds notes",
    "note_changed": (
        "call memory_get for it again, and then this tool with the revision that it gives"
    ),
    "unclear_id": (
        "memory_entity lists the facts about somebody or something with their ids;"
        " nothing was changed"
    ),
}
"""The next step for a model by code, for errors whose hint is for a command line"""
CHANGED_SIGNS = (FLAG.strip(), *HARMLESS)
"""Parts of a note's name that are there only because it was changed for a model"""


@dataclass(frozen=True, slots=True)
class Serving:
    """One caller of one vault."""

    memory: VaultMemory
    caller: Caller
    session: str = ""
    """The conversation of the request, if the host names it"""

    @property
    def scopes(self) -> tuple[str, ...]:
        """The open scopes, with the caller's own first."""
        return self.caller.scopes(self.memory.layout)

    @property
    def reads(self) -> tuple[str, ...]:
        """The scopes that may be read; some of them may not be written."""
        return self.caller.reads(self.memory.layout)

    @property
    def own(self) -> str:
        """The scope that new memories go to: the person's; in a shared room that of the channel."""
        return self.scopes[0]

    def open_conversation(self) -> str:
        """The session that the host names, else the one in which the caller has just spoken."""
        return self.session or self.memory.conversations.open_conversation(
            self.caller.user, self.caller.channel
        )

    def may_read(self, note: str) -> bool:
        """Whether the caller may read a note."""
        return self.caller.may_read(note, self.memory.layout)

    def read(self, note: str) -> NoteText | None:
        """Returns a note of the caller; None for a missing note, and for one of another person.

        Raises BadPath.
        """
        path = self.path_of(inside(note))
        # Fault (H124): the answer is that for a missing note. Another one would tell
        # which notes other people have.
        if not self.may_read(path):
            return None
        try:
            return self.memory.read(path)
        except NoteNotFound:
            return None

    def path_of(self, name: str) -> str:
        """Returns the path of the note that a model names.

        A path with a mark or an order is shown without it, and the model names it like this.
        """
        if not any(sign in name for sign in CHANGED_SIGNS):
            return name
        for note in self.memory.notes(self.reads):
            if shown_name(note.note) == name:
                return note.note
        return name

    def shown(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The answer without names of notes of others, and without folders of the machine."""
        payload = self.caller.shown(answer, self.memory.layout)
        freshness = payload["freshness"]
        reason = without_paths(str(freshness["reason"]), folders_of(self.memory))
        return {**payload, "freshness": {**freshness, "reason": reason}}

    def explain(self, error: VaultMemoryError) -> str:
        """An error in words for a model: what happened, and what to do next."""
        # Fault: another host has the vault by now, and the reason would be about this one.
        if self.memory.vault.is_closed:
            error = VaultUnavailable()
        paragraphs = [*_message(error)]
        if hint := HINTS.get(error.code, error.hint):
            paragraphs.append(f"hint: {hint}")
        text = "\n\n".join(safe(paragraph) for paragraph in paragraphs if paragraph)
        folders = folders_of(self.memory)
        if error.http_status >= 500:
            return without_paths(text, folders)
        return str(hidden(text, folders))


def _message(error: VaultMemoryError) -> tuple[str, ...]:
    """What happened. Facts that an id may mean are text of notes, and quoted."""
    ids, facts = error.details.get("candidates"), error.details.get("facts")
    if not (isinstance(ids, list) and isinstance(facts, list) and facts):
        return (error.message,)
    lines = [f"{id}  {one_line(fact)}" for id, fact in zip(ids, facts, strict=True)]
    quoted = quotation("facts", {}, "\n".join(lines))
    return error.message.partition("\n")[0], in_marks([quoted])
