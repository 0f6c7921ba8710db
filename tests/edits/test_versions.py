"""The versions of a note, who wrote each, and how one of them is named."""

import pytest

from tests.edits.conftest import Desk
from tests.every import every
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.edits.versions import NoteVersion, revision_named, versions_of
from vault_memory.errors import NoteNotFound
from vault_memory.rules.edits.audit_record import Record
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import Version
from vault_memory.vault.write.journal import By

DAY = 86400.0


def stored(revision: str, by: By = "bot") -> Version:
    return Version("USER.md", revision, DAY, by, 1, 7)


def recorded(source: str, after: str, before: str = "") -> Record:
    return Record("id", "", "main", source, "USER.md", before=before, after=after)


def present(revision: str) -> Note:
    return Note("USER.md", b"text", revision, Stat(4, int(2e9), 0, 1, 1), stable=True)


def test_each_stored_version_has_the_source_of_the_record_that_wrote_it() -> None:
    chain = [stored("c"), stored("b", "person"), stored("a")]
    records = [recorded("nightly", "a"), recorded("cli", "b"), recorded("tool", "x", "x")]

    assert versions_of(None, chain, records) == [
        NoteVersion("c", "1970-01-02T00:00:00.000+00:00", "bot", 7),
        NoteVersion("b", "1970-01-02T00:00:00.000+00:00", "person", 7),
        NoteVersion("a", "1970-01-02T00:00:00.000+00:00", "nightly", 7),
    ]


def test_of_two_records_with_one_text_the_newer_version_has_the_later_source() -> None:
    chain = [stored("a"), stored("b", "person"), stored("a")]
    records = [recorded("nightly", "a", "0"), recorded("undo", "a", "b")]

    assert [version.by for version in versions_of(None, chain, records)] == [
        "undo",
        "person",
        "nightly",
    ]
    unchanged = [recorded("tool", "a", "a")]
    assert [version.by for version in versions_of(None, chain[:1], unchanged)] == ["bot"]


@every(("chain", "shown"), [([], ["n"]), (["a"], ["n", "a"]), (["n"], ["n"]), (["a", "n"], "nan")])
def test_the_present_text_comes_first_also_where_it_is_not_stored(
    chain: list[str], shown: list[str]
) -> None:
    found = versions_of(present("n"), [stored(revision, "person") for revision in chain], [])

    assert [version.revision for version in found] == list(shown)
    if not chain or chain[0] != "n":
        assert found[0] == NoteVersion("n", "1970-01-01T00:00:02.000+00:00", "person", 4)


def test_a_version_is_named_by_the_beginning_of_its_revision() -> None:
    known = [NoteVersion(revision, "", "person", 1) for revision in ("ab1", "ab2", "cd3")]

    assert revision_named("cd", known) == "cd3"
    assert revision_named("AB2", known) == "ab2"
    for given, candidates in (("ab", ["ab1", "ab2"]), ("x", []), ("", [])):
        with pytest.raises(UnclearId) as unclear:
            revision_named(given, known)
        assert unclear.value.details["candidates"] == candidates


def test_a_version_is_read_from_the_store_or_from_the_note_itself(desk: Desk) -> None:
    old = desk.raw()
    edit = desk.append("black")
    past = desk.curator.past
    assert edit.before is not None
    assert edit.after is not None

    assert past.version("USER.md", edit.before[:9]) == (edit.before, old)
    assert past.bytes_of("USER.md", edit.after) == desk.raw()
    assert past.bytes_of("USER.md", "0" * 64) is None
    assert past.bytes_of("USER.md", None) is None
    desk.save("## Tea\n\n- of a person\n")
    newest = past.history("USER.md")[0].revision
    assert past.version("USER.md", newest) == (newest, desk.raw())
    assert past.bytes_of("USER.md", newest) == desk.raw()
    desk.save("## Tea\n\n- later\n")
    assert past.bytes_of("USER.md", newest) is None, "it was not stored, and is gone"


def test_a_note_that_never_was_has_no_history(desk: Desk) -> None:
    with pytest.raises(NoteNotFound):
        desk.curator.past.history("memory/none.md")
    assert desk.curator.past.chain("memory/none.md") == []
