"""`vault-memory host` and `serve` as processes, and vaults with tokens for them."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks import vaults
from benchmarks.cost import resident_bytes, running_cpu
from benchmarks.place import Place, program
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.vault.marker import ensure_marker

PATIENCE_SECONDS = 900.0
ADDRESS = re.compile(r"\blisten\w* on (http://[\d.]+:\d+)")
USER = vaults.USERS[0]
NOTES = 50
WRITERS = 2
"""Processes that write and index the vaults"""
OLD_SECONDS = 86_400
"""Notes are as old as this, so that no write is still settling"""


@dataclass(frozen=True, slots=True)
class Served:
    """A process that serves one vault or many over HTTP."""

    process: "subprocess.Popen[bytes]"
    client: httpx.Client

    def search(self, token: str, query: str) -> list[dict[str, Any]]:
        """Returns the hits of a search in the vault of a token."""
        answer = self.client.post(
            "/v1/search", json={"query": query}, headers={"authorization": f"Bearer {token}"}
        )
        if answer.status_code != 200:
            raise SystemExit(f"error: a search was answered with {answer.text}")
        hits: list[dict[str, Any]] = answer.json()["hits"]
        return hits

    def cpu(self) -> float:
        """Returns the CPU seconds that the process has used."""
        return running_cpu(self.process.pid)

    def memory(self) -> int:
        """Returns the bytes of memory of the process."""
        return resident_bytes(self.process.pid)


@contextmanager
def served(
    place: Place, command: list[str], environment: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """A process from when it listens to the end."""
    log = place.root / f"served-{time.monotonic_ns()}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program(), *command, "--port", "0"],
            env=dict(environment or place.environment()),
            stdout=output,
            stderr=output,
        )
    try:
        url = _address(log, process)
        with httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client:
            yield Served(process, client)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _address(log: Path, process: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        address = ADDRESS.search(log.read_text())
        if address:
            return address[1]
        time.sleep(0.05)
    raise SystemExit(f"error: the process does not listen: {log.read_text()}")


@contextmanager
def host(place: Place, folder: Path, settings: Mapping[str, float]) -> Iterator[Served]:
    """A host of the vaults below a folder, with a section [host]."""
    lines = [f"{name} = {value}" for name, value in settings.items()]
    file = place.root / "host.toml"
    file.write_text("\n".join(["[host]", *lines, ""]))
    command = ["host", "--vaults", str(folder), "--config", str(file)]
    with served(place, command) as process:
        yield process


def states(place: Place, folder: Path) -> list[str]:
    """Returns the state of each vault, by `host --status`."""
    printed = subprocess.run(
        [program(), "host", "--vaults", str(folder), "--status", "--json"],
        env=place.environment(),
        capture_output=True,
        check=True,
    )
    return [row["state"] for row in json.loads(printed.stdout)["vaults"]]


def token(name: str) -> str:
    """Returns the token of a vault."""
    return f"{name}-{'t' * 40}"


def make(place: Place, roots: list[Path]) -> None:
    """Writes and indexes vaults of 50 notes, each with a token named after its folder."""
    environment = place.environment()
    with ProcessPoolExecutor(WRITERS) as pool:
        numbers = range(len(roots))
        places = [place] * len(roots)
        list(pool.map(_make, places, roots, numbers, [environment] * len(roots)))


def _make(place: Place, root: Path, number: int, environment: dict[str, str]) -> None:
    vaults.write(root, NOTES, seed=number, scopes=(0,))
    old = time.time() - OLD_SECONDS
    for note in root.rglob("*.md"):
        os.utime(note, (old, old))
    give_token(place, root)
    with VaultMemory.open(root, environment=environment) as memory:
        memory.index(embed=False)


def give_token(place: Place, root: Path) -> None:
    """Lets the person of a vault in with a token."""
    vault = ensure_marker(root).vault
    state = place.root / "state" / "vault-memory" / vault
    state.mkdir(parents=True, exist_ok=True)
    file = place.root / "tokens" / root.name
    file.parent.mkdir(exist_ok=True)
    file.touch(0o600)
    file.write_text(token(root.name) + "\n")
    (state / "vault-memory.toml").write_text(
        f'[[serve.tokens]]\nuser = "{USER}"\ntoken_file = "{file}"\n'
    )
