"""The audit files beside a note are found, whatever came, went or was renamed since the folder was listed."""

import random
from pathlib import Path

import pytest

from vault_memory.vault import audit_folders
from vault_memory.vault.audit_folders import AuditFolders

DEVICES = ("", ".laptop-3f9a1c", ".phone-0a1b2c")


def files_beside(vault: Path, note: str) -> list[str]:
    """What a person sees in the folder."""
    folder = (vault / note).parent
    names = [name for name in folder.iterdir() if name.name.startswith(Path(note).name + ".audit")]
    return sorted(path.relative_to(vault).as_posix() for path in names)


@pytest.mark.parametrize("seed", range(20))
def test_no_audit_file_of_a_device_is_missed(tmp_path: Path, seed: int):
    draw = random.Random(seed)
    folders = AuditFolders(str(tmp_path))
    for folder in ("memory", "memory/deep"):
        (tmp_path / folder).mkdir()
    notes = ["USER.md", "memory/a.md", "memory/b.md", "memory/deep/a.md"]
    for _ in range(60):
        file = tmp_path / f"{draw.choice(notes)}.audit{draw.choice(DEVICES)}.jsonl"
        if draw.random() < 0.3:
            file.unlink(missing_ok=True)
        elif draw.random() < 0.2 and file.exists():
            file.rename(tmp_path / f"{draw.choice(notes)}.audit{draw.choice(DEVICES)}.jsonl")
        else:
            file.write_text("{}\n")
        note = draw.choice(notes)
        assert folders.beside(note, ()) == files_beside(tmp_path, note)


def test_in_a_large_folder_expected_audit_files_appear_at_once_and_others_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for number in range(audit_folders.LARGE):
        (tmp_path / f"note-{number}.md").touch()
    folders = AuditFolders(str(tmp_path))
    assert folders.beside("note-1.md", ()) == []

    (tmp_path / "note-1.md.audit.jsonl").touch()
    (tmp_path / "note-1.md.audit.phone-0a1b2c.jsonl").touch()
    assert folders.beside("note-1.md", ["note-1.md.audit.jsonl"]) == ["note-1.md.audit.jsonl"]

    monkeypatch.setattr(audit_folders, "LISTED_AGAIN_SECONDS", 0.0)
    assert folders.beside("note-1.md", ()) == files_beside(tmp_path, "note-1.md")
    assert len(files_beside(tmp_path, "note-1.md")) == 2


def test_a_missing_folder_has_no_audit_files(tmp_path: Path):
    assert AuditFolders(str(tmp_path)).beside("memory/a.md", ["a.md.audit.jsonl"]) == []
