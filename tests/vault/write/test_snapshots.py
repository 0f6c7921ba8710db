"""Every version that was seen, for as long as it is kept."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vault.write.lines import note
from vault_memory.vault.journal import Journal, open_journal
from vault_memory.vault.snapshots import Snapshots, revision_of
from vault_memory.vault.stale import distances, nearest

HOUR, DAY = 3600.0, 86400.0
TODAY = 1_800_000_000.0


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return open_journal(tmp_path)


@pytest.fixture
def snapshots(journal: Journal) -> Snapshots:
    return Snapshots(journal)


def test_what_was_seen_is_had_back_to_the_byte(snapshots: Snapshots) -> None:
    raw = bytes(range(256)) * 10

    revision = snapshots.record("USER.md", raw, at=TODAY)

    assert snapshots.bytes_of(revision) == raw
    assert snapshots.bytes_of("0" * 64) is None


def test_the_same_version_again_is_no_news_and_a_return_is(snapshots: Snapshots) -> None:
    for raw in (b"a", b"a", b"b", b"a"):
        snapshots.record("USER.md", raw, at=TODAY)

    assert [snapshots.bytes_of(version.revision) for version in snapshots.chain("USER.md")] == [b"a", b"b", b"a"]


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


def test_what_a_write_was_based_on_is_kept_for_a_season(journal: Journal, snapshots: Snapshots) -> None:
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


def test_the_newest_version_is_never_let_go(snapshots: Snapshots) -> None:
    snapshots.record("USER.md", b"old", at=TODAY - 4000 * DAY)

    assert snapshots.prune(TODAY) == 0
    assert snapshots.bytes_of(revision_of(b"old")) == b"old"


@pytest.mark.scenario("A7", "A8")
def test_a_save_from_a_stale_buffer_is_told_by_what_it_was_made_from() -> None:
    loaded = note("a", "b", "c")
    after_bot, after_other = note("a", "b", "c", "bot"), note("a", "b", "c", "bot", "phone", "bot again")
    versions = [("3", after_other), ("2", after_bot), ("1", loaded)]

    assert nearest(note("a", "b", "c", "ann"), versions) == "1"
    assert nearest(note("a", "b", "c", "bot", "ann"), versions) == "2"
    assert nearest(note("a", "b", "c", "bot", "phone", "bot again", "ann"), versions) == "3"
    assert nearest(b"", []) is None


def test_who_edits_a_line_had_it_loaded() -> None:
    versions = [("2", note("a", "likes tea")), ("1", note("a"))]

    assert nearest(note("a", "likes green tea"), versions) == "2"
    assert nearest(note("a", "likes boats"), versions) == "2"
    assert nearest(note("a", "mends clocks"), versions) == "1"


@settings(max_examples=100)
@given(st.lists(st.sampled_from("abcdef")), st.lists(st.sampled_from("abcdef")))
def test_the_distance_of_two_texts_is_one_of_sets(one: list[str], other: list[str]) -> None:
    (far,) = distances(note(*one), [note(*other)])

    assert distances(note(*one), [note(*one)]) == [0]
    assert distances(note(*other), [note(*one)]) == [far]
    assert distances(note(*reversed(one)), [note(*other)]) == [far]
