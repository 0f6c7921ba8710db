"""Parses large notes in a separate process, with a budget of CPU time.

A hostile note of 1 MiB blocks the interpreter for seconds, and a daemon could not answer
meanwhile. A process can be killed at any moment, and frees its memory when it ends.
"""

import os
import pickle
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from typing import IO, Any

from vault_memory.errors import VaultMemoryError
from vault_memory.ingest.note import Parts, parts_of
from vault_memory.rules.paths.layout import Place

BUDGET_SECONDS = 10
"""Of CPU time, for one note"""
WAIT_SECONDS = 2.0
"""For a process that was killed to end"""
_LENGTH = struct.Struct(">Q")


class NoteTooSlow(VaultMemoryError):
    """The note could not be parsed within the budget, or its process died."""


class Worker:
    """One process, started for the first note. One thread at a time uses it; any may `stop` it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def parts_of(self, raw: bytes, place: Place) -> Parts:
        """Calls `note.parts_of` there. Raises NoteTooSlow; the next note gets a new process."""
        process = self._process = self._process or _start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _send(process.stdin, (raw, place))
            answer = _receive(process.stdout)
        except (OSError, EOFError):
            # Fault (H122): the system killed the process, because it is out of CPU time
            # or memory.
            self.stop()
            raise NoteTooSlow(
                f"it takes more than {BUDGET_SECONDS} s, or too much memory, to read"
            ) from None
        if isinstance(answer, Parts):
            return answer
        raise NoteTooSlow(f"it cannot be taken in: {answer}; this is a bug")

    def stop(self) -> None:
        """Kills the process and frees its memory."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]
            with suppress(subprocess.TimeoutExpired):
                process.wait(WAIT_SECONDS)


def _start() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "vault_memory.ingest.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _send(pipe: IO[bytes], value: object) -> None:
    raw = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(raw)))
    pipe.write(raw)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> object:
    """Reads a value. Safe to unpickle: only our own process has the other end. Raises EOFError."""
    [length] = _LENGTH.unpack(_read(pipe, _LENGTH.size))
    return pickle.loads(_read(pipe, length))


def _read(pipe: IO[bytes], length: int) -> bytes:
    raw = pipe.read(length)
    # Fault (H122): the process was killed while it wrote its answer.
    if len(raw) < length:
        raise EOFError
    return raw


def _limit() -> None:
    """Lets the system kill this process when the next note takes too long."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    # Fault (H122): a loop in a regular expression cannot be interrupted by Python. The
    # system's limit of CPU time ends it.
    soft = int(used.ru_utime + used.ru_stime) + BUDGET_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answers one request after another until the pipe is closed."""
    while True:
        try:
            request: Any = _receive(requests)
        except EOFError:
            return
        with suppress(ImportError, ValueError, OSError):
            _limit()
        answer: Parts | str
        try:
            answer = parts_of(*request)
        except Exception as error:
            answer = type(error).__name__
        _send(answers, answer)


if __name__ == "__main__":
    # Fault: Ctrl-C reaches the whole process group. The daemon handles it, and closes
    # the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        # Queries and small notes have priority.
        os.nice(5)
    serve(sys.stdin.buffer, sys.stdout.buffer)
