"""One write on a real disk: what it keeps, what makes it wait, and what becomes of what it displaced."""

import os
import signal
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.vault.write.lines import merge_lines, note
from vault_memory.errors import BadPath
from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.filenames import ignored
from vault_memory.vault.fs import RealFiles
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.atomic_swap import temporary
from vault_memory.vault.write.attempt import WriteResult
from vault_memory.vault.write.journal import FILE
from vault_memory.vault.write.replacement import Replacement
from vault_memory.vault.write.writer import Writer

OLD, NEW = note("a", "b"), note("a", "b", "bot")


def now() -> datetime:
    return datetime.now(UTC)


def put(
    writer: Writer,
    path: str = "USER.md",
    new: bytes = NEW,
    old: bytes | None = OLD,
    op_id: str = "op",
    at: datetime | None = None,
    quiet: float = 0.0,
    record: bytes = b"",
) -> WriteResult:
    expected = None if old is None else revision_of(old)
    replacement = Replacement(path, new, expected=expected, op_id=op_id, quiet=quiet, record=record)
    return writer.write(replacement, now=at or now())


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def test_a_write_replaces_the_note_and_leaves_nothing_behind(root: Path, writer: Writer) -> None:
    done = put(writer)

    assert (done.outcome, done.before, done.after) == (
        "written",
        revision_of(OLD),
        revision_of(NEW),
    )
    assert (root / "USER.md").read_bytes() == NEW
    assert names(root) == ["USER.md"]
    assert [version.revision for version in writer.snapshots.chain("USER.md")] == [
        revision_of(NEW),
        revision_of(OLD),
    ]
    assert writer.snapshots.bytes_of(revision_of(OLD)) == OLD


def test_unusual_bytes_are_written_unchanged(root: Path, writer: Writer) -> None:
    odd = b"\xef\xbb\xbfone\r\ntwo \xff\x00 no newline"

    put(writer, new=odd)

    assert (root / "USER.md").read_bytes() == odd


