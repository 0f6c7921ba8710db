"""An index that is told of a long note again writes only where it differs, and then holds what a new one would."""

from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.ingest.histories import contents
from vault_memory.index.chunk_rows import Delta
from vault_memory.index.delta_cache import LONG
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.markdown.chunking.chunker import chunk
from vault_memory.markdown.document import parse
from vault_memory.rules.facts.fact import read_facts

SECTIONS = [
    f"## person {number}\n\n" + "".join(f"- likes_{at}: thing {number} {at}\n" for at in range(20))
    for number in range(LONG // 20 + 2)
]
PIECES = [
    "- knows: person 3",
    "- knows: Ann",
    "- also_known_as: Ann",
    "- also_known_as: person 3",
    "- met @ann and @bob",
    "- @ann",
    "## Ann",
    "- likes_1: thing 0 1",
    "- ~~works_at: Acme~~ (2024-01-01 to 2025-01-01)",
    "- says: " + "long " * 60,
    "text",
    "",
]
changes = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 3), st.lists(st.sampled_from(PIECES), max_size=3)),
    min_size=1,
    max_size=6,
)


def put(index: Index, raw: bytes, *, kind: str = "facts", scope: str = "user:ann") -> Delta:
    facts = read_facts(parse(raw), scope) if kind == "facts" else ()
    held = IndexedFile(len(raw), 1, 1, 1, str(hash(raw)), State.SETTLED)
    with index.transaction():
        return index.put(
            IndexEntry("a.md", scope, kind, None, len(raw), held, list(chunk(raw)), facts=facts)
        )


def put_and_fail(index: Index, raw: bytes) -> None:
    held = IndexedFile(1, 1, 1, 1, "r", State.SETTLED)
    with index.transaction():
        index.put(IndexEntry("a.md", "user:ann", "facts", None, 1, held, list(chunk(raw))))
        raise KeyboardInterrupt


def contents_of_new_index(raw: bytes) -> list[tuple[object, ...]]:
    index = Index(":memory:")
    put(index, raw)
    try:
        return list(contents(index))
    finally:
        index.close()


@pytest.mark.sampled
@settings(max_examples=25)
@given(changes)
@example([(0.0, 0, ["- knows: Ann"]), (1.0, 0, ["- knows: Ann"]), (0.0, 1, [])])
@example([(0.5, 0, ["- also_known_as: Ann"]), (0.9, 0, ["- knows: Ann"]), (0.5, 1, [])])
@example([(0.5, 0, ["- @ann", "- @ann"]), (0.5, 1, []), (0.5, 1, [])])
def test_an_incrementally_updated_index_equals_a_new_one(
    history: list[tuple[float, int, list[str]]],
) -> None:
    lines = "".join(SECTIONS).split("\n")
    index = Index(":memory:")
    put(index, "\n".join(lines).encode())
    for place, gone, more in history:
        at = round(place * len(lines))
        lines[at : at + gone] = more
        put(index, "\n".join(lines).encode())
    assert list(contents(index)) == contents_of_new_index("\n".join(lines).encode())
    index.close()


def test_facts_can_always_be_inserted_between_two_others() -> None:
    lines = "".join(SECTIONS).split("\n")
    index = Index(":memory:")
    put(index, "\n".join(lines).encode())
    for number in range(40):
        lines.insert(5, f"- likes_x: number {number}")
        put(index, "\n".join(lines).encode())
    assert list(contents(index)) == contents_of_new_index("\n".join(lines).encode())
    index.close()


def test_only_changed_chunks_are_written() -> None:
    raw = "".join(SECTIONS).encode()
    index = Index(":memory:")
    put(index, raw)
    count = len(chunk(raw))
    before = index.connection.total_changes()

    assert put(index, raw + b"- knows: Bob\n") == Delta(added=1, unchanged=count)
    assert index.connection.total_changes() - before < 20
    index.close()


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(2))
def test_failed_writes_and_writes_of_other_processes_invalidate_the_cache(
    tmp_path, seed: int
) -> None:
    random, pieces = Random(seed), list(SECTIONS)
    index, other = Index(tmp_path / "index.sqlite"), Index(tmp_path / "index.sqlite")
    for _ in range(12):
        pieces[random.randrange(len(pieces))] += random.choice(PIECES) + "\n"
        raw = "".join(pieces).encode()
        match random.randrange(4):
            case 0:
                put(other, raw)
            case 1:
                with index.transaction():
                    index.remove("a.md")
                put(index, raw)
            case 2:
                with pytest.raises(KeyboardInterrupt):
                    put_and_fail(index, raw)
                put(index, raw)
            case _:
                put(index, raw)
        assert list(contents(index)) == contents_of_new_index(raw)
    index.close()
    other.close()
