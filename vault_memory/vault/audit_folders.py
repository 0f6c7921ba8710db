"""Finds the audit files beside notes. It lists a folder again only after a change of its names.

A large folder changes with every save. So its last listing serves for some seconds, and the audit
files that the caller expects are looked up by name. Such a listing can only lack the file of a new
device, which arrives with a sync program and takes longer than those seconds anyway.
"""

import os
import re
import time
from collections.abc import Iterable
from typing import NamedTuple

from vault_memory.vault.fs import RealFiles

LARGE = 500
"""Names in a folder above which an older listing of it may serve"""
LISTED_AGAIN_SECONDS = 10.0
"""Seconds after which a large folder that has changed is listed again"""
TICK_NS = 50_000_000
"""Resolution of the change time of a folder"""
MOST_FOLDERS = 64
"""Listings that are cached"""

AUDIT_NAME = re.compile(r"(?s)(?P<note>.+\.(?i:md|markdown))\.audit(?:\.(?P<device>[^/]+))?\.jsonl")


class _Listed(NamedTuple):
    """The audit files of one folder."""

    signature: tuple[int, ...]
    """Signature of the folder when it was listed; empty when its time proves nothing"""
    at: float
    size: int
    """Number of names of any kind"""
    names: dict[str, tuple[str, ...]]
    """Note → names of its audit files"""

    def can_serve(self) -> bool:
        """Whether this listing may serve although the folder has changed since."""
        age = time.monotonic() - self.at
        return self.size >= LARGE and age < LISTED_AGAIN_SECONDS


class AuditFolders:
    """The audit files in the folders of one vault."""

    def __init__(self, root: str) -> None:
        self._files = RealFiles(root)
        self._listed: dict[str, _Listed] = {}

    def beside(self, note: str, expected: Iterable[str]) -> list[str]:
        """Returns the paths of a note's audit files, sorted; `expected` are likely names."""
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

    def _names(self, folder: int, path: str, note: str, expected: Iterable[str]) -> Iterable[str]:
        signature = _signature(os.fstat(folder))
        listed = self._listed.get(path)
        if listed is not None and listed.signature == signature:
            return listed.names.get(note, ())
        if listed is not None and listed.can_serve():
            candidates = {*listed.names.get(note, ()), *expected}
            return [audit for audit in candidates if _exists(folder, audit)]
        return self._list(folder, path, signature).names.get(note, ())

    def _list(self, folder: int, path: str, signature: tuple[int, ...]) -> _Listed:
        names = os.listdir(folder)
        notes: dict[str, tuple[str, ...]] = {}
        for audit in names:
            if ".audit." not in audit:
                continue
            match = AUDIT_NAME.fullmatch(audit)
            if match is not None:
                note = match["note"]
                notes[note] = (*notes.get(note, ()), audit)
        # Fault (C60): the folder may change again within the same tick of its change
        # time.
        is_racy = abs(time.time_ns() - signature[-1]) < TICK_NS
        if is_racy:
            signature = ()
        listed = _Listed(signature, time.monotonic(), len(names), notes)
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
