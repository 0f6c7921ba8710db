"""Keeps the index of a vault up to date: opens the current generation, or builds the next one."""

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory import config as configuration
from vault_memory import places
from vault_memory.config import state_file
from vault_memory.database.connection import (
    DatabaseError,
    DatabaseUnwritable,
    is_damage,
    reason_unwritable,
)
from vault_memory.index.generations import RULES, Generations
from vault_memory.index.schema import ANALYSIS
from vault_memory.index.store import Index, give_back_pages
from vault_memory.ingest import large_notes, scan
from vault_memory.markdown.blocks.model import CHUNKING
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.marker import Marker
from vault_memory.vault.reader import Folder, Note

if TYPE_CHECKING:
    from vault_memory.ingest.scan import Ingest, ScanReport

PATIENCE_SECONDS = 0.3
"""Pause of a command before it looks again at notes that are absent, empty or newly saved"""

BUSY_PATIENCE_MILLISECONDS = 1000
"""How long a refresh waits for a writing process; then answers come from the old index"""

CATCH_UP = 5
"""Scans for notes saved during a build, at most, before the new generation is used"""

PLACES = 2
"""Version of the scopes that the built-in patterns give"""
PATTERN_RULES = 2
"""Version of what configured patterns claim"""

Progress = Callable[[str, int, int], None]


