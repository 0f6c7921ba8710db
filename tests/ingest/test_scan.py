"""Bringing a vault into the index: what is concluded at once, and what waits."""

import os
import time

import pytest

import vault_memory.markdown.chunking.chunker
from vault_memory.index.store import Index, State
from vault_memory.ingest.scan import Ingest
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Folder


@pytest.fixture
def vault(tmp_path):
    (tmp_path / "vault" / "memory").mkdir(parents=True)
    return tmp_path / "vault"


@pytest.fixture
def ingest(vault, tmp_path):
    """With a clock that can be set forward."""
    ahead = [0]
    index = Index(tmp_path / "index.sqlite")
    yield (Ingest(Folder(vault), index, Layout(), lambda: time.time_ns() + ahead[0]), ahead)
    index.close()


def write(vault, text, name="memory/pond.md"):
    (vault / name).write_text(text)
    return name


def test_a_note_saved_just_now_is_searchable_but_not_settled(vault, ingest):
    scan, _ = ingest
    path = write(vault, "- frogs\n")

    report = scan.scan()

    assert report.changed == report.young == (path,)
    assert scan.index.file(path).state == State.HOT


def test_an_unsettled_note_is_checked_again_by_the_next_scan(vault, ingest):
    scan, ahead = ingest
    path = write(vault, "- frogs\n")
    ahead[0] = 10**9  # old enough for its time to be trusted, too young to be settled
    scan.scan()
    ahead[0] = 10**10

    report = scan.scan()

    assert report.changed == report.young == ()
    assert scan.index.file(path).state == State.SETTLED


def test_a_note_that_returns_unchanged_is_no_longer_stale(vault, ingest):
    scan, ahead = ingest
    path = write(vault, "- frogs\n")
    ahead[0] = 10**10
    scan.scan()
    os.rename(vault / path, vault / "memory/elsewhere.txt")
    assert scan.scan().doubtful == (path,)
    assert scan.index.stale() == [path]
    os.rename(vault / "memory/elsewhere.txt", vault / path)

    scan.scan()

    assert scan.index.stale() == []


def test_an_emptied_note_keeps_its_text_until_it_is_checked_again(vault, ingest):
    scan, _ = ingest
    path = write(vault, "- frogs\n")
    scan.scan()
    write(vault, "")

    report = scan.scan()

    assert report.doubtful == (path,)
    assert scan.index.counts() == (1, 1)
    assert scan.index.stale() == [path]
    scan.look_again(report, conclude_young=True)
    assert scan.index.counts() == (1, 0)
    assert scan.index.stale() == []


def test_an_empty_note_does_not_stay_ambiguous(vault, ingest):
    scan, ahead = ingest
    write(vault, "")
    scan.scan()
    ahead[0] = 10**10
    scan.scan()

    assert scan.scan().doubtful == ()
    assert scan.index.stale() == []


@pytest.mark.scenario("C60")
def test_an_edit_of_the_same_size_within_a_clock_tick_is_found(vault, ingest):
    scan, _ = ingest
    path = write(vault, "- frogs\n")
    before = (vault / path).stat()
    scan.scan()
    write(vault, "- toads\n")
    os.utime(vault / path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert scan.scan().changed == (path,)


@pytest.mark.scenario("F112", "H122")
def test_a_note_that_grows_too_large_is_parked_until_it_shrinks(vault, ingest):
    scan, _ = ingest
    path = write(vault, "- frogs\n")
    scan.scan()
    (vault / path).write_bytes(b"- frogs\n" * 200_000)

    scan.scan()

    assert scan.index.counts() == (0, 0)
    assert list(scan.index.parked()) == [path]
    assert scan.scan().changed == ()
    write(vault, "- toads\n")
    assert scan.scan().changed == (path,)
    assert scan.index.parked() == {}


@pytest.mark.scenario("B40")
@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_note_keeps_its_indexed_text(vault, ingest):
    scan, _ = ingest
    path = write(vault, "- frogs\n")
    scan.scan()
    (vault / path).chmod(0)

    scan.look_again(scan.scan(), conclude_young=True)

    assert scan.index.counts() == (1, 1)


def test_a_note_replaced_by_an_outward_symlink_keeps_its_text_and_counts_as_stale(
    vault, ingest, tmp_path
):
    scan, _ = ingest
    path = write(vault, "- frogs\n")
    scan.scan()
    (tmp_path / "secret.md").write_text("- secret\n")
    (vault / path).unlink()
    (vault / path).symlink_to(tmp_path / "secret.md")

    scan.look_again(scan.scan(), conclude_young=True)

    assert scan.index.counts() == (1, 1)
    assert list(scan.index.connection.execute("SELECT text FROM chunk")) == [("- frogs",)]


def test_a_note_that_triggers_a_bug_does_not_affect_others(vault, ingest, monkeypatch):
    scan, _ = ingest
    write(vault, "- newts\n", "memory/bad.md")
    good = write(vault, "- frogs\n")
    chunk = vault_memory.markdown.chunking.chunker.chunk
    fault = {"chunk": lambda raw: chunk(raw) if b"newts" not in raw else 1 / 0}
    monkeypatch.setattr(vault_memory.markdown.chunking.chunker, "chunk", fault["chunk"])

    assert scan.scan().changed == (good,)
    assert "ZeroDivisionError" in scan.index.parked()["memory/bad.md"][0]
