"""A vault with more files than one listing can have says so with each answer."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.in_process import run
from vault_memory import VaultMemory
from vault_memory.config import Config, EmbeddingSettings
from vault_memory.ingest.sweep import Sweep
from vault_memory.rules.context.quotations import of_search
from vault_memory.vault import listing

SCOPES = ["user:main"]
FOLDER = "Users/main/memories"
NOTES = 12
ROOM = 8


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault of twelve notes with an audit each, where a listing has room for eight files."""
    monkeypatch.setattr(listing, "MOST", ROOM)
    folder = tmp_path / "vault" / FOLDER
    folder.mkdir(parents=True)
    for number in range(NOTES):
        (folder / f"n{number:02}.md").write_text(f"## A\n\n- lantern {number}\n")
    (folder / "deeper").mkdir()
    (folder / "deeper" / "last.md").write_text("## A\n\n- lantern below\n")
    (folder / "picture.png").touch()
    monkeypatch.setenv("VAULT_MEMORY_STATE", str(tmp_path / "state"))
    return tmp_path / "vault"


@pytest.fixture
def memory(vault: Path, tmp_path: Path) -> Iterator[VaultMemory]:
    config = Config(embedding=EmbeddingSettings(kind="off"))
    state = {"VAULT_MEMORY_STATE": str(tmp_path / "state")}
    with VaultMemory.open(vault, config, environment=state) as memory:
        yield memory


def missing_in(memory: VaultMemory) -> int:
    return NOTES + 1 - memory.vault.indexing.index().count_notes()


def test_only_the_memory_that_the_owner_gives_limits_the_files():
    shown = f"{sys.executable} -c 'from vault_memory.vault import listing; print(listing.MOST)'"
    limits = ("unlimited", "1000000")
    unlimited, limited = (
        int(subprocess.check_output(["sh", "-c", f"ulimit -Sv {limit}; {shown}"], timeout=60))
        for limit in limits
    )
    assert unlimited > 10**15
    assert limited == 512_000


def test_the_files_without_room_are_counted(vault: Path, memory: VaultMemory):
    found = memory.vault.folder.listing()
    assert found.truncated
    assert len(found.entries) == ROOM
    names = {path.rpartition("/")[2] for path in (*found.entries, *found.beyond)}
    assert names == {*(f"n{number:02}.md" for number in range(NOTES)), "last.md"}
    assert not any(map(found.covers, found.beyond))


def test_the_count_ends_in_a_folder_without_end(vault: Path, memory: VaultMemory):
    for number in range(5 * ROOM):
        (vault / FOLDER / f"more{number}.md").touch()
    assert len(memory.vault.folder.listing().beyond) == ROOM


def test_each_answer_says_how_many_notes_are_missing(memory: VaultMemory):
    report = memory.index()
    assert report.missing_notes == missing_in(memory) == NOTES + 1 - ROOM

    answer = memory.search("lantern", scopes=SCOPES)
    assert answer.freshness.missing_notes == report.missing_notes
    block = memory.context("Where is the lantern?", scopes=SCOPES)
    assert block.freshness.missing_notes == report.missing_notes
    assert memory.status()["index"]["missing_notes"] == report.missing_notes


def test_doctor_does_not_call_such_an_index_equal(memory: VaultMemory):
    [check] = [check for check in memory.doctor() if check.name == "index equals notes"]
    assert (check.state, check.reason[:20]) == ("fail", "5 notes are missing:")


@pytest.mark.sampled
def test_the_commands_say_it_and_index_fails(vault: Path, capsys: pytest.CaptureFixture[str]):
    words = ["--vault", str(vault)]
    done = run([*words, "index"], capsys)
    assert done.code == 1
    assert "not searched: 5 notes" in done.stderr
    done = run([*words, "index", "--json"], capsys)
    assert (done.code, json.loads(done.stdout)["missing_notes"]) == (1, 5)
    for command in (["search", "lantern"], ["context", "lantern"], ["status"]):
        done = run([*words, *command], capsys)
        assert done.code == 0
        assert "5 notes" in done.stdout + done.stderr
    done = run([*words, "search", "lantern", "--json"], capsys)
    assert json.loads(done.stdout)["freshness"]["missing_notes"] == 5


def test_a_model_is_told(vault: Path, capsys: pytest.CaptureFixture[str]):
    done = run(["--vault", str(vault), "search", "lantern", "--json"], capsys)
    assert "5 notes are not searched" in of_search(json.loads(done.stdout)).text


def test_notes_that_a_sweep_finds_count_no_more_and_stay(memory: VaultMemory):
    memory.index()
    ingest = memory.vault.indexing.ingest()
    sweep = Sweep()
    while not sweep.is_done:
        ingest.scan(within=sweep.slice(ingest).suspects)
    assert missing_in(memory) == 0
    assert memory.search("lantern", scopes=SCOPES).freshness.missing_notes == 0

    assert memory.index().missing_notes == 0
    assert missing_in(memory) == 0
    assert memory.search("lantern", scopes=SCOPES).freshness.stale_files == ()


def test_with_room_for_all_nothing_is_missing(memory: VaultMemory, monkeypatch: pytest.MonkeyPatch):
    memory.index()
    monkeypatch.setattr(listing, "MOST", 100)
    assert memory.index().missing_notes == missing_in(memory) == 0
    assert memory.search("lantern", scopes=SCOPES).freshness.missing_notes == 0
