"""A disk that is nearly full: local copies that nothing needs go, the longest unused first."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest

from tests.addons.fleet.fleets import HOME, USER, VAULT, Fleet, append
from vault_memory.addons.fleet.scratch import RECORD, Scratch, ScratchRecord
from vault_memory.addons.fleet.serving.fleet_host import FleetHost, HostName
from vault_memory.addons.fleet.serving.held_vault import HeldVault

TOTAL = 100_000
SIZE = 1_000
"""Bytes of the note of each scratch"""
OTHERS = [str(UUID(int=number)) for number in range(1, 6)]


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    fleet = Fleet(tmp_path)
    for number, vault in enumerate(OTHERS):
        fleet.ledger.add(vault, f"other{number}", f"{HOME}{number}")
    return fleet


@pytest.fixture
def nearly_full(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """The disk gets room only from scratches of others that are deleted."""

    def fill(missing: int) -> None:
        def usage(path: Path) -> Usage:
            scratches = len(_scratches(fleet))
            free = TOTAL // 20 - missing + (len(OTHERS) - scratches) * SIZE
            return Usage(TOTAL, TOTAL - free, free)

        monkeypatch.setattr(shutil, "disk_usage", usage)

    return fill


def _scratches(fleet: Fleet) -> list[str]:
    folder = fleet.folder / "one"
    return [vault for vault in OTHERS if (folder / vault.replace("-", "")).exists()]


def _leave_scratches(fleet: Fleet, *, dirty: tuple[str, ...] = ()) -> None:
    """The host had the other vaults before, the last one first."""
    for age, vault in enumerate(reversed(OTHERS)):
        scratch = Scratch(fleet.folder / "one", vault.replace("-", ""))
        scratch.prepare()
        (scratch.root / "note.md").write_text("x" * SIZE)
        scratch.write_record(ScratchRecord(epoch=1, is_dirty=vault in dirty))
        os.utime(scratch.folder / "visit.json", (age + 1, age + 1))


def _open(fleet: Fleet) -> FleetHost:
    """A host opens the vault `ann` for a request."""
    own = HostName("one", "http://one")
    host = FleetHost(fleet.ledger, fleet.settings("one"), own)
    entry = host.acquire(VAULT)
    assert isinstance(entry, HeldVault)
    entry.visit.run(append("a", "- coffee", fleet.now))
    host.release(entry)
    return host


def test_the_longest_unused_copies_go_until_there_is_room(
    fleet: Fleet, nearly_full: Callable[[int], None]
) -> None:
    _leave_scratches(fleet)
    nearly_full(2 * SIZE)

    host = _open(fleet)

    assert _scratches(fleet) == OTHERS[:3]
    host.close()
    assert fleet.text(USER).count("- coffee") == 1


def test_a_copy_with_a_change_that_the_home_lacks_stays(
    fleet: Fleet, nearly_full: Callable[[int], None]
) -> None:
    dirty = (OTHERS[4], OTHERS[2])
    _leave_scratches(fleet, dirty=dirty)
    nearly_full(100 * SIZE)

    host = _open(fleet)

    assert set(_scratches(fleet)) == set(dirty)
    # The vault that is open at this moment has its copy, too.
    assert (fleet.folder / "one" / VAULT.replace("-", "")).exists()
    host.close()


def test_with_room_on_the_disk_all_copies_stay(
    fleet: Fleet, nearly_full: Callable[[int], None]
) -> None:
    _leave_scratches(fleet)
    nearly_full(0)

    _open(fleet).close()

    assert _scratches(fleet) == OTHERS


def test_a_vault_that_cannot_be_written_at_its_end_is_opened_again(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    own = HostName("one", "http://one")
    host = FleetHost(fleet.ledger, fleet.settings("one"), own)
    held = host.acquire(VAULT)
    assert isinstance(held, HeldVault)
    held.visit.run(append("a", "- coffee", fleet.now))
    host.release(held)
    record = held.visit.scratch.folder / RECORD
    kept = record.rename(record.with_name("kept"))
    record.mkdir()

    host._flush(held)
    host._give_back(VAULT)

    assert host.vaults() == []
    assert caplog.messages.count("a vault is not flushed") == 2
    assert fleet.ledger.vault(VAULT).trouble == "internal"
    record.rmdir()
    kept.rename(record)
    again = host.acquire(VAULT)
    assert isinstance(again, HeldVault)
    assert again.visit.memory.search("coffee", scopes=["user:ann"]).hits
    host.release(again)
    host.close()
    assert fleet.text(USER).count("- coffee") == 1


def test_no_change_is_made_before_the_copy_is_marked(fleet: Fleet) -> None:
    """Unmarked, it would be merged with what another host has replayed since."""
    visit = fleet.visit("one")
    record = visit.scratch.folder / RECORD
    kept = record.rename(record.with_name("kept"))
    record.mkdir()
    with pytest.raises(IsADirectoryError):
        visit.run(append("a", "- coffee", fleet.now))
    record.rmdir()
    kept.rename(record)
    assert not visit.scratch.record().is_dirty

    visit.run(append("b", "- milk", fleet.now))

    assert visit.scratch.record().is_dirty
    visit.leave(fleet.now)
    assert not visit.scratch.record().is_dirty
    assert fleet.text(USER).count("- milk") == 1
