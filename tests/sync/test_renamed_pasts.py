"""A note is renamed on one device. On the other one its audit and its versions follow it, too."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.remote.ram_remote import PLAIN, RamServer
from tests.sync.devices import Device, pair
from vault_memory.edits.backup_detection import gaps
from vault_memory.edits.commands import ApplyOps, UndoRecord
from vault_memory.edits.edit_result import Edit
from vault_memory.edits.editor import NoteEditor
from vault_memory.rules.paths.layout import Layout

OLD, NEW = "memory/g.md", "memory/y.md"
TEXT = "# Errands\n\n## Shop\n\n- tea\n- bread\n- salt\n"


class Desk:
    """A device with an editor; both use one state folder."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.editor = NoteEditor(device.folder, Layout([]), device.state)

    def do(self, op: dict[str, str], note: str) -> Edit:
        now = self.device.clock.now
        command = self.editor.new_command(note, "tool", now, ApplyOps((op,)))
        return self.editor.run(command, now)

    def undo(self, record_id: str) -> Edit:
        now = self.device.clock.now
        note = self.editor.trail.find(record_id).note
        command = self.editor.new_command(note, "undo", now, UndoRecord(record_id))
        return self.editor.run(command, now)

    def look(self) -> dict[str, str]:
        return self.editor.follow_renames(self.device.clock.now)

    def ids(self, note: str) -> list[str]:
        return [record.id for record in self.editor.trail.of(note)]


@pytest.fixture(params=["with ids", "without ids"])
def desks(base: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Desk, Desk]]:
    """A server that names files by ids tells of a rename; for any other one it is a removal and a new file."""
    traits = replace(PLAIN, fileids=request.param == "with ids")
    server = RamServer(traits)
    laptop, phone, _ = pair(base, server)
    both = Desk(laptop), Desk(phone)
    yield both
    for desk in both:
        desk.editor.close()
        desk.device.stop()


def agreed(laptop: Desk, phone: Desk) -> str:
    """Both devices have a note with a line of the bot. Returns the id of its record."""
    laptop.device.save(OLD, TEXT)
    done = laptop.do({"op": "append", "heading": "Shop", "line": "milk"}, OLD)
    laptop.device.settle((phone.device,))
    phone.look()
    assert phone.ids(OLD) == [done.audit_id]
    return str(done.audit_id)


@pytest.mark.parametrize("looks", ["before", "after"])
def test_a_rename_takes_the_past_along_to_the_other_device(desks: tuple[Desk, Desk], looks: str):
    laptop, phone = desks
    record = agreed(laptop, phone)
    (laptop.device.vault / OLD).rename(laptop.device.vault / NEW)

    if looks == "before":
        assert laptop.look() == {OLD: NEW}
    laptop.device.settle((phone.device,))
    laptop.look()
    phone.look()
    laptop.device.settle((phone.device,))
    phone.look()

    for desk in desks:
        assert desk.ids(NEW) == [record]
        assert desk.ids(OLD) == []
        assert desk.editor.renames.unmatched() == []
        assert desk.editor.past.chain(OLD) == []
        assert gaps(desk.editor.writer, desk.editor.trail) == {}
    phone.undo(record)
    assert phone.device.text(NEW) == TEXT


def test_a_rename_that_both_devices_follow_ends(desks: tuple[Desk, Desk]):
    laptop, phone = desks
    record = agreed(laptop, phone)
    (laptop.device.vault / OLD).rename(laptop.device.vault / NEW)
    laptop.device.clock.pass_by(61)

    for _ in range(3):
        for desk in desks:
            desk.device.run_pass()
            desk.look()
    laptop.device.settle((phone.device,))

    assert laptop.device.files() == phone.device.files()
    assert [path for path in phone.device.files() if "audit" in path] == [f"{NEW}.audit.jsonl"]
    assert phone.ids(NEW) == [record]


def test_a_record_that_the_other_device_adds_meanwhile_finds_the_note(desks: tuple[Desk, Desk]):
    laptop, phone = desks
    record = agreed(laptop, phone)
    (laptop.device.vault / OLD).rename(laptop.device.vault / NEW)
    laptop.look()
    other = phone.do({"op": "append", "heading": "Shop", "line": "figs"}, OLD)

    for _ in range(3):
        laptop.device.settle((phone.device,))
        laptop.look()
        phone.look()

    for desk in desks:
        held = {*desk.ids(NEW), *desk.ids(OLD)}
        assert held == {record, other.audit_id}
        assert desk.editor.renames.unmatched() == []
