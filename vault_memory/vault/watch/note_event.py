"""The event of a note that changed, from the watcher until the index has the note."""

from typing import NamedTuple

from vault_memory.rules.paths.layout import Layout, Place


class NoteEvent(NamedTuple):
    """A file of the vault that changed."""

    path: str
    place: Place | None
    """None for a file that the layout leaves alone"""

    @property
    def is_indexed(self) -> bool:
        """Whether search reads this note."""
        return self.place is not None and self.place.indexed

    @classmethod
    def of(cls, path: str, layout: Layout) -> "NoteEvent":
        """Returns the event of a path."""
        return cls(path, layout.place(path))
