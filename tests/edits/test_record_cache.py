"""The cached audit records are those that the files have, whatever programs do to the files."""

import heapq
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault_memory.edits import record_cache
from vault_memory.edits.audit.audit_files import AuditFiles
from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.record_cache import RecordCache, note_of, settled_stamp, stamp_of
from vault_memory.rules.edits.audit_record import Record, moment_of, union
from vault_memory.vault.reader import Folder

FOLDERS = ("", "memory", "memory/2026", "Users/ann/memories")
DEVICES = ("", "laptop-000001", "phone-000002")
ANOTHER_PROCESS = """
import sys
from pathlib import Path
from vault_memory.edits.audit_log import AuditLog
from vault_memory.rules.edits.audit_record import Record
from vault_memory.vault.reader import Folder

trail = AuditLog(Folder(sys.argv[1]), Path(sys.argv[2]))
for number in range(int(sys.argv[4])):
    trail.add(Record(f"p{number:03}", "2026-01-03T00:00:00Z", "", "cli", sys.argv[3]))
"""


class Vault:
    """A vault with audit files, and programs that change them."""

    def __init__(self, place: Path) -> None:
        self.root = place / "vault"
        self.state = place / "state"
        for folder in FOLDERS:
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        self.state.mkdir()
        self.number = 0

    def trail(self, cache: RecordCache | None = None) -> AuditLog:
        return AuditLog(Folder(self.root), self.state, cache)

    def audits(self) -> list[Path]:
        files = self.root.rglob("*.jsonl")
        return sorted(file for file in files if not file.is_symlink())

    def line(self, chance: random.Random) -> bytes:
        self.number += 1
        day, second = chance.randint(1, 3), chance.randint(0, 59)
        entry = {
            "id": f"{self.number:04}",
            "ts": f"2026-01-{day:02}T00:00:{second:02}Z",
            "note": "elsewhere.md",
            "source": "tool",
            "device": chance.choice(DEVICES),
        }
        return json.dumps(entry).encode() + b"\n"

    def change(self, chance: random.Random) -> None:
        """Changes the audit files as a person, a sync program or another device does."""
        folder = self.root / chance.choice(FOLDERS)
        file = folder / f"n{chance.randrange(4)}.md.audit.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        raw = file.read_bytes() if file.is_file() else b""
        lines = raw.splitlines(keepends=True)
        match chance.randrange(12):
            case 0:
                file.write_bytes(raw.replace(b"tool", b"undo", 1))
            case 1:
                file.write_bytes(raw[: chance.randrange(len(raw) + 1)])
            case 2:
                file.write_bytes(raw + self.line(chance)[: chance.randrange(80)])
            case 3:
                _replace(file, b"".join(lines[1:]) + self.line(chance))
            case 4:
                file.unlink(missing_ok=True)
            case 5:
                _replace(file, _folded(lines))
            case 6:
                _copy(file, folder / f"n{chance.randrange(9)}.md.audit.jsonl")
            case 7:
                shutil.rmtree(self.root / "memory/2026", ignore_errors=True)
            case 8:
                link = folder / "link.md.audit.jsonl"
                link.unlink(missing_ok=True)
                link.symlink_to(self.root / "n1.md.audit.jsonl")
            case _:
                file.write_bytes(raw + self.line(chance))


def _replace(file: Path, raw: bytes) -> None:
    new = file.with_name(file.name + ".part")
    new.write_bytes(raw)
    new.rename(file)


def _copy(file: Path, copy: Path) -> None:
    if file.is_file() and not copy.exists():
        shutil.copy2(file, copy)


def _folded(lines: list[bytes]) -> bytes:
    """Of the first two records, only the second stays, in its short form."""
    if len(lines) < 2:
        return b"".join(lines)
    try:
        first, second = (json.loads(line) for line in lines[:2])
    except ValueError:
        return b"".join(lines)
    second["folded"] = [first["id"], second["id"]]
    return json.dumps(second).encode() + b"\n" + b"".join(lines[2:])


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """All files were changed so long ago that their times prove that nothing changed since."""
    clock = time.time_ns
    monkeypatch.setattr(record_cache.time, "time_ns", lambda: clock() + 10**11)


@pytest.mark.sampled
@pytest.mark.parametrize("most_bytes", [700, 32 << 20])
@pytest.mark.parametrize("seed", range(4))
def test_cached_records_are_those_of_the_files(
    vault: Vault, monkeypatch, seed: int, most_bytes: int
) -> None:
    monkeypatch.setattr(record_cache, "MOST_BYTES", most_bytes)
    chance, cache = random.Random(seed), RecordCache()
    trails = [vault.trail(cache), vault.trail(cache), vault.trail()]
    for number in range(120):
        vault.change(chance)
        trail = chance.choice(trails)

        assert trail.all() == vault.trail().all(), number
        for file in vault.audits():
            note = note_of(file.relative_to(vault.root).as_posix())
            assert trail.of(note) == vault.trail().of(note), (number, note)
        if records := trail.all():
            record = chance.choice(records)
            assert trail.find(record.id) == record


