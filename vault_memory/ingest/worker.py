"""Takes large notes apart in a process of its own, with a budget of CPU time.

A hostile note of 1 MiB takes seconds of the interpreter, in which a daemon could answer nobody. A process gives back
its memory when it ends, and can be ended at any moment.
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
"""For a process that was told to end"""
_LENGTH = struct.Struct(">Q")


class NoteTooSlow(VaultMemoryError):
    """The note could not be taken apart within the budget, or its process died of it."""


class Worker:
    """One process, started for the first note. One thread at a time asks; any thread may `stop` it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def parts_of(self, raw: bytes, place: Place) -> Parts:
        """What `notes.parts_of` gives. Raises NoteTooSlow; then the next note gets a new process."""
        process = self._process = self._process or _started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _send(process.stdin, (raw, place))
            answer = _receive(process.stdout)
        except (OSError, EOFError):
            self.stop()
            raise NoteTooSlow(
                f"it takes more than {BUDGET_SECONDS} s, or too much memory, to read"
            ) from None
        if isinstance(answer, Parts):
            return answer
        raise NoteTooSlow(f"it cannot be taken in: {answer}; this is a bug")

    def stop(self) -> None:
        """End the process, whatever it does; its memory is free again."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]
            with suppress(subprocess.TimeoutExpired):
                process.wait(WAIT_SECONDS)


def _started() -> "subprocess.Popen[bytes]":
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
    """A value of our own process at the other end of a pipe that nobody else has. Raises EOFError."""
    [length] = _LENGTH.unpack(_read(pipe, _LENGTH.size))
    return pickle.loads(_read(pipe, length))


def _read(pipe: IO[bytes], length: int) -> bytes:
    raw = pipe.read(length)
    if len(raw) < length:
        raise EOFError
    return raw


def _limit() -> None:
    """Let the system end this process when the next note takes too long."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + BUDGET_SECONDS
    resource.setrlimit(
        resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1])
    )


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer one request after another until the other end goes away."""
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
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for the daemon, which then closes the pipe
    with suppress(OSError):
        os.nice(5)  # questions and small notes come first
    serve(sys.stdin.buffer, sys.stdout.buffer)
