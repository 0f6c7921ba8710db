"""The table of figures in README: rows of one run of the benchmarks."""

from pathlib import Path

import pytest

from benchmarks import readme
from benchmarks.table import Row

PAGE = "# A\n\n## How fast\n\nOnce.\n\n| What | Measured |\n|---|---|\n| a start | 3 s |\n\nAnd more.\n"


def row(figure: str) -> Row:
    return Row(figure, "9 CPU ms", "–", "5 CPU ms", "≤ 6", True)


def test_a_run_replaces_the_table_and_tells_the_load(tmp_path: Path):
    page = tmp_path / "README.md"
    page.write_text(PAGE)

    readme.write(map(row, [*readme.FIGURES, "another figure"]), 0.25, page)

    before, _, after = page.read_text().partition("|What|Measured|Others|")
    assert before.startswith("# A\n\n## How fast\n\n")
    assert "load of 0.2" in before
    rows = [f"|{figure}|5 CPU ms|9 CPU ms|" for figure in readme.FIGURES]
    assert after.split("\n\n") == ["\n".join(["", "|---|---|---|", *rows]), "And more.\n"]


def test_a_run_without_one_of_the_figures_changes_nothing(tmp_path: Path):
    page = tmp_path / "README.md"
    page.write_text(PAGE)

    with pytest.raises(SystemExit, match="`embedding`"):
        readme.write([row(name) for name in readme.FIGURES if name != "embedding"], 0.25, page)

    assert page.read_text() == PAGE


def test_readme_has_a_place_for_the_table():
    assert readme.TABLE.search(readme.README.read_text("utf-8"))
