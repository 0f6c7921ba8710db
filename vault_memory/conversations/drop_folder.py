"""The drop folder: other programs append turns to files there, and each line is recorded once.

A file is first renamed, so that the next line creates a new one. Then it is read in blocks, and the
offset is stored after the turns of a block are safe. After a crash between the two, some lines are
read again: their turns get the same ids, and are not recorded twice. A program may keep its file
open. Its later lines are recorded as well, and the file is deleted when no program has it open.
Lines without a turn are put aside with the reason.
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from vault_memory import places
from vault_memory.config import state_file
from vault_memory.rules.conversations.turn import read_dropped
from vault_memory.vault.jsonl_log import append_record

FOLDER = "drop"
ENDING, TAKEN, AT, REJECTED = ".jsonl", ".taken", ".at", ".rejected"
BLOCK_BYTES = 4 << 20
"""How much of a file is recorded at a time; a longer line is rejected"""
QUIET_SECONDS = 10.0
"""Time without a change after which a file counts as closed, if the system does not say"""

_PLAIN = re.compile(r"[^\w.-]")

TurnArguments = dict[str, str | bool]
"""The arguments of a turn"""
RecordTurns = Callable[[Sequence[TurnArguments]], Sequence[str]]
"""Records turns durably; returns for each why it was rejected, or "" """


class DropReport(NamedTuple):
    """How many lines were recorded, and how many rejected."""

    turns: int = 0
    rejected: int = 0


class _Line(NamedTuple):
    offset: int
    raw: bytes


class DropFolder:
    """The drop folder of one vault. One process at a time takes lines from it."""

    def __init__(self, state: Path) -> None:
        self.path = state / FOLDER

    def make(self) -> Path:
        """Returns the folder, which it creates if needed; only its owner can read it."""
        # Fault: other users of the machine could read or add turns.
        places.make_private(self.path)
        return self.path

    def is_waiting(self) -> bool:
        """Whether there may be lines; cheap."""
        try:
            with os.scandir(self.path) as entries:
                return any(_is_ours(entry.name) for entry in entries)
        except OSError:
            return False

    def consume(self, record: RecordTurns) -> DropReport:
        """Hands all lines to `record`, block by block."""
        if not self.is_waiting():
            return DropReport()
        turns = rejected = 0
        with self._exclusively() as is_alone:
            if not is_alone:
                return DropReport()
            self._rename_new_files()
            for file in sorted(self.path.glob(f"*{TAKEN}")):
                for report in self._consume_file(file, record):
                    turns += report.turns
                    rejected += report.rejected
        return DropReport(turns, rejected)

    @contextmanager
    def _exclusively(self) -> Iterator[bool]:
        """Locks the folder; yields False when another process has it."""
        with ExitStack() as stack:
            try:
                stack.enter_context(state_file.lock(self.path / ".lock", patience=0))
            except state_file.LockTaken:
                # Fault: two processes would record the same lines twice.
                yield False
                return
            yield True

    def _rename_new_files(self) -> None:
        for file in sorted(self.path.glob(f"*{ENDING}")):
            if not _is_ours(file.name):
                continue
            unique = f"{time.time_ns()}-{os.urandom(4).hex()}"
            with suppress(OSError):
                # Fault: a link could lead to any file of the user, and a pipe would
                # block the reader.
                if stat.S_ISREG(file.lstat().st_mode):
                    os.rename(file, file.with_name(f"{file.stem}.{unique}{TAKEN}"))

    def _consume_file(self, file: Path, record: RecordTurns) -> Iterator[DropReport]:
        """Records the lines of a file that are new, and yields a report for each block."""
        try:
            fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return
        try:
            # Fault: a program may write more while the file is read. Only a file that was closed
            # before is deleted.
            is_closed = _is_closed(fd)
            offset = _read_offset(file)
            while block := os.pread(fd, BLOCK_BYTES, offset):
                end = _end_of_lines(block, is_closed=is_closed)
                if not end:
                    break
                lines = _split_lines(block[:end], offset)
                yield self._record_lines(file, lines, record)
                # Fault (B33): the offset is stored after the turns are safe. The other
                # way round, a crash would lose them.
                offset += end
                _write_offset(file, offset)
            if is_closed:
                file.unlink()
                file.with_suffix(AT).unlink(missing_ok=True)
        finally:
            os.close(fd)

    def _record_lines(self, file: Path, lines: Sequence[_Line], record: RecordTurns) -> DropReport:
        """Records the turns of some lines, and puts the other lines aside."""
        turn_lines: list[_Line] = []
        turns: list[TurnArguments] = []
        rejected: list[tuple[_Line, str]] = []
        for line in lines:
            turn = self._read(file, line)
            if isinstance(turn, str):
                rejected.append((line, turn))
            else:
                turn_lines.append(line)
                turns.append(turn)
        reasons = record(turns) if turns else []
        for line, reason in zip(turn_lines, reasons, strict=True):
            if reason:
                rejected.append((line, reason))
        for line, reason in rejected:
            self._put_aside(file, line, reason)
        return DropReport(len(lines) - len(rejected), len(rejected))

    def _read(self, file: Path, line: _Line) -> TurnArguments | str:
        """Returns the arguments of a turn, or why the line has no turn."""
        # Fault: a line without end would fill the memory.
        if len(line.raw) >= BLOCK_BYTES:
            return f"a line of {BLOCK_BYTES:,} bytes or more is too long"
        place = f"{file.name}\0{line.offset}\0".encode("utf-8", "surrogateescape")
        # Fault (B33): after a crash a block is read again. The same line of the same
        # file gets the same id, and is not recorded twice.
        default_id = hashlib.sha256(place + line.raw).hexdigest()[:15]
        return read_dropped(line.raw, default_id=default_id, default_time=_time_of(file))

    def _put_aside(self, file: Path, line: _Line, reason: str) -> None:
        """Appends a line to the file of rejected lines, once."""
        # Fault: the name comes from another program, and may have letters that no path may have.
        name = _PLAIN.sub("_", file.stem.rpartition(".")[0]) + REJECTED
        place = f"{file.stem}:{line.offset}"
        field = f'"at":{json.dumps(place, ensure_ascii=False)}'.encode()
        with suppress(OSError):
            # Fault: a block that is read again after a crash would put the same line aside twice.
            if field in (self.path / name).read_bytes():
                return
        # Fault: a line of other bytes than UTF-8 must not stop the file of rejected lines.
        text = line.raw[:BLOCK_BYTES].decode("utf-8", "replace")
        append_record(self.path, name, {"at": place, "reason": reason, "line": text})


def _is_ours(name: str) -> bool:
    # Fault: a program that writes its file under a hidden name has not finished it.
    return name.endswith((ENDING, TAKEN)) and not name.startswith(".")


def _end_of_lines(block: bytes, *, is_closed: bool) -> int:
    """Returns where the last complete line of a block ends; 0 when its only line may continue."""
    end = block.rfind(b"\n") + 1
    if end:
        return end
    is_too_long = len(block) == BLOCK_BYTES
    return len(block) if is_too_long or is_closed else 0


def _split_lines(raw: bytes, offset: int) -> list[_Line]:
    """Returns the lines that are not blank, each with its offset in the file."""
    lines = []
    for line in raw.split(b"\n"):
        if line.strip():
            lines.append(_Line(offset, line))
        offset += len(line) + 1
    return lines


def _time_of(file: Path) -> datetime:
    """Returns when a file was renamed, from its name: the time of a turn that names none."""
    stamp = file.stem.rpartition(".")[2].partition("-")[0]
    seconds = int(stamp) / 1e9 if stamp.isdecimal() else file.stat().st_mtime
    return datetime.fromtimestamp(seconds, UTC).astimezone()


def _read_offset(file: Path) -> int:
    try:
        return int(file.with_suffix(AT).read_text(encoding="ascii"))
    except (OSError, ValueError):
        # Fault (B42): without its offset a file is read again. Its turns have the same
        # ids, and are skipped.
        return 0


def _write_offset(file: Path, offset: int) -> None:
    state_file.write(file.with_suffix(AT), str(offset))


def _is_closed(fd: int) -> bool:
    """Whether no other program has the file open. Other programs do not know its new name."""
    # Most checks of the folder need no signal.
    import signal

    # Only Linux says whether another process has a file open.
    if sys.platform != "linux":
        return _is_quiet(fd)
    try:
        # Fault: a program that opens the file nevertheless sends us this signal. The
        # default one would end the process.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError as error:
        return False if error.errno == errno.EAGAIN else _is_quiet(fd)
    return True


def _is_quiet(fd: int) -> bool:
    return time.time() - os.fstat(fd).st_mtime > QUIET_SECONDS
