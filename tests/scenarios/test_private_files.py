"""What a person says, and what the program keeps of it, is readable for nobody else, whatever the umask."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.outside import Outside
from tests.scenarios.outside import outside as outside
from vault_memory import places
from vault_memory.vault.write.create import add_file

UMASKS = [0o000, 0o022, 0o002]


@pytest.fixture(params=UMASKS, ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def run(outside: Outside, *arguments: str) -> None:
    """Runs a command in this process, which has the umask of the test."""
    done = outside.here(*arguments)
    assert done.code == 0, done


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


def modes_below(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): mode(path) for path in folder.rglob("*")}


def test_the_state_folder_opens_for_its_owner_only(outside: Outside, umask: int) -> None:
    outside.write("USER.md", "# Mira\n\n## Tea\n\n- green\n")
    run(outside, "index", "--no-embed")
    run(outside, "append", "USER.md", "Tea", "black")
    run(outside, "record", "--session", "s", "--role", "user", "--user", "mira", "hello")

    folder = outside.state
    open_to_others = {
        str(path)
        for path in (folder, *folder.parents[:1], *folder.rglob("*"))
        if path.is_dir() and path.stat().st_mode & 0o077
    }
    assert open_to_others == set()
    assert mode(folder) == "0o700"


def test_a_state_folder_that_was_open_to_others_is_closed(outside: Outside) -> None:
    outside.write("USER.md", "# Mira\n")
    run(outside, "index", "--no-embed")
    outside.state.chmod(0o755)

    run(outside, "status")

    assert mode(outside.state) == "0o700"


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o277, 0o777], ids=oct)
def test_a_private_folder_has_the_same_mode_under_each_umask(tmp_path: Path, mask: int) -> None:
    folder = tmp_path / "a" / "b" / "c"
    before = os.umask(mask)
    try:
        places.make_private(folder)
        places.make_private(folder)
    finally:
        os.umask(before)

    assert [mode(path) for path in (folder, folder.parent, folder.parent.parent)] == ["0o700"] * 3


def test_transcripts_the_audit_and_inbox_are_private_when_they_are_made(
    outside: Outside, umask: int
) -> None:
    outside.write("USER.md", "# Mira\n\n## Tea\n\n- green\n")
    run(outside, "index", "--no-embed")
    run(outside, "record", "--session", "s", "--role", "user", "--user", "mira", "hello")
    run(outside, "append", "USER.md", "Tea", "black")
    run(outside, "replace", "USER.md", "Tea", "green", "mint", "--source", "tool")

    modes = modes_below(outside.vault)
    private = {
        path: mode for path, mode in modes.items() if path.endswith(".jsonl") or "INBOX" in path
    }
    assert {Path(path).suffix for path in private} == {".jsonl", ".md"}, modes
    assert any("transcripts" in path for path in private)
    assert any(".audit." in path for path in private)
    assert set(private.values()) == {"0o600"}


@pytest.mark.parametrize("target", ["lines.jsonl", "folder"])
def test_an_export_is_readable_for_its_owner_only(
    outside: Outside, umask: int, target: str
) -> None:
    run(outside, "record", "--session", "s", "--role", "user", "--user", "mira", "hello")
    place = outside.vault.parent / target

    run(outside, "export", "--to", str(place))

    assert mode(place) == ("0o700" if place.is_dir() else "0o600")
    private = {path: mode for path, mode in modes_below(place).items() if "jsonl" in path}
    assert set(private.values()) <= {"0o600"}


@pytest.mark.parametrize("path", ["INBOX.md", "USER.INBOX.md", "transcripts/2026-05-04.jsonl"])
def test_a_private_file_that_is_copied_into_the_vault_is_private(
    outside: Outside, path: str
) -> None:
    before = os.umask(0)
    try:
        add_file(outside.vault, path, b"- hello\n")
        add_file(outside.vault, "note.md", b"- hello\n")
    finally:
        os.umask(before)

    assert mode(outside.vault / path) == "0o600"
    assert mode(outside.vault / "note.md") == "0o666"
