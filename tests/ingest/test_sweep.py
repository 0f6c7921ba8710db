"""A sweep in slices names every note that a look at the whole vault would read, and no other."""

import os
import random
from pathlib import Path

import pytest

from vault_memory.index.store import Index
from vault_memory.ingest import sweep as sweeping
from vault_memory.ingest.ingest_plan import plan_ingest
from vault_memory.ingest.scan import Ingest
from vault_memory.ingest.sweep import Sweep
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Folder

LATER_NS = 10_000_000_000


def vault_of(tmp_path: Path, notes: int) -> tuple[Path, Ingest]:
    """A vault of old notes that an index holds."""
    root = tmp_path / "vault"
    for number in range(notes):
        path = root / f"memory/{'' if number % 3 else 'deep/'}note-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"- number {number}\n")
    clock = [0]
    ingest = Ingest(Folder(root), Index(":memory:"), Layout(), lambda: clock[0])
    clock[0] = max(os.stat(path).st_ctime_ns for path in root.rglob("*.md")) + LATER_NS
    ingest.scan()
    return root, ingest


def complete_sweep(ingest: Ingest) -> sweeping.Findings:
    findings, sweep = sweeping.Findings(), Sweep()
    while not sweep.is_done:
        findings.add(sweep.slice(ingest))
    return findings


def change(root: Path, draw: random.Random) -> None:
    """Something that an editor or a sync program does."""
    notes = sorted(root.rglob("note-*.md"))
    note = draw.choice(notes)
    match draw.randrange(6):
        case 0:
            note.write_text("- saved in place\n")
        case 1:
            note.rename(note.with_name(f"renamed-{draw.randrange(1000)}.md"))
        case 2:
            note.unlink()
        case 3:
            (note.parent / f"fresh-{draw.randrange(1000)}.md").write_text("- fresh\n")
        case 4:
            folder = root / f"memory/folder-{draw.randrange(1000)}"
            folder.mkdir(exist_ok=True)
            (folder / "inside.md").write_text("- inside\n")
        case 5:
            note.unlink()
            os.symlink("elsewhere.md", note)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(15))
def test_a_sweep_detects_every_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int):
    monkeypatch.setattr(sweeping, "SLICE", 7)
    draw = random.Random(seed)
    root, ingest = vault_of(tmp_path, 40)
    assert complete_sweep(ingest).suspects == []

    for _ in range(draw.randrange(1, 8)):
        change(root, draw)
    plan = plan_ingest(
        ingest.index.files().items(), ingest.folder.listing(), is_memory=ingest.wants, parked={}
    )
    assert set(complete_sweep(ingest).suspects) == {*plan.changed, *plan.removed, *plan.unseen}


def test_checking_the_paths_of_a_sweep_brings_the_index_up_to_date(tmp_path: Path):
    root, ingest = vault_of(tmp_path, 20)
    (root / "memory/note-1.md").write_text("- saved in place, and no event told of it\n")
    (root / "memory/note-2.md").unlink()
    (root / "memory/new.md").write_text("- new\n")

    report = ingest.scan(within=complete_sweep(ingest).suspects)

    assert set(report.changed) == {"memory/note-1.md", "memory/new.md"}
    assert report.doubtful == ("memory/note-2.md",)


def test_a_sweep_reports_inbox_pages_and_conflict_copies(tmp_path: Path):
    root, ingest = vault_of(tmp_path, 5)
    (root / "INBOX.md").write_text("# Inbox\n")
    (root / "memory/note-1 (conflicted copy 2026-11-21).md").write_text("- other\n")

    findings = complete_sweep(ingest)

    assert (findings.suspects, findings.unread) == ([], ["INBOX.md"])
    assert findings.copies == ["memory/note-1 (conflicted copy 2026-11-21).md"]
