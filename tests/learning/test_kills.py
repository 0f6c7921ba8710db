"""Killed after each step and at random moments, and done again: the files are those of an undisturbed night."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.effort import costly, some
from vault_memory.learning.steps import STEPS

MIRA = "Users/mira"
SCOPES = ("user:mira", "channel:fogbell")


def kill(folder: Path, kills: int, seed: int, scopes: tuple[str, ...]) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.learning.killing",
        str(folder),
        str(kills),
        str(seed),
        *scopes,
    ]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=7_200)
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)

    assert result["faults"] == []
    assert result["steps"] == len(some(STEPS)) * len(scopes)
    # A step that a scope leaves out is no moment to be killed at.
    assert result["killed"] >= len(some(STEPS)) + kills // 3
    check_what_the_night_did(result["texts"])


def check_what_the_night_did(texts: Mapping[str, str]) -> None:
    """A night that does nothing survives everything: this one does each thing."""
    ledger = map(json.loads, texts[f"{MIRA}/learning/held.jsonl"].splitlines())
    states = {(line["text"], line["state"]) for line in ledger}
    assert ("I am a failure.", "held") in states
    assert ("I am a failure.", "promoted") not in states
    assert ("I hate myself.", "promoted") in states
    assert "crisis" in texts[f"{MIRA}/learning/safety/2026-05-26.jsonl"]
    notes = {
        name: text
        for name, text in texts.items()
        if "transcripts" not in name and not name.endswith(".jsonl")
    }
    for dropped in ("kill myself", "swordfish", "plum jam", "boat key"):
        assert not [name for name, text in notes.items() if dropped in text], dropped
    profile = texts[f"{MIRA}/lantern/config/USER.md"]
    assert profile.count("the spare rope is in the loft") == 1
    audits = "".join(text for name, text in texts.items() if "audit" in name)
    assert "noop_dup" in audits
    assert "supersedes:" in texts[f"{MIRA}/memories/2026-05-25.md"]
    assert f"{MIRA}/memories/sessions/2026-05-25.md" in texts
    channel = texts["Channels/fogbell/memories/2026-05-25.md"]
    assert "**tomas**: send the draft" in channel


# 60 nights, each killed and done again, take minutes beside other tests.
@pytest.mark.sampled
@pytest.mark.timeout(1_200)
@pytest.mark.scenario("B33", "B37")
def test_a_night_killed_at_any_step_gives_the_same_result_as_an_undisturbed_one(
    tmp_path: Path,
) -> None:
    kill(tmp_path, costly(60), 1, SCOPES[:1])


@pytest.mark.deep
@pytest.mark.timeout(7_200)
def test_a_night_killed_300_times_gives_the_same_result_as_an_undisturbed_one(
    tmp_path: Path,
) -> None:
    kill(tmp_path, 300, 2, SCOPES)
