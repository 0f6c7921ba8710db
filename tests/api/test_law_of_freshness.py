"""Answers say how fresh they are: what is found is in the files now, or its note is named as stale."""

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vault_memory.ingest.lifecycle
from tests.ingest.histories import KINDS, QUERIES, apply, random_edits
from vault_memory import VaultMemory
from vault_memory.config.sections import Config, EmbeddingSettings
from vault_memory.index.store import Index

OFF = Config(embedding=EmbeddingSettings(kind="off"))
edits = st.lists(
    st.tuples(
        st.sampled_from(KINDS), st.integers(0, 999), st.integers(0, 999_999), st.integers(0, 999)
    ),
    max_size=12,
)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Nothing else writes here, so that the second look need not wait."""
    monkeypatch.setattr(vault_memory.ingest.lifecycle, "PATIENCE_SECONDS", 0)


def lines_of(root, note):
    path = root / note
    return (
        path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        if path.exists()
        else ""
    )


def check_law(folder, history, *, refresh=True):
    """Whatever was edited: each hit stands in its note now, at the lines it names, or the note is named as stale."""
    root = folder / "vault"
    root.mkdir()
    with VaultMemory.open(
        root, OFF, environment={"VAULT_MEMORY_STATE": str(folder / "state")}
    ) as memory:
        memory.index()
        for edit in history:
            if edit[0] == "scan":
                memory.index()
            apply(root, edit)
            answer = memory.search(
                QUERIES[edit[1] % len(QUERIES)], scopes=memory.scopes(), refresh=refresh
            )
            fresh = answer.freshness
            assert fresh.semantic == "off"
            assert fresh.reason
            for hit in answer.hits:
                if hit.note not in fresh.stale_files:
                    lines = lines_of(root, hit.note).split("\n")
                    assert (
                        "\n".join(lines[hit.lines[0] - 1 : hit.lines[1]]).strip("\ufeff ")
                        == hit.text.strip()
                    )


@pytest.mark.sampled
@settings(max_examples=40)
@given(edits)
def test_every_hit_is_in_the_files_or_its_note_is_reported_as_stale(history):
    with tempfile.TemporaryDirectory() as folder:
        check_law(Path(folder), history)


def look_only_once(monkeypatch):
    return {"refresh": False}


def forget_what_is_stale(monkeypatch):
    monkeypatch.setattr(Index, "stale", lambda self: [])
    monkeypatch.setattr(
        "vault_memory.ingest.scan.Ingest.look_again", lambda self, report, *, conclude_young: report
    )
    return {}


@pytest.mark.parametrize("break_it", [look_only_once, forget_what_is_stale])
def test_the_freshness_law_detects_broken_code(break_it, monkeypatch, tmp_path):
    how = break_it(monkeypatch)

    def runs():
        for seed in range(40):
            folder = tmp_path / str(seed)
            folder.mkdir()
            check_law(folder, random_edits(random.Random(seed), 12), **how)

    with pytest.raises(AssertionError):
        runs()


def test_a_note_that_cannot_be_checked_is_reported_as_stale(tmp_path, sample_vault):
    with VaultMemory.open(sample_vault, OFF) as memory:
        memory.index()
        note = sample_vault / "MEMORY.md"
        secret = tmp_path / "elsewhere.md"
        note.rename(secret)
        note.symlink_to(secret)

        answer = memory.search("lighthouse", scopes=["group:main"])

        assert answer.freshness.stale_files == ("MEMORY.md",)


@pytest.mark.parametrize("mode", ["balanced", "keyword", "semantic", "rrf"])
def test_without_an_embedder_every_mode_uses_keywords_and_reports_it(sample_vault, mode):
    with VaultMemory.open(sample_vault, OFF) as memory:
        answer = memory.search("spare key of the lighthouse", scopes=["user:mira"], mode=mode)

    assert "barometer" in answer.hits[0].text
    assert (answer.freshness.semantic, answer.freshness.reason) == (
        "off",
        "switched off in the configuration",
    )
