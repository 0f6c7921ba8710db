"""The audit files of a vault are found again only where names changed."""

from pathlib import Path

import pytest

from tests.scenarios.outside import until
from vault_memory.edits.audit.audit_files import AuditFiles
from vault_memory.vault.reader import Folder


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    for folder in (".", "Users/ann"):
        place = tmp_path / folder
        place.mkdir(parents=True, exist_ok=True)
        for name in ("A.md", "A.md.audit.jsonl", "B.md.audit.jsonl"):
            (place / name).write_text("x\n")
    return tmp_path


def test_all_audit_files_are_found_with_their_stamps(vault: Path) -> None:
    files = AuditFiles()
    found = files.stamps(Folder(vault))

    assert sorted(found) == [
        "A.md.audit.jsonl",
        "B.md.audit.jsonl",
        "Users/ann/A.md.audit.jsonl",
        "Users/ann/B.md.audit.jsonl",
    ]
    (vault / "A.md.audit.jsonl").write_text("x\nlonger\n")
    again = files.stamps(Folder(vault))
    assert {path for path in again if again[path] != found[path]} == {"A.md.audit.jsonl"}


def test_a_note_that_went_away_is_told_once(vault: Path) -> None:
    files, folder = AuditFiles(), Folder(vault)

    assert sorted(files.without_note(folder)) == ["B.md", "Users/ann/B.md"]
    # A folder whose names changed a moment ago is listed again, until its time is settled.
    until(lambda: files.without_note(folder) == [])

    (vault / "Users/ann/A.md").unlink()
    assert sorted(files.without_note(folder)) == ["B.md", "Users/ann/A.md", "Users/ann/B.md"]


def test_a_link_in_place_of_an_audit_file_is_not_followed(vault: Path, tmp_path: Path) -> None:
    (vault / "A.md.audit.jsonl").unlink()
    (vault / "A.md.audit.jsonl").symlink_to("B.md.audit.jsonl")

    assert "A.md.audit.jsonl" not in AuditFiles().stamps(Folder(vault))
