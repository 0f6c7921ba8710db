"""What nights remember between themselves, outside the vault: what they have read, and what one is about to do.

The marks of what was read are added to a file, a line for each time, which counts once that time is done. Each other
file is replaced as a whole. The open night's file is written before each step that changes something, so that a
night that was killed goes on with the very same turns, the same answer of the brain, and the same ids in the audit.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from vault_memory.errors import Locked
from vault_memory.markdown.note_items import short_hash

FOLDER = "nights"
LOCK = "nights.lock"
READ = "read"


class NightRuns(Locked):
    """Another process is at the night's work."""

    def __init__(self) -> None:
        super().__init__(
            "another process is doing the night's work",
            hint="wait until it is done, then try again",
        )


class _Kept:
    """Reads itself from JSON, whatever an older or newer version put there."""

    @classmethod
    def read(cls, said: object) -> Self:
        if not isinstance(said, dict):
            return cls()
        known = {one.name: one.type for one in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: value for name, value in said.items() if name in known})


@dataclass(slots=True)
class LastCycle(_Kept):
    """Of one scope: the last night that was done."""

    scope: str = ""
    night: str = ""
    """its local date"""
    newest: str = ""
    """the id of the newest turn that was read"""
    newest_ts: str = ""
    since: str = ""
    """what was said before is not ours: from where the very first night looked back; empty in files of older versions,
    which knew the newest turn alone"""
    files: dict[str, str] = field(default_factory=dict)
    """of the transcripts that were read to their end: the signature"""
    reflected: str = ""
    """the night of the last reflection"""
    serial: int = 0
    """how many nights were done, and conversations learned from"""
    idle: int = 0
    """nights in a row in which nothing was learned"""
    outcome: dict[str, Any] = field(default_factory=dict)
    """as `sleep` told it"""
    by_day: dict[str, Any] = field(default_factory=dict)
    """what was learned since, at the ends of conversations"""
    heard: list[str] = field(default_factory=list)
    """the ids of the turns of which that was"""


@dataclass(slots=True)
class OpenCycle(_Kept):
    """Of one scope: the night that is being done."""

    scope: str = ""
    night: str = ""
    serial: int = 0
    began: str = ""
    session: str = ""
    """of a conversation that has ended, and is learned from before the night; empty in a night"""
    newest: str = ""
    """older versions: the id of the last turn that it took in"""
    taken: list[str] = field(default_factory=list)
    """the marks of the turns that it took in; others are the next night's"""
    room: int = 0
    """characters for the lines of these turns; decided once, since the notes beside them may grow meanwhile"""
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    """what the brain said, by step"""
    runs: dict[str, str] = field(default_factory=dict)
    """the ids of audit records, by step"""


class CheckpointStore:
    """The files of all scopes."""

    def __init__(self, state: Path) -> None:
        self.folder = state / FOLDER

    def last(self, scope: str) -> LastCycle:
        return LastCycle.read(self._read(self._file(scope, "last")))

    def open(self, scope: str) -> OpenCycle | None:
        """The night that was begun and not done; None when there is none."""
        said = self._read(self._file(scope, "open"))
        return OpenCycle.read(said) if said is not None else None

    def keep(self, scope: str, what: LastCycle | OpenCycle) -> None:
        """On the disk when this returns."""
        self._write(
            self._file(scope, "last" if isinstance(what, LastCycle) else "open"),
            json.dumps(asdict(what)),
        )

    def close(self, scope: str, last: LastCycle) -> None:
        """The open night is done."""
        self.keep(scope, last)
        self._file(scope, "open").unlink(missing_ok=True)

    def read(self, scope: str, serial: int) -> set[str]:
        """The marks of all turns that were read by the time with this number."""
        found = set[str]()
        with suppress(OSError):
            for line in (
                self._file(scope, READ)
                .read_text(encoding="ascii", errors="replace")
                .splitlines()
            ):
                number, *marks = line.split() or ["none"]
                if number.isdecimal() and int(number) <= serial:
                    found.update(marks)
        return found

    def add_read(self, scope: str, serial: int, marks: Iterable[str]) -> None:
        """These are read once that time is done. On the disk when this returns; to say it again does no harm."""
        if told := " ".join(marks):
            # a line that was torn by a crash is ended first
            self._add(self._file(scope, READ), f"\n{serial} {told}\n")

    def report(self, night: str, text: str) -> Path:
        """Keep a report that a person may read in the morning."""
        file = self.folder / "reports" / f"{night}.md"
        self._write(file, text)
        return file

    def lasts(self) -> list[LastCycle]:
        """The last night of each scope."""
        found = [
            LastCycle.read(self._read(file))
            for file in sorted(self.folder.glob("*.last.json"))
        ]
        return [one for one in found if one.scope]

    def note(self, record: dict[str, object]) -> None:
        """One line in the log of what aged out, on the disk before anything is thrown away."""
        self._add(self.folder / "aged-out.jsonl", json.dumps(record) + "\n")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else does the night's work meanwhile. Raises NightRuns."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise NightRuns from None
            yield
        finally:
            os.close(fd)

    def _file(self, scope: str, what: str) -> Path:
        return (
            self.folder / f"{short_hash(scope)}.{what}{'' if what == READ else '.json'}"
        )

    def _read(self, file: Path) -> object:
        with suppress(OSError, ValueError):
            return json.loads(file.read_text(encoding="utf-8"))
        return None

    def _add(self, file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with file.open("a", encoding="utf-8") as log:
            log.write(text)
            log.flush()
            os.fsync(log.fileno())

    def _write(self, file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = file.with_name(file.name + ".new")
        with fresh.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(fresh, file)
