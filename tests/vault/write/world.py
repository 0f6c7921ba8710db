"""A writer on a simulated disk, with a real journal in memory, to be cut short at any call and started again."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import apsw

from tests.simulated.files import Crash, Model, SimulatedFiles
from tests.vault.write.lines import merge_lines
from vault_memory.vault.snapshots import Snapshots, revision_of
from vault_memory.vault.write.attempt import WriteResult
from vault_memory.vault.write.journal import Journal, JournalUnavailable
from vault_memory.vault.write.replacement import Replacement
from vault_memory.vault.write.write_context import WriteContext
from vault_memory.vault.write.writer import Writer

RECORD = b'{"id": "of the audit"}'


class TickingJournal(Journal):
    """A journal whose commits are calls, too: a crash can be had before and after each."""

    def __init__(self, connection: apsw.Connection, files: SimulatedFiles) -> None:
        super().__init__(connection)
        self.files = files
        self.full = False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            self.files._call("commit")
        except OSError as error:
            raise JournalUnavailable(str(error)) from None
        with super().transaction():
            yield
            if self.full:
                raise apsw.FullError("database or disk is full")


def _empty() -> bytes:
    connection = apsw.Connection(":memory:")
    Journal(connection)
    return bytes(connection.serialize("main"))


EMPTY = _empty()


class World:
    """One vault, its disk and its journal."""

    def __init__(self, files: SimulatedFiles | None = None, journal: bytes | None = None) -> None:
        self.files = files or SimulatedFiles()
        self.connection = apsw.Connection(":memory:")
        self.connection.deserialize("main", journal or EMPTY)
        self.start()

    def start(self) -> None:
        """A process begins."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self.journal = TickingJournal(self.connection, self.files)
        tokens = (
            f"{number:016x}"
            for number in itertools.count(self.files.calls * 1000 + self.files._tick)
        )
        means = WriteContext(
            self.files, self.journal, Snapshots(self.journal), lambda: next(tokens)
        )
        self.writer = Writer(means, merge_lines)

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.files.clock, UTC)

    def later(self, seconds: float) -> None:
        self.files.clock += seconds

    def write(
        self, path: str, new: bytes, old: bytes | None, op_id: str = "op", quiet: float = 0.0
    ) -> WriteResult:
        expected = None if old is None else revision_of(old)
        replacement = Replacement(
            path, new, expected=expected, op_id=op_id, quiet=quiet, record=RECORD
        )
        return self.writer.write(replacement, now=self.now)

    def image(self) -> bytes:
        """The journal as it is on the disk."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        return self.connection.serialize("main")

    def after_crash(self, model: Model, seen: set[object]) -> Iterator["World"]:
        """The worlds in which the next process may find itself, but for those that were seen before."""
        image = self.image()
        for files in self.files.after_power_loss(model):
            state = (files.state(), hash(image))
            if state not in seen:
                seen.add(state)
                yield World(files, image)

    def tend_until_quiet(self) -> None:
        """What a daemon does, until nothing is left to do."""
        for _ in range(8):
            self.later(1 + timedelta(minutes=2).total_seconds())
            self.writer.tend(self.now)
            if not self.writer.pending() and not self.journal.displaced():
                return

    def strays(self) -> list[str]:
        """Temporaries that lie in the vault."""
        return [
            name for path in self.files.folders for name in self.files.names(path) if ".~" in name
        ]


__all__ = ["RECORD", "Crash", "TickingJournal", "World"]
