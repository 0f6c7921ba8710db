"""A vault in which something was said, seen from outside; commands run in this process."""

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.in_memory import tmp_path as tmp_path
from tests.scenarios.outside import Outside, outside

__all__ = ["outside"]


class Bedroom:
    """One vault, what is said in it, and its nights. All times are given."""

    def __init__(self, seen: Outside) -> None:
        self.seen = seen
        few = shutil.ignore_patterns("tomas", "harbour", "garden", "memory", "2026-04-*")
        shutil.copytree(PROJECT / "sample_vault", seen.vault, dirs_exist_ok=True, ignore=few)
        seen.quick = True
        seen.settings |= {
            "VAULT_MEMORY_SLEEP_CYCLE_ZONE": "Europe/Lisbon",
            # A scripted model answers from its first question on, without a self-test.
            "VAULT_MEMORY_BRAIN_MODE": "full",
        }

    @property
    def vault(self) -> Path:
        return self.seen.vault

    def set(self, **settings: str) -> None:
        self.seen.settings |= {f"VAULT_MEMORY_{name}": value for name, value in settings.items()}

    def say(
        self,
        text: str,
        *,
        user: str = "mira",
        role: str = "user",
        day: str = "2026-05-25",
        **more: str,
    ) -> str:
        """Record a turn; its id."""
        at = more.pop("at", "18:00")
        session = more.pop("session", f"{user} {day}")
        options = [part for name, value in more.items() for part in (f"--{name}", value) if part]
        said = self.seen.ok(
            "record",
            "--session",
            session,
            "--role",
            role,
            "--user",
            user,
            # A test may have people whose names are nearly alike.
            "--new",
            "--now",
            f"{day}T{at}:00+01:00",
            *options,
            text,
        )
        return str(said["id"])

    def sleep(
        self, *options: str, now: str = "2026-05-26T02:05+01:00"
    ) -> dict[str, dict[str, object]]:
        """What the night did, by scope."""
        done = self.seen.run("sleep", "--now", now, "--json", *options)
        assert done.code in (0, 75), done
        return {one["scope"]: one for one in done.json["scopes"]}

    def text(self, note: str) -> str:
        file = self.vault / note
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def records(self, note: str) -> list[dict[str, object]]:
        """The audit of a note."""
        return [json.loads(line) for line in self.text(f"{note}.audit.jsonl").splitlines()]

    def files(self) -> dict[str, bytes]:
        """Everything in the vault."""
        return {
            str(path.relative_to(self.vault)): path.read_bytes()
            for path in sorted(self.vault.rglob("*"))
            if path.is_file() and path.name != ".vault-memory.lease"
        }


@pytest.fixture
def bedroom(outside: Outside) -> Bedroom:
    return Bedroom(outside)
