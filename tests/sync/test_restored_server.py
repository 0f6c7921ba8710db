"""A server that was restored from a backup and does not say so takes no word back, until a person says that it may."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.remote.servers.nextcloud import FakeNextcloud
from tests.sync.clouded import connected
from tests.sync.devices import Clock, Device
from vault_memory.sync.pass_report import PassReport
from vault_memory.sync.plan.safety_limits import OLDER

NOTES = [f"note{number}.md" for number in range(6)]


class Cloud:
    """A fake Nextcloud with a backup, two devices that wrote since, and what both hold now."""

    def __init__(self, base: Path) -> None:
        self.clock = Clock()
        self.fake = FakeNextcloud(clock=self.clock.seconds)
        self.laptop = Device(base, "laptop", connected(self.fake), self.clock)
        self.phone = Device(base, "phone", connected(self.fake), self.clock)
        for note in NOTES:
            self.laptop.save(note, f"# {note}\n\n- first\n")
        self.laptop.settle((self.phone,))
        self.clock.pass_by(60)

    def backed_up_and_written_since(self, changed: int = 4, new: int = 2) -> dict[str, bytes]:
        self.fake.back_up()
        self.clock.pass_by(3600)
        for note in NOTES[:changed]:
            self.phone.save(note, self.phone.text(note) + "- since the backup\n")
        for number in range(new):
            self.laptop.save(f"new{number}.md", f"- new {number}\n")
        self.laptop.settle((self.phone,))
        self.clock.pass_by(60)
        self.fake.log.clear()
        return self.laptop.files()

    def restore(self, *, other_tags: bool = False) -> None:
        """Put the backup back, without another fingerprint."""
        self.fake.restore_from_backup(tells=False)
        if other_tags:
            self.fake.new_tags()

    def passes(self, number: int = 4) -> PassReport:
        for _ in range(number):
            self.clock.pass_by(61)
            report = self.laptop.run_pass()
        return report

    def answer(self, **answer: bool) -> None:
        """A person answers on one device, which passes on until nothing is left."""
        for _ in range(6):
            self.clock.pass_by(61)
            if self.laptop.run_pass(approve_deletes=True, **answer).quiet:
                return
        raise AssertionError("it does not come to an end")


@pytest.fixture
def cloud(base: Path) -> Cloud:
    return Cloud(base)


@pytest.mark.sampled
@pytest.mark.scenario("E94")
@pytest.mark.parametrize("other_tags", [False, True], ids=["old tags", "new tags"])
@pytest.mark.parametrize(("changed", "new"), [(4, 2), (3, 0), (1, 2), (6, 1)])
def test_edits_since_the_backup_stay_until_a_person_answers(
    cloud: Cloud, changed: int, new: int, other_tags: bool
):
    expected = cloud.backed_up_and_written_since(changed, new)
    cloud.restore(other_tags=other_tags)

    report = cloud.passes()

    assert cloud.laptop.files() == expected
    held = dict(report.held)
    assert {path for path in expected if path in held} == {
        *NOTES[:changed],
        *(f"new{number}.md" for number in range(new)),
    }
    assert all(reason.endswith(OLDER) for reason in held.values())


@pytest.mark.scenario("E94")
def test_refusing_the_restore_uploads_the_local_texts_for_other_devices(cloud: Cloud):
    expected = cloud.backed_up_and_written_since()
    cloud.restore()
    cloud.passes()
    assert cloud.phone.run_pass().held

    cloud.answer(refuse_restore=True)
    cloud.laptop.settle((cloud.phone,))

    assert cloud.phone.run_pass().held == ()
    assert cloud.laptop.files() == cloud.fake.files() == cloud.phone.files() == expected


@pytest.mark.scenario("E94")
def test_accepting_the_restore_takes_the_earlier_texts_and_keeps_the_local_in_history(cloud: Cloud):
    newer = cloud.backed_up_and_written_since()
    cloud.restore()
    cloud.passes()

    cloud.answer(approve_restore=True)

    assert cloud.laptop.files() == cloud.fake.files()
    assert set(cloud.laptop.files()) == set(NOTES)
    assert cloud.laptop.text(NOTES[0]) == f"# {NOTES[0]}\n\n- first\n"
    assert cloud.laptop.writer is not None
    snapshots = cloud.laptop.writer.snapshots
    kept = [snapshots.bytes_of(version.revision) for version in snapshots.chain(NOTES[0])]
    assert newer[NOTES[0]] in kept
    cloud.laptop.save(NOTES[0], "# Later\n")
    assert cloud.laptop.settle()[-1].held == ()


@pytest.mark.scenario("E94")
def test_a_line_written_locally_while_waiting_survives_either_answer(cloud: Cloud):
    cloud.backed_up_and_written_since()
    cloud.restore()
    cloud.laptop.save(NOTES[0], cloud.laptop.text(NOTES[0]) + "- while it was held\n")
    cloud.passes()
    assert b"- while it was held" not in cloud.fake.files()[NOTES[0]]

    cloud.answer(refuse_restore=True)

    assert (
        cloud.fake.files()[NOTES[0]]
        == f"# {NOTES[0]}\n\n- first\n- since the backup\n- while it was held\n".encode()
    )


@pytest.mark.scenario("E94")
def test_an_edit_of_an_earlier_text_on_another_device_does_not_release_the_hold(cloud: Cloud):
    cloud.backed_up_and_written_since()
    cloud.restore()
    cloud.passes()
    for note in NOTES[:4]:
        cloud.fake.other_client_put(note, cloud.fake.files()[note] + b"- from the browser\n")

    cloud.passes()
    assert all("- since the backup\n" in cloud.laptop.text(note) for note in NOTES[:4])
    cloud.answer(refuse_restore=True)

    for note in NOTES[:4]:
        assert cloud.fake.files()[note] == cloud.laptop.files()[note]
        assert {"- since the backup", "- from the browser"} <= set(
            cloud.laptop.text(note).splitlines()
        )


@pytest.mark.scenario("E94")
def test_the_hold_survives_a_restart(cloud: Cloud):
    expected = cloud.backed_up_and_written_since()
    cloud.restore()
    cloud.passes()

    cloud.laptop.stop()
    cloud.laptop.start()

    assert cloud.passes().held
    assert cloud.laptop.files() == expected


@pytest.mark.sampled
@pytest.mark.parametrize("number", [1, 2])
def test_an_old_version_restored_on_purpose_arrives_like_any_edit(cloud: Cloud, number: int):
    cloud.backed_up_and_written_since(new=0)
    for note in NOTES[:number]:
        cloud.fake.other_client_put(note, f"# {note}\n\n- first\n".encode())

    report = cloud.passes()

    assert not report.held
    assert [cloud.laptop.text(note) for note in NOTES[:number]] == [
        f"# {note}\n\n- first\n" for note in NOTES[:number]
    ]


def with_line(raw: bytes) -> bytes:
    return raw + b"- another line\n"


def shorter(raw: bytes) -> bytes:
    return raw.replace(b"- first\n", b"") + b"- last\n"


@pytest.mark.sampled
@pytest.mark.parametrize("edit", [with_line, shorter])
def test_many_new_texts_are_downloaded_each_only_once(cloud: Cloud, edit: Callable[[bytes], bytes]):
    cloud.backed_up_and_written_since(new=0)
    for note in NOTES[1:]:
        cloud.fake.other_client_put(note, edit(cloud.fake.files()[note]))

    cloud.clock.pass_by(61)
    report = cloud.laptop.run_pass()

    assert (report.downloaded, report.held) == (len(NOTES) - 1, ())
    assert len(cloud.fake.requests("GET")) == len(NOTES) - 1


def test_held_notes_are_not_downloaded_again_in_each_pass(cloud: Cloud):
    cloud.backed_up_and_written_since()
    cloud.restore()
    cloud.passes(2)
    cloud.fake.log.clear()

    cloud.passes(5)

    assert not cloud.fake.requests("GET")
