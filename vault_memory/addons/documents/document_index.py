"""The index of the documents of one vault, beside that of its notes, which it never waits for.

It is an index of the same form, so it is searched in the same way. Nothing else reads it: what a
stranger wrote into a PDF is in no prompt, and nothing is learned from it. Its content follows from
the files: names first, then the text of each PDF. It may be deleted.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from vault_memory import places
from vault_memory.addons.documents import FOLDER, KIND, PDF, SUFFIXES, page_chunks, pdf_reader
from vault_memory.addons.documents.pdf_reader import PdfText
from vault_memory.addons.documents.pdf_worker import PdfLimits
from vault_memory.config import state_file
from vault_memory.database.connection import DatabaseError, is_damage
from vault_memory.errors import NoteNotFound, NoteUnreadable
from vault_memory.index.generations import RULES, Generations
from vault_memory.index.slices import chunk_count
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.ingest.ingest_plan import stamp
from vault_memory.ingest.note import CLOCK_TICK_NS
from vault_memory.logs import Logger
from vault_memory.rules.paths.filenames import ignored
from vault_memory.rules.paths.layout import Layout, Place
from vault_memory.search.open_vault import OpenVault
from vault_memory.vault.listing import Listing, Stat
from vault_memory.vault.reader import Folder

logger = Logger(__name__)

VERSION = 1
"""Of the chunks of documents; another one builds the index again"""
UNREAD = State.MISSING
"""The state of a PDF whose text is not read yet: answers call it stale"""
BATCH = 500
"""Names in one transaction"""

Progress = Callable[[str, int, int], None]


class Source(NamedTuple):
    """The files of a vault, and what decides which of them are documents, and whose."""

    folder: Folder
    vault: str
    """The id in its marker"""
    layout: Layout
    rules: str
    """The versions and settings that the index of its notes is built with"""
    state: Path

    @classmethod
    def of(cls, vault: OpenVault) -> "Source":
        """Returns those of an open vault."""
        indexing = vault.indexing
        return cls(
            vault.folder, indexing.marker.vault, vault.layout, indexing.rules, vault.state.path
        )


def place_of(path: str, layout: Layout) -> Place | None:
    """Returns where a document belongs; None when a note of its name would be no memory."""
    stem = path.rpartition(".")[0]
    if ignored(path.rpartition("/")[2]) or layout.excludes(path):
        return None
    # A fixed name, such as USER.md, is only itself: a pattern claims this ending by its folder.
    place = layout.place(f"{stem}.markdown")
    return place if place is not None and place.indexed else None


class FileChanges(NamedTuple):
    """How the files differ from the index."""

    changed: Mapping[str, Stat]
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


class DocumentIndex:
    """The documents of one vault. Any thread may use it: each call opens the database."""

    def __init__(self, source: Source, limits: PdfLimits = pdf_reader.LIMITS) -> None:
        self.generations = Generations(source.state / FOLDER)
        self._source = source
        self._limits = limits
        self._rules = f"{VERSION} {source.rules}"

    # --- Read it ---

    @contextmanager
    def opened(self) -> Iterator[Index | None]:
        """Opens the index; None before it was built."""
        index = self.open()
        if index is None:
            yield None
            return
        with closing(index):
            yield index

    @property
    def generation(self) -> tuple[int, int]:
        """The number and the inode of the index in use; zeros without one."""
        number = self.generations.current
        return number, self.generations.ino(number)

    def open(self) -> Index | None:
        """Opens the index, which the caller closes; None before it was built."""
        index = self.generations.open()
        # Fault (H124): with another layout, a document may belong to another person.
        if index is not None and index.get(RULES) != self._rules:
            index.close()
            return None
        return index

    def changes(self, index: Index | None) -> FileChanges:
        """Compares the files with the index. Raises VaultUnreachable."""
        indexed = index.files() if index is not None else {}
        listing = self._listing()
        documents = {
            path: stat
            for path, stat in listing.entries.items()
            if place_of(path, self._source.layout) is not None
        }
        changed = {
            path: stat
            for path, stat in documents.items()
            if path not in indexed or indexed[path][:4] != stat[:4]
        }
        absent = (path for path in indexed if path not in documents)
        # Fault (B40): a folder that cannot be listed is no proof that its files were deleted.
        removed = [path for path in absent if path in listing.entries or listing.covers(path)]
        return FileChanges(changed, tuple(removed))

    def _listing(self) -> Listing:
        # Fault (C57): every file of an unmounted vault seems to be deleted.
        self._source.folder.check_identity(self._source.vault)
        return self._source.folder.listing(suffixes=SUFFIXES)

    # --- Bring it up to date ---

    @contextmanager
    def updating(self, *, patience: float | None) -> Iterator[Index]:
        """Opens the index to write it, and builds it the first time. Raises LockTaken."""
        places.make_private(self.generations.folder)
        # Fault: two processes that begin at once would read each file twice.
        with state_file.lock(self.generations.folder / "reading.lock", patience=patience):
            index = self.open() or self.generations.build(self._rules, lambda index: None)
            with closing(index):
                yield index

    def rebuild(self) -> None:
        """Empties the index."""
        places.make_private(self.generations.folder)
        with state_file.lock(self.generations.folder / "reading.lock"):
            self.generations.build(self._rules, lambda index: None).close()

    def recover(self, error: Exception) -> None:
        """Sets a damaged index aside: the next look builds it again."""
        if isinstance(error, DatabaseError) and is_damage(error):
            self.generations.set_aside(self.generations.current)

    def put_names(self, index: Index, changes: FileChanges) -> None:
        """Writes the names of new and changed files, and removes those that are gone."""
        with index.transaction():
            for path in changes.removed:
                index.unpark(path)
                index.remove(path)
        paths = list(changes.changed)
        for start in range(0, len(paths), BATCH):
            with index.transaction():
                for path in paths[start : start + BATCH]:
                    index.unpark(path)
                    index.put(self._entry(path, changes.changed[path], None))

    def try_again(self, index: Index, paths: Sequence[str]) -> None:
        """Lets the PDFs at these paths and below be read again, because a person asks for it."""
        with index.transaction():
            for path, _ in index.files_within(paths):
                if path.endswith(PDF):
                    index.unpark(path)
                    index.set_state(path, UNREAD)

    def read_texts(
        self, index: Index, *, until: float = float("inf"), progress: Progress | None = None
    ) -> int:
        """Reads the PDFs that are not read yet, until a monotonic moment. Returns how many."""
        paths = waiting(index)
        for number, path in enumerate(paths, 1):
            if progress:
                progress("reading documents", number, len(paths))
            self._read(index, path)
            if time.monotonic() > until:
                return number
        return len(paths)

    def _read(self, index: Index, path: str) -> None:
        """Reads one PDF. A file that changes meanwhile stays as it is for the next look."""
        indexed = index.file(path)
        if indexed is None:
            return
        stat = Stat(*indexed[:4], 1)
        try:
            text = self._text_of(path, stat)
        except NoteNotFound:
            return
        except NoteUnreadable as error:
            text = PdfText((), error.reason)
        if text is None:
            return
        with index.transaction():
            index.put(self._entry(path, stat, text))
            if text.failure:
                logger.warning("%s: %s", path, text.failure)
                # A file that ended its worker is not tried again before it changes.
                index.park(path, text.failure, stamp(stat))

    def _text_of(self, path: str, expected: Stat) -> PdfText | None:
        """Reads a file in a state; returns None when it has another one, before or afterwards.

        Raises NoteNotFound, NoteUnreadable.
        """
        # Fault (C60): a file may change again within the tick of the clock of its last change.
        age = abs(time.time_ns() - expected.ctime_ns)
        time.sleep(max(0, CLOCK_TICK_NS - age) / 1e9)
        text = None
        if self._is_in_state(path, expected):
            with self._source.folder.stream(path) as stream:
                text = pdf_reader.read_pdf(stream, self._limits)
        # Fault (A4): a program that writes meanwhile leaves half of the old and half of the new file.
        return text if self._is_in_state(path, expected) else None

    def _is_in_state(self, path: str, expected: Stat) -> bool:
        stat = self._source.folder.stat(path)
        return stat is not None and stat[:4] == expected[:4]

    def _entry(self, path: str, stat: Stat, text: PdfText | None) -> IndexEntry:
        """Returns what the index has of a file, with its text if it was read."""
        place = place_of(path, self._source.layout)
        assert place is not None, "only documents are indexed"
        waits = text is None and path.endswith(PDF)
        chunks = [page_chunks.name_chunk(path, place)]
        for page, content in enumerate(text.pages if text else (), 1):
            chunks += page_chunks.page_chunks(page, content)
        state = UNREAD if waits else State.SETTLED
        revision = f"{state:d} {stamp(stat)}"
        return IndexEntry(
            path=path,
            scope=place.scope,
            kind=KIND,
            date=place.date.isoformat() if place.date else None,
            bytes=stat.size,
            file=IndexedFile(stat.size, stat.mtime_ns, stat.ctime_ns, stat.ino, revision, state),
            chunks=chunks,
        )


def waiting(index: Index) -> list[str]:
    """Returns the PDFs whose text is not read yet, small ones first."""
    return sorted(index.stale(), key=index.bytes_of)


def without_text(index: Index) -> list[str]:
    """Returns the PDFs that were read, and have no text but their names."""
    return [
        path
        for path, file in index.files().items()
        if path.endswith(PDF) and file.state == State.SETTLED and chunk_count(index, path) == 1
    ]
