"""A new generation is built beside the old one, which serves until the pointer moves."""

import threading

import pytest

from vault_memory.errors import IndexTooNew
from vault_memory.index import vectors
from vault_memory.index.generations import RULES, Generations
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.markdown.chunking.chunker import chunk


def entry(path="a.md", raw=b"- the boat leaks\n"):
    return IndexEntry(
        path,
        "user:ann",
        "note",
        None,
        len(raw),
        IndexedFile(1, 1, 1, 1, "r", State.SETTLED),
        chunk(raw),
    )


def fill(index):
    with index.transaction():
        index.put(entry())


@pytest.fixture
def generations(tmp_path):
    return Generations(tmp_path / "index")


def test_no_generation_exists_before_the_first_is_built(generations):
    assert generations.open() is None
    assert generations.current == 0


def test_the_old_generation_serves_while_the_next_is_being_built(generations):
    generations.build("rules 1", fill).close()
    seen = []

    def look(index):
        serving = generations.open()
        seen.append((generations.current, serving.counts(), serving.get(RULES)))
        serving.close()
        fill(index)

    generations.build("rules 2", look).close()

    assert seen == [(1, (1, 1), "rules 1")]
    assert generations.current == 2
    assert generations.open().get(RULES) == "rules 2"


def test_a_failed_build_leaves_the_old_generation_serving(generations):
    generations.build("rules 1", fill).close()

    with pytest.raises(ZeroDivisionError):
        generations.build("rules 2", lambda index: 1 / 0)

    assert generations.current == 1
    assert generations.open().counts() == (1, 1)
    assert len(list(generations.folder.glob("index-*.sqlite"))) == 1


def test_a_new_generation_starts_with_the_vectors_of_the_previous_one(generations):
    first = generations.build("rules 1", fill)
    with first.transaction():
        model = vectors.model_id(first, "print", "tiny", 2)
        [(identity, _)] = vectors.pending(first, model, 10)
        vectors.put(first, model, [(identity, b"\0" * 8)])
    first.close()

    second = generations.build("rules 2", fill)

    assert vectors.missing_count(second, vectors.find_model(second, "print")) == 0


def test_an_open_reader_keeps_reading_its_generation(generations):
    reader = generations.build("rules 1", fill)
    generations.build("rules 2", fill).close()

    assert reader.counts() == (1, 1)


@pytest.mark.parametrize(
    "damage", [b"", b"this is no database at all" * 400], ids=["empty", "nonsense"]
)
def test_a_damaged_file_is_set_aside_and_not_served(generations, damage):
    generations.build("rules 1", fill).close()
    for suffix in ("-wal", "-shm"):
        generations.path(1).with_name(generations.path(1).name + suffix).unlink(missing_ok=True)
    generations.path(1).write_bytes(damage)

    found = generations.open()

    assert found is None or found.get(RULES) != "rules 1"


def test_an_index_of_a_newer_version_is_refused_with_a_clear_error(generations):
    generations.build("rules 1", fill).close()
    newer = Index(generations.path(1))
    newer.connection.pragma("user_version", 99)
    newer.close()

    with pytest.raises(IndexTooNew) as refused:
        generations.open()

    assert "99" in refused.value.message
    assert "index --rebuild" in refused.value.hint


@pytest.mark.sampled
def test_a_reader_that_opens_during_changes_always_gets_a_complete_generation(generations):
    generations.build("rules", fill).close()
    stop = threading.Event()
    seen = set()

    def read():
        while not stop.is_set():
            index = generations.open()
            seen.add(index.counts() if index else None)
            if index:
                index.close()

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(30):
        generations.build("rules", fill).close()
    stop.set()
    reader.join()

    assert seen == {(1, 1)}


def test_a_complete_generation_is_one_segment_with_a_log_of_its_own(generations):
    def fill_in_batches(index):
        for number in range(5):
            with index.transaction():
                index.put(entry(f"{number}.md"))

    index = generations.build("rules", fill_in_batches)

    assert index.connection.pragma("journal_mode") == "wal"
    assert index.connection.pragma("synchronous") == 1
    assert not index.connection.in_transaction
    [(segments,)] = index.connection.execute("SELECT count(DISTINCT segid) FROM chunk_fts_idx")
    assert segments == 1
    # No pages remain of segments that were merged.
    assert index.connection.pragma("freelist_count") == 0
    index.close()
