"""What was found is noted once a day, and a damaged file costs no answer."""

import json
import os
from datetime import date

import pytest

from vault_memory.search import item_reads
from vault_memory.search.item_reads import ItemRead, ItemReads

TODAY, TOMORROW = date(2026, 5, 26), date(2026, 5, 27)
ANN, BO = "user:ann", "user:bo"


def test_an_item_that_is_found_twice_a_day_counts_once(tmp_path):
    log = ItemReads(tmp_path)

    log.note([(ANN, "k1"), (ANN, "k1"), (BO, "k1")], TODAY)
    log.note([(ANN, "k1")], TODAY)
    ItemReads(tmp_path).note([(ANN, "k1")], TODAY)
    log.note([(ANN, "k1")], TOMORROW)

    assert log.reads() == [
        ItemRead(ANN, "k1", "2026-05-26"),
        ItemRead(BO, "k1", "2026-05-26"),
        ItemRead(ANN, "k1", "2026-05-27"),
    ]


def test_an_item_without_a_key_is_not_noted(tmp_path):
    ItemReads(tmp_path).note([(ANN, "")], TODAY)

    assert not (tmp_path / item_reads.NAME).exists()


def test_a_torn_line_costs_only_that_line(tmp_path):
    log = ItemReads(tmp_path)
    log.note([(ANN, "k1")], TODAY)
    with (tmp_path / item_reads.NAME).open("ab") as stream:
        stream.write(b'\n{"scope": "user:ann", "ke')
    log.note([(ANN, "k2")], TODAY)

    assert [read.key for read in log.reads()] == ["k1", "k2"]


@pytest.mark.parametrize(
    "line", ["7", "[]", '{"scope":"user:ann","key":1,"day":"2026-05-26"}', "\\x00"]
)
def test_lines_that_are_no_reads_are_skipped(tmp_path, line):
    (tmp_path / item_reads.NAME).write_text(line + "\n")

    assert ItemReads(tmp_path).reads() == []


def test_reads_of_other_scopes_stay_when_a_night_folds_one(tmp_path):
    log = ItemReads(tmp_path)
    log.note([(ANN, "k1"), (BO, "k1")], TODAY)

    log.drop(lambda read: read.scope == ANN)

    assert log.reads() == [ItemRead(BO, "k1", "2026-05-26")]


def test_the_file_stays_small_without_nights(tmp_path, monkeypatch):
    monkeypatch.setattr(item_reads, "LARGEST", 2_000)
    for _ in range(50):
        # Each process notes the same item again.
        ItemReads(tmp_path).note([(ANN, "k1")], TODAY)

    assert (tmp_path / item_reads.NAME).stat().st_size < 2_200
    ItemReads(tmp_path).note([(ANN, f"k{number}") for number in range(500)], TODAY)
    ItemReads(tmp_path).note([(ANN, "last")], TODAY)
    assert ItemRead(ANN, "last", str(TODAY)) not in ItemReads(tmp_path).reads()


def test_an_unwritable_state_folder_costs_no_answer(tmp_path, caplog):
    (tmp_path / item_reads.NAME).mkdir()

    ItemReads(tmp_path).note([(ANN, "k1")], TODAY)

    assert "reads cannot be noted" in caplog.text
    assert ItemReads(tmp_path).reads() == []


def test_the_file_is_for_its_owner_alone(tmp_path):
    ItemReads(tmp_path).note([(ANN, "k1")], TODAY)

    file = tmp_path / item_reads.NAME
    assert os.stat(file).st_mode & 0o077 == 0
    assert set(json.loads(file.read_text().strip())) == {"scope", "key", "day"}
