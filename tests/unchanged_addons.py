"""Which add-ons have not changed since the branch left the main one, as git tells.

`make test` runs only the smoke tests of those: the tests of an add-on run when the add-on, the
contract, the table or a door of the core changed. CI and ``EFFORT=full`` run all.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

ADDONS = Path("tests/addons")
BASES = ("origin/main", "@{upstream}")
"""The main branch of a clone; else the branch that this one follows. Without them: the last tag"""
SHARED = (
    "constraints.txt",
    "pyproject.toml",
    "tests/addons/__init__.py",
    "tests/conftest.py",
    "vault_memory/addons/__init__.py",
    "vault_memory/addons/table.py",
    "vault_memory/api/",
    "vault_memory/cli/",
    "vault_memory/contract/",
    "vault_memory/http/",
    "vault_memory/service/",
)
"""What each add-on stands on: the contract, the table, the doors of the core, the libraries"""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The add-ons that are as they are at a commit."""

    names: frozenset[str]
    base: str

    def __str__(self) -> str:
        return (
            f"add-ons unchanged since {self.base[:10]}: {', '.join(sorted(self.names))}; "
            "of these only the smoke tests run. `EFFORT=full make test` runs all"
        )

    def leave_out_file(self, file: Path, project: Path) -> bool:
        """Return whether a file tests such an add-on and has no smoke test."""
        return self.covers(file, project) and "pytest.mark.smoke" not in file.read_text("utf-8")

    def covers(self, path: Path, project: Path) -> bool:
        """Return whether a file tests such an add-on."""
        folder = project / ADDONS
        return path.is_relative_to(folder) and path.relative_to(folder).parts[0] in self.names


def unchanged_addons(project: Path) -> Unchanged | None:
    """Return them; None when git cannot tell, or each one has changed."""
    base = _base(project)
    if base is None:
        return None
    changed = _paths(project, "diff", "--name-only", "--no-renames", "-z", base)
    new = _paths(project, "ls-files", "--others", "--exclude-standard", "-z")
    if changed is None or new is None:
        return None
    if any(path.startswith(SHARED) for path in (*changed, *new)):
        return None
    touched = {
        path.split("/")[2]
        for path in (*changed, *new)
        if path.startswith(("vault_memory/addons/", "tests/addons/"))
    }
    folders = {path.parent.name for path in (project / ADDONS).glob("*/__init__.py")}
    names = frozenset(folders - touched)
    return Unchanged(names, base) if names else None


def _base(project: Path) -> str | None:
    """Return the commit at which this branch left the main one."""
    for name in BASES:
        if base := _git(project, "merge-base", "HEAD", name):
            return base.strip()
    if tag := _git(project, "describe", "--tags", "--abbrev=0"):
        return (_git(project, "rev-parse", f"{tag.strip()}^{{commit}}") or "").strip() or None
    return None


def _paths(project: Path, *arguments: str) -> list[str] | None:
    said = _git(project, *arguments)
    return None if said is None else [path for path in said.split("\0") if path]


def _git(project: Path, *arguments: str) -> str | None:
    """Return what git prints; None without git, outside a clone, or for an unknown commit."""
    try:
        process = subprocess.run(
            ["git", "-C", str(project), *arguments],
            capture_output=True,
            check=True,
            encoding="utf-8",
            errors="surrogateescape",
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return process.stdout
