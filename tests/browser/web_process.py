"""`vault-memory web` as its users start it: a process, the link that it prints, and its end."""

import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

from tests.scenarios.outside import PATIENCE_SECONDS, PROGRAM, Outside


@dataclass
class WebProcess:
    """The page of one vault, served by a process."""

    outside: Outside
    options: tuple[str, ...] = ()
    command: tuple[str, ...] = ("web", "--no-browser")
    names_vault: bool = True
    process: "subprocess.Popen[str] | None" = None
    lines: "queue.SimpleQueue[str]" = field(default_factory=queue.SimpleQueue)
    errors: list[str] = field(default_factory=list)

    def start(self) -> str:
        """Starts it. Returns the link that it prints."""
        vault = ("--vault", str(self.outside.vault)) if self.names_vault else ()
        self.process = subprocess.Popen(
            [*PROGRAM, *vault, *self.command, *self.options],
            env=self.outside.environment,
            cwd=self.outside.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for stream, keep in (
            (self.process.stdout, self.lines.put),
            (self.process.stderr, self.errors.append),
        ):
            threading.Thread(target=_drain, args=(stream, keep), daemon=True).start()
        return self._first_line()

    def _first_line(self) -> str:
        assert self.process is not None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                return self.lines.get(timeout=0.2).strip()
            except queue.Empty:
                assert self.process.poll() is None, self.errors
        raise AssertionError(f"no link: {self.errors}")

    def link(self, *options: str) -> str:
        """One more link to the running page."""
        done = self.outside.run("web", "--link", *options)
        assert done.code == 0, done.err
        return done.out.strip()

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """Ends it. Returns its exit code, and the seconds that it took."""
        assert self.process is not None
        start = time.monotonic()
        os.kill(self.process.pid, number)
        code = self.process.wait(PATIENCE_SECONDS)
        return code, time.monotonic() - start

    def end(self) -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_SECONDS)


def _drain(stream: "IO[str] | None", keep: Callable[[str], None]) -> None:
    assert stream is not None
    with stream:
        for line in stream:
            keep(line)
