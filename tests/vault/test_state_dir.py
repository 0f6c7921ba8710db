"""The first look at a folder asks what was there before, and costs the same however many vaults there are."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import VaultUnreachable
from vault_memory.vault.marker import NAME as MARKER

_watched: list[tuple[str, list[str]]] = []


def _look(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("open", "os.scandir", "os.listdir"):
        for folder, looks in _watched:
            if str(arguments[0]).startswith(folder):
                looks.append(str(arguments[0]))


sys.addaudithook(_look)


@contextmanager
def looks_into(folder) -> Iterator[list[str]]:
    """Which files and folders below `folder` are opened meanwhile."""
    watched = (str(folder), [])
    _watched.append(watched)
    try:
        yield watched[1]
    finally:
        _watched.remove(watched)


def open_vault(root, state):
    root.mkdir(exist_ok=True)
    (root / "USER.md").write_text("- a line\n")
    VaultMemory.open(root, environment={"VAULT_MEMORY_STATE": str(state)}).close()


def test_opening_a_vault_first_reads_nothing_of_other_vaults(tmp_path):
    state = tmp_path / "state"
    counts = []
    for number in range(30):
        with looks_into(state) as looks:
            open_vault(tmp_path / f"vault-{number}", state)
        counts.append(len(looks))

    assert set(counts[1:]) == {counts[-1]}
    assert sum(path.endswith("place.json") for path in looks) <= 1


def test_a_vault_without_its_marker_is_not_taken_for_an_empty_folder(tmp_path):
    root, state = tmp_path / "vault", tmp_path / "state"
    open_vault(root, state)
    (root / MARKER).unlink()

    with pytest.raises(VaultUnreachable, match="was a vault"):
        open_vault(root, state)


def test_a_vault_last_opened_by_an_older_version_is_not_taken_for_an_empty_folder(tmp_path):
    root, state = tmp_path / "vault", tmp_path / "state"
    open_vault(root, state)
    shutil.rmtree(state / "places")
    (root / MARKER).unlink()

    with pytest.raises(VaultUnreachable, match="was a vault"):
        open_vault(root, state)


def test_a_disk_missing_from_a_reused_mount_point_is_noticed(tmp_path):
    root, state = tmp_path / "mount", tmp_path / "state"
    open_vault(root, state)
    root.rename(tmp_path / "first")
    other = tmp_path / "other"
    open_vault(other, state)
    other.rename(root)
    open_vault(root, state)
    root.rename(other)
    open_vault(other, state)  # the second disk was there meanwhile; the first one is only away

    with pytest.raises(VaultUnreachable, match="was a vault"):
        open_vault(root, state)


def test_a_folder_can_hold_a_new_vault_after_the_old_one_was_moved_away(tmp_path):
    root, state = tmp_path / "vault", tmp_path / "state"
    open_vault(root, state)
    root.rename(tmp_path / "moved")
    open_vault(tmp_path / "moved", state)

    open_vault(root, state)
