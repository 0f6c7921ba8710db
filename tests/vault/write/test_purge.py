"""A text that is forgotten leaves the versions, the trash, the waiting writes and the names outside the vault."""

from datetime import timedelta
from pathlib import Path

from tests.vault.write.lines import note
from tests.vault.write.templates import NOTE, TEMPLATES, begin, write
from tests.vault.write.test_write import now, put
from tests.vault.write.world import World
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.purge import Eraser
from vault_memory.vault.write.writer import Writer

OLD = note("a", "b")
SECRET = note("a", "b", "secret")
REST = note("a", "b", "")


def cut(path: str, raw: bytes) -> bytes:
    return raw.replace(b"secret", b"")


def redact_record(record: bytes) -> bytes | None:
    """Of a record that begins with the text nothing remains."""
    return None if record.startswith(b"secret") else record.replace(b"secret", b"")


ERASER = Eraser(cut, redact_record, lambda path: path.replace("secret", "masked"))


def blobs(writer: Writer) -> bytes:
    revisions = writer.journal.execute("SELECT revision FROM blobs")
    return b"".join(writer.snapshots.bytes_of(revision) or b"" for (revision,) in list(revisions))


def test_versions_the_trash_and_waiting_writes_lose_the_text(root: Path, writer: Writer) -> None:
    put(writer, new=SECRET)
    (root / "gone.md").write_bytes(SECRET)
    writer.trash("gone.md", expected=revision_of(SECRET), now=now(), op_id="gone")
    (root / "hot.md").write_bytes(OLD)
    put(writer, "hot.md", SECRET, OLD, "waits", quiet=300.0, record=b"of secret")
    put(writer, "hot.md", SECRET, OLD, "ends", quiet=300.0, record=b"secret")

    looked = writer.erase(ERASER, now(), dry_run=True)
    assert b"secret" in blobs(writer)
    erased = writer.erase(ERASER, now())

    assert (erased.versions, erased.trash, erased.waiting) == (2, 1, 2)
    assert (looked.versions, looked.trash, looked.waiting) == (2, 1, 2)
    assert erased.count == looked.count == 5
    assert erased.compacted
    assert b"secret" not in blobs(writer)
    assert [version.revision for version in writer.snapshots.chain("USER.md")] == [
        revision_of(REST),
        revision_of(OLD),
    ]
    assert [thrown.revision for thrown in writer.thrown()] == [revision_of(REST)]
    [waiting] = writer.pending()
    assert (waiting.op_id, waiting.record) == ("waits", b"of ")
    assert writer.content(waiting) == REST
    assert writer.erase(ERASER, now()).count == 0


def test_versions_that_became_equal_are_one(root: Path, writer: Writer) -> None:
    put(writer, new=SECRET, op_id="1")
    put(writer, new=note("a", "b", ""), old=SECRET, op_id="2", at=now() + timedelta(seconds=9))
    assert len(writer.snapshots.chain("USER.md")) == 3

    writer.erase(ERASER, now())

    assert [version.revision for version in writer.snapshots.chain("USER.md")] == [
        revision_of(REST),
        revision_of(OLD),
    ]


def test_the_name_of_a_note_that_is_gone_is_masked_and_that_of_one_that_exists_stays(
    root: Path, writer: Writer
) -> None:
    for path in ("secret/gone.md", "secret.md", "folder/secret.md"):
        (root / path).parent.mkdir(exist_ok=True)
        put(writer, path, OLD, None, path)
    (root / "secret/gone.md").unlink()
    (root / "secret").rmdir()
    (root / "folder/secret.md").unlink()

    assert writer.erase(ERASER, now(), dry_run=True).names == 2
    erased = writer.erase(ERASER, now())

    assert erased.names == 2
    assert writer.snapshots.chain("secret/gone.md") == []
    assert writer.snapshots.chain("folder/secret.md") == []
    assert len(writer.snapshots.chain("masked/gone.md")) == 1
    assert len(writer.snapshots.chain("folder/masked.md")) == 1
    assert len(writer.snapshots.chain("secret.md")) == 1
    assert writer.erase(ERASER, now()).names == 0


def displaced() -> tuple[World, int]:
    """A world in which an editor has the file open that a write displaced."""
    world = begin(TEMPLATES[0])
    editor = world.files.number_of(NOTE)
    world.files.others[editor] = 1
    write(world)
    assert world.strays()
    return world, editor


def of_line(line: bytes) -> Eraser:
    return Eraser(lambda path, raw: raw.replace(line, b""), lambda record: record)


def test_a_displaced_file_with_the_text_stays_while_an_editor_may_save_into_it() -> None:
    world, editor = displaced()

    erased = world.writer.erase(of_line(b"a\n"), world.now)
    assert erased.lingering == [f"memory/{world.strays()[0]}"]
    world.files.others.pop(editor)
    erased = world.writer.erase(of_line(b"a\n"), world.now)

    assert erased.lingering == []
    assert (world.strays(), world.journal.displaced()) == ([], [])


def test_a_late_save_is_not_removed_and_a_file_without_the_text_is_left() -> None:
    world, editor = displaced()
    assert world.writer.erase(of_line(b"nothing of it\n"), world.now).lingering == []
    assert world.strays()

    world.files.person_writes(editor, note("a", "b", "late"))
    world.files.others.pop(editor)
    world.files.leases = False
    erased = world.writer.erase(of_line(b"a\n"), world.now)

    assert len(erased.lingering) == 1
    world.files.leases = True
    world.tend_until_quiet()
    assert b"late\n" in (world.files.text(NOTE) or b"")


def test_a_displaced_file_that_a_person_removed_holds_nothing_up() -> None:
    world, _ = displaced()
    world.files.person_removes(f"memory/{world.strays()[0]}")

    assert world.writer.erase(of_line(b"a\n"), world.now).lingering == []
    assert world.journal.displaced() == []
