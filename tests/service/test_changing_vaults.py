"""Vaults that move, go, come back or change their settings while a host serves them."""

import asyncio
import json
import re
import threading
import time
from contextlib import AsyncExitStack, ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from tests.addons.page.test_events import Tab
from tests.service.many import NOTE, Vaults
from tests.service.running_host import run, running_host, until
from tests.service.test_vault_host import hosting, search
from vault_memory.api.vault_service import VAULT, VaultUnavailable, VaultUnknown
from vault_memory.errors import Locked, VaultMemoryError, VaultUnreachable
from vault_memory.service import vault_host
from vault_memory.service.daemon_lock import DaemonLock
from vault_memory.service.hosted_vault import HostedVault
from vault_memory.service.service_vault import CHECK_SECONDS
from vault_memory.service.turn_lane import NEVER, TurnJob
from vault_memory.service.vault_host import VaultHost

REMOTE = '[remote]\nurl = "http://127.0.0.1:9/none"\npoll_seconds = 1\n'


def hosted(host: VaultHost, vault: str) -> HostedVault:
    found = host.find(vault)
    assert found is not None
    return found


def is_answered(host: VaultHost, vault: str) -> bool:
    try:
        return bool(asyncio.run(search(host, vault, "ferry")))
    except (VaultUnavailable, VaultUnreachable):
        return False


def is_tended(vault: HostedVault) -> bool:
    resident = vault.open_vault
    return resident is not None and resident.is_tended


def add_line(root: Path, line: str) -> None:
    note = root / NOTE
    note.write_text(f"{note.read_text()}- {line}\n")


class BusyLane:
    """Keeps all threads of the upkeep until `end`."""

    def __init__(self, host: VaultHost) -> None:
        self.end = threading.Event()
        self.jobs = [TurnJob(self._wait) for _ in range(4)]
        for job in self.jobs:
            host.lanes.upkeep.plan(job)
        assert until(lambda: all(job.is_running for job in self.jobs))

    def _wait(self) -> float:
        self.end.wait(120)
        return NEVER


def test_saves_in_a_vault_that_moved_are_found(vaults: Vaults) -> None:
    vaults.add_three()
    with hosting(vaults) as host:
        north = vaults.vault_of("north")
        assert asyncio.run(search(host, north, "ferry"))
        (vaults.path / "north").rename(vaults.path / "moved")
        host.renew()
        assert until(lambda: is_answered(host, north))
        for word in ("puffin", "heron"):
            add_line(vaults.path / "moved", f"The {word} sleeps")
            assert f"- The {word} sleeps" in asyncio.run(search(host, north, word))
        assert hosted(host, north).watch.mode == "inotify"


@pytest.mark.sampled
def test_saves_in_two_vaults_that_changed_places_are_found(vaults: Vaults) -> None:
    vaults.add_three()
    places = {vaults.vault_of("north"): "south", vaults.vault_of("south"): "north"}
    with hosting(vaults) as host:
        for vault in places:
            assert asyncio.run(search(host, vault, "ferry"))
        (vaults.path / "north").rename(vaults.folder / "between")
        (vaults.path / "south").rename(vaults.path / "north")
        (vaults.folder / "between").rename(vaults.path / "south")
        host.renew()
        for number in range(4):
            for vault, place in places.items():
                assert until(lambda vault=vault: is_answered(host, vault))
                add_line(vaults.path / place, f"Puffin {number} sleeps in {vault}")
                texts = asyncio.run(search(host, vault, f"puffin {number}"))
                assert f"- Puffin {number} sleeps in {vault}" in texts


