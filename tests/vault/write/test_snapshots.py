"""Every version that was seen, for as long as it is kept."""

import os
import signal
import subprocess
import sys
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.database.damage import checkpoint, damage_page
from tests.effort import cases
from tests.vault.write.lines import note
from vault_memory.database.connection import connect
from vault_memory.database.self_repair import RepairingConnection
from vault_memory.vault.snapshots import Snapshots, revision_of
from vault_memory.vault.version_distance import distances, nearest
from vault_memory.vault.write.journal import Journal, open_journal
from vault_memory.vault.write.journal_schema import STEPS

HOUR, DAY = 3600.0, 86400.0
TODAY = 1_800_000_000.0


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return open_journal(tmp_path)


@pytest.fixture
def snapshots(journal: Journal) -> Snapshots:
    return Snapshots(journal)


def test_a_recorded_version_is_returned_byte_for_byte(snapshots: Snapshots) -> None:
    raw = bytes(range(256)) * 10

    revision = snapshots.record("USER.md", raw, at=TODAY)

    assert snapshots.bytes_of(revision) == raw
    assert snapshots.bytes_of("0" * 64) is None


def test_an_unchanged_version_adds_no_entry_but_a_reverted_one_does(snapshots: Snapshots) -> None:
    for raw in (b"a", b"a", b"b", b"a"):
        snapshots.record("USER.md", raw, at=TODAY)

    assert [snapshots.bytes_of(version.revision) for version in snapshots.chain("USER.md")] == [
        b"a",
        b"b",
        b"a",
    ]


def test_a_query_for_one_version_does_not_read_all_versions(snapshots: Snapshots) -> None:
    revision = snapshots.record("USER.md", b"a", at=TODAY)
    connection = cast(RepairingConnection, snapshots._journal.connection)._connection
    asked: list[tuple[str, Any]] = []

    def note(_: object, sql: str, values: Any) -> bool:
        asked.append((sql, values))
        return True

    connection.exec_trace = note

    snapshots.before("ann.md", revision)
    snapshots.wrote(revision)
    snapshots.chain("USER.md")

    connection.exec_trace = None
    plans = [
        row[3]
        for sql, values in asked
        for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)
    ]
    assert plans
    assert not [step for step in plans if step.startswith("SCAN")]


def test_a_journal_of_an_earlier_version_opens_with_all_its_snapshots(tmp_path: Path) -> None:
    connection = connect(tmp_path / "journal.sqlite", durable=True)
    for step in STEPS[:3]:
        connection.execute(step)
    connection.pragma("user_version", 3)
    connection.execute(
        "INSERT INTO blobs VALUES (?, 1, ?)", (revision_of(b"a"), zlib.compress(b"a"))
    )
    connection.execute(
        "INSERT INTO versions VALUES (1, 'USER.md', ?, 0, 'person', 0)", (revision_of(b"a"),)
    )
    connection.close()

    snapshots = Snapshots(open_journal(tmp_path))

    assert [snapshots.bytes_of(version.revision) for version in snapshots.chain("USER.md")] == [
        b"a"
    ]
    assert [version.path for version in snapshots.before("ann.md", revision_of(b"a"))] == [
        "USER.md"
    ]


def journal_without_row_ids(folder: Path, count: int) -> dict[str, bytes]:
    """A journal in the format before row ids, and its texts by revision."""
    connection = connect(folder / "journal.sqlite", durable=True)
    for step in STEPS[:5]:
        connection.execute(step)
    connection.pragma("user_version", 5)
    raws = [f"- {number} {os.urandom(900).hex()}\n".encode() for number in range(count)]
    texts = {revision_of(raw): raw for raw in raws}
    with connection:
        for number, (revision, raw) in enumerate(texts.items()):
            packed = zlib.compress(raw)
            connection.execute("INSERT INTO blobs VALUES (?, ?, ?)", (revision, len(raw), packed))
            version = (number, f"{number}.md", revision, TODAY)
            connection.execute("INSERT INTO versions VALUES (?, ?, ?, ?, 'bot', 1, 7)", version)
    connection.close()
    checkpoint(folder / "journal.sqlite")
    return texts


def texts_of(folder: Path) -> dict[str, bytes | None]:
    """The texts of all versions of a journal, by revision."""
    with closing(open_journal(folder)) as journal:
        snapshots = Snapshots(journal)
        return {revision: snapshots.bytes_of(revision) for _, revision, _ in snapshots.last_seen()}


KILLED = """
import os, sys
from vault_memory.database.connection import connect
from vault_memory.vault.write.journal import Journal
connection = connect(sys.argv[1], durable=True)
connection.set_progress_handler(lambda: os.kill(os.getpid(), 9), int(sys.argv[2]))
Journal(connection)
"""


