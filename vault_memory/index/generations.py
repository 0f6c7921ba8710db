"""Manages generations of an index: a new one is built beside the old one, then a pointer moves.

A folder has ``index-1.sqlite``, ``index-2.sqlite``, … and the file `current` with the number in use. A
generation is built for other rules (schema, chunking, layout) or on demand. It starts with the vectors
of the one before, so that an unchanged text is not embedded again.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vault_memory import places
from vault_memory.config import state_file
from vault_memory.database.connection import Connection, DatabaseDamaged, DatabaseError, is_damage
from vault_memory.errors import IndexTooNew, VaultMemoryError
from vault_memory.index.schema import STEPS
from vault_memory.index.store import Index

RULES = "rules"
"""The key under which an index stores the rules that it was built by"""
BULK = (("hashsize", 32 << 20), ("automerge", 0), ("crisismerge", 1000))
USUAL = (("hashsize", 1 << 20), ("automerge", 4), ("crisismerge", 16))
"""Options of FTS5: bytes of words collected before a write, and segments before a merge"""


class Generations:
    """The generations in one folder, which is created when it is missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pointer = folder / "current"
        self._last_read = ((0, 0, 0), 0)
        """Stamp and number of the pointer when it was read last"""

    @property
    def current(self) -> int:
        """The number of the generation in use; 0 before the first one."""
        try:
            status = os.stat(self._pointer)
        except OSError:
            return self._read_pointer()
        # A look at the file is cheaper than reading it. Any thread may ask: the stamp and the
        # number are replaced together.
        stamp = status.st_ino, status.st_mtime_ns, status.st_ctime_ns
        last_stamp, number = self._last_read
        if stamp != last_stamp:
            # The stamp is older than the number, so that a later change is noticed.
            number = self._read_pointer()
            self._last_read = (stamp, number)
        return number

    def _read_pointer(self) -> int:
        try:
            return int(self._pointer.read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            # Fault (C45): without a pointer, or with a damaged one, the index is built
            # again.
            return 0

    def path(self, number: int) -> Path:
        return self.folder / f"index-{number}.sqlite"

    def ino(self, number: int) -> int:
        """Return the inode of the file of a generation; 0 without a file."""
        try:
            return os.stat(f"{self.folder}/index-{number}.sqlite").st_ino
        except FileNotFoundError:
            return 0

    def number_of(self, index: Index) -> int:
        return int(Path(index.path).stem.removeprefix("index-"))

    def open(self) -> Index | None:
        """Open the generation in use; None without one that this version can read.

        A file that is damaged is moved aside. Raises IndexTooNew.
        """
        while number := self.current:
            try:
                return Index(self.path(number), create=False)
            except IndexTooNew:
                raise
            except (DatabaseDamaged, DatabaseError) as error:
                if isinstance(error, DatabaseError) and not is_damage(error):
                    raise
                self.set_aside(number)
                return None
            except VaultMemoryError:
                # Fault (G118): the pointer moved between reading it and opening the
                # file.
                if number != self.current:
                    continue
                if self.path(number).exists():
                    raise
                return None
        return None

    def build(self, rules: str, fill: Callable[[Index], object]) -> Index:
        """Build the next generation with `fill`, use it, and remove the ones before."""
        places.make_private(self.folder)
        before = self.current
        # Fault (G118): an interrupted build may have left a file of the next number,
        # and another process may still read it.
        number = max([before, *self._numbers()]) + 1
        index = Index(self.path(number))
        try:
            if before and self.path(before).exists():
                _take_vectors(index, self.path(before))
            with bulk_load(index):
                fill(index)
            # Fault (G117): the index counts as complete only with its rules. A crash
            # before this line leaves a file that is never used.
            index.set(RULES, rules)
            self._point_to(number)
        except BaseException:
            # Fault (G117): a build that is interrupted must not leave a half-filled
            # file behind.
            index.close()
            self._remove(number)
            raise
        for old in self._numbers():
            if old < number:
                self._remove(old)
        return index

    def _numbers(self) -> list[int]:
        stems = (path.stem.removeprefix("index-") for path in self.folder.glob("index-*.sqlite"))
        return [int(stem) for stem in stems if stem.isdigit()]

    def _point_to(self, number: int) -> None:
        state_file.write(self._pointer, str(number))

    def _remove(self, number: int) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path(number)}{suffix}").unlink(missing_ok=True)

    def set_aside(self, number: int) -> None:
        """Rename the files of a damaged generation, which may help to find the cause."""
        for suffix in ("", "-wal", "-shm"):
            damaged = Path(f"{self.path(number)}{suffix}")
            if damaged.exists():
                os.replace(damaged, f"{damaged}.damaged")


def _take_vectors(index: Index, before: Path) -> None:
    """Copy the vectors of the generation before; without them they are computed again."""
    connection = index.connection
    connection.execute("ATTACH ? AS before", (str(before),))
    try:
        [(version,)] = connection.execute("PRAGMA before.user_version")
        if version <= len(STEPS):
            with index.transaction():
                connection.execute(
                    "INSERT OR IGNORE INTO main.model SELECT * FROM before.model;"
                    "INSERT OR IGNORE INTO main.vector SELECT * FROM before.vector;"
                )
    except DatabaseError:
        import logging

        logging.getLogger(__name__).warning(
            "the vectors of %s cannot be read; they are computed again", before.name
        )
    finally:
        connection.execute("DETACH before")


# --- Bulk load ---

# Fills an empty index in one transaction: FTS5 writes a segment at the end of each, and merges them.


@contextmanager
def bulk_load(index: Index) -> Iterator[None]:
    """Add chunks inside at two thirds of the usual cost; afterwards a search is as fast as possible."""
    connection = index.connection
    # A crash leaves a file that is never used, so it needs no log before it is complete.
    connection.execute("PRAGMA journal_mode = memory; PRAGMA synchronous = off")
    _set(connection, BULK)
    with index.transaction():
        yield
    connection.execute("INSERT INTO chunk_fts(chunk_fts) VALUES ('optimize')")
    _set(connection, USUAL)
    connection.execute("PRAGMA synchronous = normal; PRAGMA journal_mode = wal")


def _set(connection: Connection, options: tuple[tuple[str, int], ...]) -> None:
    connection.executemany("INSERT INTO chunk_fts(chunk_fts, rank) VALUES (?, ?)", options)
