"""Of several devices on one vault, one curates at a time; the others read, and their writes wait their turn."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import PROJECT
from tests.edits.conftest import AHEAD, Desk
from tests.every import every
from vault_memory.edits import device_lease
from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.device_lease import DeviceLease
from vault_memory.edits.edit_result import Edit
from vault_memory.vault.reader import Folder
from vault_memory.vault.write.writer import Writer


@pytest.fixture
def laptop(desk: Desk) -> Desk:
    return named(desk, "laptop")


@pytest.fixture
def tablet(desk: Desk, tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "other").mkdir()
    made = named(Desk(desk.vault, tmp_path / "other"), "tablet")
    yield made
    made.close()


def named(desk: Desk, name: str) -> Desk:
    (desk.state / "device").write_text(name)
    return desk


def file(desk: Desk) -> Path:
    return desk.vault / device_lease.NAME


def reasons(edit: Edit) -> list[str]:
    return [one.reason for one in edit.pending]


@pytest.mark.scenario("A27")
def test_a_single_curating_device_takes_no_lease(laptop: Desk) -> None:
    laptop.append("sencha")

    assert not file(laptop).exists()


@pytest.mark.scenario("A27")
def test_while_one_device_curates_the_others_only_read(laptop: Desk, tablet: Desk) -> None:
    laptop.append("sencha")
    assert not reasons(tablet.append("matcha"))
    assert json.loads(file(tablet).read_bytes())["device"] == "tablet"

    edit = laptop.append("gyokuro")

    assert reasons(edit) == ["other_device"]
    assert "another device" in edit.summary
    assert "gyokuro" not in laptop.text()
    assert [one.reason for one in laptop.curator.waiting()] == ["other_device"]
    assert len(laptop.curator.trail.of("USER.md")) == 2

    tablet.close()
    assert not file(laptop).exists(), "who is done says so"
    laptop.curator.tend(laptop.now)
    assert laptop.text().splitlines()[4:8] == ["- green", "- sencha", "- matcha", "- gyokuro"]
    assert len(laptop.curator.trail.of("USER.md")) == 3


@pytest.mark.scenario("A27")
def test_the_lease_of_a_vanished_device_expires(laptop: Desk, tablet: Desk) -> None:
    laptop.append("sencha")
    tablet.append("matcha")
    assert reasons(laptop.append("gyokuro")) == ["other_device"]

    laptop.ahead = AHEAD + timedelta(seconds=device_lease.DURATION + 1)
    laptop.curator.tend(laptop.now)

    assert "- gyokuro" in laptop.text()
    tablet.ahead = laptop.ahead
    assert reasons(tablet.append("hojicha")) == ["other_device"], "now it is the other's turn"


@pytest.mark.scenario("A27", "B50")
def test_a_lease_dated_years_ahead_does_not_block_other_devices(laptop: Desk, tablet: Desk) -> None:
    laptop.append("sencha")
    tablet.ahead = AHEAD + timedelta(days=3650)
    tablet.append("matcha")

    assert not reasons(laptop.append("gyokuro"))


@pytest.mark.scenario("A27")
@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'{"device": 3, "until": "x"}', b'{"device":"../x","until":1e999}']
)
def test_an_unreadable_lease_blocks_no_device(laptop: Desk, raw: bytes) -> None:
    file(laptop).write_bytes(raw)

    assert not reasons(laptop.append("sencha"))


@pytest.mark.scenario("A27")
def test_a_late_save_is_merged_although_another_device_holds_the_lease(
    laptop: Desk, tablet: Desk
) -> None:
    laptop.append("sencha")
    with (laptop.vault / "USER.md").open("ab", buffering=0) as editor:
        laptop.append("bancha")
        tablet.append("matcha")
        editor.write(b"\nfrom an open editor\n")
    for seconds in (1, 4, 10):
        laptop.ahead = AHEAD + timedelta(seconds=seconds)
        laptop.curator.tend(laptop.now)

    assert "from an open editor" in laptop.text()
    assert "matcha" in laptop.text()


@pytest.mark.sampled
@pytest.mark.scenario("A27")
def test_of_many_concurrent_requests_one_gets_the_lease(laptop: Desk, tmp_path: Path) -> None:
    ask = """
