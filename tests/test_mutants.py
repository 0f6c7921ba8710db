"""The maker of small faults: each is one valid change, and the tests of a module are found."""

import ast
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT / "tools"))

from mutants import LinesRun, candidate_tests, find_mutants, nearest_tests  # noqa: E402

LAMP = '''"""A lamp."""


def is_lit(oil: int, wick: bool = True) -> bool:
    """Tells whether it burns."""
    é = "é"
    print(é)
    if not wick:
        raise ValueError(f"{oil + 1}")
    return oil > 3 and wick
'''


def lay_out(folder: Path, files: dict[str, str]) -> None:
    """Writes these files, by their paths in the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_each_mutant_changes_exactly_one_thing(tmp_path: Path):
    module = tmp_path / "lamp.py"
    module.write_text(LAMP, encoding="utf-8")

    faults = {(mutant.kind, mutant.text(LAMP)) for mutant in find_mutants(module)}

    assert faults == {
        ("constant", LAMP.replace("= True", "= (False)")),
        ("constant", LAMP.replace("oil > 3", "oil > (4)")),
        ("removed", LAMP.replace('é = "é"', "pass")),
        ("removed", LAMP.replace("print(é)", "pass")),
        ("not", LAMP.replace("not wick", "(wick)")),
        ("removed", LAMP.replace('raise ValueError(f"{oil + 1}")', "pass")),
        ("comparison", LAMP.replace("oil > 3", "(oil >= 3)")),
        ("and/or", LAMP.replace("oil > 3 and wick", "(oil > 3 or wick)")),
    }
    assert module.read_text(encoding="utf-8") == LAMP


def test_a_mutated_module_is_still_valid_python():
    module = PROJECT / "tools" / "mutants.py"
    source = module.read_text(encoding="utf-8")

    for mutant in list(find_mutants(module))[::3]:
        ast.parse(mutant.text(source))


def test_the_nearest_tests_of_a_module_are_those_that_use_it(tmp_path: Path):
    files = {
        "vault_memory/lamps/oil.py": "class OilCan: pass\n",
        "tests/lamps/test_oil.py": "from vault_memory.lamps.oil import OilCan\n",
        "tests/lamps/test_wick.py": "from vault_memory.lamps import wick\n",
        "tests/test_house.py": "import vault_memory\n",
        "tests/ships/test_hull.py": "from vault_memory.lamps import OilCan\n",
    }
    lay_out(tmp_path, files)

    module = tmp_path / "vault_memory/lamps/oil.py"
    candidates = candidate_tests(module, tmp_path, line=1)

    assert candidates[0] == tmp_path / "tests/lamps/test_oil.py"
    assert tmp_path / "tests/test_house.py" not in candidates[:2]


def test_a_test_that_names_the_function_of_the_line_is_nearer(tmp_path: Path):
    files = {
        "vault_memory/oil.py": "def fill():\n    return 1\n\n\ndef burn():\n    return 2\n",
        "tests/test_cans.py": "from vault_memory.oil import fill\n",
        "tests/test_fire.py": "from vault_memory.oil import burn\n",
    }
    lay_out(tmp_path, files)

    module = tmp_path / "vault_memory/oil.py"
    nearest = [candidate_tests(module, tmp_path, line)[0].name for line in (2, 6)]

    assert nearest == ["test_cans.py", "test_fire.py"]


def test_a_fault_is_tried_with_the_tests_that_run_its_line(tmp_path: Path):
    files = {
        "lamps/oil.py": "def fill():\n    return 1\n\n\ndef burn():\n    return 2\n",
        "tests/test_oil.py": "from lamps import oil\n\n\ndef test_fill():\n    oil.fill()\n",
        "tests/test_fire.py": "from lamps import oil\n\n\ndef test_burn():\n    oil.burn()\n",
        "tools/line_recorder.py": (PROJECT / "tools/line_recorder.py").read_text(),
    }
    lay_out(tmp_path, files)
    module = tmp_path / "lamps/oil.py"
    burning = [mutant for mutant in find_mutants(module) if mutant.node.lineno == 6]

    nearest = nearest_tests(burning[0], LinesRun(tmp_path))

    assert nearest[0] == tmp_path / "tests/test_fire.py"
