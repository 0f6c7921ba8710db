"""Saves the progress of learning outside the vault: what was read, and the open cycle.

Marks of read turns are appended to a file, one line for each cycle; a line counts once its cycle
is finished. Each other file is replaced as a whole. The file of the open cycle is written before
each step that changes something. So a cycle that was killed continues with the same turns, the
same answer of the brain, and the same ids in the audit log.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from vault_memory import places
from vault_memory.config import state_file
from vault_memory.errors import Locked
from vault_memory.markdown.note_items import short_hash

FOLDER = "nights"
LOCK = "nights.lock"
READ = "read"
UNREAD = "unread"
"""Begins the marks of turns that are read again"""
LAST = "last.json"
OPEN = "open.json"


class NightRuns(Locked):
    """Another process runs a learning cycle."""

    def __init__(self) -> None:
        super().__init__(
            "another process is doing the night's work",
            hint="wait until it is done, then try again",
        )


class _JsonFields:
    """Reads a dataclass from JSON. Ignores fields of older and newer versions."""

    @classmethod
    def read(cls, value: object) -> Self:
        if not isinstance(value, dict):
            return cls()
        # Fault: an older or newer version of the program wrote the file. Its other fields would end
        # the night.
        names = {item.name for item in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: value[name] for name in names & value.keys()})

    def as_json(self) -> dict[str, Any]:
        """Returns the fields by name. Their values are JSON already, and are not copied."""
        return {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]


@dataclass(slots=True)
class LastCycle(_JsonFields):
    """The last finished cycle of one scope."""

    scope: str = ""
    night: str = ""
    """its local date"""
    newest: str = ""
    """the id of the newest turn that was read"""
    newest_ts: str = ""
    since: str = ""
    """older turns are ignored: where the first night began to look back. Empty in files of older
    versions, which know the newest turn only"""
    files: dict[str, str] = field(default_factory=dict)
    """signatures of the transcripts without unread turns"""
    reflected: str = ""
    """the night of the last reflection"""
    serial: int = 0
    """number of finished cycles: nights and conversations"""
    idle: int = 0
    """nights in a row in which nothing was learned"""
    outcome: dict[str, Any] = field(default_factory=dict)
    """as `sleep` reported it"""
    compared: str = ""
    """the stamp of the notes when a night last compared all of them"""
    by_day: dict[str, Any] = field(default_factory=dict)
    """what was learned since, at the ends of conversations"""
    heard: list[str] = field(default_factory=list)
    """the ids of the turns that `by_day` comes from"""
    speakers: list[str] = field(default_factory=list)
    """of a channel: who spoke in it; each has a night, even without a note of their own"""


@dataclass(slots=True)
class OpenCycle(_JsonFields):
    """The unfinished cycle of one scope."""

    scope: str = ""
    night: str = ""
    serial: int = 0
    began: str = ""
    session: str = ""
    """a conversation that has ended, learned from before the night; empty for a night"""
    newest: str = ""
    """older versions: the id of the last turn in the question"""
    taken: list[str] = field(default_factory=list)
    """the marks of the turns in the question; other turns wait for the next cycle"""
    room: int = 0
    """characters for the turns; decided once, because the notes beside them may grow"""
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    """the brain's answers, by step"""
    runs: dict[str, str] = field(default_factory=dict)
    """the ids of audit records, by step"""


