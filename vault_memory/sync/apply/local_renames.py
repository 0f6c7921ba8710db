"""Renames files, and makes and removes folders, in the vault: never over a file, never outside of it."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from vault_memory.vault.fs import RealFiles, move_between
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.attempt import make_folders


class Disk:
    """The folder of one vault. Its methods raise the OSErrors of the system."""

    def __init__(self, root: str) -> None:
        self._files = RealFiles(root)

    def id_of(self, path: str) -> str:
        """The inode, which survives a rename; empty when the path does not exist."""
        try:
            with self._parent(path) as (folder, name):
                stat = self._files.look(folder, name)
        except OSError:
            return ""
        return str(stat.ino) if stat else ""

    def make_folder(self, path: str) -> None:
        """Make a folder and its parents, unless they exist."""
        self._files.close(make_folders(self._files, path))

    def remove_folder(self, path: str) -> bool:
        """Remove an empty folder. False: it stays, since it contains files that are not synced."""
        with self._parent(path) as (folder, name):
            try:
                os.rmdir(name, dir_fd=folder)
            except FileNotFoundError:
                return True
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    return False
                raise
            self._files.fsync(folder)
        return True

    def rename(self, path: str, to: str, *, hashed: str | None) -> None:
        """Rename a file with this hash, or a folder, to a free name. Raises FileExistsError."""
        self.make_folder(to.rpartition("/")[0])
        with self._parent(path) as (old_folder, name), self._parent(to) as (new_folder, new_name):
            if hashed is not None and self._hash(old_folder, name) != hashed:
                raise FileNotFoundError(errno.ENOENT, "it is no longer what it was", path)
            move_between(old_folder, name, new_folder, new_name)
            self._files.fsync(new_folder)
            self._files.fsync(old_folder)

    def _hash(self, folder: int, name: str) -> str:
        fd = self._files.open(folder, name)
        try:
            return revision_of(self._files.read(fd))
        finally:
            self._files.close(fd)

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        above, _, name = path.rpartition("/")
        folder = self._files.open_folder(above)
        try:
            yield folder, name
        finally:
            self._files.close(folder)
