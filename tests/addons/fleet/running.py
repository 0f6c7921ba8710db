"""A fleet as an operator sets it up: a ledger, homes in S3, and the real commands."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import warm
from tests.addons.fleet.ledger.servers import PASSWORD, PostgresServer
from tests.remote.servers.s3_stores import KEY_ID, SECRET, S3Store

SECONDS = 120
ON_POSTGRES = pytest.mark.parametrize("operated", ["postgres"], indirect=True)
ON_BOTH = pytest.mark.parametrize("operated", ["sqlite", "postgres"], indirect=True)
"""Tests of a fleet on the named ledgers. All others run on SQLite, which starts no server"""


@dataclass
class OperatedFleet:
    """A database, a store, and a configuration file for each host."""

    folder: Path
    postgres: PostgresServer | None
    """None: the ledger is a file of SQLite"""
    store: S3Store
    database: str = ""
    password_file: str = ""

    def __post_init__(self) -> None:
        if self.postgres is None:
            self.database = f"sqlite:///{self.ledger_file}"
            self._hide_psycopg()
        else:
            name = self.postgres.database().rpartition("/")[2]
            port = self.postgres.port
            self.database = f"postgresql://keeper@127.0.0.1:{port}/{name}"
            self.password_file = str(self.folder / "db.password")
            self._secret("db.password", PASSWORD + "\n")
        keys = f"aws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n"
        self._secret("s3.keys", f"[default]\n{keys}")
        self.config("operator")

    def _hide_psycopg(self) -> None:
        """Let all commands find no psycopg, as where the extra is not installed."""
        self.hidden.mkdir()
        program = "import sys\n\nsys.modules['psycopg'] = None\n"
        (self.hidden / "sitecustomize.py").write_text(program)

    @property
    def hidden(self) -> Path:
        return self.folder / "hidden"

    def _secret(self, name: str, text: str) -> None:
        file = self.folder / name
        file.touch(0o600)
        file.write_text(text)

    def config(self, host: str, address: str = "", more: str = "") -> Path:
        """Write the configuration of a host."""
        file = self.folder / f"{host}.toml"
        file.write_text(
            f"""\
[fleet]
database = "{self.database}"
password_file = "{self.password_file}"
name = "{host}"
address = "{address}"
scratch = "{self.folder / "scratch" / host}"
{more}
[remote]
endpoint = "{self.store.endpoint}"
region = "us-east-1"
credentials_file = "{self.folder / "s3.keys"}"

[embedding]
kind = "off"
"""
        )
        return file

    @property
    def ledger_file(self) -> Path:
        return self.folder / "ledger" / "ledger.sqlite"

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("VAULT_MEMORY_", "AWS_", "PG"))
        }
        if self.postgres is None:
            folders = (str(self.hidden), kept.get("PYTHONPATH", ""))
            kept["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
            kept[warm.HIDES] = "psycopg"
        return {
            **kept,
            "VAULT_MEMORY_STATE": str(self.folder / "state"),
            "VAULT_MEMORY_CACHE": str(self.folder / "cache"),
        }

    def command(self, *arguments: str, host: str = "operator") -> subprocess.CompletedProcess[str]:
        """Run `vault-memory ARGUMENTS --config FILE`."""
        config = str(self.folder / f"{host}.toml")
        return subprocess.run(
            [*warm.program(hosts=True), *arguments, "--config", config],
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=SECONDS,
        )

    def ask(self, *arguments: str, host: str = "operator") -> dict[str, Any]:
        """The JSON that a command prints."""
        done = self.command(*arguments, "--json", host=host)
        assert done.stdout, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        assert PASSWORD not in done.stdout + done.stderr
        return answer

    def texts(self, home: str) -> dict[str, bytes]:
        """The notes of a home."""
        remote = self.store.open(home)
        try:
            listing = remote.list(deep=True)
            return {
                entry.path: remote.get(entry.path, max_bytes=1 << 20).raw
                for entry in listing.entries
                if not entry.is_folder and not entry.path.startswith(".")
            }
        finally:
            remote.close()


@dataclass
class RunningHost:
    """A process of `vault-memory fleet host`."""

    name: str
    process: "subprocess.Popen[str]"
    pid: int
    address: str

    def ask(self, token: str, path: str, **body: object) -> httpx.Response:
        headers = {"authorization": f"Bearer {token}"}
        return httpx.post(self.address + path, json=body, headers=headers, timeout=60)

    def remember(self, token: str, text: str) -> httpx.Response:
        """A bot remembers what its owner has just said."""
        self.ask(token, "/v1/turns", session="said", role="user", text=text)
        return self.ask(token, "/v1/remember", text=text)

    def get(self, token: str, path: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {token}"}
        return httpx.get(self.address + path, headers=headers, timeout=60)

    def kill(self) -> None:
        warm.tell(self.pid, signal.SIGKILL)
        self.process.wait(120)


@contextmanager
def running_host(fleet: OperatedFleet, name: str, more: str = "") -> Iterator[RunningHost]:
    """Run a host until the end of the test."""
    fleet.config(name, more=more)
    config = str(fleet.folder / f"{name}.toml")
    log = (fleet.folder / f"{name}.log").open("w")
    process, pid = warm.started(
        *("fleet", "host", "--port", "0", "--config", config),
        environment=fleet.environment,
        hosts=True,
        stderr=log,
        text=True,
    )
    try:
        yield RunningHost(name, process, pid, _address(fleet.folder / f"{name}.log"))
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(120)
        log.close()


def _address(log: Path) -> str:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        text = log.read_text()
        if " listens on " in text:
            return text.partition(" listens on ")[2].split()[0]
        time.sleep(0.1)
    raise AssertionError(f"the host does not listen: {log.read_text()}")


def until(condition: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)
