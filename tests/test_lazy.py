"""Modules that are imported on first use."""

import subprocess
import sys
from importlib import import_module

import pytest

import vault_memory
from vault_memory.rules import paths
from vault_memory.rules.paths import globs


def printed(program: str) -> list[str]:
    """What a process prints that has imported nothing of the package yet."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_a_module_of_a_package_is_imported_on_first_use() -> None:
    program = (
        "import sys\n"
        "from vault_memory.rules.paths import globs\n"
        "print('vault_memory.rules.paths.globs' in sys.modules)\n"
        "print(globs.__name__, 'vault_memory.rules.paths.globs' in sys.modules)\n"
        "from vault_memory.rules.paths import globs\n"
        "print(type(globs).__name__)\n"
    )

    assert printed(program) == ["False", "vault_memory.rules.paths.globs", "True", "module"]


def test_a_name_of_a_package_is_imported_when_it_is_asked_for() -> None:
    program = (
        "import sys\n"
        "import vault_memory\n"
        "print('vault_memory.errors' in sys.modules)\n"
        "print(vault_memory.UsageError.__name__, 'vault_memory.errors' in sys.modules)\n"
    )

    assert printed(program) == ["False", "UsageError", "True"]


def test_a_package_lists_each_of_its_names_once() -> None:
    assert vault_memory.UsageError.__name__ == "UsageError"
    names = dir(vault_memory)
    assert len(names) == len(set(names))
    assert set(vault_memory.__all__) <= set(names)


def test_threads_that_use_a_module_first_all_find_it_whole() -> None:
    program = (
        "import threading\n"
        "from vault_memory.rules.paths import globs\n"
        "begin = threading.Barrier(8)\n"
        "found = []\n"
        "def use():\n"
        "    begin.wait()\n"
        "    found.append(globs.matcher.__name__)\n"
        "threads = [threading.Thread(target=use) for _ in range(8)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "print(*found)\n"
    )

    assert printed(program) == ["matcher"] * 8


def test_what_neither_a_package_nor_its_files_have_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'no_such_module'"):
        _ = paths.no_such_module
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = vault_memory.no_such_name
    with pytest.raises(ImportError):
        import_module("vault_memory.rules.paths.no_such_module")


def test_what_is_changed_in_a_lazy_module_is_changed_in_the_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as changing:
        changing.setattr(globs, "added", 3, raising=False)
        assert import_module("vault_memory.rules.paths.globs").__dict__["added"] == 3
    assert not hasattr(globs, "added")
