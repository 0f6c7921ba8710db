"""What belongs to some scopes; the rest is answered like what does not exist."""

import pytest

from vault_memory.edits.audit.scope_filter import ScopeFilter
from vault_memory.errors import NoteNotFound, UsageError
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.paths.layout import Layout

ANN, BEN = "Users/ann/bot/config/USER.md", "Users/ben/bot/config/USER.md"
LINKS = {"Users/ann/memories/boats.md": BEN}
"""Link → the note that it leads to"""
COPY = "Users/{}/bot/config/USER (conflicted copy 2026-11-29 101112).md"


@pytest.fixture
def anns() -> ScopeFilter:
    return ScopeFilter(Layout(), ["user:ann"], lambda path: LINKS.get(path, path))


def test_a_note_belongs_to_its_person(anns: ScopeFilter) -> None:
    assert anns.has_note(ANN)
    assert not anns.has_note(BEN)
    assert not anns.has_note("pictures/boat.png")


def test_a_link_to_the_note_of_another_person_is_not_opened(anns: ScopeFilter) -> None:
    [link] = LINKS

    assert anns.has_note(link)
    assert not anns.opens_note(link)
    with pytest.raises(NoteNotFound):
        anns.check_note(link)
    anns.check_note(ANN)


def test_a_record_belongs_to_its_note_and_without_one_to_whom_it_names(anns: ScopeFilter) -> None:
    def has(note: str, user: str) -> bool:
        return anns.has_record(Record("1", "2026-11-29T10:00:00Z", user, "cli", note))

    assert has(ANN, "ben")
    assert not has(BEN, "ann")
    assert has("gone/place.txt", "ann")
    assert not has("gone/place.txt", "ben")


def test_a_conflict_copy_belongs_to_the_person_of_its_note(anns: ScopeFilter) -> None:
    assert anns.has_file(COPY.format("ann"))
    assert not anns.has_file(COPY.format("ben"))
    assert anns.has_file(ANN)


def test_a_name_that_is_no_scope_is_refused() -> None:
    with pytest.raises(UsageError):
        ScopeFilter(Layout(), ["ann"], str)
