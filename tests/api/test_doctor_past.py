"""What doctor says of a vault that was put back from a backup, and of an audit that somebody edited."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from vault_memory import VaultMemory

NOTES = [f"memory/note-{number}.md" for number in range(4)]


@pytest.fixture
def memory(tmp_path: Path) -> VaultMemory:
    (tmp_path / "vault/memory").mkdir(parents=True)
    return reopened(tmp_path)


def reopened(folder: Path) -> VaultMemory:
    settings = {"VAULT_MEMORY_STATE": str(folder / "state"), "VAULT_MEMORY_EMBEDDING_KIND": "off"}
    return VaultMemory.open(folder / "vault", environment=settings)


def add(memory: VaultMemory, note: str, line: str) -> None:
    now = datetime.now(UTC) + timedelta(hours=1)  # no note counts as saved just now
    edit = memory.apply(
        note, [{"op": "append", "heading": "Tea", "line": line}], source="cli", now=now
    )
    assert edit.changed


def findings(memory: VaultMemory, name: str) -> list[tuple[str, str]]:
    return [(check.reason, check.fix) for check in memory.doctor() if check.name == name]


@pytest.mark.scenario("B46")
def test_doctor_reports_reverted_notes_and_how_to_recover_the_newer_ones(
    memory: VaultMemory, tmp_path: Path
) -> None:
    with memory:
        for note in NOTES:
            (tmp_path / "vault" / note).write_text("## Tea\n\n- green\n")
            add(memory, note, "sencha")
        shutil.copytree(tmp_path / "vault", tmp_path / "backup")
        for note in NOTES:
            add(memory, note, "matcha")
        assert findings(memory, "earlier versions") == []

    shutil.rmtree(tmp_path / "vault")
    shutil.copytree(tmp_path / "backup", tmp_path / "vault")

    with reopened(tmp_path) as memory:
        (reason, fix) = findings(memory, "earlier versions")[0]
        assert reason.startswith("4 notes went back to earlier versions")
        assert "vault-memory restore NOTE REVISION" in fix
        assert all("matcha" not in (tmp_path / "vault" / note).read_text() for note in NOTES)
        assert not memory.search("matcha", scopes=["group:main"]).hits, (
            "the index follows the files"
        )
        newer = memory.history(NOTES[0])
        wanted = next(one.revision for one in newer if one.bytes > newer[0].bytes)
        memory.restore(NOTES[0], wanted, now=datetime.now(UTC) + timedelta(hours=1))
        assert "matcha" in (tmp_path / "vault" / NOTES[0]).read_text()


@pytest.mark.scenario("G116")
def test_doctor_reports_an_audit_with_a_gap(memory: VaultMemory, tmp_path: Path) -> None:
    with memory:
        (tmp_path / "vault" / NOTES[0]).write_text("## Tea\n\n- green\n")
        add(memory, NOTES[0], "sencha")
        audit = tmp_path / "vault" / f"{NOTES[0]}.audit.jsonl"
        audit.write_bytes(audit.read_bytes()[:40])

    with reopened(tmp_path) as memory:
        assert [reason for reason, _ in findings(memory, "audit")] == [
            f"the audit log of `{NOTES[0]}` has a gap: 1 lines are not records"
        ]
