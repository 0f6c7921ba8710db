"""Copies and new files come whole, under a free name, and readable by whom they concern."""

from pathlib import Path

import pytest

from tests.every import every
from tests.vault.write.lines import note
from tests.vault.write.templates import NEW, NOTE, OLD, TEMPLATES, begin
from vault_memory.errors import BadPath, NoteNotWritable
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.copy_file import copy_name
from vault_memory.vault.write.create import add_file, write_copy
from vault_memory.vault.write.wait_reasons import LASTING, WORDS, refuse_lasting

STAMP = "2026-11-21 203312"


@every(
    ("name", "number", "copy"),
    [
        ("USER.md", 1, "USER (memory copy 2026-11-21 203312 bot).md"),
        ("USER.md", 2, "USER (memory copy 2026-11-21 203312 bot 2).md"),
        ("README", 1, "README (memory copy 2026-11-21 203312 bot)"),
        (".md", 1, ".md (memory copy 2026-11-21 203312 bot)"),
        ("a.tar.gz", 1, "a.tar (memory copy 2026-11-21 203312 bot).gz"),
        ("a .md", 1, "a (memory copy 2026-11-21 203312 bot).md"),
    ],
)
def test_a_copy_is_named_after_its_note_and_moment(name: str, number: int, copy: str) -> None:
    assert copy_name(name, STAMP, number=number) == copy


def test_the_name_of_a_copy_fits_and_is_not_cut_inside_a_letter() -> None:
    made = copy_name("\u00e4" * 126 + ".md", STAMP, by="laptop")

    assert made.endswith(f" (memory copy {STAMP} laptop).md")
    assert 253 <= len(made.encode()) <= 255


def test_two_conflicts_in_one_second_have_two_copies_and_the_same_one_has_one() -> None:
    world = begin(TEMPLATES[0])
    live = note("a", "CONFLICT")
    world.files.person_saves(NOTE, live)
    world.later(60)

    first = world.write(NOTE, NEW, OLD)
    again = world.write(NOTE, NEW, OLD, "op-2")
    other = world.write(NOTE, note("z"), OLD, "op-3")

    assert [done.outcome for done in (first, again, other)] == ["copied"] * 3
    assert world.files.text(NOTE) == live
    copies = [name for name in world.files.names("memory") if "memory copy" in name]
    assert [world.files.text(f"memory/{name}") for name in copies] == [note("z"), NEW]
    assert world.strays() == []


def test_a_late_text_that_cannot_be_merged_takes_the_place_of_the_bots_text() -> None:
    world = begin(TEMPLATES[0])
    editor = world.files.number_of(NOTE)
    world.files.others[editor] = 1
    world.write(NOTE, NEW, OLD)
    late = note("a", "CONFLICT")

    world.files.person_writes(editor, late)
    world.files.others.pop(editor)
    world.tend_until_quiet()

    assert world.files.text(NOTE) == late, "the person's text has the name"
    [copy] = [name for name in world.files.names("memory") if "memory copy" in name]
    assert world.files.text(f"memory/{copy}") == NEW
    assert world.writer.snapshots.chain(NOTE)[0].revision == revision_of(late)


def test_a_new_file_is_added_with_its_folders_under_a_free_name(tmp_path: Path) -> None:
    assert add_file(tmp_path, "a/b/c.md", b"text")
    assert not add_file(tmp_path, "a/b/c.md", b"other")

    assert (tmp_path / "a/b/c.md").read_bytes() == b"text"
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["c.md"]
    with pytest.raises(BadPath):
        add_file(tmp_path, "../c.md", b"text")


@pytest.mark.usefixtures("usual_umask")
def test_what_a_person_did_not_save_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    for path, mode in (("a.md", 0o644), ("INBOX.md", 0o600), ("t/x.jsonl", 0o600)):
        add_file(tmp_path, path, b"text")
        write_copy(tmp_path / "copies" / path, b"text")
        for file in (tmp_path / path, tmp_path / "copies" / path):
            assert file.read_bytes() == b"text"
            assert file.stat().st_mode & 0o777 == mode, file


def test_a_reason_that_only_a_person_removes_is_refused_with_its_words() -> None:
    for reason in WORDS:
        if reason not in LASTING:
            refuse_lasting("a.md", reason)
            continue
        with pytest.raises(NoteNotWritable) as refused:
            refuse_lasting("a.md", reason)
        assert WORDS[reason] in str(refused.value)
    refuse_lasting("a.md", "")
