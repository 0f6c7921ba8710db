"""A short run leaves out the tests of an add-on only when git says that nothing beneath them changed."""

import subprocess
from pathlib import Path

import pytest

from tests.unchanged_addons import SHARED, Unchanged, unchanged_addons

PROJECT = Path(__file__).resolve().parent.parent
ADDONS = {"fog", "lamp"}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A project with two add-ons, in a fresh clone."""
    origin = tmp_path / "origin"
    for name in ADDONS:
        for folder in ("vault_memory", "tests"):
            add(origin, f"{folder}/addons/{name}/__init__.py", "")
    add(origin, "vault_memory/rules/ops.py", "")
    git(origin, "init", "--initial-branch", "main")
    commit(origin)
    git(tmp_path, "clone", str(origin), "clone")
    return tmp_path / "clone"


def git(folder: Path, *arguments: str) -> None:
    said = ("-c", "user.name=keeper", "-c", "user.email=keeper@example.org")
    subprocess.run(["git", *said, *arguments], cwd=folder, check=True, capture_output=True)


def add(project: Path, path: str, text: str) -> None:
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    (project / path).write_text(text)


def commit(project: Path) -> None:
    git(project, "add", "--all")
    git(project, "commit", "--message", "keep")


def unchanged(project: Path) -> set[str]:
    found = unchanged_addons(project)
    return set(found.names) if found else set()


def test_in_a_fresh_clone_each_add_on_is_unchanged(clone: Path) -> None:
    assert unchanged(clone) == ADDONS


@pytest.mark.parametrize(
    "path", ["vault_memory/addons/fog/horn.py", "tests/addons/fog/test_horn.py"]
)
@pytest.mark.parametrize("committed", [True, False])
def test_a_changed_add_on_is_tested(clone: Path, path: str, committed: bool) -> None:
    add(clone, path, "sounds = 3\n")
    if committed:
        git(clone, "switch", "--create", "horns")
        commit(clone)

    assert unchanged(clone) == {"lamp"}


def test_a_deleted_or_renamed_file_is_a_change(clone: Path) -> None:
    git(clone, "mv", "vault_memory/addons/fog/__init__.py", "vault_memory/addons/fog/first.py")
    commit(clone)
    git(clone, "rm", "vault_memory/addons/lamp/__init__.py")

    assert unchanged(clone) == set()


@pytest.mark.parametrize("path", SHARED)
def test_what_all_add_ons_stand_on_exists_and_changes_them_all(clone: Path, path: str) -> None:
    assert (PROJECT / path).exists()

    add(clone, f"{path}calls.py" if path.endswith("/") else path, "changed = True\n")

    assert unchanged(clone) == set()


def test_a_change_of_a_lower_room_changes_no_add_on(clone: Path) -> None:
    add(clone, "vault_memory/rules/ops.py", "changed = True\n")
    commit(clone)

    assert unchanged(clone) == ADDONS


def test_a_merged_branch_leaves_nothing_changed(clone: Path) -> None:
    add(clone, "vault_memory/addons/fog/horn.py", "sounds = 3\n")
    commit(clone)
    git(clone, "update-ref", "refs/remotes/origin/main", "HEAD")

    assert unchanged(clone) == ADDONS


def test_without_a_main_branch_the_last_tag_is_what_was_tested(clone: Path) -> None:
    git(clone, "tag", "v1")
    git(clone, "remote", "remove", "origin")
    add(clone, "vault_memory/addons/fog/horn.py", "sounds = 3\n")
    commit(clone)

    assert unchanged(clone) == {"lamp"}


def test_without_a_base_or_a_repository_all_are_tested(clone: Path, tmp_path: Path) -> None:
    git(clone, "remote", "remove", "origin")
    assert unchanged_addons(clone) is None

    assert unchanged_addons(tmp_path) is None


def test_each_add_on_has_a_smoke_test() -> None:
    for init in (PROJECT / "tests/addons").glob("*/__init__.py"):
        assert any(
            "\n@pytest.mark.smoke\n" in file.read_text(encoding="utf-8")
            for file in init.parent.rglob("test_*.py")
        ), init.parent.name


def test_only_files_of_unchanged_add_ons_without_a_smoke_test_are_left_out(clone: Path) -> None:
    add(clone, "tests/addons/fog/test_horn.py", "\n@pytest.mark.smoke\n")
    unchanged = Unchanged(frozenset({"fog"}), "0" * 40)
    left_out = {
        str(file.relative_to(clone))
        for file in clone.rglob("*.py")
        if unchanged.leave_out_file(file, clone)
    }

    assert left_out == {"tests/addons/fog/__init__.py"}
