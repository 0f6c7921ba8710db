"""Older files that are copied over the vault of one device take no line from the others, until a person says so."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.remote.servers.nextcloud import FakeNextcloud
from tests.sync.clouded import connected
from tests.sync.devices import Clock, Device
from vault_memory.sync.pass_report import PassReport
from vault_memory.sync.plan.safety_limits import OLDER, OLDER_HERE
from vault_memory.vault.write.replacement import Replacement

FOLDERS = ["", "diary/", "projects/boat/", "日記/"]


class Pair:
    """Two devices of one person; the laptop has a backup of its files."""

    def __init__(self, base: Path) -> None:
        self.clock = Clock()
        self.fake = FakeNextcloud(clock=self.clock.seconds)
        self.laptop = Device(base, "laptop", connected(self.fake), self.clock)
        self.phone = Device(base, "phone", connected(self.fake), self.clock)
        self.backup = base / "backup"

    def write(self, folder: str, notes: int = 2, unchanged: int = 0) -> None:
        """Notes, a backup of them, and then a newer line in each."""
        for number in range(notes):
            self.laptop.save(f"{folder}{number}.md", f"- first {number}\n")
        for number in range(unchanged):
            self.laptop.save(f"{folder}same{number}.md", f"- same {number}\n")
        self.laptop.save("elsewhere/log.md", "- log\n")
        self.settle()
        shutil.copytree(self.laptop.vault, self.backup)
        for number in range(notes):
            note = f"{folder}{number}.md"
            self.phone.save(note, self.phone.text(note) + "- newer\n")
        self.settle()
        self.clock.pass_by(3600)

    def restore(self) -> None:
        """Copy the backup over the vault, as a person does with a file manager."""
        shutil.copytree(self.backup, self.laptop.vault, dirs_exist_ok=True)

    def settle(self) -> None:
        self.laptop.settle((self.phone,))
        self.clock.pass_by(60)

    def passes(self, count: int = 4, **answer: bool) -> PassReport:
        for _ in range(count):
            self.clock.pass_by(61)
            report = self.laptop.run_pass(**answer)
            self.phone.run_pass()
        return report


@pytest.fixture
def pair(base: Path) -> Pair:
    return Pair(base)


def newer(folder: str, notes: int = 2) -> dict[str, bytes]:
    return {
        f"{folder}{number}.md": f"- first {number}\n- newer\n".encode() for number in range(notes)
    }


def older(folder: str, notes: int = 2) -> dict[str, bytes]:
    return {f"{folder}{number}.md": f"- first {number}\n".encode() for number in range(notes)}


@pytest.mark.sampled
@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize(("notes", "unchanged"), [(2, 0), (2, 4), (3, 0), (9, 1)])
def test_older_files_over_a_folder_are_held_from_two_notes_on(
    pair: Pair, folder: str, notes: int, unchanged: int
) -> None:
    pair.write(folder, notes, unchanged)
    pair.restore()

    report = pair.passes()

    held = dict(report.held)
    assert held.keys() == newer(folder, notes).keys()
    assert all(reason.endswith(OLDER_HERE) for reason in held.values())
    assert newer(folder, notes).items() <= pair.phone.files().items()
    assert newer(folder, notes).items() <= pair.fake.files().items()


def test_a_refused_restore_brings_the_newer_lines_back(pair: Pair) -> None:
    pair.write("diary/")
    pair.restore()
    pair.passes()

    pair.passes(refuse_restore=True)
    pair.settle()

    assert pair.laptop.run_pass().held == ()
    assert newer("diary/").items() <= pair.laptop.files().items()
    assert pair.laptop.files() == pair.phone.files() == pair.fake.files()


def test_an_accepted_restore_reaches_all_devices_and_history_keeps_the_newer(pair: Pair) -> None:
    pair.write("diary/")
    pair.restore()
    pair.passes()

    pair.passes(approve_restore=True)
    assert pair.phone.run_pass().held, "it asks there, too"
    pair.phone.run_pass(approve_restore=True)
    pair.settle()

    assert older("diary/").items() <= pair.phone.files().items()
    assert pair.laptop.files() == pair.phone.files() == pair.fake.files()
    assert pair.phone.writer is not None
    snapshots = pair.phone.writer.snapshots
    chain = snapshots.chain("diary/0.md")
    texts = [snapshots.bytes_of(version.revision) for version in chain]
    assert b"- first 0\n- newer\n" in texts


@pytest.mark.sampled
@pytest.mark.parametrize("answer", ["approve_restore", "refuse_restore"])
@pytest.mark.parametrize("where", ["here", "there", "both"])
def test_a_line_written_while_the_question_is_open_survives_either_answer(
    pair: Pair, answer: str, where: str
) -> None:
    pair.write("diary/")
    pair.restore()
    pair.passes()
    if where in ("here", "both"):
        pair.laptop.save("diary/0.md", "- first 0\n- written meanwhile\n")
    if where in ("there", "both"):
        pair.phone.save("diary/0.md", "- first 0\n- newer\n- from the phone\n")

    assert pair.passes().held
    pair.passes(**{answer: True})
    pair.phone.run_pass(**{answer: True})
    pair.settle()

    text = pair.laptop.text("diary/0.md")
    assert ("- written meanwhile\n" in text) == (where != "there")
    assert ("- from the phone\n" in text) == (where != "here")
    assert ("- newer\n" in text) == (answer == "refuse_restore")
    assert pair.laptop.files() == pair.phone.files() == pair.fake.files()


def test_the_question_stays_open_after_a_restart_and_an_edit_of_one_note(pair: Pair) -> None:
    pair.write("diary/")
    pair.restore()
    pair.passes()
    pair.laptop.stop()
    pair.laptop.start()
    pair.laptop.save("diary/1.md", "- begun anew\n")

    report = pair.passes()

    assert dict(report.held).keys() == older("diary/").keys()
    assert newer("diary/").items() <= pair.phone.files().items()


def test_nothing_is_deleted_on_the_server_while_the_question_is_open(pair: Pair) -> None:
    pair.write("diary/")
    pair.phone.save("diary/2.md", "- made since the backup\n")
    pair.settle()
    shutil.rmtree(pair.laptop.vault / "diary")
    pair.restore()

    report = pair.passes()

    assert dict(report.held).keys() == {"diary/0.md", "diary/1.md", "diary/2.md"}
    assert (pair.phone.vault / "diary/2.md").exists()
    pair.passes(refuse_restore=True)
    pair.settle()
    assert pair.laptop.text("diary/2.md") == "- made since the backup\n"


def test_new_lines_elsewhere_travel_while_the_question_is_open(pair: Pair) -> None:
    pair.write("diary/")
    pair.restore()
    pair.laptop.save("elsewhere/log.md", "- log\n- a new line\n")

    report = pair.passes()

    assert dict(report.held).keys() == older("diary/").keys()
    assert pair.phone.text("elsewhere/log.md") == "- log\n- a new line\n"


def one_note_of_two(pair: Pair) -> None:
    pair.laptop.save("diary/0.md", "- first 0\n")


def one_beside_an_edit(pair: Pair) -> None:
    pair.laptop.save("diary/0.md", "- first 0\n")
    pair.laptop.save("diary/1.md", "- first 1\n- newer\n- and newest\n")


def undone_by_the_program(pair: Pair) -> None:
    """As `undo` and `restore` write."""
    assert pair.laptop.writer is not None
    for path, raw in older("diary/").items():
        written = pair.laptop.writer.write(
            Replacement(path, raw, expected=None, op_id=f"undo {path}", quiet=0.0),
            now=pair.clock.now,
            merge=lambda base, ours, theirs: ours,
        )
        assert written.outcome in ("written", "merged")


@pytest.mark.sampled
@pytest.mark.parametrize("edit", [one_note_of_two, one_beside_an_edit, undone_by_the_program])
def test_what_is_meant_is_uploaded_like_any_edit(pair: Pair, edit: Callable[[Pair], None]) -> None:
    pair.write("diary/")
    edit(pair)

    report = pair.passes()

    assert report.held == ()
    assert pair.fake.files()["diary/0.md"] == b"- first 0\n"


def test_older_files_that_another_client_puts_over_a_folder_are_held_too(pair: Pair) -> None:
    pair.write("diary/")
    for path, raw in older("diary/").items():
        pair.fake.other_client_put(path, raw)

    report = pair.passes()

    assert dict(report.held).keys() == older("diary/").keys()
    assert all(reason.endswith(OLDER) for _, reason in report.held)
    assert newer("diary/").items() <= pair.laptop.files().items()
    assert newer("diary/").items() <= pair.phone.files().items()


def test_a_folder_of_new_texts_is_no_restore(pair: Pair) -> None:
    pair.write("diary/")
    for number in range(2):
        pair.fake.other_client_put(f"diary/{number}.md", b"- first\n- last\n")

    report = pair.passes()

    assert report.held == ()
    assert pair.laptop.text("diary/1.md") == "- first\n- last\n"
