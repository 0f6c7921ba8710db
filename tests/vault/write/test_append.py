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
from vault_memory.vault.append import append_record, merge_records, read_records

LOG = "Users/ann/transcripts/2026-11-21.jsonl"

APPENDER = """
import sys
from vault_memory.vault.append import append_record
for number in range(int(sys.argv[3])):
    append_record(sys.argv[1], "log.jsonl", {"id": f"{sys.argv[2]}-{number}", "text": "x" * (number % 700)})
"""


def append_from_many(vault: Path, processes: int, records: int) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", APPENDER, str(vault), str(number), str(records)], cwd=PROJECT)
        for number in range(processes)
    ]
    assert [process.wait(120) for process in running] == [0] * processes

    read = read_records((vault / "log.jsonl").read_bytes())

    assert read.bad == 0
    assert len(read.records) == processes * records
    assert len({str(record["id"]) for record in read.records}) == processes * records


def test_records_of_many_processes_all_stand_in_the_log(tmp_path: Path) -> None:
    append_from_many(tmp_path, 4, 50)


@pytest.mark.deep
def test_ten_processes_append_five_hundred_records_each(tmp_path: Path) -> None:
    append_from_many(tmp_path, 10, 500)


def test_a_log_and_its_folders_are_made_on_first_use(tmp_path: Path) -> None:
    append_record(tmp_path, LOG, {"id": "1", "text": "grüezi"})
    append_record(tmp_path, LOG, {"id": "2", "text": "\ud800"})

    assert [json.loads(line)["id"] for line in (tmp_path / LOG).read_bytes().splitlines()] == ["1", "2"]


@pytest.mark.scenario("B42")
@pytest.mark.parametrize("tail", [b'{"id": "2", "te', b'{"id": "2"}', b"\0" * 37, b'{"id": "2"}\n\0\0\0'])
def test_what_is_torn_is_left_and_the_next_record_begins_a_line(tmp_path: Path, tail: bytes) -> None:
    whole = b'{"id":"1"}\n' + tail
    (tmp_path / "log.jsonl").write_bytes(whole)

    append_record(tmp_path, "log.jsonl", {"id": "3"})

    raw = (tmp_path / "log.jsonl").read_bytes()
    assert raw == whole + b'\n{"id":"3"}\n'
    assert [record["id"] for record in read_records(raw).records][-1] == "3"
    assert read_records(raw).bad == (0 if tail == b'{"id": "2"}' else 1)


@pytest.mark.scenario("B42")
@given(st.binary(max_size=200))
def test_a_reader_goes_on_after_any_bytes(noise: bytes) -> None:
    raw = b'{"id":"1"}\n' + noise + b'\n{"id":"3"}\n'

    ids = [record.get("id") for record in read_records(raw).records]

    assert ids[0] == "1"
    assert ids[-1] == "3"


def test_copies_of_a_log_are_joined_by_id_in_the_order_of_time() -> None:
    one = b'{"id":"a","ts":"2026-01-01"}\n{"id":"c","ts":"2026-01-03"}\n'
    other = b'{"id":"a","ts":"2026-01-01"}\n{"id":"b","ts":"2026-01-02"}\n'

    assert [record["id"] for record in read_records(merge_records([one, other])).records] == ["a", "b", "c"]
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
