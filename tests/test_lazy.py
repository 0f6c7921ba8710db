"""Modules that are imported on first use."""

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from vault_memory.lazy import lazy_module

PACKAGE = Path(__file__).resolve().parent.parent / "vault_memory"


def test_a_lazy_module_is_imported_on_first_access() -> None:
    program = (
        "import sys\n"
        "from vault_memory.lazy import lazy_module\n"
        "errors = lazy_module('vault_memory.errors')\n"
        "print('vault_memory.errors' in sys.modules)\n"
        "print(errors.UsageError.__name__, 'vault_memory.errors' in sys.modules)\n"
    )

    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert process.stdout.split() == ["False", "UsageError", "True"]


def test_an_attribute_missing_from_the_module_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = lazy_module("vault_memory.errors").no_such_name


def lazy_names(tree: ast.AST) -> dict[str, str]:
    """Variable → name of the module, for each `variable = lazy_module("name")`."""
    names = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        function = node.value.func
        if isinstance(function, ast.Name) and function.id == "lazy_module":
            [target] = node.targets
            assert isinstance(target, ast.Name)
            names[target.id] = ast.literal_eval(node.value.args[0])
    return names


def imported_names(tree: ast.AST) -> dict[str, str]:
    """Variable → dotted name, for each `from package import module` and `import module`."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name] = alias.name
    return names


def test_each_lazy_module_exists_and_is_declared_to_type_checkers() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        twins = imported_names(tree)
        for variable, name in lazy_names(tree).items():
            place = f"{path.relative_to(PACKAGE)}: {name}"
            assert twins.get(variable) == name, f"{place} needs its import under TYPE_CHECKING"
            assert find_spec(name) is not None, place