class CheckpointStore:
    """The checkpoint files of all scopes."""

    def __init__(self, state: Path) -> None:
        self.folder = state / FOLDER

    def last(self, scope: str) -> LastCycle:
        """Returns the last finished cycle; an empty one for a new scope."""
        return LastCycle.read(state_file.read_json(self._file(scope, LAST)))

    def open_cycle(self, scope: str) -> OpenCycle | None:
        """Returns the unfinished cycle; None when there is none."""
        value = state_file.read_json(self._file(scope, OPEN))
        return None if value is None else OpenCycle.read(value)

    def save(self, scope: str, cycle: LastCycle | OpenCycle) -> None:
        """Saves a cycle. It is on the disk on return."""
        name = LAST if isinstance(cycle, LastCycle) else OPEN
        _replace(self._file(scope, name), json.dumps(cycle.as_json()))

    def close(self, scope: str, last: LastCycle) -> None:
        """Finishes the open cycle."""
        self.save(scope, last)
        # Fault: the process may be killed before this line. The open cycle is then ignored, as its
        # serial is done.
        self._file(scope, OPEN).unlink(missing_ok=True)

    def read(self, scope: str, serial: int) -> set[str]:
        """Returns the marks of all turns that the cycles up to this number read."""
        marks = set[str]()
        # Fault: a damaged file has bytes that are no ASCII. Its other lines still count.
        try:
            text = self._file(scope, READ).read_text("ascii", errors="replace")
        except OSError:
            return marks
        for line in text.splitlines():
            number, *line_marks = line.split() or ["none"]
            # A line of a later number belongs to a cycle that was killed.
            if not number.isdecimal() or int(number) > serial:
                continue
            if line_marks[:1] == [UNREAD]:
                marks.difference_update(line_marks)
            else:
                marks.update(line_marks)
        return marks

    def mark_unread(self, scope: str, serial: int, marks: Iterable[str]) -> None:
        """Takes marks back, so that the next cycle reads these turns again."""
        self.add_read(scope, serial, [UNREAD, *marks])

    def add_read(self, scope: str, serial: int, marks: Iterable[str]) -> None:
        """Adds marks that count once the cycle is finished. May be repeated.

        They are on the disk on return.
        """
        line = " ".join(marks)
        if line:
            # A crash may have torn the last line: end it first.
            _append(self._file(scope, READ), f"\n{serial} {line}\n")

    def keys(self, scope: str, about: str) -> frozenset[str]:
        """Returns the keys of what a model was asked."""
        try:
            text = self._file(scope, f"asked-{about}").read_text("ascii", "replace")
        except OSError:
            return frozenset()
        return frozenset(text.split())

    def add_keys(self, scope: str, about: str, keys: Iterable[str]) -> None:
        """Adds keys of what a model was asked. They are on the disk on return."""
        text = "".join(f"{key}\n" for key in keys)
        if text:
            _append(self._file(scope, f"asked-{about}"), text)

    def report(self, night: str, text: str) -> Path:
        """Saves the morning report. Returns its path."""
        file = self.folder / "reports" / f"{night}.md"
        _replace(file, text)
        return file

    def reports(self) -> list[Path]:
        """Returns the files of the morning reports."""
        return list((self.folder / "reports").glob("*.md"))

    def report_text(self, night: str) -> str:
        """Returns the morning report of a night; empty without one."""
        try:
            return (self.folder / "reports" / f"{night}.md").read_text("utf-8", "replace")
        except OSError:
            # A person may delete any file of the state folder.
            return ""

    def last_report(self) -> Path | None:
        """Returns the newest morning report; None before the first night."""
        return max(self.reports(), default=None)

    def lasts(self) -> list[LastCycle]:
        """Returns the last finished cycle of each scope."""
        # Fault: a damaged file has no scope, and would count as a scope without a name.
        files = sorted(self.folder.glob(f"*.{LAST}"))
        cycles = [LastCycle.read(state_file.read_json(file)) for file in files]
        return [cycle for cycle in cycles if cycle.scope]

    def log_removal(self, record: Mapping[str, object]) -> None:
        """Logs a file that is too old. The line is on the disk before the file is removed."""
        # Fault: a crash after the removal would leave no trace of the file. So the line comes
        # first.
        _append(self.folder / "aged-out.jsonl", json.dumps(record) + "\n")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps other processes from learning meanwhile. Raises NightRuns."""
        # Fault: other users of the machine could read who spoke when.
        places.make_private(self.folder)
        with ExitStack() as stack:
            try:
                # Fault: a second night on the same checkpoint would write each memory twice.
                stack.enter_context(state_file.lock(self.folder / LOCK, patience=0))
            except state_file.LockTaken:
                raise NightRuns from None
            yield

    def _file(self, scope: str, name: str) -> Path:
        # Fault: a scope may have letters that no file name can have.
        return self.folder / f"{short_hash(scope)}.{name}"


def _append(file: Path, text: str) -> None:
    places.make_private(file.parent)
    with file.open("a", encoding="utf-8") as log:
        log.write(text)
        log.flush()
        # Fault: after a power cut the marks would be missing, and the next night would read the
        # turns again.
        os.fsync(log.fileno())


def _replace(file: Path, text: str) -> None:
    places.make_private(file.parent)
    # Fault: a crash in the middle of the write would leave half a checkpoint.
    state_file.write(file, text, durable=True)
