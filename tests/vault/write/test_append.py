"""Logs that only grow: nothing is lost by tearing, by haste, or by many writers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import PROJECT
from vault_memory.errors import BadPath
from vault_memory.vault.jsonl_log import append_record, merge_records, read_records

LOG = "Users/ann/transcripts/2026-11-21.jsonl"

APPENDERS = """
import os, random, signal, sys
from vault_memory.vault.jsonl_log import append_record

root, processes, records, kills = sys.argv[1], *map(int, sys.argv[2:])
dice = random.Random(kills)
running = {}
for number in range(processes):
    reading, writing = os.pipe()
    running[number] = os.fork(), reading
    if running[number][0] == 0:
        for one in range(records):
            append_record(root, "log.jsonl", {"id": f"{number}-{one}", "text": "x" * (one % 700)})
            os.write(writing, b".")
        os._exit(0)
    os.close(writing)
for number, (process, reading) in running.items():
    done = len(os.read(reading, dice.randrange(1, records // 2))) if number < kills else 0
    if number < kills:
        os.kill(process, signal.SIGKILL)
    while more := os.read(reading, records):
        done += len(more)
    os.waitpid(process, 0)
    print(done)
"""


def append_from_many(vault: Path, processes: int, records: int, *, kills: int = 0) -> None:
    """`kills` of the processes are killed in the middle; whatever a call has returned for stands in the log."""
    asked = [str(vault), str(processes), str(records), str(kills)]
    ran = subprocess.run(
        [sys.executable, "-c", APPENDERS, *asked],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    done = [int(line) for line in ran.stdout.split()]

    read = read_records((vault / "log.jsonl").read_bytes())

    ids = [str(record["id"]) for record in read.records]
    assert len(ids) == len(set(ids))
    assert {f"{number}-{one}" for number, count in enumerate(done) for one in range(count)} <= set(
        ids
    )
    assert read.bad <= kills
    assert len(ids) <= sum(done) + kills
    assert done[kills:] == [records] * (processes - kills)


@pytest.mark.sampled
def test_concurrent_appends_of_ten_processes_lose_no_record(tmp_path: Path) -> None:
    append_from_many(tmp_path, 10, 500)


@pytest.mark.deep
def test_records_appended_by_killed_processes_are_in_the_log(tmp_path: Path) -> None:
    for kills in range(1, 9):
        vault = tmp_path / str(kills)
        vault.mkdir()
        append_from_many(vault, 10, 500, kills=kills)


def test_a_log_and_its_folders_are_created_on_first_use(tmp_path: Path) -> None:
    append_record(tmp_path, LOG, {"id": "1", "text": "grüezi"})
    append_record(tmp_path, LOG, {"id": "2", "text": "\ud800"})

    assert [json.loads(line)["id"] for line in (tmp_path / LOG).read_bytes().splitlines()] == [
        "1",
        "2",
    ]


@pytest.mark.scenario("B42")
@pytest.mark.parametrize(
    "tail", [b'{"id": "2", "te', b'{"id": "2"}', b"\0" * 37, b'{"id": "2"}\n\0\0\0']
)
def test_a_torn_line_is_kept_and_the_next_record_starts_a_new_line(
    tmp_path: Path, tail: bytes
) -> None:
    whole = b'{"id":"1"}\n' + tail
    (tmp_path / "log.jsonl").write_bytes(whole)

    append_record(tmp_path, "log.jsonl", {"id": "3"})

    raw = (tmp_path / "log.jsonl").read_bytes()
    assert raw == whole + b'\n{"id":"3"}\n'
    assert [record["id"] for record in read_records(raw).records][-1] == "3"
    assert read_records(raw).bad == (0 if tail == b'{"id": "2"}' else 1)


@pytest.mark.scenario("B42")
@given(st.binary(max_size=200))
def test_reading_continues_after_any_invalid_bytes(noise: bytes) -> None:
    raw = b'{"id":"1"}\n' + noise + b'\n{"id":"3"}\n'

    ids = [record.get("id") for record in read_records(raw).records]

    assert ids[0] == "1"
    assert ids[-1] == "3"


def test_copies_of_a_log_are_joined_by_id_and_sorted_by_time() -> None:
    one = b'{"id":"a","ts":"2026-01-01"}\n{"id":"c","ts":"2026-01-03"}\n'
    other = b'{"id":"a","ts":"2026-01-01"}\n{"id":"b","ts":"2026-01-02"}\n'

    assert [record["id"] for record in read_records(merge_records([one, other])).records] == [
        "a",
        "b",
        "c",
    ]
    assert merge_records([one, one]) == one
    assert merge_records([other, one]) == merge_records([one, other])


@pytest.mark.scenario("H119", "H120")
def test_a_log_is_never_written_outside_the_vault(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "vault/link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "vault/log.jsonl").symlink_to(tmp_path / "elsewhere/log.jsonl")

    with pytest.raises(BadPath):
        append_record(tmp_path / "vault", "../elsewhere/log.jsonl", {})
    with pytest.raises(OSError, match=r"link|symbolic"):
        append_record(tmp_path / "vault", "link/log.jsonl", {})
    with pytest.raises(OSError, match=r"link|symbolic"):
        append_record(tmp_path / "vault", "log.jsonl", {})

    assert list((tmp_path / "elsewhere").iterdir()) == []
