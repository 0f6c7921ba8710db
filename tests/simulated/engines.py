"""What is tried in the simulated world: the protocol, and naive engines that must be caught."""

from collections.abc import Callable
from typing import Protocol

from tests.simulated.disk import NOTE, Disk
from vault_memory.markdown.document import parse, render
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import Record


class Engine(Protocol):
    """Carries the bot's ops out on the note."""

    def start(self) -> None:
        """A process begins, perhaps after the death of another."""

    def ask(self, run_id: str, ops: tuple[dict[str, object], ...], source: str) -> None:
        """The bot wants something."""

    def tend(self) -> None:
        """What a daemon does every second."""

    def waits(self) -> list[str]:
        """Why what was not yet done is not done."""

    def watched(self) -> int:
        """How many files that lost their name are still looked at."""

    def writes(self) -> int:
        """How much was written to the journal so far."""

    def versions(self) -> set[bytes]:
        """All texts of the note that it kept."""

    def records(self) -> tuple[Record, ...] | None:
        """The audit; None for an engine that keeps none."""


Make = Callable[[Disk], Engine]


class Naive:
    """Reads the note, carries the ops out, and puts the new text there in one way or another."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    def start(self) -> None:
        """It has nothing to remember."""

    def ask(self, run_id: str, ops: tuple[dict[str, object], ...], source: str) -> None:
        """All at once; what cannot be done is forgotten."""
        del source
        try:
            folder = self.disk.open_folder("")
            self._edit(folder, run_id, ops)
            self.disk.close(folder)
        except OSError:
            self.disk.open_files.clear()

    def tend(self) -> None:
        """It has nothing to do."""

    def waits(self) -> list[str]:
        return []

    def watched(self) -> int:
        return 0

    def writes(self) -> int:
        return 0

    def versions(self) -> set[bytes]:
        return set()

    def records(self) -> tuple[Record, ...] | None:
        return None

    def _edit(self, folder: int, run_id: str, ops: tuple[dict[str, object], ...]) -> None:
        before = self._read(folder)
        outcome = apply_ops(parse(before), ops)
        if any(done.outcome == "applied" for done in outcome.applied):
            self._put(folder, f".{NOTE}.~{run_id}", before, render(outcome.doc))

    def _read(self, folder: int) -> bytes:
        fd = self.disk.open(folder, NOTE)
        raw = self.disk.read(fd)
        self.disk.close(fd)
        return raw

    def _put(self, folder: int, temporary: str, before: bytes, after: bytes) -> None:
        raise NotImplementedError

    def _beside(self, folder: int, temporary: str, raw: bytes) -> None:
        fd = self.disk.create(folder, temporary, private=False)
        self.disk.write(fd, raw)
        self.disk.fsync(fd)
        self.disk.close(fd)


class LastWriterWins(Naive):
    """Writes a temporary and renames it over the note, as editors do."""

    def _put(self, folder: int, temporary: str, before: bytes, after: bytes) -> None:
        self._beside(folder, temporary, after)
        self.disk.rename(folder, temporary, NOTE)
        self.disk.fsync(folder)


class CheckThenRename(Naive):
    """The same, but looks once more whether the note is still what it was, just before the rename."""

    def _put(self, folder: int, temporary: str, before: bytes, after: bytes) -> None:
        self._beside(folder, temporary, after)
        if self._read(folder) == before:
            self.disk.rename(folder, temporary, NOTE)
        else:
            self.disk.unlink(folder, temporary)
        self.disk.fsync(folder)


class InPlace(Naive):
    """Empties the note and writes it anew."""

    def _put(self, folder: int, temporary: str, before: bytes, after: bytes) -> None:
        fd = self.disk.open(folder, NOTE)
        if self._read(folder) == before:
            self.disk.truncate(fd)
            self.disk.write(fd, after)
            self.disk.fsync(fd)
        self.disk.close(fd)


class DropsTheDisplaced(Naive):
    """Checks, swaps, and takes away what it displaced without looking at it."""

    def _put(self, folder: int, temporary: str, before: bytes, after: bytes) -> None:
        self._beside(folder, temporary, after)
        if self._read(folder) == before:
            self.disk.exchange(folder, temporary, NOTE)
        self.disk.unlink(folder, temporary)
        self.disk.fsync(folder)


NAIVE: tuple[type[Naive], ...] = (LastWriterWins, CheckThenRename, InPlace, DropsTheDisplaced)
