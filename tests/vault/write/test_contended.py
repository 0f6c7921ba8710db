"""A person saves as fast as a program can, and so does the bot, in real processes on a real disk: no line is lost."""

import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.vault.write.lines import merge_lines
from tests.vault.write.people import STYLES
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.stale import nearest
from vault_memory.vault.write import Writer, Written

NOTE = "USER.md"


def now() -> datetime:
    return datetime.now(UTC)


class Bot:
    """Adds a line to the note again and again; a save from a stale buffer is merged on top of what it was made from."""

    def __init__(self, root: Path, state: Path) -> None:
        self.path = root / NOTE
        self.writer = Writer.open(root, state, merge_lines)
        self.written: list[Written] = []
        self.stale = 0

    def add(self, number: int) -> None:
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            raw = b""
        text = self.reconciled(raw)
        line = f"- bot {number}\n".encode()
        done = self.writer.write(
            NOTE, text + line, expected=revision_of(raw), now=now(), op_id=f"op-{number}", quiet=0.0
        )  # fmt: skip
        self.written.append(done)

    def reconciled(self, raw: bytes) -> bytes:
        """The text as it would be, had the person known of the latest version."""
        chain = self.writer.snapshots.chain(NOTE)[:60]
        if not chain or any(version.revision == revision_of(raw) for version in chain):
            return raw
        texts = [(version.revision, self.writer.snapshots.bytes_of(version.revision) or b"") for version in chain]
        base = nearest(raw, texts)
        if base == chain[0].revision:
            return raw
        self.stale += 1
        return merge_lines(dict(texts)[base or ""], texts[0][1], raw) or raw

    def heal(self, number: int) -> None:
        """A last look after a stale save, when nobody saves any more."""
        raw = self.path.read_bytes()
        text = self.reconciled(raw)
        if text != raw:
            self.writer.write(
                NOTE, text, expected=revision_of(raw), now=now(), op_id=f"heal-{number}", quiet=0.0
            )  # fmt: skip

    def settle(self) -> None:
        """Tend until nothing waits and nothing is watched."""
        until = time.monotonic() + 20
        number = 0
        while time.monotonic() < until:
            self.heal(number := number + 1)
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
    command = [sys.executable, "-m", "tests.vault.write.people", str(root / NOTE), style, str(saves), str(seed)]
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
    assert not ours - set(lines)
    assert len(lines) == len(set(lines))
    assert [path.name for path in bot.path.parent.iterdir()] == [NOTE]
    print(f"{style}: {saves} saves, {len(written)} of {len(bot.written)} writes at once, {bot.stale} stale buffers")


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
