"""On Windows the program says in one sentence what to do; its pure parts work there.

These tests run on Linux with a Python that lacks what Windows lacks, and on Windows itself.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.every import every
from tests.platforms.stand_ins import PROJECT, environment, python

USUAL = dict(os.environ)
PROGRAM = [sys.executable, "-m", "vault_memory"]
PURE = ("contract", "errors", "markdown", "rules")


def run(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    is_real = sys.platform == "win32"
    return subprocess.run(
        [*PROGRAM, *words],
        env=USUAL if is_real else environment("windows", USUAL),
        cwd=PROJECT,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
    )


@every(
    "words",
    [
        ("run",),
        ("search", "boat"),
        ("append", "a.md", "Boats", "oars"),
        ("hook", "claude-code", "--user", "ann"),
        ("mcp", "--user", "ann"),
        ("--help",),
        (),
    ],
    ids=lambda words: " ".join(words) or "nothing",
)
def test_each_command_says_what_to_do_on_windows(words: tuple[str, ...]):
    done = run(*words)

    assert done.returncode == 3
    problem, hint = done.stderr.splitlines()
    assert problem.startswith("error: vault-memory does not run on Windows itself")
    assert hint.startswith("hint: install it in WSL")
    assert not done.stdout


def test_a_program_reads_the_same_as_json():
    done = run("search", "boat", "--json")

    assert done.returncode == 3
    assert json.loads(done.stdout)["error"]["code"] == "system_unsupported"


def test_a_bot_in_python_is_told_the_same():
    code = (
        "import vault_memory\n"
        "try:\n"
        "    vault_memory.VaultMemory\n"
        "except vault_memory.VaultMemoryError as error:\n"
        "    print(error.code, error.hint)\n"
    )

    done = python("windows", code)

    assert done.stdout.startswith("system_unsupported install it in WSL"), done.stderr


@pytest.mark.sampled
def test_the_pure_parts_need_nothing_that_windows_lacks():
    code = (
        "import importlib, pkgutil, vault_memory\n"
        "names = [module.name for module in pkgutil.walk_packages(\n"
        "    vault_memory.__path__, 'vault_memory.', lambda name: None)]\n"
        f"pure = [name for name in names if name.split('.')[1] in {PURE}]\n"
        "for name in pure:\n"
        "    importlib.import_module(name)\n"
        "print(len(pure))\n"
    )

    done = python("windows", code)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


@pytest.mark.sampled
@pytest.mark.skipif(sys.platform == "win32", reason="they run there themselves")
def test_the_portable_tests_can_be_collected_on_windows():
    code = (
        "import importlib, pathlib, sys\n"
        "sys.platform = 'linux'\n"
        "import hypothesis, pytest\n"
        "sys.platform = 'win32'\n"
        "from tests.conftest import NOT_ON_WINDOWS\n"
        "files = {*pathlib.Path('tests/rules').rglob('*.py')}\n"
        "files |= {*pathlib.Path('tests/markdown').rglob('*.py')}\n"
        "files -= {pathlib.Path('tests') / name for name in NOT_ON_WINDOWS}\n"
        "for file in sorted(files):\n"
        "    importlib.import_module('.'.join(file.with_suffix('').parts))\n"
        "print(len(files))\n"
    )

    done = python("windows", code)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50
