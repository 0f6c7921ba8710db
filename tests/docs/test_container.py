"""The Dockerfile, read and not built: what it copies, installs, sets and calls is there, and its check is true."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside, outside
from vault_memory import config
from vault_memory.cli import COMMANDS
from vault_memory.models.telemetry import OPT_OUTS

__all__ = ["outside"]

PROJECT = Path(__file__).resolve().parent.parent.parent
SETTINGS = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
KNOWN = {
    "FROM",
    "ARG",
    "WORKDIR",
    "COPY",
    "RUN",
    "ENV",
    "USER",
    "VOLUME",
    "HEALTHCHECK",
    "ENTRYPOINT",
    "CMD",
}


def instructions() -> list[tuple[str, str]]:
    """Each with its words; comments are left out also between the lines of one instruction, as the engine does."""
    lines = (PROJECT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in joined]


def all_of(name: str) -> list[str]:
    return [words for one, words in instructions() if one == name]


def last(name: str) -> str:
    return all_of(name)[-1]


def environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in shlex.split(last("ENV")))


def is_sent(path: str) -> bool:
    """Whether the engine gets a file, by the last line of .dockerignore that says something about it or its folders."""
    sent = True
    for line in (PROJECT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.strip().removeprefix("!")
        parts = Path(path).parts
        above = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
        if pattern.startswith("**/"):
            hit = any(fnmatch(part, pattern[3:]) for part in parts)
        else:
            hit = any(fnmatch(one, pattern) for one in above)
        if line.strip() and not line.startswith("#") and hit:
            sent = line.startswith("!")
    return sent


def test_the_dockerfile_uses_known_instructions_on_a_single_python_base():
    assert {name for name, _ in instructions()} <= KNOWN
    versions = [re.match(r"python:(\d+\.\d+)-slim", line) for line in all_of("FROM")]
    assert len({found[1] for found in versions if found}) == 1
    assert None not in versions
    classifiers = SETTINGS["project"]["classifiers"]
    assert f"Programming Language :: Python :: {versions[0][1]}" in classifiers  # type: ignore[index]


def test_the_copied_files_exist_and_are_those_the_wheel_is_built_from():
    copied = {
        word for words in all_of("COPY") if "--from" not in words for word in words.split()[:-1]
    }

    assert all((PROJECT / one).exists() for one in copied)
    build = SETTINGS["tool"]["hatch"]["build"]["targets"]["wheel"]
    project = SETTINGS["project"]
    needed = {"pyproject.toml", "constraints.txt", project["readme"], *project["license-files"]}
    files = (build["packages"], build["force-include"], build["shared-data"])
    assert copied == needed.union(*files) | {"docs/man/vault-memory.1"}


@pytest.mark.sampled
def test_the_build_context_contains_only_the_copied_files():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git working tree")
    copied = {
        word for words in all_of("COPY") if "--from" not in words for word in words.split()[:-1]
    }
    tracked = [one for one in listed.stdout.split("\0") if one]

    assert {one for one in tracked if is_sent(one)} == {
        one for one in tracked if copied & {one, one.split("/")[0]}
    }
    for stray in (
        ".venv/bin/python",
        "vault_memory/api/__pycache__/a.pyc",
        "sample_vault/.vault-memory",
        "notes.md",
    ):
        assert not is_sent(stray)


def test_the_installed_extras_are_declared_by_the_project():
    [extras] = re.findall(r"EXTRAS=(\S+)", " ".join(all_of("ARG")))
    assert set(extras.split(",")) <= set(SETTINGS["project"]["optional-dependencies"])
    assert "--constraint constraints.txt" in all_of("RUN")[0]


def test_the_image_environment_is_valid_and_its_folders_are_volumes():
    ours = {
        name: value for name, value in environment().items() if name.startswith("VAULT_MEMORY_")
    }
    kept = json.loads(last("VOLUME"))

    config.load(None, ours)
    assert {name.removeprefix("VAULT_MEMORY_") for name in ours} <= config.RESERVED
    assert {ours["VAULT_MEMORY_VAULT"], ours["VAULT_MEMORY_STATE"]} == set(kept)
    assert ours["VAULT_MEMORY_CACHE"].startswith(tuple(kept))
    assert all(folder in last("RUN") for folder in kept), "its user owns them"


def test_no_library_in_the_image_phones_home():
    assert OPT_OUTS.items() <= environment().items()


def test_the_image_runs_the_daemon_and_not_as_root():
    [script] = json.loads(last("ENTRYPOINT"))
    [command] = json.loads(last("CMD"))

    assert script in SETTINGS["project"]["scripts"]
    assert command in COMMANDS
    assert last("USER") not in ("root", "0")
    assert f" {last('USER')}" in last("RUN")
    names = [name for name, _ in instructions()]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert "RUN" not in names[names.index("USER") :]


@pytest.mark.sampled
def test_the_health_check_succeeds_only_while_a_daemon_runs(outside: Outside):
    [check] = re.findall(r"CMD (.*)", last("HEALTHCHECK"))
    places = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "VAULT_MEMORY_VAULT": str(outside.vault),
    }

    def code() -> int:
        done = subprocess.run(
            ["/bin/sh", "-c", check], env=outside.environment | places, timeout=60
        )
        return done.returncode

    assert code() == 1
    with outside.daemon():
        assert code() == 0
