"""Killed at random moments of real writes on a real disk: the note is whole, and the audit has each op once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT


def kill(tmp_path: Path, kills: int, seed: int) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.vault.write.killing",
        str(tmp_path),
        str(kills),
        str(seed),
    ]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)

    assert found["torn"] == 0
    assert found["missing"] == []
    assert found["twice"] == 0
    assert found["bot"] == found["audit"]
    assert found["strays"] == []
    assert found["waiting"] == 0
    print(f"{kills} kills, {len(found['bot'])} writes")


@pytest.mark.scenario("B33", "B37", "B38", "B48")
def test_twenty_kills_lose_nothing(tmp_path: Path) -> None:
    kill(tmp_path, 20, seed=1)


@pytest.mark.deep
def test_three_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    kill(tmp_path, 300, seed=2)
