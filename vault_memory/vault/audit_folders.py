"""Finds the audit files beside notes, and lists a folder again only after something in it came, went or was renamed.

In a folder of very many files, which changes with every save, the listing of some seconds ago is taken. Meanwhile the
files that the caller expects are looked for by their names. What the listing misses is a file of a device never met
before, and that arrives with a sync program, which takes longer than those seconds anyway.
"""

import os
import re
import time
from collections.abc import Iterable
from typing import NamedTuple

from vault_memory.vault.fs import RealFiles

LARGE = 500
"""Names in a folder from which an older listing of it is taken"""
LISTED_AGAIN_SECONDS = 10.0
"""After which a large folder that has changed is listed again"""
TICK_NS = 50_000_000
"""A folder that changed so shortly before it was listed may change again within the same tick of its time"""
MOST_FOLDERS = 64
"""Of which a listing is remembered"""

AUDIT_NAME = re.compile(r"(?s)(?P<note>.+\.md)\.audit(?:\.(?P<device>[^/]+))?\.jsonl")


class _Listed(NamedTuple):
    """The audit files of one folder."""

    signature: tuple[int, ...]
    """of the folder when it was listed; empty when its time cannot be trusted"""
    at: float
    size: int
    """how many names of any kind the folder has"""
    names: dict[str, tuple[str, ...]]
    """of each note that has some"""


class AuditFolders:
    """The audit files in the folders of one vault."""

    def __init__(self, root: str) -> None:
        self._files = RealFiles(root)
        self._listed: dict[str, _Listed] = {}

    def beside(self, note: str, expected: Iterable[str]) -> list[str]:
        """The paths of a note's audit files, sorted. `expected` are names that it may have in any case."""
        folder_path, slash, name = note.rpartition("/")
        try:
            folder = self._files.open_folder(folder_path)
        except OSError:
            return []
        try:
            names = set(self._names(folder, folder_path, name, expected))
        finally:
            self._files.close(folder)
        return sorted(folder_path + slash + audit for audit in names)

    def _names(
        self, folder: int, path: str, note: str, expected: Iterable[str]
    ) -> Iterable[str]:
        signature = _signature(os.fstat(folder))
        listed = self._listed.get(path)
        if listed is not None and listed.signature == signature:
            return listed.names.get(note, ())
        if (
            listed is not None
            and listed.size >= LARGE
            and time.monotonic() - listed.at < LISTED_AGAIN_SECONDS
        ):
            return [
                audit
                for audit in {*listed.names.get(note, ()), *expected}
                if _exists(folder, audit)
            ]
        return self._list(folder, path, signature).names.get(note, ())

    def _list(self, folder: int, path: str, signature: tuple[int, ...]) -> _Listed:
        names = os.listdir(folder)
        notes: dict[str, tuple[str, ...]] = {}
        for audit in names:
            if ".audit." in audit and (parts := AUDIT_NAME.fullmatch(audit)):
                notes[parts["note"]] = (*notes.get(parts["note"], ()), audit)
        is_racy = abs(time.time_ns() - signature[-1]) < TICK_NS
        listed = _Listed(
            () if is_racy else signature, time.monotonic(), len(names), notes
        )
        if len(self._listed) >= MOST_FOLDERS:
            self._listed.pop(next(iter(self._listed)))
        self._listed[path] = listed
        return listed


def _signature(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
