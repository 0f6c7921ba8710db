"""Writes constraints.txt: the exact version of each package that `make run` installs, for each supported Python.

Run by `make constraints`. It asks the package index that pip is configured for, and installs nothing.
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / "constraints.txt"
EXTRAS = ("onnx", "mcp", "web", "s3", "fleet")
HEADER = """\
# What `make run` and the image install, to the version: the packages that the tests ran with.
# Renew it with `make constraints`; tests/test_constraints.py says when it no longer fits pyproject.toml.
"""


def main() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = list(project["dependencies"])
    for extra in EXTRAS:
        requirements += project["optional-dependencies"][extra]
    versions = {
        python: resolve(python, requirements) for python in supported(project["classifiers"])
    }
    TARGET.write_text(HEADER + "".join(f"{line}\n" for line in lines(versions)), encoding="utf-8")
    print(
        f"wrote {TARGET.name}: {len(set().union(*versions.values()))} packages for Python {', '.join(versions)}"
    )


def supported(classifiers: list[str]) -> list[str]:
    """The versions of Python that the project names, the oldest first."""
    matches = [
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in classifiers
    ]
    return [match[1] for match in matches if match]


def resolve(python: str, requirements: list[str]) -> dict[str, str]:
    """The newest versions that go together, by name, as this Python would install them."""
    program = shutil.which(f"python{python}")
    if program is None:
        sys.exit(f"error: python{python} was not found\nhint: install it, and run this again")
    options = ("--dry-run", "--ignore-installed", "--quiet", "--report", "-")
    command = [sys.executable, "-m", "pip", "--python", program, "install", *options, *requirements]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"error: the packages for Python {python} could not be found")
    packages = [item["metadata"] for item in json.loads(done.stdout)["install"]]
    return {normal(package["name"]): package["version"].partition("+")[0] for package in packages}


def normal(name: str) -> str:
    """The name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def lines(versions: dict[str, dict[str, str]]) -> list[str]:
    """One line for each package, or several with markers where the Pythons differ."""
    found = []
    for name in sorted(set().union(*versions.values())):
        pythons = defaultdict(list)
        for python, packages in versions.items():
            if name in packages:
                pythons[packages[name]].append(python)
        if list(pythons.values()) == [list(versions)]:
            found += [f"{name}=={version}" for version in pythons]
            continue
        for version, of_version in pythons.items():
            marker = " or ".join(f'python_version == "{python}"' for python in of_version)
            found.append(f"{name}=={version} ; {marker}")
    return found


if __name__ == "__main__":
    main()
