"""Runs `vault-memory host` as its operator does: a process, asked over HTTP."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests import warm
from tests.service.many import Vaults, token_of

PATIENCE_SECONDS = 120


@dataclass
class RunningHost:
    """A host in a process, and clients of it."""

    vaults: Vaults
    process: "subprocess.Popen[str]"
    pid: int
    url: str
    clients: list[httpx.Client] = field(default_factory=list)

    def client(self, token: str) -> httpx.Client:
        client = httpx.Client(
            base_url=self.url,
            headers={"authorization": f"Bearer {token}"},
            timeout=PATIENCE_SECONDS,
        )
        self.clients.append(client)
        return client

    def ask(self, name: str, path: str, **body: Any) -> httpx.Response:
        """Asks for a vault by its token."""
        with httpx.Client(timeout=PATIENCE_SECONDS) as client:
            return client.post(
                self.url + path, json=body, headers={"authorization": f"Bearer {token_of(name)}"}
            )

    def search(self, name: str, query: str) -> list[str]:
        """The texts that a search in a vault finds."""
        response = self.ask(name, "/v1/search", query=query)
        assert response.status_code == 200, response.text
        return [hit["text"] for hit in response.json()["hits"]]

    def stop(self) -> int:
        """Asks the host to end, and returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        warm.tell(self.pid, signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "vault_memory", *arguments]


def run(vaults: Vaults, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs a command beside the host."""
    return subprocess.run(
        [*warm.program(hosts=True), *arguments],
        env=vaults.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


@contextmanager
def running_host(vaults: Vaults, *options: str, fresh: bool = False) -> Iterator[RunningHost]:
    """Runs a host until the end of the block. `fresh`: in a process that is started from nothing."""
    log = vaults.folder / f"host-{time.monotonic_ns()}.log"
    words = ("host", "--vaults", str(vaults.path), "--port", "0", *options)
    with log.open("w") as output:
        files: dict[str, Any] = {"stdout": output, "stderr": output, "text": True}
        process: subprocess.Popen[str]
        if fresh:
            process = subprocess.Popen(command(*words), env=vaults.environment, **files)
            pid = process.pid
        else:
            process, pid = warm.started(*words, environment=vaults.environment, hosts=True, **files)
        url = _url_in(log, process)
        host = RunningHost(vaults, process, pid, url)
        try:
            yield host
        finally:
            for client in host.clients:
                client.close()
            if process.poll() is None:
                host.kill()


def _url_in(log: Path, process: "subprocess.Popen[str]") -> str:
    """Waits until the host says where it listens."""

    def words() -> list[str]:
        return log.read_text().split()

    until(lambda: "listening" in words() or process.poll() is not None)
    assert "listening" in words(), log.read_text()
    return next(word for word in words() if word.startswith("http://"))


def until(condition: Any, seconds: float = PATIENCE_SECONDS) -> bool:
    """Whether the condition becomes true within this time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
