"""Which note continues the past of a note that is no longer at its path, and where none is chosen."""

from collections import Counter
from dataclasses import replace
from typing import Any

from tests.every import every
from vault_memory.edits.renames import renamed_notes as pairing
from vault_memory.edits.renames.renamed_notes import FoundNote, LostPast, renamed_notes
from vault_memory.rules.edits.audit_record import Record, record_run

TEXT = Counter(["a kayak", "a raft", "a ferry", "a tug"])
PAST = LostPast("old.md", frozenset({"r1"}), 7, TEXT)
NOTE = FoundNote("new.md", "r2", 9, Counter(["other", "words"]))


def continues(past: LostPast = PAST, **note: Any) -> bool:
    return renamed_notes([past], [replace(NOTE, **note)]) == {"old.md": "new.md"}


def lines(*texts: str) -> Counter[str]:
    return Counter(texts)


@every(
    "note",
    [
        {"revision": "r1", "lines": TEXT},
        {"revision": "r1", "lines": lines(), "ino": 7},
        {"lines": lines("a kayak", "a raft", "new")},
        {"lines": lines("a kayak"), "ino": 7},
        {"lines": lines("a kayak ferry", "raft tug a"), "ino": 7},
        {"continues": frozenset({"old.md"})},
        {"continues": frozenset({"old.md"}), "is_new": False, "day": "2026-01-01"},
        {"revision": "r1", "lines": TEXT, "is_new": False},
        {"revision": "r1", "lines": TEXT, "day": "2026-01-01"},
    ],
)
def test_a_note_with_the_bytes_the_file_or_most_lines_continues_the_past(
    note: dict[str, Any],
) -> None:
    assert continues(**note)


@every(
    "note",
    [
        {},
        {"revision": "r1", "lines": lines()},
        {"lines": lines("a kayak", "new", "words", "here")},
        {"lines": TEXT, "is_new": False},
        {"lines": TEXT, "day": "2026-01-01"},
        {"ino": 7},
        {"lines": lines("a kayak"), "ino": 7, "day": "2026-01-01"},
    ],
)
def test_a_note_that_may_be_another_one_does_not(note: dict[str, Any]) -> None:
    assert not continues(**note)


def test_an_unknown_inode_proves_nothing() -> None:
    past = replace(PAST, ino=0)

    assert not continues(past, ino=0, lines=lines("a kayak"))
    assert not continues(past, ino=0, revision="r1", lines=lines())
    assert continues(past, ino=0, revision="r1", lines=TEXT)


def test_a_past_reaches_no_other_person_and_no_note_that_came_too_late() -> None:
    same = {"revision": "r1", "lines": TEXT}

    for past, note, expected in (
        (replace(PAST, scope="user:ann"), {"scope": "user:ben"}, False),
        (replace(PAST, scope="user:ann"), {"scope": "user:ann"}, True),
        (replace(PAST, scope="user:ann"), {"scope": None}, True),
        (PAST, {"scope": "user:ben"}, True),
        (replace(PAST, until=5.0), {"appeared": 5.0}, False),
        (replace(PAST, until=5.0), {"appeared": 4.9}, True),
    ):
        assert continues(past, **same, **note) is expected, (past, note)
    assert renamed_notes([PAST], [replace(NOTE, path="old.md", **same)]) == {}


def test_of_two_equal_notes_none_is_chosen_and_of_two_others_the_better_one() -> None:
    same = replace(NOTE, revision="r1", lines=TEXT)

    assert renamed_notes([PAST], [same, replace(same, path="copy.md")]) == {}
    file = replace(same, path="file.md", ino=7)
    assert renamed_notes([PAST], [same, file]) == {"old.md": "file.md"}
    like = replace(NOTE, path="like.md", lines=lines("a kayak", "a raft", "a tug"))
    assert renamed_notes([PAST], [like, same]) == {"old.md": "new.md"}
    sure = replace(NOTE, path="sure.md", continues=frozenset({"old.md"}))
    assert renamed_notes([PAST], [same, file, sure]) == {"old.md": "sure.md"}
    both = replace(sure, path="both.md")
    assert renamed_notes([PAST], [sure, both, same]) == {}


def test_a_name_that_differs_in_case_alone_is_the_same_note() -> None:
    past = replace(PAST, path="Boats.md")

    assert renamed_notes([past], [replace(NOTE, path="boats.md")]) == {"Boats.md": "boats.md"}
    known = replace(NOTE, path="boats.md", is_new=False)
    assert renamed_notes([past], [known]) == {}


def test_audits_and_versions_find_their_notes_apart() -> None:
    versions = replace(PAST, path="between.md", has_audit=False)
    same = replace(NOTE, revision="r1", lines=TEXT)

    assert renamed_notes([PAST, versions], [same]) == {"old.md": "new.md", "between.md": "new.md"}
    other = replace(PAST, path="other.md")
    assert renamed_notes([PAST, other], [same]) == {}, "two notes had one text"


def test_the_traits_of_a_past_are_its_revisions_and_its_inode() -> None:
    assert PAST.traits == ("r1", 7)
    assert replace(PAST, ino=0).traits == ("r1",)


def records(*texts: bytes | None) -> list[Record]:
    before, made = b"", []
    for number, after in enumerate(texts):
        head = Record(f"r{number}", "", "main", "cli", "n.md")
        made.append(record_run(head, before=before or None, after=after))
        before = after or b""
    return made


def test_the_lines_that_records_left_are_known_without_the_text() -> None:
    made = records(b"# Boats\n- a kayak\n- a raft\n", b"# Boats\n- a kayak\n- a raft\n- a tug\n")
    gone = records(b"- a kayak\n- a raft\n", b"- a kayak\n")

    assert set(pairing.lines_left(made)) == {"a kayak", "a raft", "a tug"}
    assert set(pairing.lines_left(gone)) == {"a kayak"}
    assert pairing.lines_left([]) == Counter()


def test_the_newest_revision_is_that_of_the_last_record_about_a_text() -> None:
    made = records(b"- a\n", b"- b\n")
    silent = Record("s", "", "main", "cli", "n.md")

    assert pairing.newest_revision([*made, silent]) == made[-1].after
    assert pairing.newest_revision(records(b"- a\n", None)) == ""
    assert pairing.newest_revision([silent]) == ""
    assert pairing.revisions_in([*made, silent]) == {made[0].after, made[1].after}
