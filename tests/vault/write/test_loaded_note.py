"""The links of a note are followed inside the vault and nowhere else, and a note is read once for a write."""

import os
from pathlib import Path

import pytest

from tests.every import every
from vault_memory.vault.fs import RealFiles
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.loaded_note import load, real_path

TEXT = b"- tea\n"


@pytest.fixture
def files(tmp_path: Path) -> RealFiles:
    vault = tmp_path / "vault"
    for folder in ("notes/deep", "other"):
        (vault / folder).mkdir(parents=True)
    (vault / "notes/tea.md").write_bytes(TEXT)
    (tmp_path / "outside.md").write_bytes(b"- not ours\n")
    links = {
        "beside.md": "notes/tea.md",
        "notes/deep/above.md": "../tea.md",
        "notes/absolute.md": f"{vault}/notes/tea.md",
        "twice.md": "beside.md",
        "broken.md": "notes/none.md",
        "out.md": "../outside.md",
        "absolute-out.md": f"{tmp_path}/outside.md",
        "root.md": "..",
        "self.md": "self.md",
        "ping.md": "other/pong.md",
        "other/pong.md": "../ping.md",
        "dots.md": "..md",
    }
    for name, target in links.items():
        os.symlink(target, vault / name)
    return RealFiles(vault)


@pytest.mark.scenario("A30")
@every(
    ("path", "real"),
    [
        ("notes/tea.md", "notes/tea.md"),
        ("beside.md", "notes/tea.md"),
        ("notes/deep/above.md", "notes/tea.md"),
        ("notes/absolute.md", "notes/tea.md"),
        ("twice.md", "notes/tea.md"),
        ("broken.md", "notes/none.md"),
        ("notes/new.md", "notes/new.md"),
        ("none/new.md", "none/new.md"),
        ("dots.md", "..md"),
        ("out.md", None),
        ("absolute-out.md", None),
        ("root.md", None),
        ("self.md", None),
        ("ping.md", None),
    ],
)
def test_links_are_followed_inside_the_vault_alone(
    files: RealFiles, path: str, real: str | None
) -> None:
    assert real_path(files, path) == real


def test_a_chain_of_seven_links_is_followed_and_one_of_eight_counts_as_a_loop(
    files: RealFiles,
) -> None:
    for number in range(1, 9):
        target = f"chain{number - 1}.md" if number > 1 else "notes/tea.md"
        os.symlink(target, Path(files.root) / f"chain{number}.md")

    assert real_path(files, "chain7.md") == "notes/tea.md"
    assert real_path(files, "chain8.md") is None


def test_a_note_is_loaded_with_the_bytes_and_the_status_of_its_file(files: RealFiles) -> None:
    loaded = load(files, "twice.md")
    status = os.stat(Path(files.root) / "notes/tea.md")

    assert loaded.path == "notes/tea.md"
    note = loaded.note
    assert note is not None
    assert (note.path, note.raw, note.revision) == ("notes/tea.md", TEXT, revision_of(TEXT))
    assert note.stable
    assert (note.stat.size, note.stat.mtime_ns, note.stat.ctime_ns) == (
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


@every(
    ("path", "real"),
    [
        ("broken.md", "notes/none.md"),
        ("none/new.md", "none/new.md"),
        ("out.md", "out.md"),
        ("notes/deep", "notes/deep"),
    ],
)
def test_a_note_that_cannot_be_read_has_no_file(files: RealFiles, path: str, real: str) -> None:
    loaded = load(files, path)

    assert (loaded.path, loaded.file, loaded.note) == (real, None, None)
