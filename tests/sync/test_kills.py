"""A process that is killed in the middle of a pass, again and again: nothing is lost, nothing is left lying about."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.remote.servers.exchange import App
from tests.remote.servers.front import Front
from tests.remote.servers.nextcloud import FakeNextcloud
from tests.remote.servers.proxy import Upstream
from tests.remote.servers.real import Server

ROOT = Path(__file__).parents[2]
KILLS = 10


@dataclass
class Counting:
    """Passes requests on, and kills whoever sends them at the right moment."""

    app: App
    left: int = 0
    """requests until the next kill"""
    victim: int | None = None
    """the number of a process"""
    before: bool = True
    """whether the request that it dies over is still carried out"""

    def handle(self, method, path, headers, body=b"", *, address="127.0.0.1"):  # type: ignore[no-untyped-def]
        self.left -= 1
        if self.left == 0 and self.victim is not None:
            if self.before:
                answer = self.app.handle(method, path, headers, body, address=address)
                os.kill(self.victim, signal.SIGKILL)
                return answer
            os.kill(self.victim, signal.SIGKILL)
        return self.app.handle(method, path, headers, body, address=address)


class Household:
    """A laptop that gets killed, a phone that does not, and somebody who writes on both."""

    def __init__(self, base: Path, counting: Counting, who: tuple[str, str, str, str]) -> None:
        self.base, self.counting, self.who = base, counting, who
        self.random = random.Random(11)
        self.written: list[str] = []
        for name in ("laptop", "phone"):
            (base / name / "vault" / "notes").mkdir(parents=True)
        command = [sys.executable, "-m", "tests.sync.passing"]
        self.processes = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def close(self) -> None:
        self.processes.kill()
        self.processes.communicate()

    def write(self, name: str) -> None:
        for _ in range(4):
            line = f"- {name} {len(self.written)}\n"
            note = self.base / name / "vault" / f"notes/{self.random.randrange(12)}.md"
            note.write_text((note.read_text() if note.exists() else "# Note\n\n") + line)
            self.written.append(line)

    def write_many(self, name: str) -> None:
        """So many new notes that they go up in one request."""
        for _ in range(12):
            line = f"- {name} {len(self.written)}\n"
            (self.base / name / "vault" / f"notes/new{len(self.written)}.md").write_text(line)
            self.written.append(line)

    def runs(self, name: str, *, over: int = 0) -> int:
        """How a process ends that syncs; it is killed over a request of this number, if any."""
        assert self.processes.stdin is not None
        assert self.processes.stdout is not None
        self.processes.stdin.write(json.dumps([str(self.base), name, *self.who]) + "\n")
        self.processes.stdin.flush()
        child = int(self.processes.stdout.readline())
        self.counting.left, self.counting.victim = over, child if over else None
        self.processes.stdin.write("begin\n")
        self.processes.stdin.flush()
        code = int(self.processes.stdout.readline())
        self.counting.victim = None
        return code

    def killed(self) -> None:
        """The laptop starts to sync, and dies over some request."""
        self.counting.before = self.random.random() < 0.5
        assert self.runs("laptop", over=self.random.randrange(2, 30)) in (0, -signal.SIGKILL)

    def finished(self, name: str) -> None:
        assert self.runs(name) == 0

    def files(self, name: str) -> dict[str, bytes]:
        vault = self.base / name / "vault"
        return {
            path.relative_to(vault).as_posix(): path.read_bytes()
            for path in vault.rglob("*")
            if path.is_file()
        }


def run_household(
    base: Path, counting: Counting, who: tuple[str, str, str, str]
) -> dict[str, bytes]:
    with closing(Household(base, counting, who)) as home:
        return _run_household(home)


def _run_household(home: Household) -> dict[str, bytes]:
    home.finished(
        "laptop"
    )  # what it leaves of its first contact, when killed in it, is not what this is about
    for number in range(KILLS):
        home.write("laptop")
        if number % 3 == 0:
            home.write_many("laptop")
        if number % 5 == 2:
            home.write("phone")
            home.finished("phone")
        home.killed()
    for name in ("laptop", "phone", "laptop"):
        home.finished(name)
    here, there = home.files("laptop"), home.files("phone")
    assert here == there
    everything = b"".join(here.values()).decode()
    assert not [line for line in home.written if line not in everything]
    assert not [
        path for path in here if not path.startswith("notes/") or "copy" in path or "/." in path
    ]
    return here


@pytest.mark.sampled
def test_ten_kills_on_a_nextcloud_lose_nothing(base: Path):
    fake = FakeNextcloud()
    counting = Counting(fake)
    with Front(counting) as front:
        files = run_household(
            base, counting, (front.url + fake.dav_path, fake.user, fake.app_password, "nextcloud")
        )
    assert fake.files() == files


@pytest.mark.deep
def test_ten_kills_on_apache_lose_nothing(base: Path, server_named: Callable[[str], Server]):
    server = server_named("apache-digest")
    url = server.make_folder(f"kills-{base.name}")
    counting = Counting(Upstream(server.url.rstrip("/")))
    with Front(counting) as front:
        path = url.removeprefix(server.url.rstrip("/"))
        files = run_household(
            base, counting, (front.url + path, server.user, server.password, "webdav")
        )
    stored = server.root_dir / f"kills-{base.name}"
    assert {
        path.relative_to(stored).as_posix(): path.read_bytes() for path in stored.rglob("*.*")
    } == files
