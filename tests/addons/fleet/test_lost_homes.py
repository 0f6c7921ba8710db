"""A home that was emptied, and a ledger that was restored: nothing is served as if it were the vault."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from tests.addons.fleet.fleets import USER, VAULT, Fleet, append, turn
from tests.addons.fleet.running import OperatedFleet, running_host
from vault_memory.addons.fleet.fleet_errors import HomeChanged
from vault_memory.addons.fleet.serving.fleet_host import FleetHost, HostName
from vault_memory.api.vault_service import VaultUnavailable
from vault_memory.database.connection import connect


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def _empty(fleet: Fleet) -> None:
    for path in sorted(fleet.paths(), reverse=True):
        entry = fleet.person.look(path)
        if entry.is_folder:
            fleet.person.rmcol(path)
        else:
            fleet.person.delete(path, expected=entry.etag)


def test_a_home_that_was_emptied_is_served_by_no_host(fleet: Fleet) -> None:
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
        note = visit.scratch.root / USER
    notes = fleet.notes()
    _empty(fleet)

    for name in ("new", "one", "new", "one"):
        fleet.pass_by(300)
        with pytest.raises(HomeChanged):
            fleet.visit(name)
    host = FleetHost(fleet.ledger, fleet.settings("new"), HostName("new", "http://new"))
    fleet.expire()
    with pytest.raises(VaultUnavailable):
        host.acquire(VAULT)
    host.close()

    assert fleet.paths() == set()
    assert "- coffee" in note.read_text()
    assert fleet.ledger.vault(VAULT).trouble == "home_changed"
    # The operator brings the files back from a backup.
    for path, text in notes.items():
        fleet.save(path, text)
    for name in ("one", "new"):
        with fleet.visiting(name) as visit:
            assert visit.memory.search("coffee", scopes=["user:ann"]).hits
    assert {path: fleet.notes()[path] for path in notes} == notes


@pytest.mark.sampled
def test_after_an_older_ledger_was_restored_the_homes_decide(fleet: Fleet) -> None:
    file = fleet.folder / "ledger.sqlite"
    backup = fleet.folder / "backup.sqlite"
    with closing(connect(file)) as connection:
        connection.execute("VACUUM INTO ?", (str(backup),))
    for number, name in enumerate(("one", "two", "one", "two", "one")):
        with fleet.visiting(name) as visit:
            visit.run(turn(f"t{number}", f"words {number}", fleet.now))
            visit.run(append(f"a{number}", f"- drink {number}", fleet.now))
    fleet.ledger.close()
    for ending in ("", "-wal", "-shm"):
        Path(f"{file}{ending}").unlink(missing_ok=True)
    shutil.copy(backup, file)
    fleet.open_ledger()

    for name in ("two", "new", "one"):
        fleet.pass_by(60)
        with fleet.visiting(name) as visit:
            visit.run(append(f"b-{name}", f"- food {name}", fleet.now))

    text = fleet.text()
    assert [text.count(f"- drink {number}\n") for number in range(5)] == [1] * 5
    assert text.count("- food") == 3
    assert not [path for path in fleet.paths() if "conflict" in path or "INBOX" in path]


@pytest.mark.sampled
@pytest.mark.parametrize("is_served", [False, True])
def test_a_vault_that_the_ledger_lacks_is_added_again_as_it_was(
    fleet_of_hosts: OperatedFleet, is_served: bool
) -> None:
    """Its command was killed, or an older ledger was restored."""
    home = fleet_of_hosts.store.new_url()
    arguments = ("fleet", "add", "ann", "--home", home)
    first = fleet_of_hosts.ask(*arguments)
    if is_served:
        with running_host(fleet_of_hosts, "east") as east:
            told = east.remember(first["token"], "I like the harbour")
            assert told.status_code == 200, told.text
    with closing(connect(fleet_of_hosts.ledger_file)) as connection:
        for table in ("kept", "scratch", "token", "vault"):
            connection.execute(f"DELETE FROM {table}")

    again = fleet_of_hosts.ask(*arguments)

    assert again["vault"] == first["vault"]
    assert again["token"] != first["token"]
    with running_host(fleet_of_hosts, "west") as west:
        found = west.ask(again["token"], "/v1/search", query="harbour")
        assert found.status_code == 200, found.text
        assert bool(found.json()["hits"]) is is_served
