"""The folder of notes that a model sees as `/memories`: paths, and the notes for them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.edits import people
from vault_memory.errors import BadPath, NoteNotFound, UsageError
from vault_memory.markdown.letters import without_case
from vault_memory.rules import memory_tool
from vault_memory.rules.memory_tool import ROOT, check_new, note_name, relative, shown_name
from vault_memory.rules.paths import scope_notes
from vault_memory.rules.paths.scopes import Caller

if TYPE_CHECKING:
    from vault_memory.edits.calls import EditCalls
    from vault_memory.vault.reader import Note

EXAMPLE_DAY = "2026-01-31"
NAMED_BY_DAY = (
    f"the notes of a channel are named by a day, such as /memories/{EXAMPLE_DAY}-topic.md"
)
KINDS = frozenset({"note", "dated", "episode", "reflection"})
"""The kinds of notes in the folder"""
WORKSPACE = "group:main"


class CommandRefused(Exception):
    """A command that is not carried out. The text is the answer to the model."""


class MemoryPath(NamedTuple):
    """A path below `/memories`."""

    path: str
    """As the model wrote it"""
    relative: str
    """Below `/memories`; empty for that itself"""
    note: str
    """The note for it, should it be a file"""

    @property
    def is_root(self) -> bool:
        return not self.relative


class MemoryFolder:
    """The notes of one person, or of a channel where they talk."""

    def __init__(self, edits: "EditCalls", caller: Caller) -> None:
        """Raises UsageError for a name that no person or channel of this vault can have."""
        self._layout = edits.vault.layout
        people.refuse_twin(caller.user, edits.vault.root, self._layout)
        self._vault = edits.vault.folder
        self._is_shared = caller.is_in_shared_room
        scope = caller.scopes(self._layout)[0]
        paths = list(self._vault.listing(suffixes=(".md",)).entries)
        self._folder = scope_notes.places_of(scope, paths, self._layout).notes
        self._scopes = {scope}
        if self._folder == "memory/":
            self._scopes.add(WORKSPACE)
        if not self._is_in_folder(f"{self._folder}{EXAMPLE_DAY}.md"):
            name = caller.channel if self._is_shared else caller.user
            raise UsageError(
                f"{name!r} has no folder of notes in this vault",
                hint="name a person or a channel as the layout does",
            )

    def path(self, path: str) -> MemoryPath:
        """Read a path that a model wrote. Raises CommandRefused."""
        try:
            name = relative(path)
        except BadPath as error:
            raise CommandRefused(
                f"Error: {path!r} is no path below {ROOT}: {error.reason}"
            ) from None
        return MemoryPath(path.rstrip("/"), name, self._folder + note_name(name))

    def moved(self, file: MemoryPath, old: MemoryPath, new: MemoryPath) -> MemoryPath:
        """Return the new path of a file, when `old` is renamed: the file, or a folder above it."""
        if file == old:
            return new
        below = file.path.removeprefix(old.path)
        return self.path(new.path + below)

    def sizes_below(self, path: MemoryPath) -> dict[str, int]:
        """Return the bytes of each note below a folder, by name; nothing for another path."""
        folder = f"{self._folder}{path.relative}".rstrip("/")
        entries = self._vault.listing(folder, suffixes=(".md",)).entries
        return {
            note.removeprefix(f"{folder}/"): status.size
            for note, status in entries.items()
            if self._is_in_folder(note)
        }

    def files(self, path: MemoryPath) -> Sequence[MemoryPath]:
        """Return the file at a path, or all files in the folder there. Raises CommandRefused."""
        names = sorted(self.sizes_below(path))
        if names:
            return [self.path(f"{path.path}/{name}") for name in names]
        self.require(path, memory_tool.MISSING)
        return [path]

    def read(self, path: MemoryPath) -> "Note | None":
        """Return the note as it is now. What is behind a link is not in this folder."""
        if path.is_root or not self._is_in_folder(path.note):
            return None
        try:
            return self._vault.read(path.note)
        except NoteNotFound:
            # A person may delete the note at any moment.
            return None

    def require(self, path: MemoryPath, absent: str) -> "Note":
        """Return the note. Raises CommandRefused with the text `absent` for a missing note."""
        note = self.read(path)
        if note is None:
            raise CommandRefused(absent.format(path=path.path))
        return note

    def check_free(self, path: MemoryPath, exists: str) -> None:
        """Raise CommandRefused where no new note can be, with the text `exists` for an old one."""
        self._check_name(path)
        # A disk that folds case would put two names into one file.
        names = {without_case(name) for name in self.sizes_below(self.path(ROOT))}
        is_file = without_case(note_name(path.relative)) in names
        if is_file or self.sizes_below(path):
            raise CommandRefused(exists.format(path=path.path))
        segments = path.relative.split("/")
        for depth in range(1, len(segments)):
            folder = "/".join(segments[:depth])
            if _is_file(folder, names):
                raise CommandRefused(f"Error: {ROOT}/{folder} is a file, and no directory")

    def _check_name(self, path: MemoryPath) -> None:
        try:
            check_new(path.relative)
            reason = ""
        except BadPath as error:
            reason = error.reason
        if not reason and not self._is_in_folder(path.note):
            reason = "such names are not read as memory"
            if self._is_shared:
                reason = NAMED_BY_DAY
        if reason:
            raise CommandRefused(f"Error: {path.path} is no name for a memory file: {reason}")

    def _is_in_folder(self, note: str) -> bool:
        place = self._layout.place(note)
        return place is not None and place.kind in KINDS and place.scope in self._scopes


def _is_file(folder: str, names: set[str]) -> bool:
    """Whether a folder of a new note has the name of a file, its own name or its shown one."""
    if without_case(folder) in names:
        return True
    note = note_name(folder)
    return shown_name(note) == folder and without_case(note) in names
