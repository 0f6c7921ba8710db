"""The editor of one vault: which note a command reaches, and what is due after it."""

import os

import pytest

from tests.edits.conftest import Desk
from tests.every import every
from vault_memory.edits.commands import ApplyOps, RunOptions
from vault_memory.errors import BadPath
from vault_memory.vault.marker import NAME, ensure_marker

ANNS = "Users/ann/memories/boats.md"


@pytest.fixture
def folding(desk: Desk) -> Desk:
    """A vault whose marker has two spellings, as each name has on a file system that folds them."""
    ensure_marker(desk.vault)
    os.link(desk.vault / NAME, desk.vault / NAME.upper())
    desk.save("## Tea\n\n- green\n", "memory/Boats.md")
    desk.save("## Tea\n\n- green\n", ANNS)
    return desk


def test_on_a_folder_that_folds_names_an_edit_changes_the_note_that_is_listed(
    folding: Desk,
) -> None:
    for spelling in ("memory/boats.md", "memory/BOATS.md", "memory/Boats.md"):
        edit = folding.append(f"from {spelling}", note=spelling)
        assert edit.note == "memory/Boats.md"

    assert sorted(path.name for path in (folding.vault / "memory").iterdir()) == [
        "Boats.md",
        "Boats.md.audit.jsonl",
    ]
    assert len(folding.records("memory/Boats.md")) == 3


@every(
    ("spelling", "listed"),
    [
        ("user.md", "USER.md"),
        ("Users/Ann/memories/boats.md", ANNS),
        ("users/ann/memories/boats.md", ANNS),
    ],
)
def test_a_spelling_that_would_be_another_persons_note_is_refused_with_the_listed_one(
    folding: Desk, spelling: str, listed: str
) -> None:
    before = folding.raw(listed)

    with pytest.raises(BadPath, match=f"the folder has it as `{listed}`"):
        folding.append("mine", note=spelling)

    assert folding.raw(listed) == before


def test_on_a_folder_that_tells_names_apart_each_spelling_is_a_note(desk: Desk) -> None:
    ensure_marker(desk.vault)
    desk.save("## Tea\n\n- green\n", "memory/Boats.md")
    desk.save("## Tea\n\n- white\n", "memory/boats.md")

    assert desk.append("black", note="memory/boats.md").note == "memory/boats.md"

    assert desk.text("memory/Boats.md") == "## Tea\n\n- green\n"
    assert desk.text("memory/boats.md") == "## Tea\n\n- white\n- black\n"


def test_a_command_that_is_to_be_quiet_is_recorded_only_if_it_changes_or_asks_something(
    desk: Desk,
) -> None:
    same = {"op": "append", "heading": "Tea", "line": "green"}
    asks = {"op": "remove", "heading": "Tea", "match": "green"}

    def recorded(op: dict[str, str], *, idle: bool, source: str = "tool") -> bool:
        now = desk.now
        command = desk.curator.new_command("USER.md", source, now, ApplyOps((op,)))
        return desk.curator.run(command, now, RunOptions(idle=idle)).audit_id is not None

    assert not recorded(same, idle=False)
    assert desk.records() == []
    assert recorded(same, idle=True)
    assert recorded(asks, idle=False)
    assert recorded({**same, "line": "black"}, idle=False)
    assert len(desk.records()) == 3