def test_a_journal_without_row_ids_is_carried_over_whenever_the_process_is_killed(
    tmp_path: Path,
) -> None:
    texts = journal_without_row_ids(tmp_path, 300)
    path = tmp_path / "journal.sqlite"
    size = path.stat().st_size

    def is_killed(after: int) -> bool:
        ended = subprocess.run([sys.executable, "-c", KILLED, path, str(after)], check=False)
        assert ended.returncode in (0, -signal.SIGKILL)
        return ended.returncode != 0

    steps = next(steps for steps in range(200, 20_000, 700) if not is_killed(steps))

    assert steps > 1_000
    assert texts_of(tmp_path) == texts
    checkpoint(path)
    assert path.stat().st_size < 0.75 * size


def test_a_damaged_journal_without_row_ids_keeps_its_texts(tmp_path: Path) -> None:
    texts = journal_without_row_ids(tmp_path, 20)
    damage_page(tmp_path / "journal.sqlite", 1)

    assert texts_of(tmp_path) == texts


def test_a_journal_emptied_under_an_idle_process_does_not_block_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vault_memory.database.connection.BUSY_MILLISECONDS", 100)
    idle = open_journal(tmp_path)
    Snapshots(idle).record("USER.md", b"a", at=TODAY)
    idle.connection.pragma("wal_checkpoint(truncate)")
    os.truncate(tmp_path / "journal.sqlite", 0)

    with closing(open_journal(tmp_path)) as other:
        Snapshots(other).record("USER.md", b"b", at=TODAY)

    assert [version.revision for version in Snapshots(idle).chain("USER.md")] == [revision_of(b"b")]


def test_an_idle_process_notices_that_its_journal_was_emptied(
    journal: Journal, tmp_path: Path
) -> None:
    journal.state("name")
    os.truncate(tmp_path / "journal.sqlite", 0)

    journal.state("name")

    assert (tmp_path / "journal.sqlite").stat().st_size > 0


def test_versions_thin_out_with_age(journal: Journal, snapshots: Snapshots) -> None:
    with journal.transaction():
        for minute in (*range(120 * 24 * 60, 2 * 24 * 60, -40), *range(2 * 24 * 60, -1, -20)):
            revision = snapshots.keep(str(minute).encode())
            snapshots.add("USER.md", revision, at=TODAY - minute * 60, by="person")

    snapshots.prune(TODAY)

    ages = [TODAY - version.at for version in snapshots.chain("USER.md")]
    assert sum(age <= DAY for age in ages) == 24 * 3 + 1
    assert sum(DAY < age <= 90 * DAY for age in ages) == pytest.approx(89 * 24, abs=2)
    assert max(ages) <= 90 * DAY


def test_the_base_of_a_write_is_kept_for_ninety_days(
    journal: Journal, snapshots: Snapshots
) -> None:
    kept = revision_of(b"kept")
    with journal.transaction():
        snapshots.keep(b"kept")
        snapshots.add("USER.md", kept, at=TODAY - 10 * DAY, by="bot", kept=True)
    for raw in (b"x", b"y", b"z"):
        snapshots.record("USER.md", raw, at=TODAY - 10 * DAY + 1)

    snapshots.prune(TODAY)
    assert snapshots.bytes_of(kept) == b"kept"
    snapshots.prune(TODAY + 81 * DAY)
    assert snapshots.bytes_of(kept) is None


def test_the_newest_version_is_never_pruned(snapshots: Snapshots) -> None:
    snapshots.record("USER.md", b"old", at=TODAY - 4000 * DAY)

    assert snapshots.prune(TODAY) == 0
    assert snapshots.bytes_of(revision_of(b"old")) == b"old"


@pytest.mark.scenario("A7", "A8")
def test_a_save_from_a_stale_buffer_is_matched_to_the_version_it_was_loaded_from() -> None:
    loaded = note("a", "b", "c")
    after_bot, after_other = (
        note("a", "b", "c", "bot"),
        note("a", "b", "c", "bot", "phone", "bot again"),
    )
    versions = [("3", after_other), ("2", after_bot), ("1", loaded)]

    assert nearest(note("a", "b", "c", "ann"), versions) == "1"
    assert nearest(note("a", "b", "c", "bot", "ann"), versions) == "2"
    assert nearest(note("a", "b", "c", "bot", "phone", "bot again", "ann"), versions) == "3"
    assert nearest(b"", []) is None


def test_an_edited_line_proves_that_its_version_was_loaded() -> None:
    versions = [("2", note("a", "likes tea")), ("1", note("a"))]

    assert nearest(note("a", "likes green tea"), versions) == "2"
    assert nearest(note("a", "likes boats"), versions) == "2"
    assert nearest(note("a", "mends clocks"), versions) == "1"


@settings(max_examples=cases(100))
@given(st.lists(st.sampled_from("abcdef")), st.lists(st.sampled_from("abcdef")))
def test_the_distance_of_two_texts_compares_their_lines_as_sets(
    one: list[str], other: list[str]
) -> None:
    (far,) = distances(note(*one), [note(*other)])

    assert distances(note(*one), [note(*one)]) == [0]
    assert distances(note(*other), [note(*one)]) == [far]
    assert distances(note(*reversed(one)), [note(*other)]) == [far]
