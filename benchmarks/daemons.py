"""A daemon as a process of its own, for the time of a measurement."""

import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cost import running_cpu
from benchmarks.place import Place, program
from vault_memory.api.daemon_client import BEHIND, DaemonRefused, ask

PATIENCE_SECONDS = 120.0
CALM_SECONDS = 2.0
CALM_SHARE = 0.01
"""Of a processor over that time: a daemon that uses less has nothing left to do"""


@dataclass(frozen=True, slots=True)
class Running:
    """A daemon that watches."""

    pid: int
    socket: Path

    def ask(self, call: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What it answers over its private socket; on a busy machine it may have to be asked again."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                answer = ask(self.socket, call, arguments)
            except DaemonRefused as refused:
                if refused.code != BEHIND or time.monotonic() > deadline:
                    raise SystemExit(f"error: the daemon refuses: {refused.message}") from None
                continue
            if answer is None:
                raise SystemExit("error: the daemon does not answer")
            return answer

    def wait_until_embedded(self) -> None:
        """Until its answers say that every chunk has its vector."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        found: Any = None
        while time.monotonic() < deadline:
            found = self.ask("search", {"query": "anything", "scopes": []})["freshness"]
            if found["semantic"] == "ready":
                return
            time.sleep(0.5)
        raise SystemExit(f"error: the daemon has not embedded everything: {found}")

    def wait_until_calm(self) -> float:
        """Until it has nothing left to do; the CPU seconds it has used since it was started."""
        while True:
            before = running_cpu(self.pid)
            time.sleep(CALM_SECONDS)
            after = running_cpu(self.pid)
            if after - before <= CALM_SHARE * CALM_SECONDS:
                return after


@contextmanager
def running(place: Place, vault: Path, embedding: dict[str, str]) -> Iterator[Running]:
    """A daemon on `vault`, from when it says that it watches to the end."""
    environment = place.environment(embedding)
    with place.open(vault, embedding) as memory:
        socket = memory.vault.state.socket
    process = subprocess.Popen(
        [program(), "run", "--vault", str(vault)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        said = ""
        while not said.startswith("watching"):
            said = process.stderr.readline()
            if not said:
                raise SystemExit("error: the daemon ended before it watched")
        yield Running(process.pid, socket)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