import sys, time
from pathlib import Path
from vault_memory.edits.device_lease import DeviceLease
from vault_memory.edits.audit_log import AuditLog
from vault_memory.vault.reader import Folder
state = Path(sys.argv[2])
trail = AuditLog(Folder(Path(sys.argv[1])), state)
trail.meet(["somebody"])
sys.stdin.readline()
print(DeviceLease(Path(sys.argv[1]), trail).barred("USER.md", 1000.0))
"""
    running = []
    for number in range(6):
        state = tmp_path / f"state-{number}"
        state.mkdir()
        (state / "device").write_text(f"device-{number}")
        command = [sys.executable, "-c", ask, str(laptop.vault), str(state)]
        running.append(
            subprocess.Popen(
                command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
    for one in running:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    said = [one.communicate(timeout=120)[0].strip() for one in running]

    assert sorted(said) == ["", *["other_device"] * 5]


@pytest.mark.scenario("A27")
def test_a_vault_in_which_no_lease_can_be_written_is_still_curated(
    laptop: Desk, tablet: Desk
) -> None:
    laptop.append("sencha")
    file(laptop).mkdir()

    assert not reasons(tablet.append("matcha"))


def test_the_lease_is_not_written_through_a_symlink(
    laptop: Desk, tablet: Desk, tmp_path: Path
) -> None:
    laptop.append("sencha")
    os.symlink(tmp_path / "elsewhere", file(laptop))

    tablet.append("matcha")

    assert not (tmp_path / "elsewhere").exists()


def test_reading_and_dry_runs_take_no_lease(laptop: Desk, tablet: Desk) -> None:
    laptop.append("sencha")
    tablet.curator.past.history("USER.md")
    tablet.do({"op": "append", "heading": "Tea", "line": "x"}, dry_run=True)

    assert isinstance(tablet.curator.writer, Writer)
    assert not file(laptop).exists()


def lease_without_locks(desk: Desk, number: int, monkeypatch: pytest.MonkeyPatch) -> DeviceLease:
    """The lease of a device that knows another one, where the file system answers a lock with an error."""

    def refuse(fd: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    locks = SimpleNamespace(flock=refuse, LOCK_EX=1, LOCK_NB=4)
    monkeypatch.setattr(device_lease, "fcntl", locks)
    trail = AuditLog(Folder(desk.vault), desk.state)
    trail.meet(["somebody"])
    return DeviceLease(desk.vault, trail)


@pytest.mark.scenario("A27")
@every("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL])
def test_on_a_file_system_without_locks_devices_take_turns_by_the_lease_alone(
    laptop: Desk, tablet: Desk, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = lease_without_locks(laptop, number, monkeypatch)
    second = lease_without_locks(tablet, number, monkeypatch)

    assert [first.barred("USER.md", 1000.0), second.barred("USER.md", 1001.0)] == [
        "",
        "other_device",
    ]
    first.release()
    assert not file(laptop).exists()
    assert [second.barred("USER.md", 1002.0), first.barred("USER.md", 1003.0)] == [
        "",
        "other_device",
    ]
    second.release()


@pytest.mark.scenario("A27")
def test_a_lock_that_fails_for_another_reason_leaves_the_lease_alone(
    laptop: Desk, tablet: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write meets the reason itself, and says it."""
    for desk in (laptop, tablet):
        lease = lease_without_locks(desk, errno.EIO, monkeypatch)
        assert lease.barred("USER.md", 1000.0) == ""
        lease.release()

    assert file(laptop).read_bytes() == b""


@pytest.mark.scenario("A27")
def test_a_lock_that_another_process_holds_makes_the_write_wait(
    laptop: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = lease_without_locks(laptop, errno.EAGAIN, monkeypatch)

    assert lease.barred("USER.md", 1000.0) == "other_device"


@pytest.mark.scenario("A27", "B50")
def test_a_held_lease_is_renewed_after_a_third_of_its_time_and_when_the_clock_goes_back(
    laptop: Desk,
) -> None:
    trail = AuditLog(Folder(laptop.vault), laptop.state)
    trail.meet(["somebody"])
    lease = DeviceLease(laptop.vault, trail)

    renewed = []
    for now in (1000.0, 1000.0, 1020.0, 1021.0, 1030.0, 500.0):
        assert lease.barred("USER.md", now) == ""
        until = json.loads(file(laptop).read_bytes())["until"]
        renewed.append(until - device_lease.DURATION)

    assert renewed == [1000.0, 1000.0, 1000.0, 1021.0, 1021.0, 500.0]


@pytest.mark.scenario("A27")
def test_another_process_of_this_device_shares_its_lease_and_neither_deletes_that_of_the_other(
    laptop: Desk,
) -> None:
    trail = AuditLog(Folder(laptop.vault), laptop.state)
    trail.meet(["somebody"])
    other = {"device": "laptop", "process": os.getpid() + 1, "until": 1060.0}
    file(laptop).write_text(json.dumps(other))
    lease = DeviceLease(laptop.vault, trail)

    assert lease.barred("USER.md", 1000.0) == ""
    assert json.loads(file(laptop).read_bytes()) == other, "it is new: it stays as it is"
    assert lease.barred("USER.md", 1030.0) == ""
    assert json.loads(file(laptop).read_bytes())["process"] == os.getpid()

    file(laptop).write_text(json.dumps(other))
    lease.release()
    assert json.loads(file(laptop).read_bytes()) == other
