"""The measure of how code reads: its figures are right, and no change makes one worse unnoticed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "tools" / "code_style.py"

READER = '''"""Reads what lies there."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lamp.writer import Clock

# The file may be absent: its folder is removed with the state.
def read(path, found):
    from lamp.writer import write

    one = path if found else None
    return write(one)
'''
WRITER = '''"""Writes a file."""

from lamp.reader import read


class Clock:
    def now(self): return 1  # fmt: skip

    def _tick(self):
        """Advances the clock."""


def write(a, b=1, c=2, d=3, e=4, f=5, *, g=6):
    return read
'''
OTHER = '''"""A clock of its own."""


class Clock:
    pass
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "lamp"
    (folder / "deep").mkdir(parents=True)
    for name, text in (("reader", READER), ("writer", WRITER), ("deep/reader", OTHER)):
        folder.joinpath(f"{name}.py").write_text(text)
    for init in (folder, folder / "deep"):
        init.joinpath("__init__.py").write_text("")
    return folder


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def figures_of(package: Path) -> dict[str, float]:
    result = run(package, "--json")
    assert result.returncode == 0, result.stderr
    figures: dict[str, float] = json.loads(result.stdout)
    return figures


def write_table(path: Path, **figures: float) -> None:
    lines = (f"{name} = {value}\n" for name, value in figures.items())
    path.write_text("[figures]\n" + "".join(lines))


def test_figures_of_a_small_package_equal_those_counted_by_hand(package: Path):
    figures = figures_of(package)

    assert figures["code_lines"] == 15
    assert figures["comment_lines_percent"] == 6.67
    assert figures["vague_names_percent"] == 16.67  # `found` and `one`, of 12 names
    assert figures["archaic_per_1000_docstring_words"] == 66.67  # "lies", of 15 words
    assert figures["functions_above_6_parameters"] == 1
    assert figures["fmt_skip"] == 1
    assert figures["own_imports_inside_functions"] == 1
    assert figures["module_stems_used_twice"] == 1
    assert figures["class_names_used_twice"] == 1
    assert figures["largest_import_cycle"] == 2
    assert figures["most_modules_in_one_package"] == 2
    assert figures["most_methods_in_a_class"] == 2


def test_code_that_reads_worse_fails_the_check(package: Path, tmp_path: Path):
    table = tmp_path / "table.toml"
    write_table(table, vague_names_percent=16.66, comment_lines_percent=6.67)

    result = run(package, "--table", table, "--check")

    assert result.returncode == 1
    assert "error: vague_names_percent: 16.67, and the table allows 16.66" in result.stderr
    assert "hint: find the places" in result.stderr


def test_fewer_comments_fail_the_check(package: Path, tmp_path: Path):
    table = tmp_path / "table.toml"
    write_table(table, comment_lines_percent=6.68)

    assert run(package, "--table", table, "--check").returncode == 1


def test_an_equal_figure_passes_and_a_much_better_one_requests_a_stricter_limit(
    package: Path, tmp_path: Path
):
    table = tmp_path / "table.toml"
    write_table(table, vague_names_percent=16.67, fmt_skip=9)

    result = run(package, "--table", table, "--check")

    assert result.returncode == 0
    assert "fmt_skip: 1 is better than 9" in result.stdout
    assert "--tighten" in result.stdout
    assert "vague_names_percent" not in result.stdout


def test_tightening_saves_better_figures_and_loosens_none(package: Path, tmp_path: Path):
    table = tmp_path / "table.toml"
    write_table(table, vague_names_percent=3, comment_lines_percent=50, fmt_skip=9)

    assert run(package, "--table", table, "--tighten").returncode == 0
    lines = table.read_text().splitlines()

    assert {"vague_names_percent = 3", "comment_lines_percent = 50", "fmt_skip = 1"} <= {*lines}
    assert run(package, "--table", table, "--check").returncode == 1


def test_the_worst_places_are_listed(package: Path):
    result = run(package, "--worst", "3")

    assert "lamp.deep.reader, lamp.reader" in result.stdout
    assert f"{package / 'writer.py'}:13 write" in result.stdout
