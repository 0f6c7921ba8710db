"""A text is forgotten in writes that wait; what they write besides, and what they would replace, stays."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside
from vault_memory import VaultMemory

SCOPE = "user:alice"
PAGE = "Users/alice/lantern/config/FACTS.md"
TEXT = "green lantern"


@pytest.fixture
def memory(outside: Outside) -> Iterator[VaultMemory]:
    outside.write(PAGE, "## alice\n\n- likes: tea\n")
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        yield memory


@pytest.fixture
def lock(memory: VaultMemory, outside: Outside) -> Path:
    """An editor has the page of facts open."""
    file = (outside.vault / PAGE).with_name(".FACTS.md.swp")
    file.touch()
    return file


def state_files_with(text: str, outside: Outside) -> list[str]:
    """The files of the state folder that contain a text, the write-ahead log of the journal among them."""
    files = (path for path in outside.state.rglob("*") if path.is_file())
    return [path.name for path in files if text.encode() in path.read_bytes().lower()]


def write_what_waits(memory: VaultMemory) -> None:
    memory.edits.process_due(datetime.now(UTC) + timedelta(hours=1))
    assert memory.edits.waiting() == []


@pytest.mark.parametrize(
    ("subject", "object"), [("alice", "a Green Lantern"), ("the green lantern", "tin")]
)
def test_a_waiting_fact_is_forgotten(
    memory: VaultMemory, lock: Path, outside: Outside, subject: str, object: str
):
    change = memory.add_fact(subject, "owns", object, scope=SCOPE)
    assert change.outcome == "pending"
    assert "journal.sqlite-wal" in state_files_with(TEXT, outside)

    receipt = memory.forget(TEXT)

    assert state_files_with(TEXT, outside) == []
    assert receipt.remaining == ()
    lock.unlink()
    write_what_waits(memory)
    assert (outside.vault / PAGE).read_text() == "## alice\n\n- likes: tea\n"


def test_a_waiting_correction_is_forgotten(memory: VaultMemory, lock: Path, outside: Outside):
    [fact] = memory.facts(scopes=[SCOPE])
    change = memory.correct_fact(fact.id, scopes=[SCOPE], object="the green lantern")
    assert change.outcome == "pending"

    receipt = memory.forget(TEXT)

    assert state_files_with(TEXT, outside) == []
    assert receipt.remaining == ()
    lock.unlink()
    write_what_waits(memory)
    assert (outside.vault / PAGE).read_text() == "## alice\n\n- likes: tea\n"


def test_a_waiting_fact_is_forgotten_by_its_displayed_line(
    memory: VaultMemory, lock: Path, outside: Outside
):
    memory.add_fact("alice", "owns", "a lantern", scope=SCOPE)

    memory.forget("owns: a lantern")

    lock.unlink()
    write_what_waits(memory)
    assert (outside.vault / PAGE).read_text() == "## alice\n\n- likes: tea\n"


def test_other_waiting_facts_are_not_forgotten(memory: VaultMemory, lock: Path, outside: Outside):
    memory.add_fact("alice", "owns", "a green lantern", scope=SCOPE)
    memory.add_fact("alice", "owns", "a kayak", scope=SCOPE)

    memory.forget(TEXT)

    lock.unlink()
    write_what_waits(memory)
    page = (outside.vault / PAGE).read_text()
    assert page.startswith("## alice\n\n- likes: tea\n- owns: a kayak")
    assert TEXT not in page


def test_a_waiting_line_is_kept_although_its_note_is_named_like_the_text(
    memory: VaultMemory, outside: Outside
):
    note = "Users/alice/memories/green lantern.md"
    outside.write(note, "# Notes\n\n## Tea\n\n- sencha\n")
    lock = (outside.vault / note).with_name(".green lantern.md.swp")
    lock.touch()
    edit = memory.apply(note, [{"op": "append", "heading": "Tea", "line": "oolong"}])
    assert edit.pending

    memory.forget(TEXT)

    lock.unlink()
    write_what_waits(memory)
    assert (outside.vault / note).read_text() == "# Notes\n\n## Tea\n\n- sencha\n- oolong\n"


def test_a_waiting_approved_proposal_is_forgotten(memory: VaultMemory, outside: Outside):
    note = "Users/alice/lantern/config/USER.md"
    outside.write(note, "# Me\n\n## Tea\n\n- sencha\n")
    edit = memory.apply(
        note, [{"op": "replace", "heading": "Tea", "match": "sencha", "line": "the green lantern"}]
    )
    [proposal] = edit.proposed
    lock = (outside.vault / note).with_name(".USER.md.swp")
    lock.touch()
    assert memory.approve(proposal.id).pending

    receipt = memory.forget(TEXT)

    assert receipt.remaining == ()
    assert state_files_with(TEXT, outside) == []
    lock.unlink()
    write_what_waits(memory)
    assert (outside.vault / note).read_text() == "# Me\n\n## Tea\n\n- sencha\n"


def test_a_line_whose_replacement_is_forgotten_stays(memory: VaultMemory, outside: Outside):
    note = "Users/alice/memories/tea.md"
    outside.write(note, "# Notes\n\n## Tea\n\n- sencha\n")
    lock = (outside.vault / note).with_name(".tea.md.swp")
    lock.touch()
    ops = [
        {"op": "replace", "heading": "Tea", "match": "sencha", "line": "the green lantern"},
        {"op": "append", "heading": "Tea", "line": "oolong"},
    ]
    assert memory.apply(note, ops, source="cli").pending

    memory.forget(TEXT)

    lock.unlink()
    write_what_waits(memory)
    text = (outside.vault / note).read_text()
    assert text == "# Notes\n\n## Tea\n\n- sencha\n- oolong\n"
