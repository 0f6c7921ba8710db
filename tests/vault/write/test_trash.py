"""The trash: a note leaves the vault only as it was meant to, and can be had back."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.vault.write.lines import note
from tests.vault.write.test_write import names, now, put
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.writer import Writer

OLD = note("a", "b")


def test_a_note_is_moved_out_of_the_vault_and_can_be_restored(root: Path, writer: Writer) -> None:
    done = writer.trash("USER.md", expected=revision_of(OLD), now=now(), op_id="gone")

    assert done.outcome == "trashed"
    assert names(root) == []
    thrown = writer.thrown()
    assert [(one.id, one.path, one.revision) for one in thrown] == [
        ("gone", "USER.md", revision_of(OLD))
    ]

    assert writer.untrash("gone", now=now(), op_id="back").outcome == "written"
    assert (root / "USER.md").read_bytes() == OLD
    assert writer.thrown() == []


def test_an_edit_wins_over_a_deletion(root: Path, writer: Writer) -> None:
    (root / "USER.md").write_bytes(note("a", "b", "ann"))

    assert (
        writer.trash("USER.md", expected=revision_of(OLD), now=now(), op_id="gone").outcome
        == "unchanged"
    )
    assert (root / "USER.md").read_bytes() == note("a", "b", "ann")
    assert writer.thrown() == []


def test_saving_from_an_open_editor_brings_a_trashed_note_back(root: Path, writer: Writer) -> None:
    at = datetime.now(UTC)
    with open(root / "USER.md", "ab", buffering=0) as editor:
        writer.trash("USER.md", expected=revision_of(OLD), now=at, op_id="gone")
        editor.write(b"ann\n")

    for seconds in (1, 5, 10, 20, 100):
        writer.tend(at + timedelta(seconds=seconds))

    assert (root / "USER.md").read_bytes() == note("a", "b", "ann")
    assert names(root) == ["USER.md"]


def test_a_note_created_in_the_meantime_is_not_replaced_by_a_restore(
    root: Path, writer: Writer
) -> None:
    writer.trash("USER.md", expected=revision_of(OLD), now=now(), op_id="gone")
    (root / "USER.md").write_bytes(note("new"))

    done = writer.untrash("gone", now=now() + timedelta(seconds=5), op_id="back")

    assert done.outcome == "copied"
    assert (root / "USER.md").read_bytes() == note("new")
    assert any("memory copy" in name and (root / name).read_bytes() == OLD for name in names(root))


def test_the_trash_is_emptied_after_a_month(root: Path, writer: Writer) -> None:
    writer.trash("USER.md", expected=revision_of(OLD), now=now(), op_id="gone")

    for day in (1, 8, 15, 22, 29):
        writer.prune(now() + timedelta(days=day))
    assert len(writer.thrown()) == 1
    writer.prune(now() + timedelta(days=31))
    assert writer.thrown() == []


def test_a_write_after_trashing_starts_a_new_note(root: Path, writer: Writer) -> None:
    writer.trash("USER.md", expected=revision_of(OLD), now=now(), op_id="gone")

    assert put(writer, new=note("again"), old=None, op_id="op").outcome == "written"
    assert (root / "USER.md").read_bytes() == note("again")
