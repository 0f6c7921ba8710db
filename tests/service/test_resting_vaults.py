"""A vault that nobody touched since it was closed is opened without a scan, and misses nothing."""

import asyncio
import mmap
import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.effort import few
from tests.scenarios.index_dump import dump
from tests.service.many import NOTE, Vaults
from tests.service.running_host import until
from tests.service.test_changing_vaults import add_line, hosted
from tests.service.test_vault_host import hosting, search
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import VAULT
from vault_memory.service import resting_state
from vault_memory.service.hosted_vault import HostedVault
from vault_memory.service.upkeep.vault_upkeep import VaultUpkeep
from vault_memory.service.vault_host import VaultHost

SCOPE = "user:mira"
PROFILE = "Users/mira/lantern/config/USER.md"
SHORT = 0.2
"""Seconds until an unused vault is closed"""


@pytest.fixture
def beginnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How each opening began: with a scan, or without one."""
    names: list[str] = []

    def watched(name: str) -> Callable[..., None]:
        begin = getattr(VaultUpkeep, name)

        def noted(*arguments: object) -> None:
            names.append(name)
            begin(*arguments)

        return noted

    for name in ("begin", "resume"):
        monkeypatch.setattr(VaultUpkeep, name, watched(name))
    return names


def one_vault(vaults: Vaults) -> str:
    vaults.add("north")
    vaults.set_token("north")
    return vaults.vault_of("north")


def wait_for_rest(vault: HostedVault) -> None:
    assert until(lambda: vault.opened > 0 and vault.is_at_rest)


def finds(host: VaultHost, vault: str, word: str) -> bool:
    return any(word in text for text in asyncio.run(search(host, vault, word)))


def test_a_vault_is_scanned_once_while_nothing_changes(
    vaults: Vaults, beginnings: list[str]
) -> None:
    north = one_vault(vaults)
    with hosting(vaults, idle_seconds=SHORT) as host:
        vault = hosted(host, north)
        for _ in range(4):
            wait_for_rest(vault)
            assert finds(host, north, "ferry")
        wait_for_rest(vault)
        # The end of the first opening may leave the journal to be looked at again.
        assert beginnings.count("resume") >= 3
        scans = beginnings.count("begin")

        add_line(vaults.path / "north", "The puffin sleeps")
        # No search until the change opens the vault: one that comes before the event may
        # open the vault without a scan, and the open vault then reads the event itself.
        assert until(lambda: beginnings.count("begin") > scans)
        assert until(lambda: finds(host, north, "puffin"))


@pytest.mark.scenario("C62")
def test_a_change_without_an_event_is_found_by_a_later_scan(
    vaults: Vaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    north = one_vault(vaults)
    note = vaults.path / "north" / NOTE
    with hosting(vaults, idle_seconds=SHORT) as host, note.open("r+b") as file:
        wait_for_rest(hosted(host, north))
        with mmap.mmap(file.fileno(), 0) as memory:
            start = memory.find(b"albatross")
            memory[start : start + 9] = b"albacores"
            memory.flush()
            monkeypatch.setattr(resting_state, "SCAN_SECONDS", 0.0)
            assert finds(host, north, "albacores")


def write_to_linked_note(memory: VaultMemory, other: Path) -> None:
    """Leaves a write that waits: a note with a second name outside is not written."""
    os.link(memory.root / PROFILE, other)
    edit = memory.apply(
        PROFILE, [{"op": "append", "heading": "Likes", "line": "dives like a tern"}], source="cli"
    )
    assert [write.reason for write in edit.pending] == ["hard_link"]


def test_a_vault_is_not_closed_while_a_write_of_a_request_waits(vaults: Vaults) -> None:
    north = one_vault(vaults)
    profile = vaults.path / "north" / PROFILE
    profile.write_text("# Mira\n\n## Likes\n\n- tea\n")
    other = vaults.folder / "other.md"

    async def write(host: VaultHost) -> None:
        async with host.vault({VAULT: north}) as memory:
            await asyncio.to_thread(write_to_linked_note, memory, other)

    with hosting(vaults, idle_seconds=1000) as host:
        vault = hosted(host, north)
        assert finds(host, north, "ferry")
        assert until(lambda: vault.open_vault is not None and vault.open_vault.is_quiet())
        asyncio.run(write(host))
        vault.ask_to_close()
        assert not until(lambda: vault.is_at_rest, 3)
        other.unlink()
        assert until(lambda: vault.is_at_rest)
    assert "- dives like a tern" in profile.read_text()


def test_a_write_that_another_process_left_is_done_at_the_next_opening(vaults: Vaults) -> None:
    north = one_vault(vaults)
    profile = vaults.path / "north" / PROFILE
    profile.write_text("# Mira\n\n## Likes\n\n- tea\n")
    other = vaults.folder / "other.md"
    with hosting(vaults, idle_seconds=SHORT) as host:
        wait_for_rest(hosted(host, north))
        with VaultMemory.open(vaults.path / "north", environment=vaults.environment) as memory:
            write_to_linked_note(memory, other)
        other.unlink()
        assert finds(host, north, "ferry")
        assert until(lambda: "- dives like a tern" in profile.read_text())


def test_a_vault_with_a_conflict_copy_is_scanned_when_it_is_opened(
    vaults: Vaults, beginnings: list[str]
) -> None:
    north = one_vault(vaults)
    note = vaults.path / "north" / NOTE
    copy = note.with_name("harbour (conflicted copy 2026-11-20 101500).md")
    copy.write_text("# Harbour\n\n- Another ferry\n")
    with hosting(vaults, idle_seconds=SHORT) as host:
        vault = hosted(host, north)
        for _ in range(3):
            wait_for_rest(vault)
            assert finds(host, north, "ferry")
        assert "resume" not in beginnings


class Actions:
    """What people and other programs do to a vault of a host, each with a new word."""

    def __init__(self, vaults: Vaults, vault: str, seed: int) -> None:
        self.draw = random.Random(seed)
        self.root = vaults.path / "north"
        self.notes = (self.root / NOTE).parent
        self.state = vaults.folder / "state" / vault
        self.environment = vaults.environment
        self.number = 0

    def word(self) -> str:
        self.number += 1
        return f"word{self.number}x"

    def a_note(self) -> Path:
        return self.notes / f"n{self.draw.randrange(4)}.md"

    def save(self) -> str:
        word = self.word()
        self.a_note().write_text(f"# Harbour\n\n- {word}\n")
        return word

    def rename_over(self) -> str:
        word = self.word()
        new = self.notes / ".new"
        new.write_text(f"# Harbour\n\n- {word}\n")
        new.rename(self.a_note())
        return word

    def new_folder(self) -> str:
        word = self.word()
        folder = self.notes / f"d{self.number}"
        folder.mkdir()
        (folder / "new.md").write_text(f"- {word}\n")
        return word

    def remember(self) -> str:
        """As another process does beside the host."""
        word = self.word()
        with self.opened() as memory:
            memory.remember(f"The tern says {word}", scope=SCOPE, source="cli")
        return word

    def save_and_index(self) -> str:
        word = self.save()
        with self.opened() as memory:
            memory.index()
        return word

    def build_index(self) -> str:
        with self.opened() as memory:
            memory.index(rebuild=True)
        return "ferry"

    def remove_index(self) -> str:
        self.number += 1
        with suppress(FileNotFoundError):
            (self.state / "index").rename(self.state / f"index-{self.number}")
        return "ferry"

    def nothing(self) -> str:
        return "ferry"

    def opened(self) -> VaultMemory:
        return VaultMemory.open(self.root, environment=self.environment)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(few(12)))
def test_whatever_happens_between_two_questions_the_second_finds_it(
    vaults: Vaults, seed: int, beginnings: list[str]
) -> None:
    north = one_vault(vaults)
    actions = Actions(vaults, north, seed)
    deeds = [
        actions.save,
        actions.rename_over,
        actions.new_folder,
        actions.remember,
        actions.save_and_index,
        actions.build_index,
        actions.remove_index,
        *[actions.nothing] * 4,
    ]
    with hosting(vaults, idle_seconds=SHORT) as host:
        vault = hosted(host, north)
        for _ in range(16):
            deed = actions.draw.choice(deeds)
            # An opening in the middle of the removal says that the disk fails.
            if deed == actions.remove_index or actions.draw.random() < 0.7:
                wait_for_rest(vault)
            word = deed()
            assert finds(host, north, word), (word, beginnings)
        wait_for_rest(vault)
        served = dump(actions.state)
        with actions.opened() as memory:
            memory.index(rebuild=True)
            assert served == dump(actions.state)
            assert memory.edits.notes_without_snapshot() == []
