"""A visit brings a vault to a host and back home, with few requests and nothing lost."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.hosting.fleet.fleets import START, USER, Faults, Fleet, append, turn
from vault_memory.hosting.fleet import bundle_store
from vault_memory.hosting.fleet.fleet_errors import AnotherFleet
from vault_memory.ledger.contract import LeaseLost


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def test_a_host_finds_what_the_home_has(fleet: Fleet) -> None:
    with fleet.visiting("one") as visit:
        answer = visit.memory.search("harbour", scopes=["user:ann"])
        assert {hit.note for hit in answer.hits} == {USER}
    assert fleet.text() == START


def test_what_one_host_wrote_the_next_one_finds_and_can_undo(fleet: Fleet) -> None:
    with fleet.visiting("one") as visit:
        edit = visit.run(append("a", "- coffee", fleet.now))
        visit.run(turn("b", "I like coffee", fleet.now))
    assert "- coffee" in fleet.text()
    with fleet.visiting("two") as visit:
        assert visit.memory.search("coffee", scopes=["user:ann"]).hits
        with visit.changing() as memory:
            memory.undo(edit.audit_id, now=fleet.now)
    assert fleet.text() == START


def test_taking_a_vault_again_unchanged_costs_one_listing(fleet: Fleet) -> None:
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
    with fleet.visiting("one"):
        pass
    fleet.faults.log.clear()
    before = fleet.notes()
    with fleet.visiting("one"):
        pass
    assert fleet.faults.log == ["list"]
    assert fleet.notes() == before


def test_taking_a_new_vault_costs_little_more_than_a_request_a_note(
    fleet: Fleet,
) -> None:
    count = 100
    for number in range(count):
        fleet.save(f"memory/note-{number}.md", f"# Note {number}\n\n- item\n")
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
    files = len(fleet.notes())
    fleet.faults.log.clear()
    visit = fleet.visit("two")
    assert len(fleet.faults.log) <= 1.1 * files
    visit.leave(fleet.now)


def test_a_bundle_is_stored_only_when_it_has_changed(fleet: Fleet) -> None:
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
    tag = fleet.person.look(bundle_store.NAME).etag
    fleet.save("memory/new.md", "# New\n")
    with fleet.visiting("two") as visit:
        visit.memory.search("coffee", scopes=["user:ann"])
    stored = fleet.person.look(bundle_store.NAME).etag
    with fleet.visiting("two"):
        pass
    assert fleet.person.look(bundle_store.NAME).etag == stored
    assert tag


def test_no_other_program_sees_the_bundle_as_a_note(fleet: Fleet) -> None:
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
    with fleet.visiting("two") as visit:
        files = {file.name for file in visit.scratch.root.rglob("*")}
        assert bundle_store.NAME not in files
        assert bundle_store.NAME in fleet.paths()
        status = visit.memory.status(refresh=False)
        assert bundle_store.NAME not in str(status)


def test_edits_of_a_person_in_the_home_are_kept_beside_those_of_the_bot(
    fleet: Fleet,
) -> None:
    visit = fleet.visit("one")
    visit.run(append("a", "- coffee", fleet.now))
    fleet.save(USER, START.replace("- at the harbour", "- at the shipyard"))
    fleet.pass_by(10)
    visit.leave(fleet.now)
    assert "- coffee" in fleet.text()
    assert "- at the shipyard" in fleet.text()


def test_a_note_that_a_person_deletes_in_the_home_stays_deleted(fleet: Fleet) -> None:
    for number in range(6):
        fleet.save(f"memory/{number}.md", f"# {number}\n\n- item\n")
    with fleet.visiting("one"):
        pass
    with fleet.visiting("two"):
        pass
    entry = fleet.person.look("memory/3.md")
    fleet.person.delete("memory/3.md", expected=entry.etag)
    for host in ("one", "two", "one", "two"):
        fleet.pass_by(120)
        with fleet.visiting(host):
            pass
    assert "memory/3.md" not in fleet.paths()
    assert "memory/4.md" in fleet.paths()


def test_a_scratch_that_was_emptied_deletes_nothing_in_the_home(fleet: Fleet) -> None:
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
        root = visit.scratch.root
    before = fleet.notes()
    shutil.rmtree(root)
    for _ in range(3):
        fleet.pass_by(120)
        with fleet.visiting("one"):
            pass
    assert fleet.notes() == before


def test_a_paused_host_that_wakes_overwrites_nothing(fleet: Fleet) -> None:
    paused = fleet.visit("one")
    paused.run(append("a", "- coffee", fleet.now))
    with fleet.visiting("two") as visit:
        visit.run(append("b", "- milk", fleet.now))
    before = fleet.notes()
    puts = len([line for line in fleet.faults.log if line.startswith("put")])
    with pytest.raises(LeaseLost):
        paused.flush(fleet.now)
    assert fleet.notes() == before
    assert puts == len([line for line in fleet.faults.log if line.startswith("put")])
    assert fleet.text().count("- coffee") == 1
    assert fleet.text().count("- milk") == 1
    with pytest.raises(LeaseLost):
        paused.run(append("c", "- cocoa", fleet.now))
    assert paused.scratch.folder.exists()


def test_a_host_that_was_paused_between_its_writes_overwrites_nothing(
    fleet: Fleet,
) -> None:
    faults = Faults()
    paused = fleet.visit("one", faults)
    paused.run(append("a", "- coffee", fleet.now))

    def another_host() -> None:
        faults.meanwhile.clear()
        with fleet.visiting("two") as visit:
            visit.run(append("b", "- milk", fleet.now))

    # The host sleeps after the ledger and the listing said that the vault is its own.
    faults.meanwhile[faults.count + 6] = another_host
    with pytest.raises(LeaseLost):
        paused.flush(fleet.now)
    with fleet.visiting("two"):
        pass
    assert fleet.text().count("- coffee") == 1
    assert fleet.text().count("- milk") == 1


def test_a_dirty_scratch_of_an_old_lease_is_set_aside(fleet: Fleet) -> None:
    killed = fleet.visit("one")
    killed.run(append("a", "- coffee", fleet.now))
    killed.close()
    with fleet.visiting("two"):
        pass
    assert fleet.text().count("- coffee") == 1
    with fleet.visiting("one") as visit:
        folder = visit.scratch.folder
        assert folder.with_name(f"{folder.name}.aside").exists()
        with visit.changing() as memory:
            assert len(memory.log(USER)) == 1
    visit.scratch.erase()
    assert list(folder.parent.iterdir()) == []


def test_two_fleets_on_one_bucket_change_nothing(fleet: Fleet, tmp_path: Path) -> None:
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
    other = Fleet(tmp_path / "other")
    other.server = fleet.server
    fleet.faults.log.clear()
    with pytest.raises(AnotherFleet):
        other.visit("two", fleet.faults)
    assert not [line for line in fleet.faults.log if line.startswith("put")]


def test_the_next_visit_is_due_when_a_conversation_ends(fleet: Fleet) -> None:
    visit = fleet.visit("one")
    visit.run(turn("b", "I like coffee", fleet.now))
    minutes = visit.memory.vault.config.sessions.idle_minutes
    visit.memory.vault.config = visit.memory.vault.config._replace(
        sessions=visit.memory.vault.config.sessions._replace(idle_minutes=10)
    )
    due = visit.leave(fleet.now)
    assert minutes > 10
    assert due.reason == "session"
    assert (due.moment - fleet.now).total_seconds() == 600


def test_a_private_turn_is_in_no_ledger(fleet: Fleet) -> None:
    with fleet.visiting("one") as visit:
        op = turn("b", "a secret of ann", fleet.now)
        op = replace(op, arguments={**op.arguments, "mode": "incognito"})
        assert visit.run(op).note is None
        assert fleet.ledger.kept(visit.lease) == []
    assert "secret of ann" not in str(fleet.notes())


def test_a_second_request_of_the_same_operation_does_nothing(fleet: Fleet) -> None:
    with fleet.visiting("one") as visit:
        visit.run(append("a", "- coffee", fleet.now))
        visit.run(append("a", "- coffee", fleet.now), again=True)
        visit.run(turn("b", "I like coffee", fleet.now))
        visit.run(turn("b", "I like coffee", fleet.now), again=True)
        assert len(fleet.ledger.kept(visit.lease)) == 2
    with fleet.visiting("two") as visit:
        visit.run(append("a", "- coffee", fleet.now), again=True)
        visit.run(turn("b", "I like coffee", fleet.now), again=True)
    with fleet.visiting("one") as visit:
        assert len(visit.memory.log(USER)) == 1
    texts = "".join(fleet.notes().values())
    assert texts.count("I like coffee") == 1
    assert fleet.text().count("- coffee") == 1
