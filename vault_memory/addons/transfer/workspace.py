"""Imports a workspace of OpenClaw or Hermes: copies its files to the places of the layout.

Nothing is overwritten. If a note of the same name has another text, the file becomes a conflict
copy beside it, for a person to merge.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.addons.transfer.exporter import LARGEST_LOG
from vault_memory.addons.transfer.import_report import ImportReport, ImportRequest
from vault_memory.errors import UsageError, VaultError
from vault_memory.markdown.merging import three_way
from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.layout import KINDS
from vault_memory.vault.reader import LARGEST_STORED, Folder
from vault_memory.vault.write.copy_file import copy_name
from vault_memory.vault.write.create import add_file

if TYPE_CHECKING:
    from vault_memory.edits.calls import EditCalls

IMPORTED_KINDS = frozenset(KINDS) - {"inbox", "audit", "ledger"}
"""Kinds of files to import; audit logs, ledgers and proposals belong to the other vault"""
FOLDERS = ("memory", "memories", "groups", "transcripts")
RENAMED = {
    "memories/MEMORY.md": "MEMORY.md",
    "memories/USER.md": "USER.md",
    "memory.md": "MEMORY.md",
}
"""Path in a workspace → path in the vault"""
TYPICAL_FILES = (
    "MEMORY.md",
    "USER.md",
    "SOUL.md",
    "memory.md",
    "memories/MEMORY.md",
    "memories/USER.md",
)
"""A workspace has at least one of these, or a folder `memory`"""
PERSONA = "SOUL.md"
MAX_COPIES = 100
"""Maximum number of conflict copies of one note with the same time"""


class NoWorkspace(UsageError):
    """The folder is not a workspace of OpenClaw or Hermes."""

    def __init__(self, source: Path, why: str) -> None:
        super().__init__(
            f"`{source}` {why}",
            hint="name the folder that has MEMORY.md, USER.md, SOUL.md, or the folder `memory`",
        )


def import_workspace(edits: "EditCalls", source: Path, request: ImportRequest) -> ImportReport:
    """Copy the files of a workspace. Raises NoWorkspace, VaultUnreachable."""
    _check_workspace(source, Path(edits.vault.root))
    copier = Copier(edits, request)
    folder = Folder(source)
    for path in sorted(_candidates(folder, copier.report)):
        target = RENAMED.get(path, path)
        place = edits.vault.layout.place(target)
        if place is None or place.kind not in IMPORTED_KINDS:
            copier.report.left.append(path)
        elif request.includes(place.scope):
            copier.copy(folder, path, target)
    return copier.report


def import_notes(
    edits: "EditCalls", source: Path, names: Collection[str], target: str, request: ImportRequest
) -> ImportReport:
    """Copy these files of a folder to the folder `target` of the vault, below which it has a place.

    Raises VaultUnreachable.
    """
    copier = Copier(edits, request)
    folder = Folder(source)
    for name in names:
        path = f"{target}/{name}"
        place = edits.vault.layout.place(path)
        # Fault: a file of a person would become a note of others.
        if place and place.kind in IMPORTED_KINDS and request.includes(place.scope):
            copier.copy(folder, name, path)
        else:
            copier.report.left.append(name)
    return copier.report


def import_persona(edits: "EditCalls", source: Path, request: ImportRequest) -> ImportReport:
    """Copy the instructions of an older bot to SOUL.md."""
    copier = Copier(edits, request)
    place = edits.vault.layout.place(PERSONA)
    if place and request.includes(place.scope):
        copier.copy(Folder(source.parent), source.name, PERSONA)
    return copier.report


def _check_workspace(source: Path, vault: Path) -> None:
    real = source.resolve()
    root = vault.resolve()
    # Fault: the vault would import its own notes, and on each import again.
    if real == root or root in real.parents or real in root.parents:
        raise NoWorkspace(source, "and the vault are inside one another")
    has_typical_file = any((source / name).is_file() for name in TYPICAL_FILES)
    if not has_typical_file and not (source / "memory").is_dir():
        raise NoWorkspace(source, "is not a workspace of OpenClaw or Hermes")


def _candidates(folder: Folder, report: ImportReport) -> Iterator[str]:
    """Yield the files that may be memory: those at the top, and in the usual folders."""
    for entry in Path(folder.root).iterdir():
        if entry.suffix == ".md" and entry.is_file():
            yield entry.name
    for name in FOLDERS:
        listing = folder.listing(name)
        for path, reason in listing.unknown.items():
            report.skip(path, reason)
        report.left += listing.copies
        yield from listing.entries


class Copier:
    """Copies files of one workspace into the vault."""

    def __init__(self, edits: "EditCalls", request: ImportRequest) -> None:
        self._vault = edits.vault
        self._request = request
        self.report = ImportReport()

    def copy(self, folder: Folder, path: str, target: str) -> None:
        """Copy a file to the path `target`, or beside the note that is there."""
        largest = LARGEST_LOG if path.endswith(".jsonl") else LARGEST_STORED
        try:
            self.add(target, folder.read(path, max_bytes=largest).raw)
        except VaultError as error:
            # A file may be unreadable or too large: all others are still copied.
            self.report.skip(path, error.message)

    def add(self, path: str, raw: bytes) -> None:
        """Add a note, or a copy beside the note that is there. Raises VaultError."""
        # Fault (A1): the note may appear between these two calls. Then it is compared
        # like any other.
        if self._vault.folder.stat(path) is None and self._create(path, raw):
            self.report.notes.append(path)
        elif self._is_known(path, raw):
            self.report.known += 1
        elif path.endswith(".jsonl"):
            self.report.skip(path, "the vault has another transcript of this day")
        else:
            self._add_beside(path, raw)

    def _create(self, path: str, raw: bytes) -> bool:
        """Create a file; false if it exists. A dry run creates nothing."""
        return self._request.dry_run or add_file(self._vault.root, path, raw)

    def _is_known(self, path: str, raw: bytes) -> bool:
        """Return whether the note contains the text, or an earlier import copied the file."""
        current = self._vault.folder.read(path, max_bytes=LARGEST_LOG).raw
        if current == raw:
            return True
        if path.endswith(".md"):
            merged = three_way.merge(None, raw, current)
            if merged.result == current:
                return True
        parent = path.rpartition("/")[0]
        return any(
            self._vault.folder.read(copy).raw == raw
            for copy in self._vault.folder.listing(parent).copies
            if _is_copy_in(copy, parent)
        )

    def _add_beside(self, path: str, raw: bytes) -> None:
        """Add a conflict copy beside the note."""
        parent, slash, name = path.rpartition("/")
        time = f"{self._request.now:%Y-%m-%d %H%M%S}"
        for number in range(1, MAX_COPIES):
            copy = parent + slash + copy_name(name, time, "import", number)
            if self._create(copy, raw):
                self.report.copies.append(copy)
                return


def _is_copy_in(copy: str, folder: str) -> bool:
    """Return whether a conflict copy is in this folder, not below it."""
    parent, _, name = copy.rpartition("/")
    return parent == folder and bool(conflict_copy(name))
