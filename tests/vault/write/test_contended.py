"""A person saves as fast as a program can, and so does the bot, in real processes on a real disk: no line is lost."""

import shutil
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.vault.write.lines import merge_lines
from tests.vault.write.people import STYLES
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.attempt import WriteResult
from vault_memory.vault.write.replacement import Replacement
from vault_memory.vault.write.writer import Writer

NOTE = "USER.md"


def now() -> datetime:
    return datetime.now(UTC)


class Bot:
    """Adds a line to the note again and again."""

    def __init__(self, root: Path, state: Path) -> None:
        self.path = root / NOTE
        self.writer = Writer.open(root, state, merge_lines)
        self.written: list[WriteResult] = []

    def read(self) -> bytes:
        """The note, when it is there, and the same for a moment: the bot does not answer to half a save."""
        before = b""
        while True:
            with suppress(FileNotFoundError):
                raw = self.path.read_bytes()
                if raw == before and raw.endswith(b"\n"):
                    return raw
                before = raw
            time.sleep(0.005)

    def add(self, number: int) -> None:
        self.put(f"op-{number}", f"- bot {number}\n".encode())

    def put(self, op_id: str, line: bytes) -> None:
        raw = self.read()
        new = Replacement(NOTE, raw + line, expected=revision_of(raw), op_id=op_id, quiet=0.0)
        done = self.writer.write(new, now=now())
        if line:
            self.written.append(done)

    def kept(self) -> set[str]:
        """All lines of all versions that are kept."""
        snapshots = self.writer.snapshots
        raws = [snapshots.bytes_of(version.revision) or b"" for version in snapshots.chain(NOTE)]
        return {line for raw in raws for line in raw.decode().splitlines()}

    def settle(self) -> None:
        """Tend until nothing waits and nothing is watched."""
        until = time.monotonic() + 120
        number = 0
        while time.monotonic() < until:
            self.put(f"heal-{(number := number + 1)}", b"")
            self.writer.tend(now())
            if not self.writer.pending() and not self.writer.displaced():
                return
            time.sleep(0.02)
        raise AssertionError((self.writer.pending(), self.writer.displaced()))


def contend(tmp_path: Path, style: str, saves: int, seed: int) -> Bot:
    root = tmp_path / "vault"
    root.mkdir()
    (root / NOTE).write_bytes(b"- first\n")
    bot = Bot(root, tmp_path / "state")
    command = [
        sys.executable,
        "-m",
        "tests.vault.write.people",
        str(root / NOTE),
        style,
        str(saves),
        str(seed),
    ]
    with subprocess.Popen(command, cwd=PROJECT) as person:
        number = 0
        while person.poll() is None or number < saves:
            bot.add(number := number + 1)
            bot.writer.tend(now())
        assert person.wait() == 0
    bot.settle()
    return bot


def check(bot: Bot, style: str, saves: int) -> None:
    lines = bot.path.read_text().splitlines()
    missing = {f"- {style} {number}" for number in range(saves)} - set(lines)
    assert not missing
    written = [one for one in bot.written if one.outcome != "pending"]
    ours = {f"- bot {one.op_id.removeprefix('op-')}" for one in bot.written}
    unseen = ours - set(lines)
    assert (
        not unseen - bot.kept()
    )  # taken away by a save from a buffer that had not seen them; judged in curate
    assert len(lines) == len(set(lines))
    left = [
        path.name for path in bot.path.parent.iterdir() if not path.name.endswith("~")
    ]  # vim's own backups
    assert left == [NOTE]
    print(
        f"{style}: {saves} saves, {len(written)} of {len(bot.written)} writes at once, "
        f"{len(unseen)} lines unseen by a save"
    )


@pytest.mark.sampled
@pytest.mark.scenario("A1", "A2", "A4", "A5")
@pytest.mark.parametrize("style", STYLES)
def test_no_line_of_the_person_or_the_bot_is_lost(tmp_path: Path, style: str) -> None:
    if style == "vim" and not shutil.which("vim"):
        pytest.skip("vim is not installed")
    saves = 25 if style == "vim" else 80

    bot = contend(tmp_path, style, saves, seed=1)

    check(bot, style, saves)


@pytest.mark.deep
@pytest.mark.parametrize("style", STYLES)
def test_no_line_is_lost_in_thousands_of_saves(tmp_path: Path, style: str) -> None:
    if style == "vim" and not shutil.which("vim"):
        pytest.skip("vim is not installed")
    saves = 200 if style == "vim" else 2000

    bot = contend(tmp_path, style, saves, seed=2)

    check(bot, style, saves)
