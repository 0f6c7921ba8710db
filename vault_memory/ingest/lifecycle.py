"""Keeps one index up to date with one vault: opens the generation that serves, or builds the next."""

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory import config as configuration
from vault_memory.database.connection import (
    BUSY_MILLISECONDS,
    DatabaseError,
    DatabaseUnwritable,
    is_damage,
    reason_unwritable,
)
from vault_memory.index.generations import RULES, Generations
from vault_memory.index.schema import ANALYSIS
from vault_memory.index.store import Index
from vault_memory.lazy import lazy_module
from vault_memory.markdown.blocks.model import CHUNKING
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.marker import Marker
from vault_memory.vault.reader import Folder, Note

if TYPE_CHECKING:
    from vault_memory.ingest import large_notes, scan
    from vault_memory.ingest.scan import Ingest, ScanReport
else:
    large_notes = lazy_module("vault_memory.ingest.large_notes")
    scan = lazy_module("vault_memory.ingest.scan")

PATIENCE_SECONDS = 0.3
"""How long a one-shot command waits before it looks again at what was absent, empty or saved just now"""

BUSY_PATIENCE_MILLISECONDS = 1000
"""How long a refresh waits for another process that writes; then it is answered from what is there"""

CATCH_UP = 5
"""How often a generation that was built looks for what was saved meanwhile, before it serves"""

Progress = Callable[[str, int, int], None]


class Indexing:
    """The index of a vault for one thread at a time; the daemon's threads have one each."""

    def __init__(
        self,
        folder: Folder,
        marker: Marker,
        layout: Layout,
        settings: configuration.Layout,
        generations: Path,
    ) -> None:
        self.folder = folder
        self.marker = marker
        self.layout = layout
        self.generations = Generations(generations)
        self.rules = json.dumps(
            [CHUNKING, ANALYSIS, settings._asdict()], sort_keys=True
        )
        """What an index must have been built by to be of use"""
        self.leave: Callable[[Index, Note], bool] = lambda index, note: False
        """says which notes a scan leaves to somebody else; a daemon sets it"""
        self.behind: tuple[str, ...] = ()
        """notes that are newer than the index, which could not be written when it was last refreshed"""
        self._index: Index | None = None
        self._number = self._ino = 0
        self._pointer_stamp = (-1, -1, -1)
        """of the pointer when it named what is open"""

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    def index(self) -> Index:
        """The index that serves, built now when there is none. A generation that another process built is taken up."""
        if self._index is None or not self._serves():
            self.close()
            self._take(self.generations.open() or self.build(anyway=False)[0])
            assert self._index is not None
        return self._index

    def _serves(self) -> bool:
        """Whether what is open is what serves. Numbers begin again in a folder made anew; inodes do not."""
        stamp = self.generations.pointer_stamp
        if stamp != self._pointer_stamp:
            if self._number != self.generations.current:
                return False
            self._pointer_stamp = stamp
        return self._ino == self.generations.ino(self._number)

    def _take(self, index: Index) -> None:
        """Serve this one; its number is that of its own file, since the pointer may have moved on already."""
        self._index = index
        self._pointer_stamp = (-1, -1, -1)
        self._number = self.generations.number_of(index)
        self._ino = self.generations.ino(self._number)

    def recover(self, error: DatabaseError) -> None:
        """After an error of the database: open it anew; a file that is damaged is set aside, and built again."""
        number = self._number
        self.close()
        self._number = 0
        if is_damage(error) and number and number == self.generations.current:
            self.generations.set_aside(number)

    @property
    def is_outdated(self) -> bool:
        """Whether the index that serves was built by other rules than today's."""
        return self.index().get(RULES) != self.rules

    def ingest(
        self,
        index: Index | None = None,
        *,
        leave: Callable[[Index, Note], bool] | None = None,
    ) -> "Ingest":
        index = index or self.index()
        return scan.Ingest(
            self.folder,
            index,
            self.layout,
            time.time_ns,
            partial(leave or self.leave, index),
        )

    def build(
        self, progress: Progress | None = None, *, anyway: bool = True
    ) -> "tuple[Index, ScanReport]":
        """Build the next generation while the present one serves, then let the new one serve.

        Of two processes that would build at once, the second waits, and takes what the first built unless `anyway`.
        """
        import filelock  # only here: it costs 59 ms, and most starts build nothing

        self.folder.check_identity(self.marker.vault)
        reports: list[ScanReport] = []

        def fill(index: Index) -> None:
            reports.append(self.ingest(index).scan(progress=_telling(progress)))
            for _ in range(CATCH_UP):
                if not self.ingest(index).scan().changed:
                    break

        self.generations.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with filelock.FileLock(self.generations.folder / "build.lock"):
            if (
                not anyway
                and (index := self.generations.open()) is not None
                and index.get(RULES) == self.rules
            ):
                return index, self.ingest(index).scan()
            return self.generations.build(self.rules, fill), reports[0]

    def update(
        self,
        paths: Sequence[str] = (),
        *,
        rebuild: bool = False,
        progress: Progress | None = None,
    ) -> "ScanReport":
        """Scan, and after a moment look again at what could not be concluded at once."""
        if rebuild or self.generations.current == 0 or self.is_outdated:
            self.close()
            index, report = self.build(progress, anyway=rebuild)
            self._take(index)
        else:
            self.folder.check_identity(self.marker.vault)
            for path in paths:
                self.ingest().try_again(path)
            report = self.ingest().scan(
                within=tuple(paths) or ("",), progress=_telling(progress)
            )
        if report.young or report.doubtful:
            time.sleep(PATIENCE_SECONDS)
            report = self.ingest().look_again(report, conclude_young=True)
        return report

    def refresh(
        self, progress: Progress | None = None, *, briefly: bool = False
    ) -> None:
        """Bring the text up to date; waits only for what is absent or empty.

        `briefly` takes in large notes for less than a second. `behind` names those that are left. It names all notes
        that are newer where the index cannot be written now; then what it has serves on.
        """
        if self._index is not None and self._index.alone:
            self.close()  # there may be room again, and others may want it
        try:
            self.behind = self._refresh(progress, briefly)
        except DatabaseUnwritable:
            if self.generations.current == 0:
                raise
            self.behind = self.ingest().newer_notes()
        except DatabaseError as error:
            if not reason_unwritable(error) or self.generations.current == 0:
                raise
            self.behind = self.ingest().newer_notes()

    def _refresh(self, progress: Progress | None, briefly: bool) -> tuple[str, ...]:
        """Gives the large notes that are left for another time."""
        if self.generations.current == 0 or self.is_outdated:
            self.update(progress=progress)
            return ()
        self.folder.check_identity(self.marker.vault)
        ingest = self.ingest(leave=self._allowance()) if briefly else self.ingest()
        connection = ingest.index.connection
        connection.set_busy_timeout(BUSY_PATIENCE_MILLISECONDS)
        try:
            report = ingest.scan(progress=_telling(progress))
            if report.doubtful:
                time.sleep(PATIENCE_SECONDS)
                ingest.look_again(report, conclude_young=False)
        finally:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
        return report.left if briefly else ()

    def _allowance(self) -> Callable[[Index, Note], bool]:
        allowance = large_notes.Allowance()
        return lambda index, note: (
            self.leave(index, note) or allowance.leaves(index, note)
        )


def _telling(progress: Progress | None) -> Callable[[int, int], None] | None:
    return (
        None
        if progress is None
        else lambda done, total: progress("reading notes", done, total)
    )
