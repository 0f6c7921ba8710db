"""What was removed from an index is gone from its file, also where somebody was about to add to it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from vault_memory.index.index_erase import notes_holding, sweep, unused
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.ingest.embed_pending import embed_pending
from vault_memory.ingest.note import forget_note
from vault_memory.markdown.chunking.chunker import chunk


class Embedder:
    """Of one dimension; something happens while it computes."""

    name, fingerprint, dimensions = "small", "small-1", 1

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self._meanwhile = meanwhile

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        self._meanwhile()
        return [b"\0\0\x80\x3f" for _ in texts]


def put(index: Index, path: str, text: str) -> None:
    held = IndexedFile(-1, -1, -1, -1, path, State.SETTLED)
    with index.transaction():
        index.put(
            IndexEntry(path, "user:main", "note", None, len(text), held, chunk(text.encode()))
        )


def vectors(index: Index) -> int:
    return int(next(iter(index.connection.execute("SELECT count(*) FROM vector")))[0])


def test_words_and_vectors_are_erased_with_their_last_chunk(tmp_path: Path):
    file = tmp_path / "index.sqlite"
    index = Index(file)
    for number in range(50):
        put(index, f"{number}.md", f"# Page\n\n- tea number {number}\n")
    put(index, "gone.md", "# Page\n\n- the zephyrine can\n")
    embed_pending(index, Embedder())
    assert notes_holding(index, lambda text: "zephyrine" in text) == {"gone.md": ("user:main", 1)}

    codes = "SELECT count(*) FROM note_code"
    assert index.connection.execute(codes).fetchall() == [(51,)]

    forget_note(index, "gone.md")
    assert index.connection.execute(codes).fetchall() == [(50,)]
    assert unused(index) == 1
    assert sweep(index)

    assert (unused(index), vectors(index)) == (0, 50)
    assert not any(b"zephyrin" in each.read_bytes() for each in tmp_path.iterdir())
    index.close()


def test_a_vector_computed_during_the_erasure_is_not_stored(tmp_path: Path):
    index, other = Index(tmp_path / "index.sqlite"), Index(tmp_path / "index.sqlite")
    put(index, "gone.md", "# Page\n\n- the zephyrine can\n")
    put(index, "kept.md", "# Page\n\n- tea\n")

    def forget() -> None:
        if "gone.md" in other.files():
            forget_note(other, "gone.md")
            assert sweep(other)

    embed_pending(index, Embedder(forget))

    assert (unused(index), vectors(index)) == (0, 1)
    index.close()
    other.close()


def test_erasing_reports_a_file_that_another_reader_kept_from_being_compacted(tmp_path: Path):
    index, other = Index(tmp_path / "index.sqlite"), Index(tmp_path / "index.sqlite")
    put(index, "kept.md", "# Page\n\n- tea\n")
    index.connection.set_busy_timeout(10)
    with other.reading():
        other.counts()
        put(index, "more.md", "# Page\n\n- more tea\n")

        assert not sweep(index)

    assert sweep(index)
    index.close()
    other.close()
