"""Two vaults and a server: what is done on one side arrives on the other, and nothing is lost on the way."""

from pathlib import Path

import pytest

from tests.remote.ram_remote import NEXTCLOUD, PLAIN, RamServer
from tests.sync.devices import Device, pair


@pytest.fixture(params=["plain", "nextcloud"])
def devices(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Device, Device]:
    one, other, _ = pair(
        tmp_path, RamServer(traits=NEXTCLOUD if request.param == "nextcloud" else PLAIN)
    )
    return one, other


def test_a_local_note_reaches_the_other_device(devices: tuple[Device, Device]):
    one, other = devices
    one.save("users/ann/USER.md", "## Tea\n\n- green\n")
    one.save("picture.png", b"\x89PNG\x00")

    one.settle((other,))

    assert (
        other.files()
        == one.files()
        == {"users/ann/USER.md": b"## Tea\n\n- green\n", "picture.png": b"\x89PNG\x00"}
    )


def test_an_edit_on_either_side_reaches_the_other(devices: tuple[Device, Device]):
    one, other = devices
    one.save("USER.md", "## Tea\n\n- green\n")
    one.settle((other,))

    other.save("USER.md", "## Tea\n\n- green\n- black\n")
    one.settle((other,))

    assert one.text("USER.md") == "## Tea\n\n- green\n- black\n"


@pytest.mark.scenario("E83")
def test_edits_on_both_sides_are_merged(devices: tuple[Device, Device]):
    one, other = devices
    one.save("USER.md", "## Tea\n\n- green\n")
    one.settle((other,))

    one.save("USER.md", "## Tea\n\n- green\n- black\n")
    other.save("USER.md", "## Tea\n\n- green\n\n## Bread\n\n- rye\n")
    one.settle((other,))

    assert one.files() == other.files()
    assert {"- green", "- black", "- rye"} <= set(one.text("USER.md").splitlines())


def test_a_binary_file_changed_on_both_sides_is_kept_twice(devices: tuple[Device, Device]):
    one, other = devices
    one.save("picture.png", b"one")
    one.settle((other,))

    one.save("picture.png", b"mine")
    other.save("picture.png", b"its")
    one.settle((other,))

    assert one.files() == other.files()
    assert sorted(one.files().values()) == [b"its", b"mine"]


def test_a_deletion_reaches_the_other_device_and_fills_its_trash(devices: tuple[Device, Device]):
    one, other = devices
    one.save("a.md", "- a\n")
    one.save("b.md", "- b\n")
    one.settle((other,))

    (one.vault / "a.md").unlink()
    one.settle((other,))

    assert other.files() == {"b.md": b"- b\n"}
    assert other.writer is not None
    assert [thrown.path for thrown in other.writer.thrown()] == ["a.md"]


def test_an_edit_wins_over_a_deletion(devices: tuple[Device, Device]):
    one, other = devices
    one.save("a.md", "- a\n")
    one.save("b.md", "- b\n")
    one.settle((other,))

    (one.vault / "a.md").unlink()
    other.save("a.md", "- a\n- more\n")
    one.settle((other,))

    assert one.files() == other.files() == {"a.md": b"- a\n- more\n", "b.md": b"- b\n"}


def test_a_rename_arrives_as_a_rename(devices: tuple[Device, Device]):
    one, other = devices
    one.save("notes/a.md", "- a\n")
    one.save("b.md", "- b\n")
    one.settle((other,))

    (one.vault / "notes/a.md").rename(one.vault / "notes/c.md")
    one.settle((other,))

    assert one.files() == other.files() == {"notes/c.md": b"- a\n", "b.md": b"- b\n"}


def test_a_note_renamed_back_elsewhere_survives_a_new_note_of_that_name(
    devices: tuple[Device, Device],
):
    laptop, phone = devices
    phone.save("notes/boats.md", "## Tea\n- the old boat\n")
    phone.settle((laptop,))
    (phone.vault / "notes/boats.md").rename(phone.vault / "notes/old.md")
    phone.settle((laptop,))

    (laptop.vault / "notes/old.md").rename(laptop.vault / "notes/boats.md")
    for _ in range(2):
        laptop.clock.pass_by(61)
        laptop.run_pass()
    phone.save("notes/boats.md", "## Tea\n- the new boat\n")
    phone.settle((laptop,))

    assert laptop.files() == phone.files()
    assert {b"old", b"new"} <= set(b"".join(laptop.files().values()).split())


def test_a_second_pass_only_asks_whether_anything_changed(devices: tuple[Device, Device]):
    one, other = devices
    for number in range(10):
        one.save(f"notes/{number}.md", f"- {number}\n")
    one.settle((other,))

    one.clock.pass_by(15)
    assert one.run_pass().requests == 1
    assert other.run_pass().requests == 1


def test_a_dry_run_changes_nothing(devices: tuple[Device, Device]):
    one, other = devices
    one.save("a.md", "- a\n")

    report = one.run_pass(dry_run=True)

    assert report.planned == (("a.md", "upload"),)
    other.settle()
    assert other.files() == {}


@pytest.mark.sampled
def test_many_deletions_at_once_wait_for_approval(devices: tuple[Device, Device]):
    one, other = devices
    for number in range(30):
        one.save(f"n{number}.md", f"- {number}\n")
    one.settle((other,))

    for number in range(20):
        (one.vault / f"n{number}.md").unlink()
    one.clock.pass_by(10)
    one.run_pass()
    one.clock.pass_by(10)
    report = one.run_pass()

    assert len(report.held) == 20
    other.settle()
    assert len(other.files()) == 30
    one.run_pass(approve_deletes=True)
    other.settle()
    assert len(other.files()) == 30
    other.run_pass(approve_deletes=True)
    other.settle((one,))
    assert len(other.files()) == 10


@pytest.mark.parametrize("change", ["edit", "merge"])
def test_a_read_only_note_is_named_as_the_cause_of_waiting(base: Path, change: str):
    one, two, clock = pair(base)
    one.save("d/a.md", "- one\n- two\n")
    one.settle((two,))
    two.save("d/a.md", "- one\n- two, edited\n")
    if change == "merge":
        one.save("d/a.md", "- one, here\n- two\n")
    clock.pass_by(61)
    two.run_pass()
    note = one.vault / "d/a.md"
    note.chmod(0o444)

    reports = []
    for _ in range(4):
        clock.pass_by(61)
        reports.append(one.run_pass())

    assert "may not be written" in dict(reports[-1].failed)["d/a.md"]
    assert not reports[-1].waiting
    assert reports[-1].requests <= 3
    note.chmod(0o644)
    one.settle((two,))
    assert one.files() == two.files()
    assert "- two, edited\n" in one.text("d/a.md")
