"""The workflow runs on three systems what the Makefile runs here."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture
def workflow(project: Path) -> dict[str, Any]:
    text = (project / ".github/workflows/test.yml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


@pytest.fixture
def makefile(project: Path) -> str:
    return (project / "Makefile").read_text(encoding="utf-8")


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_each_system_has_a_job(workflow: dict[str, Any]):
    systems = {name: job["runs-on"] for name, job in workflow["jobs"].items()}

    assert systems == {
        "linux": "ubuntu-latest",
        "macos": "macos-latest",
        "windows": "windows-latest",
    }


def test_each_supported_python_is_tested(workflow: dict[str, Any], project: Path):
    text = (project / "pyproject.toml").read_text(encoding="utf-8")
    classifiers = tomllib.loads(text)["project"]["classifiers"]
    lines = (line.rpartition(" :: ")[2] for line in classifiers)
    supported = [line for line in lines if re.fullmatch(r"3\.\d+", line)]

    pythons = {name: job["strategy"]["matrix"]["python"] for name, job in workflow["jobs"].items()}

    assert set(supported) <= set(pythons["linux"])
    assert pythons["macos"] == pythons["windows"]
    assert pythons["macos"] == [pythons["linux"][0], pythons["linux"][-1]]


@pytest.mark.parametrize("name", ["linux", "macos"])
def test_the_targets_of_a_job_are_those_of_the_makefile(
    workflow: dict[str, Any], project: Path, name: str
):
    for command in commands(workflow["jobs"][name]):
        program, target, python = command.split(" ")
        assert (program, python) == ("make", "PYTHON=python")

        done = subprocess.run(
            ["make", "--dry-run", target, "PYTHON=python"],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=60,
        )

        assert done.returncode == 0, done.stderr
        assert "pytest" in done.stdout


def test_windows_runs_what_the_makefile_calls_portable(
    workflow: dict[str, Any], makefile: str, project: Path
):
    portable = re.search(r"^PORTABLE := (.+)$", makefile, re.MULTILINE)
    assert portable

    install, test = commands(workflow["jobs"]["windows"])

    assert install == "python -m pip install --constraint constraints.txt -e .[test]"
    assert test == f"python -m pytest {portable[1]}"
    assert all((project / path).exists() for path in portable[1].split(" "))
