"""The README as a newcomer follows it: from a checkout to the first found line, and the first one that a bot remembers."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients import programs
from tests.clients.clients import SECONDS, ClaudeCode
from tests.clients.conftest import script
from tests.clients.model import model
from tests.clients.test_packages import fetching
from tests.conftest import PROJECT
from tests.scenarios.outside import until
from tests.smoke_installed import NOT_PUBLISHED

__all__ = ["fetching"]

pytestmark = pytest.mark.clients

README = (PROJECT / "README.md").read_text(encoding="utf-8")
KEY = "The spare key hangs behind the stove"


def printed(pattern: str) -> str:
    """A line as the README prints it."""
    found = re.search(pattern, README, re.MULTILINE)
    assert found, pattern
    return found[1]


class Newcomer(ClaudeCode):
    """Claude Code of somebody who has installed the program by uv."""

    @property
    def environment(self) -> dict[str, str]:
        theirs = super().environment
        return {
            **theirs,
            "PATH": os.pathsep.join([str(self.home / ".local" / "bin"), "/usr/bin", "/bin"]),
        }

    def follow(self, line: str, folder: Path, environment: dict[str, str]) -> str:
        """Runs a line of the README in a shell. Returns what it prints."""
        done = subprocess.run(
            ("bash", "-c", line),
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=10 * SECONDS,
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout


@contextmanager
def watching(line: str, environment: dict[str, str]) -> Iterator[None]:
    """The first of the README's two terminals."""
    process = subprocess.Popen(
        ("bash", "-c", f"exec {line}"),
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(SECONDS)


def test_from_a_checkout_to_a_line_that_a_bot_remembers(
    fetching: dict[str, str], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    notes = home / "Notes"
    notes.mkdir(parents=True)
    (notes / "House.md").write_text("# House\n\n- Rosa fixes the roof.\n", encoding="utf-8")
    shutil.copytree(PROJECT, home / "vault-memory", ignore=NOT_PUBLISHED)

    with model(script) as serving:
        person = Newcomer(home, notes, serving)
        installs = {**fetching, "HOME": str(home)}
        person.follow(printed(r"`(uv tool install [^`]+)`"), home, installs)
        own = {
            name: value
            for name, value in person.environment.items()
            if name != "VAULT_MEMORY_STATE"
        }
        search = printed(r"^(vault-memory search .*)$")
        with watching(printed(r"^(vault-memory run .*)$"), own):
            until((notes / ".vault-memory").exists, says="nothing watches")
            until(
                lambda: "Rosa fixes the roof" in person.follow(search, home, own),
                says="the line is not found",
            )
            connect = printed(r"^\| Claude Code \| `([^`]+)`")
            person.follow(connect, notes, own)
            said = subprocess.run(
                (programs.claude(), "-p", f"Please remember that {KEY.lower()}"),
                env=own,
                cwd=person.work,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
            assert said.returncode == 0, said.stderr
            asked = "vault-memory search 'spare key' --vault ~/Notes"
            until(
                lambda: (
                    "spare key hangs behind the stove" in person.follow(asked, home, own).lower()
                ),
                says=lambda: person.follow(asked, home, own),
            )
    lines = "".join(note.read_text(encoding="utf-8") for note in notes.rglob("*.md"))
    assert KEY.lower() in lines.lower()
