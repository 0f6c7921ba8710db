"""A person saves whole notes while an editor saves the same note, up to 50 ms before or after."""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.edits.test_contended import settle
from tests.effort import cases
from vault_memory import VaultMemory
from vault_memory.edits.edit_errors import SaveConflict
from vault_memory.edits.edit_result import Edit

NOTE = "USER.md"
STATUS = "Sula lies at the northern quay, and {} keeps the key of her engine room."
FIRST = "\n".join(
    ["# Me\n", STATUS.format("Ann"), "\n## Page\n\n- page", "\n## Editor\n\n- editor", "\n## End\n"]
)
ROUNDS = cases(200)
FARTHEST_SECONDS = 0.05
MOST_OVERWRITTEN = 3
"""Saves that the scheduler may put between a read and the write of the editor"""


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / NOTE).write_text(FIRST)
    return folder


@pytest.fixture
def memory(vault: Path) -> Iterator[VaultMemory]:
    with VaultMemory.open(vault, environment=os.environ) as opened:
        yield opened


def by_rename(path: Path, raw: bytes) -> None:
    temporary = path.with_name(f".{NOTE}.~{os.getpid()}")
    temporary.write_bytes(raw)
    os.rename(temporary, path)


def in_place(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)


def backed_up(path: Path, raw: bytes) -> None:
    backup = path.with_name(f"{NOTE}~")
    os.rename(path, backup)
    path.write_bytes(raw)
    backup.unlink()


WAYS = (by_rename, in_place, backed_up)

Change = Callable[[bytes], bytes]


def save_both(
    memory: VaultMemory, note: Path, dice: random.Random, mine: Change, theirs: Change
) -> Edit | SaveConflict:
    """Saves a text, and lets an editor save at nearly the same moment; returns what became of it."""
    way = dice.choice(WAYS)
    distance = dice.uniform(-FARTHEST_SECONDS, FARTHEST_SECONDS)
    base = note.read_bytes()
    began = threading.Event()

    def edit() -> None:
        began.wait()
        time.sleep(max(0.0, distance))
        way(note, theirs(note.read_bytes()))

    editor = threading.Thread(target=edit)
    editor.start()
    began.set()
    time.sleep(max(0.0, -distance))
    try:
        return memory.edits.save(NOTE, mine(base), base=base)
    except SaveConflict as conflict:
        return conflict
    finally:
        editor.join()


def replaced(old: str, new: str) -> Change:
    return lambda raw: raw.replace(old.encode(), new.encode())


def versions(memory: VaultMemory) -> list[str]:
    """All texts that the note had."""
    return [
        memory.edits.read_version(NOTE, version.revision).text for version in memory.history(NOTE)
    ]


def copies(vault: Path) -> list[str]:
    """Files beside the note that no save leaves: conflict copies, temporaries, backups."""
    names = {path.name for path in vault.iterdir()}
    return sorted(names - {NOTE, f"{NOTE}.audit.jsonl", ".vault-memory"})


def lines_of(texts: list[str]) -> set[str]:
    return {line.removeprefix("- ") for text in texts for line in text.splitlines()}


def is_complete(text: str) -> bool:
    return text.startswith("# Me\n") and text.endswith("## End\n")


@pytest.mark.sampled
@pytest.mark.timeout(900)
def test_no_line_is_lost_when_an_editor_saves_another_line(
    memory: VaultMemory, vault: Path
) -> None:
    dice = random.Random(16)
    note = vault / NOTE
    merged = 0
    for number in range(ROUNDS):
        outcome = save_both(
            memory,
            note,
            dice,
            replaced("- page\n", f"- page\n- page {number}\n"),
            replaced("- editor\n", f"- editor\n- editor {number}\n"),
        )
        settle(memory)
        assert isinstance(outcome, Edit)
        merged += bool(outcome.from_disk)
        assert is_complete(note.read_text()), number
    lines = note.read_text().splitlines()
    live = {line.removeprefix("- ") for line in lines}
    mine = {f"page {number}" for number in range(ROUNDS)}
    theirs = {f"editor {number}" for number in range(ROUNDS)}
    overwritten = mine - live
    assert not theirs - live
    # An editor may read the note a moment before our save, and write a moment after it:
    # it then writes over what it has not read. An earlier version has that line.
    assert not overwritten - lines_of(versions(memory))
    assert len(overwritten) <= MOST_OVERWRITTEN
    assert len(lines) == len(FIRST.splitlines()) + 2 * ROUNDS - len(overwritten)
    assert merged > ROUNDS / 5
    assert all(map(is_complete, versions(memory)))
    assert not copies(vault)


@pytest.mark.timeout(900)
def test_no_text_is_overwritten_when_an_editor_saves_the_same_line(
    memory: VaultMemory, vault: Path
) -> None:
    dice = random.Random(17)
    note = vault / NOTE
    conflicts = 0
    for number in range(ROUNDS):
        status = note.read_text().splitlines()[2]
        mine = STATUS.format(f"page {number}")
        outcome = save_both(
            memory,
            note,
            dice,
            replaced(status, mine),
            lambda raw, number=number: with_status(raw, number),  # type: ignore[misc]
        )
        settle(memory)
        text = note.read_text()
        assert is_complete(text), number
        theirs = STATUS.format(f"editor {number}")
        assert theirs in text, (number, text, outcome)
        if isinstance(outcome, SaveConflict):
            conflicts += 1
            assert mine.encode() in outcome.yours
            assert theirs.encode() in outcome.on_disk
            assert mine not in text
        else:
            assert any(mine in version for version in versions(memory)[:4])
    print(conflicts, ROUNDS)
    assert conflicts > ROUNDS / 5
    assert not copies(vault)


def with_status(raw: bytes, number: int) -> bytes:
    lines = raw.splitlines(keepends=True)
    lines[2] = STATUS.format(f"editor {number}").encode() + b"\n"
    return b"".join(lines)
