"""A person saves a whole note: nothing of theirs, and nothing of what others wrote meanwhile, is lost."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.edits.file_state import file_state
from tests.edits.test_races import Meanwhile
from vault_memory import UsageError, VaultMemory
from vault_memory.edits.edit_errors import (
    NotCurated,
    NoteExists,
    NoteGone,
    NotSavable,
    SaveConflict,
)
from vault_memory.rules.edits.ownership import replay
from vault_memory.vault.snapshots import revision_of

NOTE = "USER.md"
TEA = b"# Me\n\n## Tea\n\n- green\n- white\n\n## Boats\n\nSula is a boat.\n"
ODD = b"\xef\xbb\xbf# Me\r\n\r\n## Tea\r\n- green\n- white\r\n\r\n## Boats\r\n- Sula"
AHEAD = timedelta(hours=1)
"""So that no note counts as saved just now"""


def ahead() -> datetime:
    return datetime.now(UTC) + AHEAD


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / NOTE).write_bytes(TEA)
    return folder


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {
        "VAULT_MEMORY_STATE": str(folder / "state"),
        "VAULT_MEMORY_CACHE": str(folder / "cache"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
    }


@pytest.fixture
def memory(vault: Path, tmp_path: Path) -> Iterator[VaultMemory]:
    with VaultMemory.open(vault, environment=environment(tmp_path)) as opened:
        yield opened


def files(vault: Path) -> dict[str, bytes]:
    """All files of a vault but those that every write makes."""
    return {
        path.name: path.read_bytes()
        for path in vault.iterdir()
        if path.is_file() and not path.name.startswith(".")
    }


@pytest.mark.parametrize("raw", [TEA, ODD], ids=["plain", "odd line ends"])
def test_a_saved_text_is_in_the_note_byte_for_byte(
    memory: VaultMemory, vault: Path, raw: bytes
) -> None:
    (vault / NOTE).write_bytes(raw)
    text = raw.replace(b"- green", b"- black")

    edit = memory.edits.save(NOTE, text, base=raw, now=ahead())

    assert (vault / NOTE).read_bytes() == text
    assert edit.from_disk == ""
    [record] = memory.log()
    assert (record.id, record.source) == (edit.audit_id, "cli")
    assert [op.op["op"] for op in record.applied] == ["save"]


@pytest.mark.parametrize("raw", [TEA, ODD], ids=["plain", "odd line ends"])
def test_undo_of_a_save_gives_back_every_byte(memory: VaultMemory, vault: Path, raw: bytes) -> None:
    (vault / NOTE).write_bytes(raw)
    text = b"# New\n" + raw.removeprefix(b"\xef\xbb\xbf").replace(b"white", b"red")
    edit = memory.edits.save(NOTE, text, base=raw, now=ahead())
    assert edit.audit_id

    undone = memory.undo(edit.audit_id, now=ahead())

    assert (vault / NOTE).read_bytes() == raw
    assert undone.audit_id
    memory.undo(undone.audit_id, now=ahead())
    assert (vault / NOTE).read_bytes() == text


def test_an_untouched_text_writes_and_records_nothing(memory: VaultMemory, vault: Path) -> None:
    before = file_state(vault / NOTE)

    edit = memory.edits.save(NOTE, TEA, base=TEA)

    assert not edit.changed
    assert edit.audit_id is None
    assert file_state(vault / NOTE) == before
    assert files(vault) == {NOTE: TEA}


def test_a_dry_run_shows_the_save_and_writes_nothing(memory: VaultMemory, vault: Path) -> None:
    text = TEA.replace(b"green", b"black")

    edit = memory.edits.save(NOTE, text, base=TEA, dry_run=True)

    assert "+- black" in edit.diff
    assert files(vault) == {NOTE: TEA}


def test_what_came_onto_the_disk_meanwhile_is_kept_and_told(
    memory: VaultMemory, vault: Path
) -> None:
    (vault / NOTE).write_bytes(TEA.replace(b"Sula is", b"Sula was"))

    edit = memory.edits.save(NOTE, TEA.replace(b"green", b"black"), base=TEA, now=ahead())

    merged = TEA.replace(b"Sula is", b"Sula was").replace(b"green", b"black")
    assert (vault / NOTE).read_bytes() == merged
    assert "+Sula was a boat." in edit.from_disk
    assert "black" not in edit.from_disk
    assert "Sula was" not in "".join(line for line in edit.diff.splitlines() if line[:1] in "+-")


def test_a_line_of_the_bot_stays_that_the_person_had_not_seen(
    memory: VaultMemory, vault: Path
) -> None:
    op = {"op": "append", "heading": "Tea", "line": "oolong"}
    memory.apply(NOTE, [op], now=ahead())

    edit = memory.edits.save(NOTE, TEA.replace(b"green", b"black"), base=TEA, now=ahead())

    text = (vault / NOTE).read_text()
    assert "- oolong\n" in text
    assert "- black\n" in text
    assert "+- oolong" in edit.from_disk


def test_two_changes_of_one_line_are_an_error_with_all_texts(
    memory: VaultMemory, vault: Path
) -> None:
    disk = TEA.replace(b"Sula is a boat.", b"Sula was a boat.")
    mine = TEA.replace(b"Sula is a boat.", b"Sula is a ship.")
    (vault / NOTE).write_bytes(disk)

    with pytest.raises(SaveConflict) as caught:
        memory.edits.save(NOTE, mine, base=TEA, now=ahead())

    error = caught.value
    assert (error.on_disk, error.yours, error.base) == (disk, mine, TEA)
    assert error.merged is not None
    assert b"Sula was a boat." in error.merged
    assert b"Sula is a ship.\n" in error.merged
    assert (error.exit_code, error.http_status) == (5, 409)
    assert "ship" not in str(error.as_json()), "an error may be logged"
    assert files(vault) == {NOTE: disk}
    assert memory.edits.waiting() == []


def test_after_a_conflict_the_text_is_saved_over_what_is_on_disk(
    memory: VaultMemory, vault: Path
) -> None:
    disk = TEA.replace(b"Sula is a boat.", b"Sula was a boat.")
    mine = TEA.replace(b"Sula is a boat.", b"Sula is a ship.")
    (vault / NOTE).write_bytes(disk)
    with pytest.raises(SaveConflict) as caught:
        memory.edits.save(NOTE, mine, base=TEA, now=ahead())

    memory.edits.save(NOTE, mine, base=caught.value.on_disk, now=ahead())

    assert (vault / NOTE).read_bytes() == mine


def test_a_note_that_is_gone_does_not_come_back(memory: VaultMemory, vault: Path) -> None:
    (vault / NOTE).unlink()
    mine = TEA.replace(b"green", b"black")

    with pytest.raises(NoteGone) as caught:
        memory.edits.save(NOTE, mine, base=TEA, now=ahead())

    assert (caught.value.yours, caught.value.base) == (mine, TEA)
    assert (caught.value.exit_code, caught.value.http_status) == (5, 409)
    assert files(vault) == {}
    memory.edits.save(NOTE, mine, base=b"", now=ahead())
    assert (vault / NOTE).read_bytes() == mine


def test_without_a_base_only_a_new_note_is_written(memory: VaultMemory, vault: Path) -> None:
    new = b"# Plan\n\n- row\n"

    edit = memory.edits.save("memory/plan.md", new, base=b"", now=ahead())

    assert (vault / "memory/plan.md").read_bytes() == new
    assert edit.before is None
    with pytest.raises(NoteExists) as caught:
        memory.edits.save(NOTE, new, base=b"", now=ahead())
    assert caught.value.on_disk == TEA
    assert (vault / NOTE).read_bytes() == TEA
    assert edit.audit_id
    memory.undo(edit.audit_id, now=ahead())
    assert not (vault / "memory/plan.md").exists()


def test_an_empty_new_note_is_not_made(memory: VaultMemory, vault: Path) -> None:
    edit = memory.edits.save("memory/plan.md", b"", base=b"")

    assert not edit.changed
    assert not (vault / "memory").exists()


def test_an_empty_note_can_be_filled_and_emptied(memory: VaultMemory, vault: Path) -> None:
    memory.edits.save(NOTE, b"", base=TEA, now=ahead())
    assert (vault / NOTE).read_bytes() == b""

    memory.edits.save(NOTE, TEA, base=b"", now=ahead())
    assert (vault / NOTE).read_bytes() == TEA


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"- a\0\n", "NUL"),
        (b"- \xff\n", "UTF-8"),
        (b"- a\r- b\n", "carriage return"),
        (b"- a\n" * (70 << 10), "256 KiB"),
    ],
    ids=["NUL", "invalid UTF-8", "lone CR", "too large"],
)
def test_a_text_that_no_text_field_keeps_is_refused_with_the_reason(
    memory: VaultMemory, vault: Path, raw: bytes, reason: str
) -> None:
    for text, base in ((raw, TEA), (TEA, raw)):
        with pytest.raises(NotSavable) as caught:
            memory.edits.save(NOTE, text, base=base)
        assert reason in str(caught.value)
        assert isinstance(caught.value, UsageError)
    assert files(vault) == {NOTE: TEA}


def test_a_text_in_place_of_bytes_is_refused(memory: VaultMemory) -> None:
    with pytest.raises(UsageError) as caught:
        memory.edits.save(NOTE, "text", base=TEA)  # type: ignore[arg-type]

    assert "`text` is bytes" in str(caught.value)


def test_a_page_that_the_program_writes_is_not_saved(memory: VaultMemory) -> None:
    for note in ("USER.md.audit.jsonl", "USER.INBOX.md"):
        with pytest.raises(NotCurated):
            memory.edits.save(note, b"x\n", base=b"")


def test_a_saved_line_is_the_persons_and_a_deleted_one_stays_deleted(
    memory: VaultMemory, vault: Path
) -> None:
    op = {"op": "append", "heading": "Tea", "line": "oolong"}
    memory.apply(NOTE, [op], now=ahead())
    with_line = (vault / NOTE).read_bytes()
    memory.edits.save(NOTE, TEA, base=with_line, now=ahead())

    again = memory.apply(NOTE, [op], now=ahead())

    assert [refused.reason for refused in again.rejected] == ["deleted_by_person"]
    memory.edits.save(NOTE, with_line, base=TEA, now=ahead())
    owners = replay(memory.log(NOTE))
    assert not owners.written, "what the person typed again is the person's"
    assert memory.history(NOTE)[0].by == "cli"


# --- A note that is in use ---


def test_a_save_of_a_note_that_waits_is_written_later(memory: VaultMemory, vault: Path) -> None:
    (vault / NOTE).chmod(0o444)
    mine = TEA.replace(b"green", b"black")

    edit = memory.edits.save(NOTE, mine, base=TEA, now=ahead())

    assert [op.reason for op in edit.pending] == ["read_only"]
    assert (vault / NOTE).read_bytes() == TEA
    (vault / NOTE).chmod(0o644)
    assert memory.edits.process_due(ahead()) == 1
    assert (vault / NOTE).read_bytes() == mine
    assert [record.id for record in memory.log()] == [edit.pending[0].id]


def test_a_save_that_waited_is_merged_with_what_was_saved_since(
    memory: VaultMemory, vault: Path
) -> None:
    (vault / NOTE).chmod(0o444)
    memory.edits.save(NOTE, TEA.replace(b"green", b"black"), base=TEA, now=ahead())
    (vault / NOTE).chmod(0o644)
    (vault / NOTE).write_bytes(TEA.replace(b"Sula is", b"Sula was"))

    memory.edits.process_due(ahead())

    merged = TEA.replace(b"Sula is", b"Sula was").replace(b"green", b"black")
    assert (vault / NOTE).read_bytes() == merged


def test_a_save_that_waited_into_a_conflict_lies_in_a_copy_beside_the_note(
    memory: VaultMemory, vault: Path
) -> None:
    disk = TEA.replace(b"Sula is a boat.", b"Sula was a boat.")
    mine = TEA.replace(b"Sula is a boat.", b"Sula is a ship.")
    (vault / NOTE).chmod(0o444)
    edit = memory.edits.save(NOTE, mine, base=TEA, now=ahead())
    (vault / NOTE).chmod(0o644)
    (vault / NOTE).write_bytes(disk)

    memory.edits.process_due(ahead())

    assert (vault / NOTE).read_bytes() == disk
    texts = [raw for name, raw in files(vault).items() if name.endswith(".md")]
    assert sorted(texts) == sorted([disk, mine])
    [record] = memory.log()
    assert record.id == edit.pending[0].id
    assert record.before == record.after == revision_of(disk)
    assert "copy beside the note" in record.why


def meanwhile(memory: VaultMemory, vault: Path, save: Callable[[], None]) -> None:
    """Lets somebody save between the look at the note and the write of it."""
    editor = memory.edits.editor
    files = Meanwhile(_Saver(vault, save), "now")  # type: ignore[arg-type]
    editor.files = editor._access.files = files
    editor.writer._context.files = files


class _Saver:
    """What `Meanwhile` needs of a vault."""

    def __init__(self, vault: Path, save: Callable[[], None]) -> None:
        self.vault = vault
        self._save = save

    def save(self, text: str) -> None:
        self._save()


def replaced(path: Path, raw: bytes) -> None:
    """Saves as an editor does: by a new file that takes the name."""
    new = path.with_name("new.part")
    new.write_bytes(raw)
    new.rename(path)


def test_a_save_in_the_middle_of_a_save_is_merged(memory: VaultMemory, vault: Path) -> None:
    disk = TEA.replace(b"Sula is", b"Sula was")
    meanwhile(memory, vault, lambda: replaced(vault / NOTE, disk))

    edit = memory.edits.save(NOTE, TEA.replace(b"green", b"black"), base=TEA, now=ahead())

    assert (vault / NOTE).read_bytes() == disk.replace(b"green", b"black")
    assert "+Sula was" in edit.from_disk
    assert edit.audit_id


def test_a_conflict_in_the_middle_of_a_save_is_an_error_and_no_copy(
    memory: VaultMemory, vault: Path
) -> None:
    disk = TEA.replace(b"Sula is a boat.", b"Sula was a boat.")
    mine = TEA.replace(b"Sula is a boat.", b"Sula is a ship.")
    meanwhile(memory, vault, lambda: replaced(vault / NOTE, disk))

    with pytest.raises(SaveConflict) as caught:
        memory.edits.save(NOTE, mine, base=TEA, now=ahead())

    assert (caught.value.on_disk, caught.value.yours) == (disk, mine)
    assert files(vault) == {NOTE: disk}
    assert memory.log() == ()
    assert memory.edits.waiting() == []
    memory.edits.process_due(ahead())
    assert files(vault) == {NOTE: disk}


def test_a_note_deleted_in_the_middle_of_a_save_is_gone_and_nothing_waits(
    memory: VaultMemory, vault: Path
) -> None:
    meanwhile(memory, vault, (vault / NOTE).unlink)

    with pytest.raises(NoteGone):
        memory.edits.save(NOTE, TEA.replace(b"green", b"black"), base=TEA, now=ahead())

    assert memory.edits.waiting() == []
    assert files(vault) == {}


@pytest.mark.parametrize("half", [b"", TEA[:20]], ids=["empty", "a beginning"])
def test_half_a_save_of_an_editor_is_no_conflict(
    memory: VaultMemory, vault: Path, half: bytes
) -> None:
    op = {"op": "append", "heading": "Tea", "line": "oolong"}
    memory.apply(NOTE, [op], now=ahead())
    known = (vault / NOTE).read_bytes()
    base = known.replace(b"Sula is a boat.", b"Sula is a fine boat.")
    replaced(vault / NOTE, base)
    mine = base.replace(b"Sula is a fine boat.", b"Sula is a fine ship.")
    complete = base.replace(b"- green", b"- black")
    (vault / NOTE).write_bytes(half)
    editor = threading.Timer(0.5, (vault / NOTE).write_bytes, [complete])
    editor.start()

    memory.edits.save(NOTE, mine, base=base)

    editor.join()
    assert (vault / NOTE).read_bytes() == mine.replace(b"- green", b"- black")


# --- A process that is killed ---


KILLED = """
    import os, signal, sys
    from datetime import UTC, datetime, timedelta
    from pathlib import Path
    from vault_memory import VaultMemory

    vault, moment, base, text = Path(sys.argv[1]), *map(os.fsencode, sys.argv[2:])
    with VaultMemory.open(vault, environment=os.environ) as memory:
        recorder = memory.edits.editor.trail
        add = recorder.add

        def killed(record):
            if moment == b"after":
                add(record)
            os.kill(os.getpid(), signal.SIGKILL)

        recorder.add = killed
        now = datetime.now(UTC) + timedelta(hours=1)
        memory.edits.save("USER.md", text, base=base, now=now)