def test_the_journal_is_private(writer: Writer, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert (tmp_path / "state" / FILE).exists()


def test_a_new_note_is_created_with_its_folders(
    root: Path, writer: Writer, usual_umask: None
) -> None:
    done = put(writer, "Users/ann/memories/new.md", old=None)

    assert done.outcome == "written"
    assert (root / "Users/ann/memories/new.md").read_bytes() == NEW
    assert stat.S_IMODE((root / "Users/ann/memories/new.md").stat().st_mode) == 0o644


def test_a_new_note_never_replaces_one_created_earlier(root: Path, writer: Writer) -> None:
    done = put(writer, new=note("bot"), old=None)

    assert done.outcome == "merged"
    assert (root / "USER.md").read_bytes() == note("a", "b", "bot")


def test_changes_since_the_note_was_read_are_merged(root: Path, writer: Writer) -> None:
    writer.snapshots.record("USER.md", OLD, at=0.0)
    (root / "USER.md").write_bytes(note("a", "b", "ann"))

    done = put(writer)

    assert done.outcome == "merged"
    assert (root / "USER.md").read_bytes() == note("a", "b", "ann", "bot")


def test_repeating_a_write_does_nothing(root: Path, writer: Writer) -> None:
    first = put(writer, record=b"{}")
    (root / "USER.md").write_bytes(OLD)

    assert put(writer, record=b"{}") == first
    assert (root / "USER.md").read_bytes() == OLD


@pytest.mark.scenario("A31")
def test_mode_owner_and_attributes_are_kept(root: Path, writer: Writer) -> None:
    path = root / "USER.md"
    path.chmod(0o640)
    acl = bytes.fromhex(
        "02000000 01000600ffffffff 02000400 01000000 04000400ffffffff 10000400ffffffff 20000000ffffffff"
    )
    attributes = {"user.tag": b"blue", "system.posix_acl_access": acl}
    try:
        for name, value in attributes.items():
            os.setxattr(path, name, value)
    except OSError:
        pytest.skip("the file system has no extended attributes")
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    before = path.stat()

    put(writer)

    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == attributes


def test_a_write_of_the_same_size_in_the_same_second_changes_the_mtime(
    root: Path, writer: Writer
) -> None:
    before = (root / "USER.md").stat()

    put(writer, new=note("b", "a"))

    after = (root / "USER.md").stat()
    assert (after.st_size, int(after.st_mtime)) != (before.st_size, int(before.st_mtime))


@pytest.mark.scenario("A30")
@pytest.mark.parametrize("absolute", [False, True])
def test_a_symlink_in_the_vault_is_kept_and_its_target_is_written(
    root: Path, writer: Writer, absolute: bool
) -> None:
    (root / "notes").mkdir()
    (root / "notes/real.md").write_bytes(OLD)
    (root / "LINK.md").symlink_to(root / "notes/real.md" if absolute else "notes/real.md")

    done = put(writer, "LINK.md")

    assert done.path == "notes/real.md"
    assert (root / "LINK.md").is_symlink()
    assert (root / "notes/real.md").read_bytes() == NEW


@pytest.mark.scenario("A30", "H120")
def test_nothing_outside_the_vault_is_ever_written(
    root: Path, writer: Writer, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_bytes(OLD)
    (root / "LINK.md").symlink_to(outside / "x.md")
    (root / "UP.md").symlink_to("../outside/x.md")
    (root / "folder").symlink_to(outside)
    (root / "LOOP.md").symlink_to("LOOP.md")

    for number, path in enumerate(("LINK.md", "UP.md", "folder/x.md", "LOOP.md")):
        assert put(writer, path, op_id=f"op-{number}").reason == "outside"
    with pytest.raises(BadPath):
        put(writer, "../outside/x.md")

    assert (outside / "x.md").read_bytes() == OLD


def _read_only(path: Path) -> None:
    path.chmod(0o444)


def _second_name(path: Path) -> None:
    os.link(path, path.with_name("second"))


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _gone(path: Path) -> None:
    path.unlink()


def _vim(path: Path) -> None:
    (path.parent / ".USER.md.swp").write_bytes(b"")


def _emacs(path: Path) -> None:
    (path.parent / ".#USER.md").symlink_to("ann@pi4.4711:1769600000")


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _cut_off(path: Path) -> None:
    path.write_bytes(OLD[:3])


@pytest.mark.scenario("A3", "A24", "A28", "A29")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_read_only, "read_only"),
        (_second_name, "hard_link"),
        (_folder, "no_file"),
        (_gone, "absent"),
        (_vim, "in_editor"),
        (_emacs, "in_editor"),
        (_emptied, "truncated"),
        (_cut_off, "truncated"),
    ],
)
def test_a_write_that_must_wait_touches_nothing(
    root: Path, writer: Writer, change: Callable[[Path], None], reason: str
) -> None:
    writer.snapshots.record("USER.md", OLD, at=0.0)
    change(root / "USER.md")
    before = (
        names(root),
        (root / "USER.md").read_bytes() if (root / "USER.md").is_file() else None,
    )

    done = put(writer)

    assert (done.outcome, done.reason) == ("pending", reason)
    assert done.explanation
    assert before == (
        names(root),
        (root / "USER.md").read_bytes() if (root / "USER.md").is_file() else None,
    )
    assert [op.reason for op in writer.pending()] == [reason]
    assert writer.content(writer.pending()[0]) == NEW


@pytest.mark.scenario("A28")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of somebody else")
def test_a_note_of_another_user_is_left_alone(root: Path, tmp_path: Path) -> None:
    files = RealFiles(root)
    files.uid = 1000

    with_another = Writer.open(root, tmp_path / "other", merge_lines, files=files)

    assert put(with_another).reason == "not_ours"
    with_another.close()


