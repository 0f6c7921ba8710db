"""A note goes into the index whole, and what is the same stays where it is."""

import pytest

from tests.search.library import library
from vault_memory.index import fts_search as text
from vault_memory.index.chunk_rows import Delta
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.markdown.chunking.chunker import chunk

HELD = IndexedFile(1, 1, 1, 1, "r", State.SETTLED)


@pytest.fixture
def index(tmp_path):
    with_notes = Index(tmp_path / "index.sqlite")
    yield with_notes
    with_notes.close()


def put(index, raw, *, path="a.md", scope="user:ann", date=None):
    with index.transaction():
        return index.put(IndexEntry(path, scope, "note", date, len(raw), HELD, chunk(raw)))


def rows(index):
    return list(index.connection.execute("SELECT id, first_line, text FROM chunk ORDER BY ordinal"))


def test_a_line_at_the_top_adds_one_chunk_and_moves_the_others(index):
    raw = b"".join(b"- line %d\n" % number for number in range(2000))
    assert put(index, raw) == Delta(added=2000)
    before = {text: id_ for id_, _, text in rows(index)}

    delta = put(index, b"- new\n" + raw)

    assert delta == Delta(added=1, unchanged=2000)
    assert {text: id_ for id_, _, text in rows(index) if text != "- new"} == before
    assert [line for _, line, _ in rows(index)] == list(range(1, 2002))


def test_two_identical_lines_in_one_note_are_two_chunks(index):
    put(index, b"- tea\n- milk\n- tea\n")

    assert put(index, b"- tea\n- milk\n") == Delta(unchanged=2, removed=1)
    assert put(index, b"- tea\n- tea\n- tea\n") == Delta(added=2, unchanged=1, removed=1)


def test_a_note_that_changes_its_scope_leaves_nothing_in_the_old_one(index):
    put(index, b"- tea\n")
    put(index, b"- tea\n", scope="user:anna")

    assert index.scopes() == ["user:anna"]
    assert index.counts() == (1, 1)


def test_removing_a_note_removes_its_text(index):
    put(index, b"- tea\n")
    with index.transaction():
        assert index.remove("a.md") == Delta(removed=1)

    assert index.counts() == (0, 0)
    assert list(index.connection.execute("SELECT rowid FROM chunk_fts('tea')")) == []


def test_a_failed_write_leaves_the_note_unchanged(index):
    put(index, b"- tea\n")

    def fail():
        with index.transaction():
            index.put(IndexEntry("a.md", "user:ann", "note", None, 1, HELD, chunk(b"- milk\n")))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()

    assert [text for _, _, text in rows(index)] == ["- tea"]


def test_the_change_counter_changes_after_every_write_of_any_process(index):
    first = index.change_counter
    put(index, b"- tea\n")
    second = index.change_counter
    other = Index(index.path)
    put(other, b"- milk\n")

    assert len({first, second, index.change_counter}) == 3


def test_scopes_are_compared_byte_by_byte(index):
    put(index, b"- tea\n", scope="user:Ann")
    put(index, b"- tea\n", path="b.md", scope="user:e\u0301")

    assert index.scope_ids(["user:ann", "user:Anna", "user:An", "user:\u00e9"]) == []
    assert len(index.scope_ids(["user:Ann", "user:Ann", "user:e\u0301"])) == 2


def steps_of(index, ask):
    """How many steps of SQLite's machine a question takes."""
    steps = [0]

    def count():
        steps[0] += 1
        return False

    index.connection.set_progress_handler(count, 1)
    try:
        ask()
    finally:
        index.connection.set_progress_handler(None)
    return steps[0]


def test_a_query_in_one_scope_does_not_read_all_other_scopes():
    asked = []
    for others in (3, 300):
        index = library(
            {(f"user:p{number}", f"{number}.md"): "- boat\n" for number in range(others)},
            embedded=False,
        )
        [scope] = index.scope_ids(["user:p1"])
        asked.append(
            (
                steps_of(index, lambda index=index: index.scope_ids(["user:p1", "user:nobody"])),
                steps_of(
                    index, lambda index=index, scope=scope: text.within_scopes(index, [scope])
                ),
            )
        )

    assert asked[0] == asked[1]


def test_listing_the_scopes_does_not_read_all_notes():
    few, many = (
        library(
            {("user:ann", f"{number}.md"): "- boat\n" for number in range(notes)}, embedded=False
        )
        for notes in (3, 300)
    )

    assert steps_of(many, many.scopes) == steps_of(few, few.scopes)


def test_a_scope_name_that_cannot_be_encoded_is_unknown():
    index = library({("user:ann", "a.md"): "- boat\n"}, embedded=False)

    assert index.scope_ids(["user:\ud800", "user:ann", "user:ann"]) == index.scope_ids(["user:ann"])
