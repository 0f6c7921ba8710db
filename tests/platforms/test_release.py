"""A release publishes what the Makefile builds, under the version of the project."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture
def jobs(project: Path) -> dict[str, Any]:
    text = (project / ".github/workflows/release.yml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text)["jobs"])


def test_what_is_built_is_tested_first_by_targets_of_the_makefile(
    jobs: dict[str, Any], project: Path
) -> None:
    commands = [step["run"] for step in jobs["build"]["steps"] if "run" in step]

    assert commands == [f"make {target} PYTHON=python" for target in ("check", "test", "dist")]
    for command in commands:
        done = subprocess.run(
            [*command.split(), "--dry-run"], cwd=project, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr


def test_nothing_is_published_before_it_was_built(jobs: dict[str, Any]) -> None:
    for name, job in jobs.items():
        assert name == "build" or "build" in job["needs"] or "pypi" in job["needs"], name


def test_each_file_that_is_published_is_one_that_is_built(
    jobs: dict[str, Any], project: Path
) -> None:
    text = str(jobs)
    written = (project / "packaging" / "build.py").read_text(encoding="utf-8")
    named = set(re.findall(r"build/packages/([\w.]+)", text))

    assert named == {"openclaw", "opencode", "server.json"}
    assert all(f'BUILD / "{name}"' in written for name in named)


def test_the_version_stands_in_one_place(project: Path) -> None:
    """A tag names it, and the packages take it from the program."""
    named = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    table = tomllib.loads((project / "packaging/packages.toml").read_text(encoding="utf-8"))

    assert re.fullmatch(r"\d+\.\d+\.\d+", named["version"])
    assert "version" not in table
