"""A short run tries a part of the costly tests, another part each time; CI tries all."""

import os
import subprocess
import sys
from pathlib import Path

from tests.effort import SAMPLED_PART, in_sample

PROJECT = Path(__file__).resolve().parent.parent
COSTLY = "tests/goldens/test_commands.py"
CHEAP = "tests/test_effort.py"
NAMES = [f"tests/search/test_ships.py::test_a_ship_is_found[{number}]" for number in range(1_000)]


def collected(*arguments: str) -> list[str]:
    """The tests that a run with these arguments would try."""
    words = ("-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments)
    # Fault: with "-v" of the person who runs all tests, the names come as a tree.
    environment = os.environ | {"PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_a_seed_chooses_the_same_part_again() -> None:
    chosen = [name for name in NAMES if in_sample(name, 7)]

    assert chosen == [name for name in NAMES if in_sample(name, 7)]
    assert 0.5 < len(chosen) * SAMPLED_PART / len(NAMES) < 1.5


def test_each_test_is_chosen_by_some_seed() -> None:
    seeds = range(20 * SAMPLED_PART)

    assert all(any(in_sample(name, seed) for seed in seeds) for name in NAMES)


def test_a_short_run_leaves_out_costly_tests_only() -> None:
    part = collected(COSTLY, CHEAP, "--sampled", "part", "--seeds-from", "7")
    whole = collected(COSTLY, CHEAP)

    left_out = set(whole) - set(part)
    assert left_out
    assert {name.partition("::")[0] for name in left_out} == {COSTLY}
    assert set(part) <= set(whole)
    assert part == collected(COSTLY, CHEAP, "--sampled", "part", "--seeds-from", "7")
