"""The numbers of a host of a fleet: for its operator, and about nobody in particular."""

from pathlib import Path

import httpx
import pytest

from tests.addons.fleet.fleets import VAULT, Faults, Fleet
from tests.addons.fleet.running import OperatedFleet, RunningHost, running_host
from vault_memory.addons.fleet.ledger.ledger_errors import LedgerAway
from vault_memory.addons.fleet.serving.fleet_host import FleetHost, HostName
from vault_memory.addons.fleet.serving.held_vault import HeldVault
from vault_memory.addons.fleet.serving.host_counts import fleet_families
from vault_memory.http.metrics_text import as_text

TOKEN = "m" * 40


def numbers_of(text: str) -> dict[str, float]:
    """The numbers without labels, by their names."""
    lines = [line.split() for line in text.splitlines() if line.startswith("vault_")]
    return {
        name.removeprefix("vault_memory_fleet_"): float(number)
        for name, number in lines
        if "{" not in name
    }


def _token_file(fleet: OperatedFleet) -> Path:
    file = fleet.folder / "metrics.token"
    file.touch(0o600)
    file.write_text(TOKEN)
    return file


def _numbers(host: RunningHost, token: str = TOKEN) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.get(f"{host.address}/metrics", headers=headers, timeout=60)


def test_metrics_of_a_fleet_name_nobody_and_need_their_token(fleet_of_hosts: OperatedFleet) -> None:
    home = fleet_of_hosts.store.new_url()
    added = fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--user", "ann")
    token = added["token"]
    setting = f'[serve]\nmetrics_token_file = "{_token_file(fleet_of_hosts)}"\n'
    with (
        running_host(fleet_of_hosts, "east", setting) as east,
        running_host(fleet_of_hosts, "west", setting) as west,
    ):
        for host in (east, west):
            told = host.ask(token, "/v1/remember", text="I like the harbour")
            assert told.status_code == 200, told.text
        for wrong in ("", token, "w" * 40):
            assert _numbers(east, wrong).status_code == 401
        texts = [_numbers(host).text for host in (east, west)]
        east_numbers, west_numbers = map(numbers_of, texts)
        assert east_numbers["held"] + west_numbers["held"] == 1
        assert east_numbers["vaults"] == west_numbers["vaults"] == 1
        forwarded = "requests_forwarded_total"
        assert east_numbers[forwarded] + west_numbers[forwarded] == 1
        assert east_numbers["ledger_up"] == 1
        secrets = ("ann", "harbour", added["vault"], home, token, TOKEN)
        for text in texts:
            assert not [word for word in secrets if word in text]


def test_without_a_token_file_there_are_no_metrics(fleet_of_hosts: OperatedFleet) -> None:
    with running_host(fleet_of_hosts, "east") as east:
        assert _numbers(east).status_code in (401, 404)
        assert "fleet" not in _numbers(east).text


def test_metrics_say_what_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet(tmp_path)
    with fleet.visiting("one"):
        pass
    faults = Faults(away=True)
    settings = fleet.settings("one", faults)
    host = FleetHost(fleet.ledger, settings, HostName("one", "http://one"))
    entry = host.acquire(VAULT)
    assert isinstance(entry, HeldVault)
    host.release(entry)

    numbers = numbers_of(as_text(fleet_families(host)).decode())
    assert numbers["held"] == numbers["held_away"] == numbers["openings_total"] == 1
    assert numbers["vaults_leased"] == 1

    def away() -> None:
        raise LedgerAway("it was stopped")

    monkeypatch.setattr(fleet.ledger, "counts", away)
    numbers = numbers_of(as_text(fleet_families(host)).decode())
    assert numbers["ledger_up"] == 0
    assert numbers["held_away"] == 1
    assert "vaults" not in numbers
    host.close()
    numbers = numbers_of(as_text(fleet_families(host)).decode())
    assert numbers["held"] == 0
    assert numbers["flushes_failed_total"] == 1
