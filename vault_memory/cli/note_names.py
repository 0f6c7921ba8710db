"""Finds the note that a command means: by its path, its name or an alias."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from vault_memory.edits.edit_errors import NotCurated
from vault_memory.errors import NoteNotFound

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory

Answer = TypeVar("Answer")


def of_named_note(memory: "VaultMemory", note: str, call: Callable[[str], Answer]) -> Answer:
    """Call with a path, else with the path of the only note that has this name or alias.

    Raises NoteNotFound with near names, or UsageError for a name of several notes.
    """
    # A deleted note has versions, too, so only an unknown path is a name.
    try:
        return call(note)
    except (NoteNotFound, NotCurated):
        path = memory.searcher.find_note(note)
        if path == note:
            raise
        return call(path)
