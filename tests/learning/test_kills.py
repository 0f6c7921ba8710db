"""Killed after each step and at random moments, and done again: the files are those of a night left in peace."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.effort import cases
from vault_memory.learning.steps import STEPS


def kill(folder: Path, kills: int, seed: int) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.learning.killing",
        str(folder),
        str(kills),
        str(seed),
    ]
    ran = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, timeout=1200
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)

    assert found["faults"] == []
    assert found["steps"] == len(STEPS)
    assert "Users/mira/memories/sessions/2026-05-25.md" in found["learned"]
    assert found["killed"] >= found["steps"] + kills // 3
    print(found)


@pytest.mark.scenario("B33", "B37")
def test_a_night_killed_after_each_step_gives_the_same_result_as_an_undisturbed_one(
    tmp_path: Path,
) -> None:
    kill(tmp_path, cases(12), seed=1)


@pytest.mark.deep
def test_a_night_killed_a_hundred_times_gives_the_same_result_as_an_undisturbed_one(
    tmp_path: Path,
) -> None:
    kill(tmp_path, 100, seed=2)
