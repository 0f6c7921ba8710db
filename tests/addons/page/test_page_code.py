"""Limits of the page's code: its size, the hosts that it names, and who loads it."""

import ast
import json
import re
import statistics
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside
from vault_memory.addons import page as page_package

PAGE = Path(page_package.__file__).parent
TEMPLATES = sorted((PAGE / "templates").rglob("*.html"))
STATIC = sorted((PAGE / "static").iterdir())
UNESCAPED = [("note.html", "{{ html | safe }}"), ("note.html", "{{ raw_html | safe }}")]
"""The rendered Markdown of a note, and its raw text with the same marks"""
LARGEST = {"page.css": 12_288, "page.js": 16_384}
"""Static file → its most bytes"""
LARGEST_IN_WHEEL = 167_000
"""It may only be lowered"""
LONGEST_MEDIAN = 8
SVG_NAMESPACE = "http://www.w3.org/2000/svg"
ADDRESS = re.compile(r"""\b[a-z]+://[^\s"'<>)]+|["'(]//[\w.-]+""")
HOOK = {"hook_event_name": "SessionStart", "session_id": "s", "prompt": "a lamp"}
SHORT_COMMANDS = {
    "--help": (["--help"], ""),
    "search": (["search", "lamp"], ""),
    "hook": (["hook", "claude-code", "--user", "ann"], json.dumps(HOOK)),
}
PARTS_OF_THE_PAGE = {"jinja2", "starlette"}


def test_only_the_rendered_note_is_not_escaped() -> None:
    unescaped = [
        (path.name, expression)
        for path in TEMPLATES
        for expression in re.findall(r"\{\{[^}]*\|\s*safe\b[^}]*\}\}", path.read_text())
    ]

    assert unescaped == UNESCAPED


def test_no_template_escapes_less_in_another_way() -> None:
    source = "".join(path.read_text() for path in TEMPLATES)

    assert len(re.findall(r"\bsafe\b", source)) == len(UNESCAPED)
    assert not re.search(r"\bautoescape\b|\bMarkup\b", source)


@pytest.mark.sampled
def test_functions_are_short() -> None:
    lengths = [
        (node.end_lineno or 0) - node.lineno + 1
        for path in PAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]

    assert len(lengths) > 100
    assert statistics.median(lengths) <= LONGEST_MEDIAN


@pytest.mark.parametrize("name", LARGEST)
def test_static_files_are_small(name: str) -> None:
    assert (PAGE / "static" / name).stat().st_size <= LARGEST[name]


def test_the_page_names_no_other_host() -> None:
    addresses = {
        address for path in [*TEMPLATES, *STATIC] for address in ADDRESS.findall(path.read_text())
    }

    assert addresses <= {SVG_NAMESPACE}


@pytest.fixture(scope="module")
def bytes_in_wheel(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The compressed size of the page's files."""
    archive = tmp_path_factory.mktemp("wheel") / "page.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in PAGE.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                wheel.write(path, path.relative_to(PAGE.parent))
    return archive.stat().st_size


def test_the_page_does_not_grow_in_the_wheel(bytes_in_wheel: int) -> None:
    assert bytes_in_wheel <= LARGEST_IN_WHEEL


@pytest.mark.sampled
@pytest.mark.parametrize("command", SHORT_COMMANDS)
def test_short_commands_load_no_part_of_the_page(outside: Outside, command: str) -> None:
    outside.write("memory/a.md", "- the lamp is trimmed at nine\n")
    assert outside.here("index", "--no-embed").code == 0
    arguments, text = SHORT_COMMANDS[command]

    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "vault_memory", *arguments],
        input=text,
        text=True,
        capture_output=True,
        env=outside.environment | {"VAULT_MEMORY_VAULT": str(outside.vault)},
        cwd=outside.home,
        timeout=60,
    )

    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stderr.splitlines() if "import time:" in line]
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    assert "vault_memory" in loaded
    assert not loaded & PARTS_OF_THE_PAGE