"""


@pytest.mark.sampled
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_between_the_saved_text_and_its_record_leaves_one_record(
    memory: VaultMemory, vault: Path, tmp_path: Path, moment: str
) -> None:
    mine = TEA.replace(b"green", b"black")
    disk = TEA.replace(b"Sula is", b"Sula was")
    merged = disk.replace(b"green", b"black")
    (vault / NOTE).write_bytes(disk)
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(vault), moment]
    killed = subprocess.run([*command, TEA, mine], env=environment(tmp_path), timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert (vault / NOTE).read_bytes() == merged

    memory.edits.process_due(ahead())

    [record] = memory.log()
    assert (record.before, record.after) == (revision_of(disk), revision_of(merged))
    assert [op.op["op"] for op in record.applied] == ["save"]
    memory.undo(record.id, now=ahead())
    assert (vault / NOTE).read_bytes() == disk


# --- Forgetting ---


def test_a_forgotten_text_leaves_a_save_that_waits(
    memory: VaultMemory, vault: Path, tmp_path: Path
) -> None:
    secret = "the code of the cellar is 4417"
    (vault / NOTE).chmod(0o444)
    mine = TEA.replace(b"- green\n", f"- green\n- {secret}\n- black\n".encode())
    assert memory.edits.save(NOTE, mine, base=TEA, now=ahead()).pending

    memory.forget(secret)

    (vault / NOTE).chmod(0o644)
    memory.edits.process_due(ahead())
    text = (vault / NOTE).read_text()
    assert "- black\n" in text
    assert "4417" not in text
    memory.close()
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"4417" not in path.read_bytes(), path
