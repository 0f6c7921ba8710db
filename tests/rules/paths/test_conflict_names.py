"""The names of conflict copies, as each program makes them; no name is too odd for an answer."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.rules.paths.conflict_names import conflict_copy, copy_of
from vault_memory.rules.paths.filenames import ignored
from vault_memory.vault.write.copy_file import copy_name

NAMES = [
    ("a (conflicted copy 2026-11-21 203312).md", "Nextcloud", "2026-11-21 20:33:12"),
    ("a (conflicted copy ann 2026-11-21 203312).md", "Nextcloud", "2026-11-21 20:33:12"),
    ("a_conflict-20261121-203312.md", "ownCloud", "2026-11-21 20:33:12"),
    ("a_conflict-ann-20261121-203312.md", "ownCloud", "2026-11-21 20:33:12"),
    ("a (Ann's conflicted copy 2026-11-21).md", "Dropbox", "2026-11-21"),
    ("a (Ann (laptop)'s conflicted copy 2026-11-21 (1)).md", "Dropbox", "2026-11-21"),
    ("a.sync-conflict-20261121-203312-ABCDEF7.md", "Syncthing", "2026-11-21 20:33:12"),
    ("a (conflict #1_on_2026-11-21).md", "Unison", "2026-11-21"),
    ("a (conflict #2).md", "Unison", ""),
    ("a.conflict1.md", "rclone", ""),
    ("a (SFConflict ann@example.org 2026-11-21-20-33-12).md", "Seafile", "2026-11-21"),
    ("a (Conflicted copy pixel 202611212033).md", "Obsidian Sync", "2026-11-21 20:33:00"),
    ("a (memory copy 2026-11-21 203312 bot).md", "vault-memory", "2026-11-21 20:33:12"),
    ("a (memory copy 2026-11-21 203312 laptop 2).md", "vault-memory", "2026-11-21 20:33:12"),
    ("a (conflict copy).md", "a sync program", ""),
]


@pytest.mark.scenario("D70", "D79")
@every(("name", "program", "stamp"), NAMES)
def test_each_program_is_recognised_by_its_copy_names(name: str, program: str, stamp: str):
    found = copy_of(name)

    assert found is not None
    assert (found.original, found.program, found.kind, found.stamp) == (
        "a.md",
        program,
        "conflict",
        stamp,
    )
    assert conflict_copy(name) == "a.md"
    assert ignored(name)


@pytest.mark.scenario("D71")
@every("outer", [name for name, _, _ in NAMES])
@every("inner", [name for name, _, _ in NAMES])
def test_a_copy_of_a_copy_belongs_to_the_first_note_and_the_last_program(inner: str, outer: str):
    nested = inner.removesuffix(".md") + outer.removeprefix("a")

    found, last = copy_of(nested), copy_of(outer)

    assert found is not None
    assert last is not None
    assert (found.original, found.program, found.stamp) == ("a.md", last.program, last.stamp)


@pytest.mark.scenario("D71")
@pytest.mark.parametrize("number", [" 2", " (1)", "(3)"])
def test_a_number_after_the_conflict_mark_belongs_to_the_copy(number: str):
    assert conflict_copy(f"a (conflicted copy 2026-11-21 203312){number}.md") == "a.md"


@pytest.mark.parametrize(
    ("name", "program"), [("a 2.md", "iCloud"), ("a (1).md", "Drive"), ("a(1).md", "Drive")]
)
def test_a_bare_number_marks_a_copy_only_if_its_original_exists(name: str, program: str):
    found = copy_of(name, {"a.md"})

    assert copy_of(name) is None
    assert copy_of(name, {"b.md"}) is None
    assert found is not None
    assert (found.original, found.program, found.kind) == ("a.md", program, "guess")
    assert not ignored(name), "it stays a note until a person says otherwise"


@pytest.mark.parametrize(
    "name", ["tee (case clash 1).md", "tee (unicode conflict).md", "tee (Case Conflict 2).md"]
)
def test_a_case_clash_is_distinguished_from_a_conflict(name: str):
    found = copy_of(name)

    assert found is not None
    assert (found.original, found.kind) == ("tee.md", "clash")
    assert ignored(name)


@every(
    "name",
    [
        "a.md",
        "a-LAPTOP.md",
        "conflict.md",
        "team_conflict-resolution.md",
        "On conflict (and its end).md",
        "conflict #1.md",
        "(conflicted copy 2026-11-21 203312).md",
        ".a (conflicted copy 2026-11-21 203312).md",
        "a (my notes on the conflicted copyright).md",
        "the clash (live).md",
        "a (conflicted copy.md",
        "conflicted copy).md",
        "2026-11-21.md",
        "",
        ".",
        ")",
    ],
)
def test_other_names_are_not_copies(name: str):
    assert copy_of(name, {"conflict.md"}) is None
    assert conflict_copy(name) is None


@given(st.text(max_size=300), st.text(max_size=40), st.sets(st.text(max_size=10), max_size=3))
@example("(" * 2000 + "conflicted copy" + ")" * 2000, ".md", set())
@example("a" + " (conflict copy)" * 300, ".md", set())
@example("_conflict-" * 500, ".md", set())
@example("\ud800 (conflicted copy 2026-13-77 999999)", ".md", set())
@example("a" + " " * 3000 + "1", "", {"a"})
def test_any_name_is_handled(stem: str, ending: str, beside: set[str]):
    found = copy_of(stem + ending, beside)

    assert found is None or len(found.original) < len(stem + ending)


@given(
    st.text(
        st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=120
    )
)
@example("字" * 80)
@example("é" * 120)
def test_our_own_copies_are_always_recognised(stem: str):
    name = copy_name(f"{stem}.md", "2026-11-21 203312")

    found = copy_of(name)

    assert len(name.encode()) <= 255
    assert found is None or found.program == "vault-memory"
    assert found is not None or stem.lstrip().startswith(".") or not stem.strip()
