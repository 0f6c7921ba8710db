"""The product as its users have it: processes, files, a socket. Nothing here reaches inside."""

import io
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.contract.shapes import problems
from tests.warm import program, started, tell
from vault_memory.api.daemon_client import BEHIND, DaemonRefused, ask
from vault_memory.cli import main

PROGRAM = (sys.executable, "-m", "vault_memory")
PATIENCE_SECONDS = 120.0
KEYWORDS_ONLY = {"VAULT_MEMORY_EMBEDDING_KIND": "off"}

Found = TypeVar("Found")


def until(
    look: Callable[[], Found],
    *,
    seconds: float = PATIENCE_SECONDS,
    pause: float = 0.01,
    says: object = "",
) -> Found:
    """What `look` gives once that is true; fails when it does not become so in time."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, (
            f"not within {seconds} s: {says() if callable(says) else says}"
        )
        time.sleep(pause)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Pipe(io.StringIO):
    """What a command prints to another program."""

    encoding = "utf-8"


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        return dict(self.json["error"])


@dataclass
class Outside:
    """One vault, and the commands that a person gives about it."""

    vault: Path
    home: Path
    settings: dict[str, str] = field(default_factory=lambda: dict(KEYWORDS_ONLY))
    quick: bool = False
    """Commands run in this process, where starting one for each is not what is tested"""

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("VAULT_MEMORY_")
        }
        places = {
            "HOME": self.home,
            "VAULT_MEMORY_STATE": self.home / "state",
            "VAULT_MEMORY_CACHE": self.home / "cache",
        }
        return {
            **kept,
            **{name: str(place) for name, place in places.items()},
            "NO_COLOR": "1",
            **self.settings,
        }

    @property
    def state(self) -> Path:
        """The state folder of the vault, which is known once the vault has a marker."""
        return (
            Path(self.environment["VAULT_MEMORY_STATE"])
            / json.loads((self.vault / ".vault-memory").read_text())["vault"]
        )

    @property
    def socket(self) -> Path:
        return self.state / "daemon.sock"

    def command(self, *arguments: str) -> list[str]:
        return [*PROGRAM, "--vault", str(self.vault), *arguments]

    def bare(self, *arguments: str, before: Sequence[str] = (), **options: Any) -> Done:
        """A command without `--vault`; `before` stands in front of the program, which then starts from nothing."""
        options = {
            "env": self.environment,
            "cwd": self.home,
            "timeout": 120,
            "stdin": subprocess.DEVNULL,
            **options,
        }
        start = [*before, *PROGRAM] if before else program()
        done = subprocess.run([*start, *arguments], capture_output=True, text=True, **options)
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    def run(self, *arguments: str, **options: Any) -> Done:
        """A command about this vault."""
        if self.quick and not options:
            return self.here(*arguments)
        return self.bare("--vault", str(self.vault), *arguments, **options)

    def here(self, *arguments: str) -> Done:
        """The same in this process, which saves its start."""
        out, err = Pipe(), Pipe()
        kept = dict(os.environ)
        folder = os.getcwd()
        os.environ.clear()
        os.environ.update(self.environment)
        os.chdir(self.home)
        try:
            with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
                main(["--vault", str(self.vault), *arguments])
        finally:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(kept)
        return Done(int(ended.value.code or 0), out.getvalue(), err.getvalue())

    def ok(self, *arguments: str) -> Any:
        """The answer of a command that must end well, in its shape of the contract."""
        done = self.run(*arguments, "--json")
        assert done.code == 0, (arguments, done)
        assert not problems(arguments, done.out)
        return done.json

    def write(self, note: str, text: str | bytes) -> Path:
        path = self.vault / note
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def search(self, query: str, *options: str) -> dict[str, Any]:
        """Through the command, as a process of its own."""
        found: dict[str, Any] = self.ok("search", query, *options)
        return found

    def finds(self, text: str, *options: str) -> bool:
        return any(text in hit["text"] for hit in self.search(text, *options)["hits"])

    @contextmanager
    def daemon(
        self, *, before: Sequence[str] = (), ready: bool = True, **settings: str
    ) -> Iterator["Running"]:
        """`run` in a process of its own, stopped afterwards; `before` stands in front of the command."""
        running = Running(self, before, settings)
        try:
            if ready:
                running.wait_ready()
            yield running
        finally:
            running.end()


class Running:
    """A daemon, and what is asked of it over its socket."""

    def __init__(
        self, outside: Outside, before: Sequence[str], settings: Mapping[str, str]
    ) -> None:
        self.outside = outside
        environment = outside.environment | {
            f"VAULT_MEMORY_{name}": value for name, value in settings.items()
        }
        files: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        files |= {"cwd": outside.home, "text": True}
        if before:
            self.process = subprocess.Popen(
                [*before, *outside.command("run")], env=environment, **files
            )
            self.pid = self.process.pid
        else:
            asked = ("--vault", str(outside.vault), "run")
            self.process, self.pid = started(*asked, environment=environment, **files)
        self.said: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.errors: list[str] = []
        self.lines: list[str] = []
        for stream, take in (
            (self.process.stderr, self._error),
            (self.process.stdout, self.lines.append),
        ):
            threading.Thread(target=_drain, args=(stream, take), daemon=True).start()

    def _error(self, line: str) -> None:
        self.errors.append(line)
        self.said.put(line)

    def wait_ready(self) -> str:
        """The line that says what is watched."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                line = self.said.get(timeout=0.2)
            except queue.Empty:
                assert self.process.poll() is None, f"it ended: {self.errors}"
                assert time.monotonic() < deadline, self.errors
                continue
            if line.startswith("watching "):
                return line

    def freeze(self) -> None:
        """Stop it as one that hangs, at a moment when it holds nobody up."""
        freeze(self.pid)

    def kill(self) -> None:
        if self.process.poll() is None:
            tell(self.pid, signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """Ask it to end; its exit code, and how long that took."""
        started = time.monotonic()
        tell(self.pid, number)
        code = self.process.wait(PATIENCE_SECONDS)
        return code, time.monotonic() - started

    def end(self) -> None:
        if self.process.poll() is None:
            tell(self.pid, signal.SIGCONT)
            tell(self.pid, signal.SIGTERM)
            try:
                self.process.wait(120)
            except subprocess.TimeoutExpired:
                self.kill()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
        assert not any("Traceback" in line for line in self.errors), "".join(self.errors)

    def ask(self, call: str, **arguments: Any) -> dict[str, Any]:
        """What it answers; asked again while it is behind, where a command would look for itself."""
        return until(lambda: self._asked(call, arguments), says=f"{call}: it is behind")

    def _asked(self, call: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            found = ask(self.outside.socket, call, arguments)
        except DaemonRefused as refused:
            if refused.code != BEHIND:
                raise
            return {}
        assert found is not None, f"no answer; it said {self.errors}"
        return found

    def search(
        self, query: str, *, scopes: Sequence[str] | None = None, **options: Any
    ) -> dict[str, Any]:
        """In this process, over the daemon's socket: quicker than the command, and the same answer."""
        named = self.ask("scopes")["scopes"] if scopes is None else list(scopes)
        return self.ask("search", query=query, scopes=named, **options)

    def finds(self, text: str) -> bool:
        return any(text in hit["text"] for hit in self.search(text)["hits"])

    def stale(self, text: str = "x") -> list[str]:
        return list(self.search(text)["freshness"]["stale_files"])

    def until_found(self, text: str, *, seconds: float = PATIENCE_SECONDS) -> float:
        """How long it took until `text` was found."""
        started = time.monotonic()
        until(lambda: self.finds(text), seconds=seconds, pause=0.002, says=f"{text!r} is not found")
        return time.monotonic() - started

    def until_gone(self, text: str, *, seconds: float = PATIENCE_SECONDS) -> None:
        until(lambda: not self.finds(text), seconds=seconds, says=f"{text!r} is still found")

    def until_status(
        self, fits: Callable[[dict[str, Any]], bool], *, seconds: float = PATIENCE_SECONDS
    ) -> dict[str, Any]:
        def fitting() -> dict[str, Any] | None:
            status = self.ask("status")
            return status if fits(status) else None

        # A second answer may be another one by now.
        status = until(fitting, seconds=seconds, pause=0.05, says=lambda: self.ask("status"))
        assert status is not None
        return status


def freeze(pid: int) -> None:
    """Stop a daemon that keeps no lock but its own.

    A stopped process keeps what it has locked: after a start that is the lock of nights or of
    those who learn, and who waits for it in a test would wait for ever.
    """

    def is_stopped_alone() -> bool:
        tell(pid, signal.SIGSTOP)
        until(lambda: _state(pid) == "T", pause=0.001, says="it does not stop")
        locks = Path("/proc/locks").read_text(encoding="utf-8").splitlines()
        of_it = [line for line in locks if f" WRITE {pid} " in line]
        if len(of_it) > 1:
            tell(pid, signal.SIGCONT)
        return len(of_it) == 1

    until(is_stopped_alone, pause=0.05, says="it always holds a lock")


def _state(pid: int) -> str:
    """What the kernel says of it: `T` is stopped."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0]


def _drain(stream: Any, take: Callable[[str], None]) -> None:
    with stream:
        for line in stream:
            take(line)


def without_watches() -> list[str]:
    """What stands before a command that is to get no watches; where that cannot be had, the test is skipped."""
    limit = "echo 1 > /proc/sys/user/max_inotify_watches"
    if os.system(f"unshare --user --map-root-user sh -c '{limit}' 2>/dev/null"):
        pytest.skip("the limit of watches cannot be lowered here")
    return ["unshare", "--user", "--map-root-user", "sh", "-c", f'{limit} && exec "$@"', "sh"]


def at(folder: Path) -> Outside:
    """An empty vault in `folder`, keywords only."""
    vault, home = folder / "vault", folder / "home"
    vault.mkdir()
    home.mkdir()
    return Outside(vault, home)


@pytest.fixture
def outside(tmp_path: Path) -> Outside:
    """An empty vault, keywords only."""
    return at(tmp_path)
