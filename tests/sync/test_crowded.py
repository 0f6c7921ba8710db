"""Two vaults, a third program without preconditions, overlapping uploads, a server with its faults: nothing is lost."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.effort import cases
from tests.sync import crowded
from tests.sync.conftest import MEMORY
from tests.sync.crowded import in_a_crowd
from vault_memory.sync.apply.overwrite_check import OverwriteCheck
from vault_memory.sync.apply.transfers import FileTransfers

SEEDS = range(20)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(cases(20)))
def test_two_crowded_vaults_converge_lose_nothing_and_keep_the_last_forms(base: Path, seed: int):
    in_a_crowd(base, seed, 150, forms=True)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(500))
def test_hundreds_of_crowded_runs_lose_nothing(base: Path, seed: int):
    in_a_crowd(base, seed, crowded.STEPS)


def never_asks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FileTransfers, "_unread", lambda self, path, fetched, sent: None)


def never_looks_behind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OverwriteCheck, "search", lambda self, result, now, only=None: {})


def trusts_every_tag(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("vault_memory.sync.observe.remote_scan.hidden_writes", lambda *seen: frozenset())
    never_looks_behind(patch)


VARIANTS = [never_asks, never_looks_behind, trusts_every_tag]


@pytest.mark.sampled
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.__name__)
def test_an_engine_that_lacks_a_guard_is_caught_within_twenty_runs(
    monkeypatch: pytest.MonkeyPatch, variant: Callable[[pytest.MonkeyPatch], None]
):
    variant(monkeypatch)

    assert any(fails(seed) for seed in SEEDS)


def fails(seed: int) -> bool:
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    try:
        in_a_crowd(folder, seed, 150)
    except AssertionError:
        return True
    finally:
        shutil.rmtree(folder)
    return False
