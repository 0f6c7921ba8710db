"""Finds all audit files of a vault with their stamps. It lists a folder again only after a change of its names."""

import os
import stat
from typing import NamedTuple

from vault_memory.edits.record_cache import Stamp, settled_stamp, stamp_of
from vault_memory.rules.paths.filenames import ignored, unreadable
from vault_memory.vault.audit_folders import AUDIT_NAME
from vault_memory.vault.fs import RealFiles
from vault_memory.vault.listing import DEEPEST
from vault_memory.vault.reader import Folder

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _ListedFolder(NamedTuple):
    """The names in one folder that matter here."""

    stamp: Stamp
    audits: list[str]
    folders: list[str]
    without_note: list[str]
    """Notes that have an audit file and are not there themselves"""


class AuditFiles:
    """The audit files of one vault; used by one thread at a time."""

    def __init__(self) -> None:
        self._listed: dict[str, _ListedFolder] = {}
        self._has_new_names = False

    def without_note(self, folder: Folder) -> list[str]:
        """Returns the notes that have an audit file and are not there themselves.

        Empty when no names changed since the last call: then the answer is the same. Raises
        VaultUnreachable.
        """
        self.stamps(folder)
        if not self._has_new_names:
            return []
        self._has_new_names = False
        return [
            prefix + note for prefix, listed in self._listed.items() for note in listed.without_note
        ]

    def stamps(self, folder: Folder) -> dict[str, Stamp]:
        """Returns the paths of all audit files with their stamps. Raises VaultUnreachable."""
        stamps: dict[str, Stamp] = {}
        previous = self._listed
        self._listed = {}
        with folder.held():
            root = RealFiles(folder.root).open_folder("")
            try:
                self._walk(root, "", previous, stamps)
            finally:
                os.close(root)
        return stamps

    def _walk(
        self, folder: int, prefix: str, previous: dict[str, _ListedFolder], stamps: dict[str, Stamp]
    ) -> None:
        """Adds the stamps of the files in an open folder and below it; `prefix` ends with a ``/``, or is empty."""
        status = os.fstat(folder)
        listed = previous.get(prefix)
        if listed is None or listed.stamp != stamp_of(status):
            listed = _list(folder, settled_stamp(status))
            self._has_new_names = True
        self._listed[prefix] = listed
        for name in listed.audits:
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except OSError:
                # A program removed the file after the folder was listed.
                continue
            # Fault (H120): a link or a pipe may have taken the place of the file since.
            if stat.S_ISREG(status.st_mode):
                stamps[prefix + name] = stamp_of(status)
        # Fault (F110): each level keeps a descriptor open. A broken mount shows levels
        # without end.
        if prefix.count("/") >= DEEPEST:
            return
        for name in listed.folders:
            self._walk_below(folder, name, prefix, previous, stamps)

    def _walk_below(
        self,
        parent: int,
        name: str,
        prefix: str,
        previous: dict[str, _ListedFolder],
        stamps: dict[str, Stamp],
    ) -> None:
        try:
            folder = os.open(name, _OPEN, dir_fd=parent)
        except OSError:
            # The folder was removed, or a link took its place.
            return
        try:
            self._walk(folder, f"{prefix}{name}/", previous, stamps)
        finally:
            os.close(folder)


def _list(folder: int, stamp: Stamp) -> _ListedFolder:
    audits: list[str] = []
    folders: list[str] = []
    names: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.add(entry.name)
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith(".") and not unreadable(entry.name):
                        folders.append(entry.name)
                elif is_audit(entry.name) and entry.is_file(follow_symlinks=False):
                    audits.append(entry.name)
    except OSError:
        # Fault (B40): the folder cannot be listed now, and perhaps later.
        stamp = ()
    notes = {match["note"] for match in map(AUDIT_NAME.fullmatch, audits) if match}
    return _ListedFolder(stamp, audits, folders, sorted(notes - names))


def is_audit(name: str) -> bool:
    """Whether a file of this name is an audit file, and no temporary or conflict copy of one."""
    if ".audit." not in name or AUDIT_NAME.fullmatch(name) is None:
        return False
    return not ignored(name) and not unreadable(name)
