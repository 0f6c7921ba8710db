"""What a person deleted from a note of a scope is found again in any note of it, in other words too."""

from pathlib import Path

import pytest

from tests.edits.conftest import Desk
from vault_memory.edits.audit.deleted_items import DeletedItems
from vault_memory.edits.audit_log import AuditLog
from vault_memory.rules.learning.twins import compared
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.reader import Folder

BOATS, OTHER = "Users/ann/memories/boats.md", "Users/ann/memories/other.md"
PAGE = "Users/ann/bot/config/FACTS.md"
EPISODES = "Users/ann/memories/sessions/2026-05-25.md"


def finder(desk: Desk, note: str = OTHER):  # type: ignore[no-untyped-def]
    items = DeletedItems(Folder(desk.vault), Layout([]), AuditLog(Folder(desk.vault), desk.state))
    return items.of_scope(note)


def written_and_deleted(desk: Desk, note: str, *lines: str, heading: str = "Boats") -> None:
    """The bot writes lines, and a person deletes them."""
    start = f"## {heading}\n\n- the kayak is red\n"
    desk.save(start, note)
    for line in lines:
        desk.append(line, heading=heading, note=note, source="nightly")
    assert desk.text(note) != start
    desk.save(start, note)


AGAIN = {
    "Ann's sister lives in Porto": True,
    "Ann's sister lives in Porto.": True,
    "ann's sister  LIVES in porto (2026-05-25, ref:t9)": True,
    "Ann's sister lives in Bergen": False,
    "Ann's sister does not live in Porto": False,
    "the kayak is red": False,
    "": False,
}
"""Lines, and whether they say again what was deleted"""


@pytest.mark.parametrize("note", [BOATS, OTHER])
def test_a_deleted_sentence_is_found_in_any_note_of_its_person(desk: Desk, note: str) -> None:
    written_and_deleted(desk, BOATS, "Ann's sister lives in Porto")

    found = {line: finder(desk, note)("Boats", line) for line in AGAIN}

    assert {line: bool(items) for line, items in found.items()} == AGAIN
    [item] = found["Ann's sister lives in Porto."]
    assert (item.note, item.heading, item.is_fact) == (BOATS, "Boats", False)
    assert item.text == item.statement == "ann's sister lives in porto"


def test_what_belongs_to_another_person_or_to_no_note_is_not_found(desk: Desk) -> None:
    line = "Ann's sister lives in Porto"
    written_and_deleted(desk, BOATS, line)

    for note in ("Users/ben/memories/boats.md", "memory/boats.md", "elsewhere.txt"):
        assert finder(desk, note)("Boats", line) == ()


def test_a_line_that_moved_or_stands_in_another_note_is_not_deleted(desk: Desk) -> None:
    line = "Ann's sister lives in Porto"
    written_and_deleted(desk, BOATS, line)
    assert finder(desk)("Boats", line)

    desk.save(f"## Family\n\n- {line}\n", "Users/ann/memories/family.md")
    assert finder(desk)("Boats", line) == ()
    (desk.vault / "Users/ann/memories/family.md").unlink()
    assert finder(desk)("Boats", line)


def test_a_deleted_fact_is_found_below_its_subject_and_as_a_sentence(desk: Desk) -> None:
    written_and_deleted(desk, PAGE, "lives_in: Porto", heading="Bo")
    on_page, in_note = finder(desk, PAGE), finder(desk)

    assert [item.is_fact for item in on_page("Bo", "lives_in: Porto")] == [True]
    assert on_page("BO", "Lives_In: porto")
    assert not on_page("Eve", "lives_in: Porto")
    assert not on_page("Bo", "lives_in: Bergen")
    assert in_note("People", "Bo lives in Porto")
    assert not in_note("People", "Bo does not live in Porto")
    assert not in_note("People", "Bo lives in Porto with two cats and a dog")


def test_a_fact_of_another_subject_does_not_stand_in_for_the_deleted_one(desk: Desk) -> None:
    written_and_deleted(desk, PAGE, "lives_in: Porto", heading="Bo")
    desk.save("## Bo\n\n- the kayak is red\n\n## Eve\n\n- lives_in: Porto\n", PAGE)

    assert finder(desk, PAGE)("Bo", "lives_in: Porto")
    desk.save("## Robert\n\n- lives_in: Porto\n", PAGE)
    assert not finder(desk, PAGE)("Bo", "lives_in: Porto"), "the subject was renamed"


def test_a_sentence_of_a_deleted_episode_is_found_by_itself(desk: Desk) -> None:
    episode = "[episode] Ann's sister lives in Porto; the tent stays at home"
    written_and_deleted(desk, EPISODES, episode, heading="18:40 tea")

    assert finder(desk)("Boats", "Ann's sister lives in Porto")
    desk.save("## Tents\n\n- the tent stays at home\n", OTHER)
    assert not finder(desk)("Boats", "the tent stays at home")


def test_notes_are_read_again_when_they_change_and_not_before(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "Ann's sister lives in Porto"
    written_and_deleted(desk, BOATS, line)
    folder = Folder(desk.vault)
    read: list[str] = []
    original = folder.read
    monkeypatch.setattr(
        folder, "read", lambda path, **more: read.append(path) or original(path, **more)
    )
    items = DeletedItems(folder, Layout([]), AuditLog(folder, desk.state))

    for _ in range(2):
        assert items.of_scope(OTHER)("Boats", line)
    assert read.count(BOATS) == 1
    desk.save(f"## Family\n\n- {line}\n", BOATS)
    assert not items.of_scope(OTHER)("Boats", line)
    assert read.count(BOATS) == 2
    assert Path(desk.vault, BOATS).exists()


def test_what_notes_still_have_is_compared_with_no_line(desk: Desk) -> None:
    lines = [f"Ann's sister number {number} lives in Porto" for number in range(40)]
    for line in lines:
        desk.append(line, heading="Boats", note=BOATS, source="nightly")
    find = finder(desk)
    assert not find("", lines[0])
    before = _comparisons()

    assert not any(find("", line) for line in lines)

    assert _comparisons() - before <= 2 * len(lines)


def test_what_notes_still_have_is_kept_as_a_statement_of_none(desk: Desk) -> None:
    desk.append("Ann's sister lives in Porto", heading="Boats", note=BOATS, source="nightly")
    find = finder(desk)
    before = _comparisons()

    assert not find("", "Ann's sister lives in Porto, they say")

    assert _comparisons() == before


def _comparisons() -> int:
    calls = compared.cache_info()
    return calls.hits + calls.misses
