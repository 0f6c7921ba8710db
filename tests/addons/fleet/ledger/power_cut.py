"""A disk that forgets, when the power is cut, what was written and not synced."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

USUAL = "unix"
"""The layer of SQLite that opens files"""


class _File(apsw.VFSFile):
    """A file whose content counts as stored when it is synced."""

    def __init__(
        self, stored: dict[str, bytes], name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__(USUAL, name, flags)
        self._stored = stored
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        if self._path:
            self._stored[self._path] = Path(self._path).read_bytes()


class Disk(apsw.VFS):
    """All files of SQLite that are opened while it is in use."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}
        """path → what a power cut leaves of the file"""
        super().__init__("forgetful", USUAL, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(self.stored, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.stored.pop(filename, None)

    def after_power_cut(self, folder: Path) -> None:
        """Write the files as the disk has them into another folder."""
        for path, content in self.stored.items():
            if not path.endswith("-shm"):
                (folder / Path(path).name).write_bytes(content)


@contextmanager
def forgetful_disk() -> Iterator[Disk]:
    """Let SQLite use such a disk."""
    disk = Disk()
    try:
        yield disk
    finally:
        disk.unregister()
