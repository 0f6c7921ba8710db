"""A fleet as an operator sets it up: PostgreSQL, homes in S3, and the real commands."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.ledger.servers import PASSWORD, PostgresServer
from tests.remote.servers.s3_stores import KEY_ID, SECRET, S3Store

COMMAND = (sys.executable, "-m", "vault_memory")
SECONDS = 120


@dataclass
class OperatedFleet:
    """A database, a store, and a configuration file for each host."""

    folder: Path
    postgres: PostgresServer
    store: S3Store
    database: str = ""

    def __post_init__(self) -> None:
        name = self.postgres.database().rpartition("/")[2]
        port = self.postgres.port
        self.database = f"postgresql://keeper@127.0.0.1:{port}/{name}"
        self._secret("db.password", PASSWORD + "\n")
        keys = f"aws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n"
        self._secret("s3.keys", f"[default]\n{keys}")
        self.config("operator")

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
password_file = "{self.folder / "db.password"}"
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
    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("VAULT_MEMORY_", "AWS_", "PG"))
        }
        return {
            **kept,
            "VAULT_MEMORY_STATE": str(self.folder / "state"),
            "VAULT_MEMORY_CACHE": str(self.folder / "cache"),
        }

    def command(
        self, *arguments: str, host: str = "operator"
    ) -> subprocess.CompletedProcess[str]:
        """Run `vault-memory ARGUMENTS --config FILE`."""
        config = str(self.folder / f"{host}.toml")
        return subprocess.run(
            [*COMMAND, *arguments, "--config", config],
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
