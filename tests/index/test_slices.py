"""A large note is written and removed in slices: in the end the index says the same as if it had been done at once."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vault_memory.index import slices as slices_module
from vault_memory.index.slices import put_in_slices, remove_in_slices
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.markdown.chunking.chunker import chunk

OTHER = "- a stork in the reeds\n- greets @mira\n"


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices_module, "SLICE", 3)


def entry(path: str, text: str, scope: str = "user:mira") -> IndexEntry:
    held = IndexedFile(len(text), 1, 1, 1, f"revision of {text}", State.SETTLED)
    return IndexEntry(path, scope, "note", None, len(text), held, chunk(text.encode()))


def put(index: Index, one: IndexEntry) -> None:
    with index.transaction():
        index.put(one)


def dump(index: Index) -> list[set[object]]:
    """All that the index says, without row ids."""
    return [
        set(index.connection.execute(sql))
        for sql in (
            "SELECT path, scope.name, kind, bytes, revision, state FROM note JOIN scope ON scope.id = note.scope",
            "SELECT path, ordinal, first_line, last_line, hex(identity), heading, text, scope.name FROM chunk"
            " JOIN note ON note.id = chunk.note JOIN scope ON scope.id = chunk.scope",
            "SELECT path, key, type, count FROM mention JOIN note ON note.id = mention.note",
            "SELECT scope.name, chunks, words FROM volume JOIN scope ON scope.id = volume.scope",
            "SELECT text FROM chunk WHERE id IN (SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH 'stork OR item')",
            "SELECT count(*) FROM chunk_fts_docsize",
        )
    ]


def text_of(draw: Random) -> str:
    lines = [
        f"- item {draw.randrange(12)} @friend{draw.randrange(3)}" for _ in range(draw.randrange(25))
    ]
    return "\n".join(["## Things", *lines])


@pytest.mark.sampled
@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_an_index_written_in_slices_equals_one_built_afresh(seed: int) -> None:
    draw = Random(seed)
    index = Index(":memory:")
    last: dict[str, IndexEntry] = {}
    for _ in range(8):
        path = draw.choice(["a.md", "b.md"])
        scope = draw.choice(["user:mira", "user:bo"])
        wanted = entry(path, text_of(draw), scope)
        gone = draw.random() < 0.3
        steps = remove_in_slices(index, path) if gone else put_in_slices(index, wanted)
        others = 0
        for _ in steps:
            if draw.random() < 0.3:
                others += 1
                put(index, entry("other.md", OTHER * others))
                last["other.md"] = entry("other.md", OTHER * others)
        last.pop(path, None)
        if not gone:
            last[path] = wanted
    afresh = Index(":memory:")
    for one in last.values():
        put(afresh, one)

    assert dump(index) == dump(afresh)


def test_a_partly_written_note_counts_as_stale_and_is_parsed_again(tmp_path: Path) -> None:
    index = Index(tmp_path / "index.sqlite")
    wanted = entry("a.md", "\n".join(f"- item {number}" for number in range(20)))
    steps = put_in_slices(index, wanted)
    for _ in range(4):
        next(steps)

    assert index.stale() == ["a.md"]
    held = index.file("a.md")
    assert held is not None
    assert held.revision != wanted.file.revision
    assert held.size == -1, "a scan takes it for changed"

    put(index, wanted)
    afresh = Index(":memory:")
    put(afresh, wanted)
    assert dump(index) == dump(afresh)


@pytest.mark.parametrize("removing", [True, False])
def test_a_newer_write_of_another_process_is_not_overwritten(
    tmp_path: Path, removing: bool
) -> None:
    index, other = Index(tmp_path / "index.sqlite"), Index(tmp_path / "index.sqlite")
    put(index, entry("a.md", "\n".join(f"- item {number}" for number in range(20))))
    newer = entry("a.md", "- newer\n")
    steps = (
        remove_in_slices(index, "a.md")
        if removing
        else put_in_slices(index, entry("a.md", "- item 1\n- item x\n"))
    )
    next(steps)
    put(other, newer)

    assert list(steps) == []

    afresh = Index(":memory:")
    put(afresh, newer)
    assert dump(index) == dump(afresh)
