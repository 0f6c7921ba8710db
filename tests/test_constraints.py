"""`make run` installs the versions that were tested: constraints.txt names each package, and fits pyproject.toml."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.every import every

PROJECT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("onnx", "web", "documents", "s3", "fleet")
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(SETTINGS["classifiers"]))


def pins(python: str) -> dict[str, Version]:
    """What that Python gets, by name."""
    text = (PROJECT / "constraints.txt").read_text(encoding="utf-8")
    found: dict[str, Version] = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        assert re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; [a-z0-9_=\". ]+)?", line), line
        pin = Requirement(line)
        [exact] = pin.specifier
        if pin.marker is None or pin.marker.evaluate({"python_version": python}):
            assert pin.name not in found, f"{pin.name} has two versions for Python {python}"
            found[pin.name] = Version(exact.version)
    return found


def required() -> list[Requirement]:
    """What pyproject.toml names for `make run`."""
    named = [*SETTINGS["dependencies"]]
    for extra in EXTRAS:
        named += SETTINGS["optional-dependencies"][extra]
    return [Requirement(text) for text in named]


def installed(name: str) -> Version | None:
    try:
        return Version(distribution(name).version)
    except PackageNotFoundError:
        return None


def dependencies(requirement: Requirement) -> Iterator[Requirement]:
    """What an installed package needs here, with the extras it was asked for."""
    for text in distribution(requirement.name).requires or ():
        needed = Requirement(text)
        extras = requirement.extras or {""}
        if needed.marker is None or any(
            needed.marker.evaluate({"extra": extra}) for extra in extras
        ):
            yield needed


@every("python", PYTHONS)
def test_every_requirement_is_pinned(python: str):
    versions = pins(python)

    for requirement in required():
        name = canonicalize_name(requirement.name)
        assert name in versions, f"{name} is not in constraints.txt; run `make constraints`"
        assert versions[name] in requirement.specifier, (
            f"{requirement} does not allow {versions[name]}"
        )


def test_every_indirect_requirement_is_pinned():
    python = default_environment()["python_version"]
    if python not in PYTHONS:
        pytest.skip(f"constraints.txt is not made for Python {python}")
    versions = pins(python)
    waiting, seen, complete = required(), set[str](), True

    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        assert name in versions, f"{name} is not in constraints.txt; run `make constraints`"
        assert versions[name] in requirement.specifier, (
            f"{requirement} does not allow {versions[name]}"
        )
        if f"{name}{sorted(requirement.extras)}" in seen:
            continue
        seen.add(f"{name}{sorted(requirement.extras)}")
        if installed(name) == versions[name]:
            waiting += dependencies(requirement)
        else:  # another version may need other packages
            complete = False
    if complete:
        needed = {name.partition("[")[0] for name in seen}
        assert needed == set(versions), "run `make constraints`: a package there is not needed"


@pytest.mark.parametrize("target", ["package", "dev", "torch"])
def test_make_installs_the_pinned_versions(target: str):
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    [recipe] = re.findall(rf"^\$\(STAMPS\)/{target}: .*\n((?:\t.*\n)+)", makefile, re.MULTILINE)

    installs = re.findall(r"\$\(PIP\) install (.*)", recipe)
    assert installs
    assert all(words.startswith("--constraint constraints.txt ") for words in installs)
