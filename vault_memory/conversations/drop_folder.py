"""The drop folder: any program adds lines to files there, and each line is taken once.

A file is first renamed, so that the next line makes a new one; then it is read line by line, and how far is written
down after what was read is safe. A crash between the two reads some lines again: their turns have the ids they had, and
are not recorded twice. A program may keep its file open: then what it goes on to write is taken as well, and the file
goes when nobody has it open any more. Lines that are no turns are put aside with the reason.
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from vault_memory.config import state_file
from vault_memory.rules.conversations.turn import read_dropped
from vault_memory.vault.jsonl_log import append_record

FOLDER = "drop"
ENDING, TAKEN, AT, REJECTED = ".jsonl", ".taken", ".at", ".rejected"
PIECE = 4 << 20
"""Bytes that are taken together; a longer line is none"""
QUIET_SECONDS = 10.0
"""Where the system does not tell whether a file is open, one is closed that has not changed for so long"""

_PLAIN = re.compile(r"[^\w.-]")

Said = dict[str, str | bool]
"""The arguments of a turn"""
Take = Callable[[Sequence[Said]], Sequence[str]]
"""Records turns durably; of each the reason why it could not be, or an empty text"""


class DropReport(NamedTuple):
    """How many lines were taken from the drop folder, and how many of them put aside."""

    turns: int = 0
    rejected: int = 0


class _Line(NamedTuple):
    offset: int
    raw: bytes


class DropFolder:
    """Of one vault; one process at a time takes from it, the others leave it to that one."""

    def __init__(self, state: Path) -> None:
        self.path = state / FOLDER

    def make(self) -> Path:
        """The folder, made when it is not there; only its owner can look into it."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self.path

    def is_waiting(self) -> bool:
        """Whether anything may be there to take; cheap."""
        try:
            with os.scandir(self.path) as entries:
                return any(_is_ours(entry.name) for entry in entries)
        except OSError:
            return False

    def consume(self, take: Take) -> DropReport:
        """Hand everything that is there to `take`, a few lines at a time."""
        if not self.is_waiting():
            return DropReport()
        turns = rejected = 0
        with self._alone() as alone:
            if alone:
                self._rename()
                for file in sorted(self.path.glob(f"*{TAKEN}")):
                    for good, bad in self._from(file, take):
                        turns, rejected = turns + good, rejected + bad
        return DropReport(turns, rejected)

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        with ExitStack() as stack:
            try:
                stack.enter_context(state_file.lock(self.path / ".lock", patience=0))
            except state_file.LockTaken:
                yield False
                return
            yield True

    def _rename(self) -> None:
        for file in sorted(
            file for file in self.path.glob(f"*{ENDING}") if _is_ours(file.name)
        ):
            with suppress(OSError):
                if stat.S_ISREG(file.lstat().st_mode):
                    os.rename(
                        file,
                        file.with_name(
                            f"{file.stem}.{time.time_ns()}-{os.urandom(4).hex()}{TAKEN}"
                        ),
                    )

    def _from(self, file: Path, take: Take) -> Iterator[tuple[int, int]]:
        """What a file has that was not taken yet; of each piece how many lines were good and bad."""
        try:
            fd = os.open(
                file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            )
        except OSError:
            return
        try:
            closed = _is_closed(fd)
            offset = _taken_up_to(file)
            while raw := os.pread(fd, PIECE, offset):
                end = raw.rfind(b"\n") + 1
                if not end and (len(raw) == PIECE or closed):
                    end = len(raw)
                if not end:
                    break
                yield self._lines(file, _lines(raw[:end], offset), take)
                offset += end
                _write_down(file, offset)
            if closed:
                file.unlink()
                file.with_suffix(AT).unlink(missing_ok=True)
        finally:
            os.close(fd)

    def _lines(self, file: Path, lines: Sequence[_Line], take: Take) -> tuple[int, int]:
        said = [(line, self._read(file, line)) for line in lines]
        good = [(line, turn) for line, turn in said if not isinstance(turn, str)]
        reasons = take([turn for _, turn in good]) if good else []
        bad = [(line, turn) for line, turn in said if isinstance(turn, str)]
        bad += [
            (line, reason)
            for (line, _), reason in zip(good, reasons, strict=True)
            if reason
        ]
        for line, reason in bad:
            self._reject(file, line, reason)
        return len(lines) - len(bad), len(bad)

    def _read(self, file: Path, line: _Line) -> Said | str:
        if len(line.raw) >= PIECE:
            return f"a line of {PIECE:,} bytes or more is too long"
        name = f"{file.name}\0{line.offset}\0".encode("utf-8", "surrogateescape")
        stamp = file.stem.rpartition(".")[2].partition("-")[0]
        at = datetime.fromtimestamp(
            int(stamp) / 1e9 if stamp.isdecimal() else file.stat().st_mtime, UTC
        ).astimezone()
        made = hashlib.sha256(name + line.raw).hexdigest()[:15]
        return read_dropped(line.raw, default_id=made, default_time=at)

    def _reject(self, file: Path, line: _Line, reason: str) -> None:
        """Put a line aside, once."""
        name = _PLAIN.sub("_", file.stem.rpartition(".")[0]) + REJECTED
        mark = f"{file.stem}:{line.offset}"
        with suppress(OSError):
            if (
                f'"at":{json.dumps(mark, ensure_ascii=False)}'.encode()
                in (self.path / name).read_bytes()
            ):
                return
        text = line.raw[:PIECE].decode("utf-8", "replace")
        append_record(self.path, name, {"at": mark, "reason": reason, "line": text})


def _is_ours(name: str) -> bool:
    """A hidden file is one that is being made."""
    return name.endswith((ENDING, TAKEN)) and not name.startswith(".")


def _lines(raw: bytes, offset: int) -> list[_Line]:
    found = []
    for line in raw.split(b"\n"):
        if line.strip():
            found.append(_Line(offset, line))
        offset += len(line) + 1
    return found


def _taken_up_to(file: Path) -> int:
    try:
        return int(file.with_suffix(AT).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _write_down(file: Path, offset: int) -> None:
    state_file.write(file.with_suffix(AT), str(offset))


def _is_closed(fd: int) -> bool:
    """Whether nobody else has the file open. Nobody can open it anew who does not know its new name."""
    import signal  # only here: most looks at the folder find nothing

    try:
        fcntl.fcntl(
            fd, fcntl.F_SETSIG, signal.SIGURG
        )  # if somebody opens it all the same: a signal that ends nobody
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except (OSError, AttributeError) as error:
        if getattr(error, "errno", None) == errno.EAGAIN:
            return False
        return time.time() - os.fstat(fd).st_mtime > QUIET_SECONDS
    return True
