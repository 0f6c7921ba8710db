"""The caller that a server serves, and the notes that the caller may read."""

from vault_memory.api.redact_paths import folders_of, hidden, without_paths
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import VaultUnavailable
from vault_memory.errors import VaultMemoryError
from vault_memory.rules.context.quotations import in_marks, quotation, safe, shown_name
from vault_memory.rules.context.quoting import FLAG, HARMLESS, one_line
from vault_memory.rules.paths.scopes import Caller

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


class Serving:
    """One caller of one vault."""

    def __init__(self, memory: VaultMemory, caller: Caller, session: str = "") -> None:
        """`session` is the conversation of the request, if the host names it."""
        self.memory = memory
        self.view = memory.as_seen_by(caller)
        self._session = session

    def of_session(self, session: str) -> "Serving":
        """Returns the same caller in the conversation of a request."""
        return Serving(self.memory, self.view.caller, session)

    def open_conversation(self) -> str:
        """The session that the host names, else the one in which the caller has just spoken."""
        return self._session or self.view.open_conversation()

    def path_of(self, name: str) -> str:
        """Returns the path of the note that a model names.

        A path with a mark or an order is shown without it, and the model names it like this.
        """
        if not any(sign in name for sign in CHANGED_SIGNS):
            return name
        for note in self.view.notes():
            if shown_name(note.note) == name:
                return note.note
        return name

    def explain(self, error: VaultMemoryError) -> str:
        """An error in words for a model: what happened, and what to do next."""
        # Fault: another host has the vault by now, and the reason would be about this one.
        if self.memory.vault.is_closed:
            error = VaultUnavailable()
        paragraphs = [*_message(error)]
        if hint := HINTS.get(error.code, error.hint):
            paragraphs.append(f"hint: {hint}")
        text = "\n\n".join(safe(paragraph) for paragraph in paragraphs if paragraph)
        folders = folders_of(self.memory.vault)
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
