"""Keeps the stamps of items and the counts of reads in the index up to date with their files.

Both follow from files that search does not read: the audits beside the notes, and the ledgers. They
are written after the text of the notes, so that new text is found at once.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from vault_memory.errors import VaultError
from vault_memory.index.stamps import stamp_rows
from vault_memory.index.stamps.stamp_rows import DUE, DueNote
from vault_memory.index.store import Index
from vault_memory.rules.edits import audit_reader, audit_record
from vault_memory.rules.learning import ledger_lines, stamps
from vault_memory.rules.learning.ledger_lines import COUNTS, is_record, ledger_of
from vault_memory.rules.paths.filenames import MARKDOWN
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault import jsonl_log
from vault_memory.vault.audit_folders import AUDIT_NAME, AuditFolders
from vault_memory.vault.listing import Listing, Stat
from vault_memory.vault.reader import Folder

if TYPE_CHECKING:
    from vault_memory.rules.edits.audit_record import Record
    from vault_memory.rules.learning.stamps import ItemStamp

BATCH = 200
"""Notes in one transaction"""
LARGEST_NOTE = 1 << 20
"""Bytes: parsing a larger note takes too long here, so its items never fade"""
LARGEST_AUDIT = 4 << 20
"""Bytes of all audits of a note: with larger ones, its items never fade"""
LARGEST_LEDGER = 64 << 20
LEARNING = "learning/"
"""The folder of the ledgers, and at the top of the vault that of the workspace"""

Audits = dict[str, dict[str, Stat]]
"""By note, its audit files"""


class Stamping:
    """The stamps of one index."""

    __slots__ = ("_folder", "_folders", "_index", "_layout")

    def __init__(self, folder: Folder, index: Index, layout: Layout) -> None:
        self._folder = folder
        self._index = index
        self._layout = layout
        self._folders = AuditFolders(folder.root)

    def compare(self, listing: Listing) -> None:
        """Writes what differs from the files of a complete listing of the vault."""
        audits: Audits = {}
        ledgers: dict[str, str] = {}
        for path, stat in listing.entries.items():
            if not path.endswith(".jsonl"):
                continue
            match = AUDIT_NAME.fullmatch(path) if ".audit." in path else None
            if match is not None:
                audits.setdefault(match["note"], {})[path] = stat
            elif LEARNING in path and self._is_ledger(path):
                ledgers[path] = _signature({path: stat})
        self._mark_changed(audits)
        self._take_ledgers(ledgers)
        self.write_due(audits)

    def write_due(self, audits: Audits | None = None, most: int = 0) -> bool:
        """Writes the stamps of notes that changed; `most` of them, or all.

        `audits` are those of the vault, if they were listed. Returns whether there were any.
        """
        written = 0
        while due := stamp_rows.due_notes(self._index, most or BATCH):
            with self._folder.held():
                batch = [(note, *self._read(note, audits)) for note in due]
            with self._index.transaction():
                for note, signature, items in batch:
                    # Another process may have indexed a newer text meanwhile.
                    if self._index.revision_of(note.path) == note.revision:
                        stamp_rows.replace(self._index, note.id, items)
                        stamp_rows.set_signatures(self._index, {note.path: signature})
            written += len(due)
            if most:
                break
        return written > 0

    def mark(self, path: str) -> None:
        """Notes that a file changed; only audits and ledgers matter here."""
        match = AUDIT_NAME.fullmatch(path)
        if match is not None:
            with self._index.transaction():
                stamp_rows.set_signatures(self._index, {match["note"]: DUE})
        elif self._is_ledger(path):
            folder = path[: path.rindex(LEARNING)] + LEARNING
            listing = self._folder.listing(folder.rstrip("/"), suffixes=(".jsonl",))
            stored = stamp_rows.ledgers(self._index)
            others = {
                path: signature for path, signature in stored.items() if not path.startswith(folder)
            }
            ledgers = {
                path: _signature({path: stat})
                for path, stat in listing.entries.items()
                if self._is_ledger(path)
            }
            self._take_ledgers(others | ledgers)

    def _is_ledger(self, path: str) -> bool:
        """Whether a file has counts of reads."""
        place = self._layout.place(path)
        if place is None or place.kind != "ledger":
            return False
        return ledger_of(place.name) == COUNTS

    # ---- stamps ------------------------------------------------------------------------------

    def _mark_changed(self, audits: Audits) -> None:
        """Marks the notes whose audits differ from those of their stamps."""
        stored = stamp_rows.signatures(self._index)
        current = {note: _signature(files) for note, files in audits.items()}
        changed = [
            note
            for note in {*stored, *current}
            if stored.get(note, "") not in (DUE, current.get(note, ""))
        ]
        # An audit outlives its note, which the index does not have then.
        indexed = self._index.indexed_paths(changed) if changed else ()
        if indexed:
            with self._index.transaction():
                stamp_rows.set_signatures(self._index, dict.fromkeys(indexed, DUE))

    def _read(self, note: DueNote, audits: Audits | None) -> "tuple[str, list[ItemStamp]]":
        """Returns the signature of a note's audit, and the stamps of its items."""
        files = self._beside(note.path) if audits is None else audits.get(note.path, {})
        signature = _signature(files)
        size = sum(stat.size for stat in files.values())
        if not files or size > LARGEST_AUDIT or note.bytes > LARGEST_NOTE:
            return signature, []
        place = self._layout.place(note.path)
        try:
            content = self._folder.read(note.path)
            logs = [
                list(_records(self._folder.read(path, max_bytes=LARGEST_AUDIT).raw))
                for path in sorted(files)
            ]
        except VaultError:
            # The note or an audit was removed since it was listed: the next scan says so.
            return signature, []
        if place is None or content.revision != note.revision:
            return signature, []
        return signature, stamps.stamps_of(content.raw, place, audit_record.union(*logs))

    def _beside(self, note: str) -> dict[str, Stat]:
        if not note.endswith(MARKDOWN):
            return {}
        name = note.rpartition("/")[2]
        paths = self._folders.beside(note, [f"{name}.audit.jsonl"])
        stats = ((path, self._folder.stat(path)) for path in paths)
        return {path: stat for path, stat in stats if stat is not None}

    # ---- counts ------------------------------------------------------------------------------

    def _take_ledgers(self, ledgers: Mapping[str, str]) -> None:
        """Reads the ledgers of each scope of which one differs."""
        stored = stamp_rows.ledgers(self._index)
        if stored == ledgers:
            return
        changed = {path for path in {*stored, *ledgers} if stored.get(path) != ledgers.get(path)}
        folders = {path[: path.rindex(LEARNING)] + LEARNING for path in changed}
        with self._index.transaction():
            for folder in folders:
                paths = [path for path in ledgers if path.startswith(folder)]
                records = [record for path in paths for record in self._counts_in(path)]
                counts = ledger_lines.totals(ledger_lines.counts_in(records))
                for scope in self._scopes_of(folder):
                    scope_id = self._index.scope_id(scope)
                    stamp_rows.replace_counts(self._index, scope_id, counts)
            stamp_rows.replace_ledgers(self._index, ledgers)

    def _counts_in(self, path: str) -> "list[dict[str, object]]":
        try:
            raw = self._folder.read(path, max_bytes=LARGEST_LEDGER).raw
        except VaultError:
            return []
        lines = jsonl_log.read_records(raw).records
        return [record for record in lines if is_record(COUNTS, record)]

    def _scopes_of(self, folder: str) -> list[str]:
        """Returns the scopes whose counts are in a folder of ledgers."""
        place = self._layout.place(f"{folder}{COUNTS}.jsonl")
        scopes = [place.scope] if place is not None else []
        if folder == LEARNING:
            # The notes of a workspace belong to its main group.
            scopes.append("group:main")
        return scopes


def _records(raw: bytes) -> "Iterator[Record]":
    for line in raw.split(b"\n"):
        record = audit_reader.read_line(line) if line.strip() else None
        # A crash may leave a torn line at the end of a log.
        if record is not None:
            yield record


def _signature(files: Mapping[str, Stat]) -> str:
    """Returns a text that changes with the files; empty without files."""
    return " ".join(_file_signature(path, files[path]) for path in sorted(files))


def _file_signature(path: str, stat: Stat) -> str:
    name = path.rpartition("/")[2]
    return f"{name}:{stat.size}:{stat.mtime_ns}:{stat.ctime_ns}:{stat.ino}"
