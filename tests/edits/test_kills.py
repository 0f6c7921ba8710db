"""Killed at random moments of real edits on a real disk: each note is old or new, and the audit has each op once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT


def kill(folder: Path, kills: int, seed: int) -> None:
    command = [sys.executable, "-m", "tests.edits.killing", str(folder), str(kills), str(seed)]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=1200)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)

    assert found["faults"] == []
    assert found["waiting"] == []
    assert sum(found["jobs"].values()) == kills
    assert found["records"] > kills
    print(found)


@pytest.mark.sampled
@pytest.mark.scenario("B33", "B37", "B38", "B48")
def test_twenty_kills_leave_each_note_old_or_new_and_each_op_recorded_once(tmp_path: Path) -> None:
    kill(tmp_path, 20, seed=1)


@pytest.mark.deep
def test_three_hundred_kills_leave_each_note_old_or_new_and_each_op_recorded_once(
    tmp_path: Path,
) -> None:
    kill(tmp_path, 300, seed=2)
