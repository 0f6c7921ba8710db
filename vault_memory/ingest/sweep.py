"""A look at the whole vault in slices: which notes differ from what the index holds, or are not in it.

A sweep changes nothing. It goes through the notes that the index holds and compares size, times and inode, then through
the folders for notes that the index does not hold. What differs is named, to be looked at as a change is. Between two
slices anything may happen: a note that comes behind the sweep was announced by an event, or the next sweep finds it.
"""

from dataclasses import dataclass, field
from itertools import groupby

from vault_memory.index.store import IndexedFile, State
from vault_memory.ingest.ingest_plan import stamp
from vault_memory.ingest.scan import Ingest
from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.vault.listing import DEEPEST, SUFFIXES

SLICE = 250
"""Notes that are compared in one slice"""


@dataclass(slots=True)
class Findings:
    """What one slice has found."""

    suspects: list[str] = field(default_factory=list)
    """notes to look at"""
    unread: list[str] = field(default_factory=list)
    """files that search does not read: INBOX pages, audit files"""
    copies: list[str] = field(default_factory=list)
    """conflict copies"""

    def add(self, other: "Findings") -> None:
        """What another slice has found, too."""
        self.suspects += other.suspects
        self.unread += other.unread
        self.copies += other.copies


@dataclass(slots=True)
class Sweep:
    """One round through a vault."""

    _after: str | None = ""
    """the last note that was compared; None when all were"""
    _parked_done: bool = False
    _folders: list[str] = field(default_factory=lambda: [""])
    """still to be listed"""
    _names: list[str] = field(default_factory=list)
    """paths that were listed, and not yet looked up in the index"""

    @property
    def is_done(self) -> bool:
        return (
            self._after is None
            and self._parked_done
            and not (self._folders or self._names)
        )

    def slice(self, ingest: Ingest) -> Findings:
        """The next slice."""
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
        for folder, notes in groupby(rows, lambda row: row[0].rpartition("/")[0]):
            held = dict(notes)
            stats = ingest.folder.stats(
                folder, [path.rpartition("/")[2] for path in held]
            )
            for path, known in held.items():
                stat = stats.get(path.rpartition("/")[2])
                if stat is None or not _is_same(known, stat):
                    findings.suspects.append(path)

    def _compare_parked(self, ingest: Ingest, findings: Findings) -> None:
        for path, (_, mark) in ingest.index.parked().items():
            folder, _, name = path.rpartition("/")
            stat = ingest.folder.stats(folder, [name]).get(name)
            if stat is None or stamp(stat) != mark:
                findings.suspects.append(path)
        self._parked_done = True

    def _list(self, ingest: Ingest, folder: str, findings: Findings) -> None:
        prefix = f"{folder}/" if folder else ""
        files, folders = ingest.folder.names(folder)
        if prefix.count("/") < DEEPEST:
            self._folders += [
                prefix + name for name in folders if not name.startswith(".")
            ]
        for name in files:
            if name.endswith(SUFFIXES):
                if conflict_copy(name):
                    findings.copies.append(prefix + name)
                else:
                    self._names.append(prefix + name)

    def _look_up(self, ingest: Ingest, findings: Findings) -> None:
        paths = self._names[-SLICE:]
        del self._names[-SLICE:]
        known = ingest.index.indexed_paths(paths)
        for path in paths:
            if path in known:
                continue
            if ingest.wants(path):
                findings.suspects.append(path)
            else:
                findings.unread.append(path)


def _is_same(known: IndexedFile, stat: tuple[int, ...]) -> bool:
    return known[:4] == stat[:4] and known.state == State.SETTLED