@pytest.mark.scenario("A22")
def test_a_write_waits_until_the_note_has_been_quiet(root: Path, writer: Writer) -> None:
    began = now()

    assert put(writer, at=began, quiet=2.0).reason == "hot"

    assert writer.tend(began + timedelta(seconds=1)) == []
    assert [done.outcome for done in writer.tend(began + timedelta(seconds=2.5))] == ["written"]
    assert (root / "USER.md").read_bytes() == NEW


@pytest.mark.scenario("A4")
def test_a_note_open_for_writing_is_left_alone_for_a_while(root: Path, writer: Writer) -> None:
    began = now()
    with open(root / "USER.md", "ab") as editor:
        assert put(writer, at=began).reason == "hot"
        editor.write(b"ann\n")

    assert [done.outcome for done in writer.tend(now())] == ["merged"]
    assert (root / "USER.md").read_bytes() == note("a", "b", "ann", "bot")


@pytest.mark.scenario("A3")
def test_an_emptied_note_is_accepted_after_a_hold(root: Path, writer: Writer) -> None:
    writer.snapshots.record("USER.md", OLD, at=0.0)
    (root / "USER.md").write_bytes(b"")
    began = now()
    put(writer, at=began)

    done = writer.tend(began + timedelta(seconds=4))

    assert [one.outcome for one in done] == ["merged"]
    assert (root / "USER.md").read_bytes() == note("bot")
    assert writer.snapshots.bytes_of(revision_of(OLD)) == OLD


def test_a_dead_editors_lock_blocks_writes_only_for_minutes(root: Path, writer: Writer) -> None:
    _vim(root / "USER.md")
    began = now()
    put(writer, at=began)

    assert writer.tend(began + timedelta(minutes=9)) == []
    assert [one.outcome for one in writer.tend(began + timedelta(minutes=11))] == ["written"]


def test_a_waiting_write_survives_a_restart(root: Path, writer: Writer, tmp_path: Path) -> None:
    began = now()
    put(writer, at=began, quiet=2.0, record=b"audit me")
    again = Writer.open(root, tmp_path / "state", merge_lines)

    assert [op.record for op in again.pending()] == [b"audit me"]
    assert [one.outcome for one in again.tend(began + timedelta(seconds=3))] == ["written"]
    assert [(op.op_id, op.record) for op in again.finished()] == [("op", b"audit me")]
    again.acknowledge(["op"])
    assert again.finished() == []
    again.close()
    assert writer.finished() == []


def test_a_waiting_write_can_be_discarded(root: Path, writer: Writer) -> None:
    put(writer, quiet=60.0)

    writer.discard("op")

    assert writer.pending() == []
    assert writer.tend(now() + timedelta(minutes=5)) == []
    assert (root / "USER.md").read_bytes() == OLD


def test_writes_to_one_note_keep_their_order(root: Path, writer: Writer) -> None:
    began = now()
    put(writer, at=began, quiet=2.0)
    put(writer, new=note("a", "b", "bot", "again"), old=NEW, op_id="op-2", at=began)

    done = writer.tend(began + timedelta(seconds=3))

    assert [one.op_id for one in done] == ["op", "op-2"]
    assert (root / "USER.md").read_bytes() == note("a", "b", "bot", "again")


@pytest.mark.scenario("A5", "A6")
def test_an_editor_that_has_the_displaced_file_open_can_still_save(
    root: Path, writer: Writer
) -> None:
    began = now()
    with open(root / "USER.md", "r+b", buffering=0) as editor:
        later = began + timedelta(seconds=5)
        assert put(writer, at=later).outcome == "written"
        assert len(names(root)) == 2
        assert ignored(next(name for name in names(root) if name != "USER.md"))
        for minutes in range(1, 70, 7):
            writer.tend(later + timedelta(minutes=minutes))
        assert len(writer.displaced()) == 1, "never purged while it is open"
        editor.seek(0, os.SEEK_END)
        editor.write(b"late\n")
        writer.tend(later + timedelta(minutes=80))
        writer.tend(later + timedelta(minutes=81))
        assert (root / "USER.md").read_bytes() == note("a", "b", "late", "bot")
        assert names(root) != ["USER.md"]

    writer.tend(later + timedelta(minutes=90))
    writer.tend(later + timedelta(minutes=95))

    assert names(root) == ["USER.md"]
    assert writer.displaced() == []


