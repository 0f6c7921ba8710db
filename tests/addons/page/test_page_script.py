"""The module of the page is small, is valid, runs nothing that a note says, and fits the templates."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "vault_memory" / "addons" / "page"
SCRIPT = PAGE / "static" / "page.js"
CHECKS = Path(__file__).with_name("page_script.mjs")
UNSAFE = (
    "innerHTML =",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "Function(",
    "javascript:",
    "http://",
    "https://",
    "import ",
    "setAttribute(",
)
"""What could run the text of a note, or load code from elsewhere"""


@pytest.fixture(scope="module")
def script() -> str:
    return SCRIPT.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with the ending by which node knows a module."""
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    copy = tmp_path_factory.mktemp("script") / "page.mjs"
    shutil.copy(SCRIPT, copy)
    return copy


def test_the_script_is_small():
    assert SCRIPT.stat().st_size <= 16_384


def test_the_script_is_a_valid_module(module: Path):
    done = subprocess.run(
        ["node", "--check", str(module)], capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.sampled
def test_the_pure_parts_of_the_script_work(module: Path):
    done = subprocess.run(
        ["node", "--test", str(CHECKS)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PAGE_SCRIPT": module.as_uri()},
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"pass [1-9]", done.stdout), done.stdout


@pytest.mark.parametrize("text", UNSAFE)
def test_the_script_cannot_run_the_text_of_a_note(script: str, text: str):
    assert text not in script


def test_the_templates_have_the_elements_that_the_script_looks_for(script: str):
    templates = "".join(path.read_text(encoding="utf-8") for path in PAGE.glob("templates/*.html"))
    ids = set(re.findall(r'byId\("([a-z-]+)"\)', script))

    assert {
        "notice",
        "status",
        "state",
        "confirm",
        "confirm-text",
        "find",
        "found",
        "search",
        "keys",
        "keys-off",
    } == ids
    missing = [name for name in ids if f'id="{name}"' not in templates]
    assert not missing
    assert " onclick=" not in templates
    assert "data-live" in templates
