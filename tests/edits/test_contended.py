"""A person saves as fast as a program can while the bot's ops come in, in real processes: no line of either is lost."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.edits.contending import FIRST, NOTE
from vault_memory.api.vault_memory import VaultMemory

PAGE = "USER.INBOX.md"


def start(who: str, vault: Path, count: int, seed: int) -> "subprocess.Popen[str]":
    command = [
        sys.executable,
        "-m",
        "tests.edits.contending",
        who,
        str(vault),
        str(count),
        str(seed),
    ]
    environment = os.environ | {"VAULT_MEMORY_EMBEDDING_KIND": "off"}
    return subprocess.Popen(
        command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, text=True
    )


def settle(memory: VaultMemory) -> None:
    """Until nothing waits, nothing is watched, and what was saved last was looked at."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        memory.edits.process_due()
        writer = memory.edits.editor.writer
        if not writer.pending() and not writer.finished() and not writer.displaced():
            return
        time.sleep(0.05)
    raise AssertionError(memory.edits.waiting())


def contend(vault: Path, saves: int, ops: int, seed: int) -> None:
    vault.mkdir()
    (vault / NOTE).write_text(FIRST)
    began = time.monotonic()
    with VaultMemory.open(vault, environment=os.environ):
        pass  # so that both find the vault's marker
    with start("bot", vault, ops, seed) as bot, start("person", vault, saves, seed) as person:
        told = json.loads(bot.communicate()[0])
        assert (person.wait(), bot.returncode, told["refused"]) == (0, 0, [])
    with VaultMemory.open(vault, environment=os.environ) as memory:
        settle(memory)
        memory.apply(NOTE, [{"op": "append", "heading": "Tea", "line": "last"}])
        settle(memory)
        proposed = {str(one.op.get("line")) for one in memory.inbox()}
    lines = (vault / NOTE).read_text().splitlines()
    ours = {f"bot {number}" for number in range(ops)}
    there = {line.removeprefix("- ") for line in lines}
    print(
        f"{saves} saves, {ops} ops, {told}, {len(ours - there)} in INBOX, {time.monotonic() - began:.0f} s"
    )

    assert not {f"- person {number}" for number in range(saves)} - set(lines)
    assert not ours - there - proposed
    items = [line for line in lines if line.startswith("- ")]
    assert len(items) == len(set(items))
    records = [
        json.loads(line) for line in (vault / f"{NOTE}.audit.jsonl").read_bytes().splitlines()
    ]
    done = [
        one["op"].get("line", "")
        for record in records
        for one in record["applied"]
        if one["outcome"] == "applied"
    ]
    assert sorted(line for line in done if line.startswith("bot")) == sorted(ours)
    assert {path.name for path in vault.iterdir()} <= {
        NOTE,
        PAGE,
        f"{NOTE}.audit.jsonl",
        ".vault-memory",
        ".vault-memory.lease",
    }


@pytest.mark.sampled
@pytest.mark.scenario("A1", "A2", "A4", "A5", "A7")
def test_no_line_of_the_person_or_the_bot_is_lost(tmp_path: Path) -> None:
    contend(tmp_path / "vault", 120, 120, seed=1)


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_no_line_is_lost_in_two_thousand_saves_and_two_thousand_ops(tmp_path: Path) -> None:
    contend(tmp_path / "vault", 2000, 2000, seed=2)
