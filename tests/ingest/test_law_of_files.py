"""Files are the truth: an index brought up to date step by step equals one built afresh."""

import os
import random
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import vault_memory.index.chunk_rows
from tests.ingest.histories import KINDS, check_law, ingest_of, random_edits
from vault_memory.index.store import Index

edits = st.lists(
    st.tuples(
        st.sampled_from(KINDS), st.integers(0, 999), st.integers(0, 999_999), st.integers(0, 999)
    ),
    max_size=25,
)


@pytest.mark.sampled
@settings(max_examples=60)
@given(edits)
@example([("write", 0, 5, 0), ("scan", 0, 0, 0), ("same size", 0, 0, 0)])
@example(
    [
        ("write", 1, 1000, 0),
        ("scan", 0, 0, 0),
        ("insert", 1, 77, 0),
        ("scan", 0, 0, 0),
        ("delete", 1, 0, 0),
    ]
)
@example([("write", 5, 5005, 0), ("scan", 0, 0, 0), ("rename", 5, 0, 6), ("copy", 6, 0, 7)])
def test_an_incrementally_updated_index_equals_one_built_afresh(history):
    with tempfile.TemporaryDirectory() as folder:
        check_law(Path(folder) / "vault", Path(folder) / "state", history)


def killed_scan(root: Path, database: Path, steps: int) -> None:
    """A process that brings the index up to date and is killed after so many steps of SQLite's machine."""
    child = os.fork()
    if child == 0:
        index = Index(database)
        index.connection.set_progress_handler(lambda: os.kill(os.getpid(), signal.SIGKILL), steps)
        ingest_of(root, index).scan()
        os._exit(0)
    os.waitpid(child, 0)


@pytest.mark.sampled
@settings(max_examples=40)
@given(edits, st.integers(1, 400))
def test_kills_during_a_scan_do_not_change_the_result(history, steps):
    with tempfile.TemporaryDirectory() as folder:
        check_law(
            Path(folder) / "vault",
            Path(folder) / "state",
            history,
            lambda root, path: killed_scan(root, path, steps),
        )


@pytest.mark.deep
@settings(max_examples=3000)
@given(edits, st.integers(1, 2000))
def test_many_kills_during_a_scan_do_not_change_the_result(history, steps):
    with tempfile.TemporaryDirectory() as folder:
        check_law(
            Path(folder) / "vault",
            Path(folder) / "state",
            history,
            lambda root, path: killed_scan(root, path, steps),
        )


def forget_to_remove_text(monkeypatch):
    monkeypatch.setattr(
        vault_memory.index.chunk_rows, "_remove_texts", lambda connection, ids: None
    )


def leave_lines_as_they_were(monkeypatch):
    write = vault_memory.index.chunk_rows._write
    monkeypatch.setattr(
        vault_memory.index.chunk_rows,
        "_write",
        lambda connection, fresh, moved, gone: write(connection, fresh, [], gone),
    )


@pytest.mark.sampled
@pytest.mark.parametrize("break_it", [forget_to_remove_text, leave_lines_as_they_were])
def test_the_law_of_files_detects_broken_code(break_it, monkeypatch, tmp_path):
    break_it(monkeypatch)

    def runs():
        for seed in range(200):
            check_law(
                tmp_path / f"v{seed}", tmp_path / f"s{seed}", random_edits(random.Random(seed), 20)
            )

    with pytest.raises(AssertionError):
        runs()
