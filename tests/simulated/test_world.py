"""Hundreds of lives of a vault: whatever happens, no word is lost, and everything comes to rest.

Naive engines live the same lives, and must be caught: else the oracles would be blind.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.effort import cases
from tests.simulated.engines import NAIVE, Make, Naive
from tests.simulated.real import NeverSyncs, Real
from tests.simulated.script import pinned_lives, read
from tests.simulated.shrinking import retold
from tests.simulated.violation import Violation
from tests.simulated.world import live, run

RUNS = cases(600)
PARTS = 6
MOVING = 60
"""Further lives, which differ from run to run"""
FIRST_DEEP, DEEP = 600, 100_000
"""Further lives, in the long run"""
CATCH_WITHIN = 1000


def real(state: Path) -> Make:
    """The product on a disk."""
    return lambda disk: Real(disk, state)


def lives(seeds: range, make: Make) -> None:
    """Each of these, with the story of the first that goes wrong."""
    for seed in seeds:
        try:
            run(seed, make)
        except Exception as error:
            raise AssertionError(retold(seed, make)) from error


@pytest.mark.sampled
@pytest.mark.scenario(
    "A1",
    "A2",
    "A5",
    "A6",
    "A7",
    "A8",
    "A23",
    "A25",
    "B33",
    "B34",
    "B35",
    "B37",
    "B38",
    "B39",
    "B48",
    "D69",
    "D70",
)
@pytest.mark.parametrize("first", range(0, RUNS, RUNS // PARTS))
def test_no_simulated_history_loses_a_line(first: int, tmp_path: Path) -> None:
    lives(range(first, first + RUNS // PARTS), real(tmp_path))


@pytest.mark.sampled
def test_no_simulated_history_with_new_seeds_loses_a_line(seeds_from: int, tmp_path: Path) -> None:
    try:
        lives(range(seeds_from, seeds_from + MOVING), real(tmp_path))
    except AssertionError as error:
        command = "python -m pytest tests/simulated/test_world.py -k with_new_seeds"
        again = f"{command} --seeds-from {seeds_from}"
        raise AssertionError(f"{error}\nagain: {again}") from error


@pytest.mark.deep
@pytest.mark.timeout(0)
@pytest.mark.parametrize("first", range(FIRST_DEEP, FIRST_DEEP + DEEP, DEEP // 20))
def test_very_many_simulated_histories_lose_no_line(first: int, tmp_path: Path) -> None:
    lives(range(first, first + DEEP // 20), real(tmp_path))


@pytest.mark.sampled
@pytest.mark.parametrize("path", pinned_lives(), ids=lambda path: path.stem)
def test_a_history_that_once_lost_a_line_now_loses_none(path: Path, tmp_path: Path) -> None:
    life = read(path)

    live(life.setting, life.steps, real(tmp_path))


def caught(make: Make, first: int) -> tuple[int, str]:
    """In how many lives an engine is caught, and by which oracle."""
    for count in range(1, CATCH_WITHIN + 1):
        try:
            run(first + count, make)
        except Violation as violation:
            return count, violation.oracle
    raise AssertionError(f"not caught in {CATCH_WITHIN} lives")


@pytest.mark.sampled
@pytest.mark.parametrize("engine", NAIVE, ids=lambda engine: engine.__name__)
def test_a_naive_engine_is_caught(
    engine: type[Naive], record_property: Callable[[str, object], None]
) -> None:
    counts = [caught(engine, first) for first in range(10_000, 20_000, 1000)]
    record_property(
        "mean number of lives until it is caught", sum(count for count, _ in counts) / len(counts)
    )


@pytest.mark.sampled
def test_an_engine_that_never_syncs_is_caught(tmp_path: Path) -> None:
    count, _ = caught(lambda disk: NeverSyncs(disk, tmp_path), 10_000)
    assert count <= CATCH_WITHIN


def digests(seeds: range, state: Path) -> list[str]:
    """Of these lives."""
    return [run(seed, real(state)).digest() for seed in seeds]


@pytest.mark.sampled
def test_the_same_seed_gives_the_same_history(tmp_path: Path) -> None:
    expected = digests(range(20), tmp_path)
    program = (
        "from pathlib import Path; from tests.simulated.test_world import digests;"
        f"print(*digests(range(20), Path({str(tmp_path)!r})))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}
    again = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
        cwd=Path(__file__).parents[2],
    )

    assert again.stdout.split() == expected
