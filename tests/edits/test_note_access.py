"""How the editor reads a note: which revision is meant, which files are notes, and what half a save hides."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.edits.conftest import Desk
from tests.every import every
from vault_memory.edits import note_access
from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.commands import ApplyOps, EditCommand, RunOptions, SaveText
from vault_memory.edits.edit_errors import NotCurated, NoteChanged
from vault_memory.edits.note_access import NoteAccess, NoteState, text_of_expected
from vault_memory.errors import BadPath
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.fs import RealFiles
from vault_memory.vault.reader import Folder
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.preconditions import HOLD
from vault_memory.vault.write.writer import Writer

OLD = b"## Tea\n\n- green\n- white\n"
NEW = b"## Tea\n\n- green\n- white\n- black\n"


@pytest.fixture
def access(desk: Desk) -> NoteAccess:
    folder = Folder(desk.vault)
    trail = AuditLog(folder, desk.state)
    return NoteAccess(folder, Layout([]), trail, RealFiles(desk.vault), desk.state)


def loaded(access: NoteAccess, writer: Writer, note: str = "USER.md") -> NoteState:
    return access.load(note, "user", writer)


def command(action: ApplyOps | SaveText | None = None) -> EditCommand:
    return EditCommand("id", "", "USER.md", "user", "cli", action or ApplyOps())


def test_the_first_digits_of_a_revision_name_it(desk: Desk, access: NoteAccess) -> None:
    desk.save(OLD)
    state = loaded(access, desk.curator.writer)
    full = revision_of(OLD)
    shortest = full[: note_access.SHORTEST_REVISION]

    assert (state.revision, state.raw) == (full, OLD)
    assert [state.full_revision(given) for given in (full, shortest, full[:30])] == [full] * 3
    for given in (None, "", shortest[:-1], "0" * 12):
        assert state.full_revision(given) == given
    absent = loaded(access, desk.curator.writer, "memory/none.md")
    assert (absent.revision, absent.raw) == (None, None)
    assert absent.full_revision(shortest) == shortest


def test_ops_for_another_text_need_consent_to_be_merged(desk: Desk, access: NoteAccess) -> None:
    desk.save(NEW)
    state = loaded(access, desk.curator.writer)
    texts: Callable[[str | None], bytes | None] = {revision_of(OLD): OLD}.get

    def base(expected: str | None, *, merge: bool = False) -> bytes | None:
        return text_of_expected(command(), state, RunOptions(expected, merge), texts)

    assert base(None) is None
    assert base(revision_of(NEW)) is None
    assert base(revision_of(NEW)[:12]) is None
    assert base(revision_of(OLD), merge=True) == OLD
    assert base("0" * 64, merge=True) is None, "its text is not stored"
    with pytest.raises(NoteChanged) as changed:
        base(revision_of(OLD))
    assert changed.value.details["expected"] == revision_of(OLD)
    assert changed.value.details["found"] == revision_of(NEW)


@every(
    ("path", "persona", "kind"),
    [
        ("USER.md", False, "user"),
        ("memory/boats.md", False, "note"),
        ("memory/2026-04-01.md", False, "dated"),
        ("USER.FACTS.md", False, "facts"),
        ("SOUL.md", True, "persona"),
    ],
)
def test_notes_that_commands_may_change_have_their_kind(
    access: NoteAccess, path: str, persona: bool, kind: str
) -> None:
    assert access.place(path, persona=persona).kind == kind


@every(
    ("path", "persona"),
    [
        ("SOUL.md", False),
        ("INBOX.md", True),
        ("transcripts/2026-04-01.jsonl", True),
        ("elsewhere.txt", True),
        ("docs/readme.md", False),
    ],
)
def test_other_files_are_not_edited(access: NoteAccess, path: str, persona: bool) -> None:
    with pytest.raises(NotCurated, match=path):
        access.place(path, persona=persona)


def test_a_note_is_not_loaded_as_a_kind_that_nobody_may_change(
    desk: Desk, access: NoteAccess
) -> None:
    with pytest.raises(NotCurated):
        access.load("USER.md", "inbox", desk.curator.writer)
    assert access.load("USER.md", "persona", desk.curator.writer).note is not None
    with pytest.raises(BadPath):
        access.place("../USER.md")


@every(
    ("path", "keeps"),
    [
        ("USER.md", True),
        ("INBOX.md", True),
        ("SOUL.md", False),
        ("transcripts/2026-04-01.jsonl", False),
        ("x.txt", False),
    ],
)
def test_versions_are_kept_of_notes_and_of_the_page_of_proposals(
    access: NoteAccess, path: str, keeps: bool
) -> None:
    assert access.keeps_versions_of(path) is keeps


def test_times_are_those_of_the_note_or_of_the_folder_that_it_left(
    desk: Desk, access: NoteAccess
) -> None:
    os.utime(desk.vault / "USER.md", (1000, 1000))
    os.utime(desk.vault, (2000, 2000))

    assert access.times("USER.md")[0] == 1000
    assert access.times("memory/deep/none.md")[0] == 2000
    assert access.times("USER.md")[1] == (desk.vault / "USER.md").stat().st_ctime


def test_a_note_without_a_folder_and_links_are_told(desk: Desk, access: NoteAccess) -> None:
    desk.save(OLD, "memory/boats.md")
    (desk.vault / "link.md").symlink_to("memory/boats.md")
    (desk.vault / "out.md").symlink_to("/etc/hostname")

    assert [access.has_folder(path) for path in ("USER.md", "memory/x.md", "a/b.md")] == [
        True,
        True,
        False,
    ]
    assert access.real("link.md") == "memory/boats.md"
    assert access.real("out.md") == "out.md"
    note = access.read("memory/boats.md")
    assert note is not None
    assert note.raw == OLD
    assert access.read("memory/none.md") is None


def at_age(desk: Desk, seconds: float) -> datetime:
    """The time at which the last save is so old."""
    saved = (desk.vault / "USER.md").stat().st_ctime
    return datetime.fromtimestamp(saved + seconds, UTC)


@pytest.mark.scenario("A4")
@every("half", [b"", b"## Tea\n\n- gr", NEW[:9]])
def test_half_a_save_hides_the_version_before_it_for_some_seconds(
    desk: Desk, access: NoteAccess, half: bytes
) -> None:
    desk.save(OLD)
    desk.append("black")
    writer = desk.curator.writer
    (desk.vault / "USER.md").write_bytes(half)
    state = loaded(access, writer)

    def version(seconds: float) -> bytes | None:
        now = at_age(desk, seconds)
        return access.complete_version(ApplyOps(), state, writer, now).raw

    assert version(HOLD - 0.5) == NEW
    assert version(HOLD + 0.01) == half
    desk.save(NEW)
    desk.curator.tend(desk.now)


@pytest.mark.scenario("A4")
def test_a_whole_save_is_the_version_to_plan_on_and_a_new_one_waits_for_a_text_save(
    desk: Desk, access: NoteAccess
) -> None:
    desk.save(OLD)
    desk.append("black")
    writer = desk.curator.writer
    saved = NEW + b"- red\n"
    (desk.vault / "USER.md").write_bytes(saved)
    state = loaded(access, writer)
    text = SaveText("", base=OLD.decode())

    assert access.complete_version(ApplyOps(), state, writer, at_age(desk, 0.0)).raw == saved
    early, late = (
        access.complete_version(text, state, writer, at_age(desk, seconds))
        for seconds in (note_access.QUIET_SECONDS - 0.1, note_access.QUIET_SECONDS + 0.1)
    )
    assert (early.raw, early.revision) == (OLD, revision_of(OLD))
    assert late.raw == saved
    known = loaded(access, writer)._replace(note=None)
    assert access.complete_version(text, known, writer, desk.now) is known


@pytest.mark.scenario("A3", "C23")
def test_a_missing_note_is_waited_for_only_if_it_was_there_and_its_folder_just_changed(
    desk: Desk, access: NoteAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.append("black")
    writer = desk.curator.writer
    pauses: list[float] = []

    def save_meanwhile(seconds: float) -> None:
        pauses.append(seconds)
        desk.save(NEW)

    monkeypatch.setattr(note_access.time, "sleep", save_meanwhile)
    (desk.vault / "USER.md").unlink()
    gone = loaded(access, writer)
    changed = datetime.fromtimestamp(desk.vault.stat().st_mtime, UTC)

    later = changed + timedelta(seconds=HOLD + 0.01)
    assert access.wait_for_complete_save(command(), gone, writer, later) is gone
    assert pauses == []
    found = access.wait_for_complete_save(command(), gone, writer, changed)
    assert found.raw == NEW
    assert pauses == [note_access.PAUSE_SECONDS]
    new = loaded(access, writer, "memory/none.md")
    assert access.wait_for_complete_save(command(), new, writer, desk.now) is new
    assert access.wait_for_complete_save(command(), found, writer, changed) is found
