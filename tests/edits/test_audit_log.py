"""What was recorded is read from the files; of a file that only grew, what came to it."""

import errno
import os
import random
import tracemalloc
from io import BytesIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vault_memory.edits import record_cache
from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.edit_errors import NotRecorded
from vault_memory.rules.edits.audit_record import Record
from vault_memory.vault import jsonl_log
from vault_memory.vault.jsonl_log import lines_from_end
from vault_memory.vault.reader import Folder


def line(number: int) -> bytes:
    return b'{"id":"%03d","ts":"2026-01-01T00:00:%02dZ","note":"n.md","source":"tool"}\n' % (
        number,
        number % 60,
    )


@pytest.mark.sampled
@pytest.mark.parametrize("most_bytes", [500, 32 << 20])
@pytest.mark.parametrize("seed", range(3))
def test_the_audit_log_follows_any_change_of_its_files(
    tmp_path, monkeypatch, seed: int, most_bytes: int
) -> None:
    monkeypatch.setattr(record_cache, "MOST_BYTES", most_bytes)
    vault, state = tmp_path / "vault", tmp_path / "state"
    vault.mkdir()
    state.mkdir()
    trail, chance = AuditLog(Folder(vault), state), random.Random(seed)
    files = [vault / f"n{number}.md.audit.jsonl" for number in range(5)]
    for number in range(120):
        file = chance.choice(files)
        raw = file.read_bytes() if file.exists() else b""
        match chance.randrange(6):
            case 0:
                raw = raw.replace(b"tool", b"cli", 1)
            case 1:
                raw = raw[: chance.randrange(len(raw) + 1)]
            case 2:
                raw += line(number)[: chance.randrange(80)]
            case _:
                raw += line(number)
        file.write_bytes(raw)
        note = file.name.removesuffix(".audit.jsonl")

        assert trail.of(note) == AuditLog(Folder(vault), state).of(note)
        trail.add(Record(f"r{number}", "2026-01-01T00:01:00Z", "", "cli", note))
        assert trail.of(note) == AuditLog(Folder(vault), state).of(note)


@given(st.lists(st.binary(max_size=12).filter(lambda raw: b"\n" not in raw)), st.integers(1, 9))
@example([b"", b"", b""], 1)
def test_reading_a_log_backwards_gives_the_same_lines(lines: list[bytes], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl_log, "TAIL", block)
        read = list(lines_from_end(BytesIO(b"\n".join(lines))))

    assert [text for text in reversed(read) if text] == [text for text in lines if text]


@pytest.mark.parametrize("limit", [1, 7, 500])
def test_the_latest_records_are_the_last_ones_of_the_full_log(tmp_path, limit: int) -> None:
    (tmp_path / "n.md.audit.jsonl").write_bytes(
        b"".join(map(line, range(60))) + b"no record\n" + line(60)[:-9]
    )
    trail = AuditLog(Folder(tmp_path), tmp_path)

    assert trail.latest("n.md", limit) == trail.of("n.md")[-limit:]


def test_a_huge_audit_is_searched_without_loading_it_into_memory(tmp_path) -> None:
    with (tmp_path / "n.md.audit.jsonl").open("wb") as file:
        for number in range(30):
            file.write(line(number).replace(b"tool", b"t" * 2**20))
    trail = AuditLog(Folder(tmp_path), tmp_path)
    looks = {
        "the newest record": lambda: len(trail.latest("n.md", 1)) == 1,
        "a record by its id": lambda: trail.held("000", "n.md") is not None,
        "an id that no record has": lambda: trail.held("none", "n.md") is None,
        "lines that are no records": lambda: trail.bad_lines() == {"n.md": 0},
    }

    for name, look in looks.items():
        tracemalloc.start()
        assert look(), name
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10 * 2**20, name


def test_a_log_that_cannot_be_brought_to_the_disk_is_an_error_with_its_note(
    tmp_path, monkeypatch
) -> None:
    trail = AuditLog(Folder(tmp_path), tmp_path)
    trail.add(Record("1", "2026-01-01T00:00:00Z", "main", "cli", "a.md"))
    trail.fsync_log("a.md")
    trail.fsync_log("none.md")

    def fail(fd: int) -> None:
        raise OSError(errno.EIO, "the disk does not answer")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(NotRecorded, match="`a\\.md`"):
        trail.fsync_log("a.md")


def test_a_record_that_cannot_be_added_is_an_error_with_its_note(tmp_path) -> None:
    (tmp_path / "a.md.audit.jsonl").mkdir()
    trail = AuditLog(Folder(tmp_path), tmp_path)

    with pytest.raises(NotRecorded, match="`a\\.md`"):
        trail.add(Record("1", "2026-01-01T00:00:00Z", "main", "cli", "a.md"))
