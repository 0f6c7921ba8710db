"""A vault on a file system where other spellings open the same file, as on macOS."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platforms.stand_ins import PROJECT
from tests.scenarios.outside import Outside, at, until
from vault_memory import NoteNotFound, VaultMemory
from vault_memory.errors import BadPath

APART = "Notes/A\u0308pfel.md"
COMPOSED = "Notes/\u00c4pfel.md"
TEXT = "# Fruit\n\n## Apples\n\n- green\n"


@pytest.fixture
def folding(tmp_path: Path) -> Iterator[Outside]:
    """A vault on such a file system; skipped where none can be mounted."""
    outside = at(tmp_path)
    folder = tmp_path / "behind"
    folder.mkdir()
    command = [sys.executable, "-m", "tests.platforms.folding_files"]
    process = subprocess.Popen(
        [*command, str(folder), str(outside.vault)],
        cwd=PROJECT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: outside.vault.is_mount() or process.poll() is not None)
        if process.poll() is not None:
            pytest.skip("no file system can be mounted by FUSE")
        yield outside
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(120)
        if outside.vault.is_mount():
            subprocess.run(["umount", "--lazy", str(outside.vault)], check=False)


def notes(outside: Outside) -> list[str]:
    return [note["note"] for note in outside.ok("notes")["notes"]]


def test_an_edit_under_another_spelling_changes_the_note_that_is_there(folding: Outside):
    folding.write(COMPOSED, TEXT)
    folding.ok("init", str(folding.vault))

    for spelling, text in ((COMPOSED, "red"), (APART, "blue"), ("notes/\u00e4PFEL.md", "x")):
        edit = folding.ok("append", spelling, "Apples", text)
        assert edit["note"] == APART

    assert notes(folding) == [APART]
    names = sorted(path.name for path in (folding.vault / "Notes").iterdir())
    assert names == ["A\u0308pfel.md", "A\u0308pfel.md.audit.jsonl"]
    assert (folding.vault / APART).read_text() == f"{TEXT}- red\n- blue\n- x\n"
    assert len(folding.ok("log", APART)["records"]) == 3


def test_a_note_of_another_person_is_not_reached_by_another_spelling(folding: Outside):
    folding.write("Users/ann/memories/x.md", "# Ann\n\n## Drinks\n\n- gin\n")
    folding.write("Users/bob/memories/x.md", "# Bob\n\n## Drinks\n\n- rum\n")
    folding.ok("init", str(folding.vault))

    with VaultMemory.open(folding.vault, environment=folding.environment) as memory:
        memory.refresh()
        for spelling in ("users/ann/memories/x.md", "Users/Ann/memories/x.md"):
            with pytest.raises(NoteNotFound):
                memory.read(spelling)
        assert "gin" in memory.read("Users/ann/memories/x.md").text
    done = folding.run("append", "Users/Ann/memories/x.md", "Drinks", "milk", "--json")

    assert done.code == BadPath.exit_code
    assert "Users/ann/memories/x.md" in done.error["message"]
    assert "milk" not in (folding.vault / "Users/ann/memories/x.md").read_text()


def test_a_rename_of_the_case_only_is_one_note_afterwards(folding: Outside):
    folding.write("boat.md", TEXT)
    folding.ok("init", str(folding.vault))
    assert notes(folding) == ["boat.md"]

    (folding.vault / "boat.md").rename(folding.vault / "Boat.md")

    assert notes(folding) == ["Boat.md"]
    assert folding.search("green")["hits"][0]["note"] == "Boat.md"


def test_a_daemon_finds_saves_and_edits_without_an_exchange_of_names(folding: Outside):
    folding.write("boat.md", TEXT)
    folding.ok("init", str(folding.vault))

    with folding.daemon(ready=False) as daemon:
        assert "polling" in daemon.wait_ready()
        folding.write("Oars.md", "- a pair of ash oars\n")
        daemon.until_found("ash oars")
        folding.ok("append", "BOAT.md", "Apples", "russet")
        daemon.until_found("russet")

    assert notes(folding) == ["Oars.md", "boat.md"]
    assert (folding.vault / "boat.md").read_text() == f"{TEXT}- russet\n"