def test_checking_for_open_files_sends_no_signal_that_kills_the_process(root: Path) -> None:
    files = RealFiles(root)
    folder = files.open_folder("")
    fd = files.open(folder, "USER.md")

    assert files.alone(fd, readers_too=True) is True
    with open(root / "USER.md", "rb"):
        assert files.alone(fd, readers_too=True) is False
        assert files.alone(fd, readers_too=False) is True
    with open(root / "USER.md", "ab"):
        assert files.alone(fd, readers_too=False) is False
    assert signal.getsignal(signal.SIGIO) is signal.SIG_DFL
    os.close(fd)
    os.close(folder)


@pytest.mark.scenario("A21")
def test_text_that_cannot_be_merged_is_kept_in_a_copy_beside_the_note(
    root: Path, writer: Writer
) -> None:
    (root / "USER.md").write_bytes(b"a\nCONFLICT\n")
    (root / "USER.md").chmod(0o600)
    at = datetime(2026, 11, 21, 20, 33, 12, tzinfo=UTC)
    (root / "USER (memory copy 2026-11-21 203312 bot).md").write_bytes(b"taken\n")

    done = put(writer, at=at, quiet=0.0)
    if done.outcome == "pending":
        done = writer.tend(now() + timedelta(seconds=5))[0]

    copy = root / "USER (memory copy 2026-11-21 203312 bot 2).md"
    assert done.outcome == "copied"
    assert copy.read_bytes() == NEW
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert conflict_copy(copy.name) == "USER.md"
    assert (root / "USER.md").read_bytes() == b"a\nCONFLICT\n"
    assert len(names(root)) == 3


@pytest.mark.parametrize("name", ["é" * 126 + ".md", "x" * 252 + ".md", "n.md"])
def test_temporary_files_and_copies_have_names_that_fit_the_file_system(
    root: Path, writer: Writer, name: str
) -> None:
    (root / name).write_bytes(b"a\nCONFLICT\n")

    assert len(temporary(name, "0" * 16).encode()) < 255
    assert ignored(temporary(name, "0" * 16))
    done = put(writer, name, at=now() + timedelta(seconds=5))

    assert done.outcome == "copied"
    assert all(len(one.encode()) <= 255 for one in names(root))


@pytest.mark.scenario("A26")
def test_two_writers_take_turns(root: Path, writer: Writer, tmp_path: Path) -> None:
    other = Writer.open(root, tmp_path / "state", merge_lines)

    put(writer)
    done = put(other, new=note("a", "b", "other"), op_id="other")

    assert done.outcome == "merged"
    assert (root / "USER.md").read_bytes() == note("a", "b", "bot", "other")
    other.close()


@pytest.mark.scenario("B45")
def test_a_damaged_journal_is_set_aside(root: Path, writer: Writer, tmp_path: Path) -> None:
    put(writer)
    writer.close()
    file = tmp_path / "state" / FILE
    file.write_bytes(b"no database" * 1000)

    fresh = Writer.open(root, tmp_path / "state", merge_lines)

    assert fresh.snapshots.chain("USER.md") == []
    assert (root / "USER.md").read_bytes() == NEW
    assert (tmp_path / "state" / f"{FILE}.damaged-1").read_bytes().startswith(b"no database")
    assert put(fresh, new=note("a", "b", "bot", "more"), old=NEW, op_id="op-2").outcome == "written"
    fresh.close()
