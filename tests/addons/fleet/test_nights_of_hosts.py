"""Nights of many vaults on one host: few ask the model at once, and nobody waits for them."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from tests.addons.fleet.fleets import HOME, USER, Fleet, append, turn
from tests.addons.fleet.running import until
from tests.models.scripted import Asked, ScriptedModel, Sent, learns
from tests.remote.ram_remote import RamRemote, RamServer
from vault_memory.addons.fleet.ledger.contract import Lease
from vault_memory.addons.fleet.serving.fleet_host import FleetHost, HostName
from vault_memory.addons.fleet.serving.held_vault import HeldVault
from vault_memory.addons.fleet.visit import Visit
from vault_memory.addons.fleet.visit_settings import VisitSettings
from vault_memory.config.sections import Config, RemoteSettings
from vault_memory.remote.contract import Remote
from vault_memory.service.vault_host import NIGHT_THREADS

VAULTS = [str(UUID(int=number)) for number in range(1, 9)]
AWAKE = str(UUID(int=99))


class SlowModel:
    """Counts the questions that wait for an answer at once."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.waiting = self.most = 0
        self._lock = threading.Lock()

    def reply(self, asked: Asked) -> Sent:
        with self._lock:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
        self.may_answer.wait(120)
        with self._lock:
            self.waiting -= 1
        return learns(asked)


class NightFleet(Fleet):
    """A fleet whose vaults have homes of their own, and a night that is due."""

    def __init__(self, folder: Path, model: str) -> None:
        super().__init__(folder)
        self.servers = {HOME: self.server}
        self.model = model
        for vault in (*VAULTS, AWAKE):
            home = f"{HOME}-{vault}"
            self.servers[home] = self.server = RamServer(self.server.traits)
            self.person = RamRemote(self.server)
            self.save(USER, "# Ann\n\n## Likes\n\n- tea\n")
            self.ledger.add(vault, vault, home)

    def text_of(self, vault: str) -> str:
        remote = RamRemote(self.servers[f"{HOME}-{vault}"])
        return remote.get(USER, max_bytes=1 << 20).raw.decode()

    def night_settings(self) -> VisitSettings:
        def open_remote(settings: RemoteSettings, password: str) -> Remote:
            return RamRemote(self.servers[settings.url])

        settings = self.settings("one")
        return replace(settings, open_remote=open_remote, configure=self._configure)

    def _configure(self, config: Config) -> Config:
        # Its last night began some minutes ago.
        begin = datetime.now(UTC) - timedelta(minutes=5)
        cycle = config.sleep_cycle._replace(cron=f"{begin.minute} {begin.hour} * * *", zone="UTC")
        brain = config.brain._replace(
            kind="openai", base_url=self.model, model="small", mode="full"
        )
        return config._replace(brain=brain, sleep_cycle=cycle)

    def record(self, vault: str) -> None:
        """Another host recorded a turn in a vault."""
        lease = self.ledger.take(vault, "two", "http://two")
        assert isinstance(lease, Lease)
        settings = replace(self.night_settings(), scratch=self.folder / "two")
        visit = Visit.open(lease, self.ledger, settings)
        visit.run(turn("a", _words(vault), datetime.now(UTC)))
        visit.leave()
        self.ledger.wake(vault, datetime.now(UTC))


@pytest.fixture
def slow() -> SlowModel:
    return SlowModel()


@pytest.fixture
def model(slow: SlowModel) -> Iterator[ScriptedModel]:
    with ScriptedModel(slow.reply) as model:
        yield model
        slow.may_answer.set()


@pytest.mark.sampled
def test_few_nights_ask_the_model_at_once_and_nobody_waits_for_them(
    tmp_path: Path, slow: SlowModel, model: ScriptedModel
) -> None:
    fleet = NightFleet(tmp_path, model.url)
    for vault in VAULTS:
        fleet.record(vault)
    # Its night is far away: only requests use it.
    fleet.ledger.give_back(_take(fleet, AWAKE), _tomorrow())
    host = FleetHost(fleet.ledger, fleet.night_settings(), HostName("one", "http://1"))
    host.start()
    try:
        until(lambda: host.nights.is_full and slow.waiting == NIGHT_THREADS)
        # Requests and flushes do not wait for the model.
        entry = host.acquire(AWAKE)
        assert isinstance(entry, HeldVault)
        entry.visit.run(append("b", "- coffee", datetime.now(UTC)))
        entry.note_kept()
        host.release(entry)
        until(lambda: "- coffee" in fleet.text_of(AWAKE))
        assert slow.waiting == NIGHT_THREADS
        slow.may_answer.set()
        until(lambda: host.nights.nights == 0)
        # The others found no place, and come later.
        for vault in VAULTS:
            fleet.ledger.wake(vault, datetime.now(UTC))
        until(lambda: all(_is_asked(model, vault) for vault in VAULTS))
    finally:
        slow.may_answer.set()
        host.close()
    assert slow.most == NIGHT_THREADS


def _take(fleet: NightFleet, vault: str) -> Lease:
    lease = fleet.ledger.take(vault, "two", "http://two")
    assert isinstance(lease, Lease)
    return lease


def _tomorrow() -> datetime:
    return datetime.now(UTC) + timedelta(days=1)


def _words(vault: str) -> str:
    return f"I like the harbour of {vault}"


def _is_asked(model: ScriptedModel, vault: str) -> bool:
    return any(_words(vault) in asked.text for asked in model.asked)