def test_every_audit_file_of_a_listing_is_read(vault: Vault) -> None:
    chance, files, folder = random.Random(5), AuditFiles(), Folder(vault.root)
    for name in (
        ".hidden/a.md.audit.jsonl",
        "memory/.b.md.audit.jsonl",
        "memory/c (conflicted copy 2026-01-01 101010).md.audit.jsonl",
        "memory/d.md.audit.sync-conflict-20260101-101010-ABCDEFG.jsonl",
        "memory/e.md.audit.laptop-000001.jsonl",
        "memory/f.md.audit.jsonl.part",
        "memory/Übung.md.audit.jsonl",
        "memory/back\\slash.md.audit.jsonl",
        "memory/g.txt.audit.jsonl",
        "odd\nname/h.md.audit.jsonl",
    ):
        (vault.root / name).parent.mkdir(exist_ok=True)
        (vault.root / name).write_bytes(vault.line(chance))
    os.mkfifo(vault.root / "memory/pipe.md.audit.jsonl")
    for _ in range(40):
        vault.change(chance)
        listed = folder.listing(suffixes=(".jsonl",)).entries

        assert sorted(files.stamps(folder)) == sorted(filter(note_of, listed))


class CountingFolder(Folder):
    """Counts the files that are opened."""

    opened = 0

    def stream(self, path: str) -> Any:
        self.opened += 1
        return super().stream(path)


def test_a_file_that_did_not_change_is_not_opened_again(vault: Vault, later) -> None:
    chance = random.Random(1)
    for number in range(20):
        (vault.root / f"memory/n{number}.md.audit.jsonl").write_bytes(vault.line(chance))
    folder = CountingFolder(vault.root)
    trail = AuditLog(folder, vault.state)
    before = trail.all()
    assert folder.opened == 20

    assert trail.all() == before
    assert folder.opened == 20
    trail.add(Record("new", "2026-02-01T00:00:00Z", "", "cli", "memory/n3.md"))
    assert [record.id for record in trail.all()] == [*(record.id for record in before), "new"]
    assert folder.opened == 21


def test_the_times_of_a_file_that_has_just_changed_prove_nothing(vault: Vault, monkeypatch) -> None:
    file = vault.root / "a.md.audit.jsonl"
    file.write_bytes(b"{}\n")
    status = file.stat()
    assert settled_stamp(status) == ()

    moment = status.st_ctime_ns + record_cache.RACY_NS
    monkeypatch.setattr(record_cache.time, "time_ns", lambda: moment)
    assert settled_stamp(status) == stamp_of(status)


@pytest.mark.sampled
def test_records_of_another_process_are_seen(vault: Vault, tmp_path: Path) -> None:
    state = tmp_path / "other"
    state.mkdir()
    trail = vault.trail()
    arguments = [sys.executable, "-c", ANOTHER_PROCESS, vault.root, state, "a.md", "60"]
    seen = 0
    with subprocess.Popen(arguments) as process:
        while process.poll() is None:
            records = trail.all()
            assert [record.id for record in records] == [
                f"p{number:03}" for number in range(len(records))
            ]
            assert len(records) >= seen
            seen = len(records)

    assert process.returncode == 0
    assert len(trail.all()) == 60


def test_threads_that_share_a_cache_lose_no_record(vault: Vault) -> None:
    cache = RecordCache()
    errors: list[BaseException] = []

    def write_and_read(name: str) -> None:
        trail = vault.trail(cache)
        try:
            for number in range(30):
                note = f"memory/{name if number % 2 else 'shared'}.md"
                record_id = f"{name}-{number:03}"
                trail.add(Record(record_id, "2026-01-01T00:00:00Z", "", "cli", note))
                assert record_id in {record.id for record in trail.all()}
                assert record_id in {record.id for record in trail.of(note)}
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write_and_read, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert len(vault.trail(cache).all()) == 120


def _merged_as_streams(*files: Iterable[Record]) -> tuple[Record, ...]:
    """The union, stated as a merge of one stream for each device of each file."""
    streams = []
    for file in files:
        by_device: dict[str, list[Any]] = {}
        for record in file:
            stream = by_device.setdefault(record.device, [])
            moment = moment_of(record.ts)
            if stream:
                moment = max(moment, stream[-1][0])
            stream.append((moment, record.id, record))
        streams += by_device.values()
    by_id: dict[str, Record] = {}
    absorbed: set[str] = set()
    for _, record_id, record in heapq.merge(*streams, key=itemgetter(0, 1)):
        previous = by_id.get(record_id)
        weights = [(one.redacted, bool(one.folded)) for one in (record, previous) if one]
        if previous is None or weights[0] > weights[1]:
            by_id[record_id] = record
        absorbed.update(record.folded[:-1])
    return tuple(record for key, record in by_id.items() if key not in absorbed)


def _records() -> st.SearchStrategy[Record]:
    ids = st.sampled_from("abcdefgh")
    return st.builds(
        Record,
        id=ids,
        ts=st.sampled_from(["", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00+01:00"]),
        user_id=st.just(""),
        source=st.sampled_from(["tool", "cli"]),
        note=st.just("a.md"),
        device=st.sampled_from(DEVICES),
        redacted=st.booleans(),
        folded=st.lists(ids, max_size=2).map(tuple),
    )


@given(st.lists(st.lists(_records(), max_size=8), max_size=4))
def test_the_union_merges_the_files_as_streams(files: list[list[Record]]) -> None:
    assert union(*files) == _merged_as_streams(*files)


def test_what_is_cached_of_files_that_are_gone_is_freed(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    cache = RecordCache()
    trail = vault.trail(cache)
    for note in ("a.md", "b.md"):
        trail.add(Record(note, "2026-01-01T00:00:00Z", "main", "cli", note))
    assert len(trail.all()) == 2
    both = cache._size

    (vault.root / "a.md.audit.jsonl").unlink()

    assert [record.id for record in trail.all()] == ["b.md"]
    assert 0 < cache._size < both
    (vault.root / "b.md.audit.jsonl").unlink()
    assert trail.of("b.md") == ()
    assert trail.all() == ()
    assert cache._size == 0
