"""Compares the whole vault with the index in slices, and names the notes that differ.

A sweep changes nothing. It goes through the indexed notes and compares size, times and inode,
then through the folders for notes that are not indexed. Each path that differs is then handled
as a change. A note that changes behind the sweep is reported by an event, or by the next sweep.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from vault_memory.index.store import IndexedFile
from vault_memory.ingest.ingest_plan import differs, stamp
from vault_memory.ingest.scan import Ingest
from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.vault.listing import DEEPEST, SUFFIXES

SLICE = 250
"""Notes that are compared in one slice"""


@dataclass(slots=True)
class Findings:
    """Paths that one slice reports."""

    suspects: list[str] = field(default_factory=list)
    """notes to look at"""
    unread: list[str] = field(default_factory=list)
    """files that search does not read: INBOX pages, audit files"""
    copies: list[str] = field(default_factory=list)
    """conflict copies"""

    def add(self, findings: "Findings") -> None:
        """Adds the paths of another slice."""
        self.suspects += findings.suspects
        self.unread += findings.unread
        self.copies += findings.copies


@dataclass(slots=True)
class Sweep:
    """One round through a vault."""

    _after: str | None = ""
    """the last note that was compared; None after all of them"""
    _parked_done: bool = False
    _folders: list[str] = field(default_factory=lambda: [""])
    """folders to list"""
    _names: list[str] = field(default_factory=list)
    """listed paths to look up in the index"""

    @property
    def is_done(self) -> bool:
        is_pending = self._folders or self._names or not self._parked_done
        return self._after is None and not is_pending

    def slice(self, ingest: Ingest) -> Findings:
        """Compares the next slice."""
        findings = Findings()
        if self._after is not None:
            self._compare(ingest, self._after, findings)
        elif not self._parked_done:
            self._compare_parked(ingest, findings)
        elif self._names:
            self._look_up(ingest, findings)
        elif self._folders:
            self._list(ingest, self._folders.pop(), findings)
        return findings

    def _compare(self, ingest: Ingest, after: str, findings: Findings) -> None:
        rows = ingest.index.files_after(after, SLICE)
        self._after = rows[-1][0] if rows else None
        for folder, indexed in _by_folder(rows):
            stats = ingest.folder.stats(folder, list(indexed))
            for name, file in indexed.items():
                stat = stats.get(name)
                if stat is None or differs(file, stat):
                    findings.suspects.append(_join(folder, name))

    def _compare_parked(self, ingest: Ingest, findings: Findings) -> None:
        for path, (_, mark) in ingest.index.parked().items():
            folder, name = _folder_and_name(path)
            stat = ingest.folder.stats(folder, [name]).get(name)
            if stat is None or stamp(stat) != mark:
                findings.suspects.append(path)
        self._parked_done = True

    def _list(self, ingest: Ingest, folder: str, findings: Findings) -> None:
        files, folders = ingest.folder.names(folder)
        prefix = _join(folder, "")
        # A chain of folders without end, as a broken mount shows it, must end somewhere.
        if prefix.count("/") < DEEPEST:
            visible = [name for name in folders if not name.startswith(".")]
            self._folders += [prefix + name for name in visible]
        for name in files:
            if not name.endswith(SUFFIXES):
                continue
            paths = findings.copies if conflict_copy(name) else self._names
            paths.append(prefix + name)

    def _look_up(self, ingest: Ingest, findings: Findings) -> None:
        paths = self._names[-SLICE:]
        del self._names[-SLICE:]
        indexed = ingest.index.indexed_paths(paths)
        for path in paths:
            if path in indexed:
                continue
            if ingest.wants(path):
                findings.suspects.append(path)
            else:
                findings.unread.append(path)


def _by_folder(
    rows: Iterable[tuple[str, IndexedFile]],
) -> Iterator[tuple[str, dict[str, IndexedFile]]]:
    """Yields each folder with its files by name. `rows` are in the order of their paths."""
    for folder, notes in groupby(rows, lambda row: _folder_and_name(row[0])[0]):
        yield folder, {_folder_and_name(path)[1]: file for path, file in notes}


def _folder_and_name(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
