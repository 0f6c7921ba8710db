"""Reads a note once for all stations of an edit: real path, bytes, attributes, newest version.

An editor may save after the read. So a write looks at the file again before it replaces it, and
compares the replaced bytes afterwards.
"""

import posixpath
from typing import Literal, NamedTuple

from vault_memory.vault.fs import Files
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import LARGEST_STORED, Note
from vault_memory.vault.snapshots import Version
from vault_memory.vault.write.preconditions import CurrentFile, read_live

Unsettled = Literal["interrupted", "unrecorded", "salvaged"]
"""What an earlier transaction left to do: finish writes of a process that died, write the records
of finished writes, adopt the notes after the journal was read from a damaged file"""
_LINKS = 8
"""Links that are followed before a chain counts as a loop"""


class LoadedNote(NamedTuple):
    """A note as it was read for an edit."""

    path: str
    """The path without links"""
    file: CurrentFile | None
    """None when the note is absent, too large, or cannot be read at this moment"""
    head: Version | None = None
    """The newest version that was seen"""
    has_unjudged_saves: bool = False
    """Whether any note has a save over the bot's text that is not judged yet"""
    recorded: str = ""
    """Id of the last record that is safe in the audit of the note"""
    unsettled: frozenset[Unsettled] = frozenset()
    """What has to be done before an edit"""

    @property
    def note(self) -> Note | None:
        """The note as a reader of the vault returns it."""
        if self.file is None:
            return None
        info = self.file.info
        stat = Stat(info.size, info.mtime_ns, info.ctime_ns, info.ino, info.nlink)
        return Note(self.path, self.file.raw, self.file.revision, stat, stable=True)


def load(files: Files, path: str) -> LoadedNote:
    """Resolves the links of a note and reads it."""
    real = real_path(files, path)
    if real is None:
        return LoadedNote(path, None)
    folder_path, _, name = real.rpartition("/")
    try:
        folder = files.open_folder(folder_path)
    except OSError:
        return LoadedNote(real, None)
    try:
        live = read_live(files, folder, name, max_bytes=LARGEST_STORED)
    except OSError:
        live = None
    finally:
        files.close(folder)
    return LoadedNote(real, live if isinstance(live, CurrentFile) else None)


def real_path(files: Files, path: str) -> str | None:
    """Resolves the links of a note within the vault; None when they lead out of it."""
    # Fault (A30): two links that lead to each other would never end.
    for _ in range(_LINKS):
        folder_path, _, name = path.rpartition("/")
        target = _link_target(files, folder_path, name)
        if target is None:
            return path
        if target.startswith("/"):
            target = posixpath.relpath(target, posixpath.join(files.root, folder_path))
        path = posixpath.normpath(posixpath.join(folder_path, target))
        # Fault (A30, H120): a link out of the vault would let a write change any file
        # of the user.
        if path == ".." or path.startswith("../"):
            return None
    return None


def _link_target(files: Files, folder_path: str, name: str) -> str | None:
    try:
        folder = files.open_folder(folder_path)
    except OSError:
        return None
    try:
        status = files.look(folder, name)
        if status is None or not status.is_link:
            return None
        return files.link_target(folder, name)
    except OSError:
        return None
    finally:
        files.close(folder)
