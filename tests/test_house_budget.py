"""The budget of each room: nodes are counted right, and no room grows unnoticed."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "tools" / "house_budget.py"
FIVE_NODES = '"""A lamp."""\n\nLIT = True\n'
"""Two statements, a docstring, a name and a value"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "lamp"
    for name in ("cli/page", "cli/deep/page", "errors", "addons/talk/bot"):
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FIVE_NODES)
    return folder


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "budget.toml"


def run(package: Path, table: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(package), "--table", str(table)]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60)


def budgets(table: Path) -> dict[str, int]:
    stored: dict[str, int] = tomllib.loads(table.read_text())["nodes"]
    return stored


def add_nodes(module: Path) -> None:
    module.write_text(FIVE_NODES + "OUT = not LIT\n")


def test_the_first_table_has_the_nodes_of_each_folder_module_and_add_on(package: Path, table: Path):
    assert run(package, table, "--tighten").returncode == 0

    assert budgets(table) == {"cli": 10, "errors": 5, "addons/talk": 5}
    assert run(package, table, "--check").returncode == 0


def test_air_and_comments_cost_nothing(package: Path, table: Path):
    run(package, table, "--tighten")
    (package / "errors.py").write_text('"""A lamp."""\n\n# It is lit.\nLIT = (\n    True\n)\n')

    assert run(package, table, "--check").returncode == 0


def test_a_room_that_grows_fails_the_check_and_tightening_does_not_help(package: Path, table: Path):
    run(package, table, "--tighten")
    add_nodes(package / "errors.py")
    run(package, table, "--tighten")

    result = run(package, table, "--check")

    assert result.returncode == 1
    assert "error: errors: 9 nodes, and its budget is 5" in result.stderr
    assert "hint: remove what nobody would miss" in result.stderr


def test_what_was_saved_is_kept(package: Path, table: Path):
    run(package, table, "--tighten")
    (package / "cli" / "page.py").unlink()

    assert "--tighten" in run(package, table, "--check").stdout
    run(package, table, "--tighten")

    assert budgets(table)["cli"] == 5


def test_a_new_room_gets_its_budget_from_the_room_that_gave_it_up(package: Path, table: Path):
    run(package, table, "--tighten")
    (package / "page").mkdir()
    (package / "cli" / "page.py").rename(package / "page" / "page.py")

    assert run(package, table, "--check").returncode == 1
    assert run(package, table, "--move", "cli", "page").returncode == 0

    assert budgets(table) == {"cli": 5, "page": 5, "errors": 5, "addons/talk": 5}
    assert run(package, table, "--check").returncode == 0


def test_a_room_that_gives_up_too_little_passes_nothing_on(package: Path, table: Path):
    run(package, table, "--tighten")
    add_nodes(package / "errors.py")

    result = run(package, table, "--move", "cli", "errors")

    assert result.returncode == 1
    assert "cli and errors have more nodes" in result.stderr
    assert budgets(table)["errors"] == 5