def test_a_save_after_an_owner_was_named_is_not_indexed_for_the_owner_before(
    vaults: Vaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The next look for changed markers comes too late.
    monkeypatch.setattr(vault_host, "FILES_SECONDS", 3600.0)
    root = vaults.add("north")
    vault_id = vaults.vault_of("north")
    with hosting(vaults) as host:
        assert until(lambda: is_answered(host, vault_id))
        north = hosted(host, vault_id)
        before = north.open_vault
        marker = root / ".vault-memory"
        marker.write_text(json.dumps(json.loads(marker.read_text()) | {"owner": "mira"}))
        add_line(root, "The oars are red")
        assert until(lambda: north.open_vault not in (None, before))
        assert before is not None
        assert before.memory.vault.owner == ""
        assert north.open_vault is not None
        assert north.open_vault.memory.vault.owner == "mira"
        assert "- The oars are red" in asyncio.run(search(host, vault_id, "oars"))


@pytest.mark.sampled
@pytest.mark.parametrize("other", ["south", "plain"])
def test_a_vault_shows_nothing_of_the_folder_that_took_its_place(
    vaults: Vaults, other: str
) -> None:
    vaults.add_three()
    plain = vaults.path / "plain"
    plain.mkdir()
    (plain / "note.md").write_text("# Harbour\n\n- The ferry carries the dunlin\n")
    north = vaults.vault_of("north")
    with hosting(vaults, idle_seconds=0.2) as host:
        vault = hosted(host, north)
        assert until(lambda: vault.opened == 1 and not vault.is_open)
        busy = BusyLane(host)
        (vaults.path / "north").rename(vaults.path / "moved")
        (vaults.path / other).rename(vaults.path / "north")
        busy.end.set()
        # The catalog may not know of it for seconds.
        with suppress(VaultMemoryError):
            texts = asyncio.run(search(host, north, "ferry"))
            assert texts == ["- The ferry carries the albatross"]
        host.renew()
        assert until(lambda: is_answered(host, north))
        texts = asyncio.run(search(host, north, "ferry"))
        assert texts == ["- The ferry carries the albatross"]
    is_vault = (vaults.path / "north" / ".vault-memory").exists()
    assert is_vault == (other == "south")


def test_a_request_that_waits_for_a_vault_that_goes_is_refused(vaults: Vaults) -> None:
    vaults.add_three()
    with hosting(vaults, idle_seconds=0.2) as host:
        vault = hosted(host, vaults.vault_of("north"))
        assert until(lambda: vault.opened == 1 and not vault.is_open)
        busy = BusyLane(host)
        opening = vault.begin_use()
        (vaults.path / "north").rename(vaults.folder / "away")
        host.renew()
        busy.end.set()
        assert isinstance(opening.exception(20), VaultUnknown)
        vault.end_use()


def test_requests_that_wait_at_the_end_of_the_host_are_refused_at_once(vaults: Vaults) -> None:
    vaults.add_three()
    with hosting(vaults, idle_seconds=0.2) as host:
        vault = hosted(host, vaults.vault_of("north"))
        assert until(lambda: vault.opened == 1 and not vault.is_open)
        busy = BusyLane(host)
        early = vault.begin_use()
        host.begin_stop()
        late = vault.begin_use()
        for opening in (early, late):
            assert isinstance(opening.exception(5), VaultUnavailable)
            vault.end_use()
        busy.end.set()


@pytest.mark.sampled
def test_a_vault_that_comes_back_while_it_is_in_use_is_tended(vaults: Vaults) -> None:
    vaults.add_three()
    north = vaults.vault_of("north")
    with hosting(vaults) as host, ExitStack() as ends:
        loop = ends.enter_context(asyncio.Runner())
        in_use = AsyncExitStack()
        loop.run(in_use.enter_async_context(host.vault({VAULT: north})))
        vaults.configure("north", "[serve")
        host.renew()
        assert host.find(north) is None
        vaults.set_token("north")
        host.renew()
        assert loop.run(search(host, north, "ferry"))
        loop.run(in_use.aclose())

        def is_tended_again() -> bool:
            assert loop.run(search(host, north, "ferry"))
            return hosted(host, north).opened == 2 and is_tended(hosted(host, north))

        assert until(is_tended_again)
        add_line(vaults.path / "north", "The puffin sleeps")
        assert "- The puffin sleeps" in loop.run(search(host, north, "puffin"))


@pytest.mark.sampled
@pytest.mark.parametrize("settings", ["", REMOTE], ids=["local", "with a remote"])
def test_a_vault_is_tended_after_the_end_of_its_own_daemon(vaults: Vaults, settings: str) -> None:
    vaults.add_three()
    vaults.set_token("north", more=settings)
    north = vaults.vault_of("north")
    with ExitStack() as ends:
        lock = DaemonLock(vaults.config_file("north").with_name("daemon.lock"))
        daemon = ends.enter_context(ExitStack())
        daemon.enter_context(lock)
        host = ends.enter_context(hosting(vaults, idle_seconds=0.5))
        vault = hosted(host, north)
        assert asyncio.run(search(host, north, "ferry"))
        assert not is_tended(vault)
        assert until(lambda: not vault.is_open)
        assert vault.due_at < time.monotonic() + CHECK_SECONDS + 1

        opening = vault.begin_use()
        assert opening.result(120) is None
        assert not is_tended(vault)
        daemon.close()
        vault.end_use()

        assert until(lambda: is_tended(vault))


def test_a_vault_that_syncs_often_gets_its_new_configuration(vaults: Vaults) -> None:
    vaults.add_three()
    vaults.set_token("north", more=REMOTE)
    with hosting(vaults) as host:
        vault = hosted(host, vaults.vault_of("north"))
        assert until(lambda: is_tended(vault))
        time.sleep(3)
        vaults.set_token("north", more=REMOTE + "[recall]\nmemory_budget = 3\n")
        host.renew()

        def budget() -> int:
            resident = vault.open_vault
            return resident.memory.vault.config.recall.memory_budget if resident else 0

        assert until(lambda: budget() == 3)


def test_an_open_tab_does_not_hold_a_vault_that_goes(vaults: Vaults) -> None:
    vaults.add_three()
    lock = DaemonLock(vaults.config_file("north").with_name("daemon.lock"))

    def is_free() -> bool:
        try:
            with lock:
                return True
        except Locked:
            return False

    with running_host(vaults, "--web") as host:
        printed = run(vaults, "web", "--link", "--vault", str(vaults.path / "north"))
        link = re.search(r"http://([^/\s]+)(/open/\S+)", printed.stdout)
        assert link, printed.stderr
        name, path = link.groups()
        headers = {"host": name, "origin": f"http://{name}"}
        with httpx.Client(base_url=host.url, headers=headers) as client:
            signed = client.post(path)
        cookie = signed.headers["set-cookie"].partition(";")[0]
        tab = Tab(f"{host.url}/events", {**headers, "cookie": cookie})
        assert tab.response.status_code == 200
        assert not is_free()

        (vaults.path / "north").rename(vaults.folder / "elsewhere")

        assert tab.is_over.wait(120)
        assert until(is_free)
        tab.close()