class Indexing:
    """The index of a vault, for one thread at a time. Each thread of the daemon has its own."""

    def __init__(
        self,
        folder: Folder,
        marker: Marker,
        layout: Layout,
        settings: configuration.LayoutSettings,
        generations: Path,
    ) -> None:
        self.folder = folder
        self.marker = marker
        self.layout = layout
        self.generations = Generations(generations)
        self.rules = json.dumps([CHUNKING, ANALYSIS, _layout_rules(settings)], sort_keys=True)
        """the versions and settings that the index must have been built with"""
        self.leave: Callable[[Index, Note], bool] = lambda index, note: False
        """returns true for notes that a scan leaves to another thread; a daemon sets it"""
        self.is_fresh: Callable[[], bool] = lambda: False
        """whether another process keeps the index up to date, so that a refresh has nothing to do"""
        self.behind: tuple[str, ...] = ()
        """notes newer than the index, after a refresh that could not write it"""
        self._index: Index | None = None
        self._number = 0
        self._ino = 0

    def close(self) -> None:
        """Closes the index. The next call opens it again."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def shrink(self) -> None:
        """Gives back the memory of cached pages of the index."""
        if self._index is not None:
            give_back_pages(self._index)

    def index(self) -> Index:
        """Returns the current index; builds one if there is none.

        Switches to a newer generation that another process built.
        """
        if self._index is None or not self._is_current():
            self.close()
            self._use(self.generations.open() or self.build(anyway=False)[0])
            assert self._index is not None
        return self._index

    @property
    def generation(self) -> tuple[int, int]:
        """The number and the inode of the open generation; another one has other values."""
        return self._number, self._ino

    @property
    def generation_in_use(self) -> tuple[int, int]:
        """The same of the current generation, which need not be open; zeros without one."""
        number = self.generations.current
        return number, self.generations.ino(number)

    def _is_current(self) -> bool:
        """Whether the open generation is the current one."""
        if self._number != self.generations.current:
            return False
        # Fault (C43): in a folder that was deleted and made again, numbers repeat.
        # Inodes differ.
        return self._ino == self.generations.ino(self._number)

    def _use(self, index: Index) -> None:
        """Makes this index the open one."""
        self._index = index
        # Fault (G118): another process may have moved the pointer already. So the file
        # is asked for its number.
        self._number = self.generations.number_of(index)
        self._ino = self.generations.ino(self._number)

    def recover(self, error: DatabaseError) -> None:
        """Reopens the database after an error. A damaged file is set aside and built again."""
        number = self._number
        self.close()
        self._number = 0
        # Fault: another process may have built a new index since. That one must not be
        # set aside.
        if is_damage(error) and number and number == self.generations.current:
            self.generations.set_aside(number)

    @property
    def is_outdated(self) -> bool:
        """Whether the current index was built with other versions or settings."""
        return self.index().get(RULES) != self.rules

    def ingest(
        self, index: Index | None = None, *, leave: Callable[[Index, Note], bool] | None = None
    ) -> "Ingest":
        """Returns the scanner for `index`, or for the current one."""
        index = index or self.index()
        return scan.Ingest(
            self.folder, index, self.layout, time.time_ns, partial(leave or self.leave, index)
        )

    def ingest_if_built(self) -> "Ingest | None":
        """Returns the scanner for the current index; None before the first index was built."""
        return self.ingest() if self.generations.current else None

    def build(
        self, progress: Progress | None = None, *, anyway: bool = True
    ) -> "tuple[Index, ScanReport]":
        """Builds the next generation while the current one stays in use, then switches to it.

        Without `anyway`, an index that another process has just built is used.
        """
        self.folder.check_identity(self.marker.vault)
        reports: list[ScanReport] = []

        def fill(index: Index) -> None:
            reports.append(self.ingest(index).scan(progress=_scan_progress(progress)))
            # Fault (G118): a build takes minutes. Notes that are saved meanwhile would
            # be missing. A vault that changes without a pause must not keep the build
            # from its end.
            for _ in range(CATCH_UP):
                if not self.ingest(index).scan().changed:
                    break

        places.make_private(self.generations.folder)
        # Fault: two processes that begin at once would build the same index twice. The
        # second waits, and finds the index of the first.
        with state_file.lock(self.generations.folder / "build.lock"):
            index = None if anyway else self.generations.open()
            if index is not None and index.get(RULES) == self.rules:
                return index, self.ingest(index).scan()
            return self.generations.build(self.rules, fill), reports[0]

    def update(
        self, paths: Sequence[str] = (), *, rebuild: bool = False, progress: Progress | None = None
    ) -> "ScanReport":
        """Scans, and looks again after a moment at notes whose state is ambiguous."""
        if rebuild or self.generations.current == 0 or self.is_outdated:
            self.close()
            index, report = self.build(progress, anyway=rebuild)
            self._use(index)
        else:
            self.folder.check_identity(self.marker.vault)
            for path in paths:
                self.ingest().try_again(path)
            report = self.ingest().scan(
                within=tuple(paths) or ("",), progress=_scan_progress(progress)
            )
        if report.young or report.doubtful:
            time.sleep(PATIENCE_SECONDS)
            report = self.ingest().look_again(report, conclude_young=True)
        return report

    def refresh(self, progress: Progress | None = None, *, briefly: bool = False) -> None:
        """Brings the text up to date; waits only for notes that are absent or empty.

        `briefly` indexes large notes for less than a second. Then `behind` names the other large
        notes. If the index cannot be written, it stays in use, and `behind` names all newer notes.
        """
        if self.is_fresh():
            return
        if self._index is not None and self._index.alone:
            # A full disk left this process an index of its own. There may be room again.
            self.close()
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
        """Returns the large notes that are left for another query."""
        if self.generations.current == 0 or self.is_outdated:
            self.update(progress=progress)
            return ()
        self.folder.check_identity(self.marker.vault)
        ingest = self.ingest(leave=self._allowance()) if briefly else self.ingest()
        # Fault (H122): a query must not wait for a process that writes a large note.
        with ingest.index.waiting(BUSY_PATIENCE_MILLISECONDS):
            report = ingest.scan(progress=_scan_progress(progress))
            if report.doubtful:
                time.sleep(PATIENCE_SECONDS)
                ingest.look_again(report, conclude_young=False)
        return report.left if briefly else ()

    def _allowance(self) -> Callable[[Index, Note], bool]:
        allowance = large_notes.Allowance()
        return lambda index, note: self.leave(index, note) or allowance.leaves(index, note)


def _layout_rules(settings: configuration.LayoutSettings) -> dict[str, object]:
    """Returns the settings that decide what is indexed.

    A key that an earlier version did not have counts only when it is set: a new version must not
    build every index again.
    """
    values = {
        name: value
        for name, value in settings._asdict().items()
        if value or name in ("user", "bot", "patterns")
    }
    if settings.patterns:
        # Fault: notes in subfolders that `{name}` claimed once would stay in the index.
        values["pattern_rules"] = PATTERN_RULES
    # Fault: transcripts at the root would stay in the scope that all of the workspace reads.
    values["places"] = PLACES
    return values


def _scan_progress(progress: Progress | None) -> Callable[[int, int], None] | None:
    return partial(progress, "reading notes") if progress else None
