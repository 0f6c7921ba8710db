"""A search reads the texts that wait to be written, beside the writer and whatever becomes of its journal."""

from pathlib import Path

from tests.vault.write.lines import note
from tests.vault.write.test_write import NEW, OLD, now, put
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.pending_writes import FILE, PendingTexts
from vault_memory.vault.write.writer import Writer


def texts_of(tmp_path: Path) -> PendingTexts:
    return PendingTexts(tmp_path / "state")


def test_without_a_journal_nothing_waits_and_none_is_made(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()

    assert texts_of(tmp_path).listed() == ()
    assert list((tmp_path / "state").iterdir()) == []


def test_waiting_texts_are_listed_and_read_until_they_are_written(
    root: Path, writer: Writer, tmp_path: Path
) -> None:
    texts = texts_of(tmp_path)
    put(writer, quiet=300.0, op_id="first")
    put(writer, "new.md", note("new"), None, "done")
    (root / "hot.md").write_bytes(OLD)
    put(writer, "hot.md", note("c"), OLD, "second", quiet=300.0)

    first, second = texts.listed()

    assert (first.op_id, first.path, first.base) == ("first", "USER.md", revision_of(OLD))
    assert (second.op_id, second.path, second.content) == (
        "second",
        "hot.md",
        revision_of(note("c")),
    )
    read = texts.read(first)
    assert read is not None
    assert read.raw == NEW
    writer.discard("first")
    assert [text.op_id for text in texts.listed()] == ["second"]
    texts.close()
    assert [text.op_id for text in texts.listed()] == ["second"]
    texts.close()


def test_a_text_comes_with_the_version_that_it_was_made_from_where_that_is_kept(
    root: Path, writer: Writer, tmp_path: Path
) -> None:
    put(writer, op_id="first")
    (root / "USER.md").write_bytes(NEW + b"ann\n")
    put(writer, new=NEW + b"more\n", old=NEW, op_id="second", quiet=300.0, at=now())
    texts = texts_of(tmp_path)

    [text] = texts.listed()
    read = texts.read(text)

    assert read is not None
    assert (read.before, read.raw) == (NEW, NEW + b"more\n")
    texts.close()


def test_a_damaged_journal_fails_no_search_and_its_successor_is_read(
    writer: Writer, tmp_path: Path
) -> None:
    put(writer, quiet=300.0)
    texts = texts_of(tmp_path)
    [text] = texts.listed()
    texts.close()
    writer.close()
    file = tmp_path / "state" / FILE
    healthy = file.read_bytes()
    file.rename(tmp_path / "away")
    assert (texts.listed(), texts.read(text)) == ((), None)
    file.write_bytes(b"no database" * 500)
    assert (texts.listed(), texts.read(text)) == ((), None)
    file.unlink()
    file.write_bytes(healthy)
    assert texts.listed() == (text,)
    texts.close()
