"""Many vaults in one process: a small pool takes the turns of all, and each answers from its own notes."""

import gc
import os
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.models.embedding.onnx import release_memory
from vault_memory.service.background_turns import EmbeddingTurns, NightTurns
from vault_memory.service.sync_turns import SyncTurns
from vault_memory.service.upkeep.vault_upkeep import UpkeepOwner, VaultUpkeep
from vault_memory.vault.watch.change_queue import ChangeHints, QueueMarker
from vault_memory.vault.watch.watcher import Mode

VAULTS, NOTES, POOL = 24, 12, 4
PATIENCE_SECONDS = 120.0
SCOPES = ("user:main", "group:main")


class QuietWatch:
    """Stands for a watch whose owner knows what was saved."""

    mode: Mode = "inotify"
    healthy = True
    reason = ""

    def mark(self) -> QueueMarker:
        return QueueMarker()

    def wake(self) -> None:
        pass

    def note_missed(self, path: str) -> None:
        pass


class Resident:
    """A vault as a host has it: upkeep, a connection for questions, and background turns."""

    def __init__(self, folder: Path, number: int, environment: dict[str, str]) -> None:
        self.root = folder / f"vault-{number}"
        self.number = number
        for note in range(NOTES):
            self.save(f"memory/{note}.md", f"- heron{number} and note {note}\n")
        self._environment = environment
        self.open()
        self.upkeep.begin()

    def open(self) -> None:
        self.memory = VaultMemory.open(self.root, environment=self._environment)
        self.upkeep = VaultUpkeep(self.memory, QuietWatch(), UpkeepOwner(idle_seconds=60.0))
        self.questions = self.memory.fork(resident=True)
        self.sync = SyncTurns(self.memory.fork())
        self.night_memory = self.memory.fork()
        self.nights = NightTurns(self.night_memory)
        self.embedding_memory = self.memory.fork()
        self.embedding = EmbeddingTurns(self.embedding_memory)

    def save(self, name: str, text: str) -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    def finds(self, word: str) -> bool:
        answer = self.questions.search(word, scopes=SCOPES, refresh=False)
        return any(word in hit.text for hit in answer.hits)

    def work(self) -> None:
        """Takes a background turn of each kind."""
        self.sync.sync_turn()
        self.nights.night_turn()
        self.embedding.embedding_turn()
        self.nights.rest()
        self.embedding.rest()

    def open_again(self) -> None:
        """Opens the vault as a host does that closed it at rest."""
        self.open()
        self.upkeep.resume()

    def close(self) -> None:
        self.upkeep.close()
        for connection in (self.sync, self.night_memory, self.embedding_memory, self.questions):
            connection.close()
        self.memory.close()


@pytest.fixture
def residents(tmp_path: Path) -> Iterator[list[Resident]]:
    environment = {
        "VAULT_MEMORY_STATE": str(tmp_path / "state"),
        "VAULT_MEMORY_CACHE": str(tmp_path / "cache"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
    }
    residents = [Resident(tmp_path, number, environment) for number in range(VAULTS)]
    yield residents
    for resident in residents:
        resident.close()


@pytest.mark.sampled
def test_a_pool_keeps_many_vaults_up_to_date_and_apart(residents: list[Resident]):
    chance = random.Random(11)
    threads = set(threading.enumerate())
    locks = [threading.Lock() for _ in residents]

    def take_turns(resident: Resident, saves: int) -> None:
        # The owner takes one turn at a time for each vault.
        with locks[resident.number]:
            for save in range(saves):
                word = f"crane{resident.number}x{save}"
                path = resident.save("memory/new.md", f"- {word} at the weir\n")
                hints = ChangeHints(paths=frozenset({path}), closed=frozenset({path}))
                resident.upkeep.upkeep_turn(hints)
                deadline = time.monotonic() + PATIENCE_SECONDS
                while not resident.finds(word):
                    assert time.monotonic() < deadline
                    time.sleep(min(0.05, resident.upkeep.wait()))
                    resident.upkeep.upkeep_turn(ChangeHints())
            if resident.number % 2:
                resident.work()
            if resident.number % 3 == 0:
                resident.close()
                resident.open_again()

    with ThreadPoolExecutor(POOL) as pool:
        jobs = [
            pool.submit(take_turns, resident, 1 + chance.randrange(3))
            for resident in chance.choices(residents, k=3 * VAULTS)
        ]
        for job in jobs:
            job.result()
    assert set(threading.enumerate()) <= threads

    for resident in residents:
        assert resident.finds(f"heron{resident.number}")
        other = (resident.number + 1) % VAULTS
        assert not resident.finds(f"heron{other}")
        assert not resident.upkeep.trouble


@pytest.mark.sampled
def test_closed_vaults_have_no_open_files_and_give_their_memory_back(residents: list[Resident]):
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    # The first turns load modules, which stay.
    residents[0].work()
    for resident in residents:
        resident.finds("heron")
        resident.upkeep.upkeep_turn(ChangeHints())
    busy_files = descriptors()
    busy_bytes = resident_bytes()

    # A note that was read a moment ago is read once more when it has settled.
    deadline = time.monotonic() + PATIENCE_SECONDS
    while any(resident.upkeep._notes.is_busy for resident in residents):
        assert time.monotonic() < deadline
        time.sleep(0.1)
        for resident in residents:
            resident.upkeep.upkeep_turn(ChangeHints())
    for resident in residents:
        resident.work()
        resident.close()
    gc.collect()
    release_memory()
    assert descriptors() <= busy_files - 6 * VAULTS
    assert resident_bytes() < busy_bytes
    for resident in residents:
        resident.open_again()
    assert all(resident.finds(f"heron{resident.number}") for resident in residents)


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
