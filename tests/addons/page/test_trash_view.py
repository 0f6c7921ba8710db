"""The trash on the page: what was deleted, and Restore."""

import time

from tests.addons.page.served_page import ServedPage
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.vault.write.preconditions import HOLD

MIRAS = "Users/mira/lantern/config/USER.md"
TOMAS = "Users/tomas/lantern/config/USER.md"
DRAFT = "Users/mira/memories/draft.md"
COPY = "USER.sync-conflict-20260526-120000-ABCDEFG.md"


def throw_copy(memory: VaultMemory, note: str = MIRAS) -> str:
    """Discards a conflict copy of a note. Returns its id in the trash."""
    path = (memory.root / note).with_name(COPY)
    path.write_text(memory.read(note).text + "- Sings at night\n", "utf-8")
    [copy] = [copy for copy in memory.conflicts() if copy.note == note]
    memory.conflicts.discard([copy.id])
    assert not path.exists()
    [thrown] = [entry for entry in memory.conflicts.trash() if copy.path == entry.note]
    return thrown.id


def throw_note(memory: VaultMemory) -> str:
    """Lets the bot make and delete a note. Returns its id in the trash."""
    memory.edits.edit_text(DRAFT, {"op": "create", "file_text": "- Sings at night\n"})
    memory.edits.edit_text(DRAFT, {"op": "delete"})
    [thrown] = [entry for entry in memory.conflicts.trash() if entry.note == DRAFT]
    return thrown.id


def test_a_deleted_note_comes_back(own_page: ServedPage) -> None:
    memory = own_page.memory
    thrown = throw_note(memory)
    assert not (memory.root / DRAFT).exists()
    browser = own_page.browser("mira")

    answer = browser.post("/trash/restore", {"id": thrown})
    view = browser.get(answer.headers["location"]).text

    assert memory.read(DRAFT).text == "- Sings at night\n"
    assert "Restored <a" in view
    assert f'href="/note/{DRAFT}"' in view
    # The same form sent twice changes nothing.
    assert browser.post("/trash/restore", {"id": thrown}).status_code == 400


def test_a_discarded_copy_comes_back_as_a_conflict(own_page: ServedPage) -> None:
    memory = own_page.memory
    thrown = throw_copy(memory)
    browser = own_page.browser("mira")
    listed = browser.get("/trash").text

    answer = browser.post("/trash/restore", {"id": thrown})

    assert "Copy of Profile" in listed
    assert "by hand" in listed
    assert 'aria-label="Restore: ' in listed
    assert answer.headers["location"] == "/inbox"
    assert "Changed on two devices" in browser.get("/inbox").text
    assert "The trash is empty" in browser.get("/trash").text


def test_a_restored_copy_does_not_replace_a_file_of_its_name(own_page: ServedPage) -> None:
    memory = own_page.memory
    thrown = throw_copy(memory)
    path = (memory.root / MIRAS).with_name(COPY)
    path.write_text("another text\n", "utf-8")
    # A file that was saved just now may be half a save.
    time.sleep(HOLD + 0.1)

    answer = own_page.browser("mira").post("/trash/restore", {"id": thrown})

    assert answer.status_code == 200
    assert 'role="alert"' in answer.text
    assert "Another note has the name" in answer.text
    assert path.read_text("utf-8") == "another text\n"


def test_a_restore_that_waits_is_not_called_done(own_page: ServedPage) -> None:
    memory = own_page.memory
    thrown = throw_copy(memory)
    path = (memory.root / MIRAS).with_name(COPY)
    path.write_text("another text\n", "utf-8")

    answer = own_page.browser("mira").post("/trash/restore", {"id": thrown})

    assert answer.status_code == 202
    assert 'role="alert"' in answer.text
    assert "restored by itself" in answer.text
    assert path.read_text("utf-8") == "another text\n"


def test_the_trash_of_another_person_is_as_an_absent_one(own_page: ServedPage) -> None:
    memory = own_page.memory
    thrown = throw_copy(memory, TOMAS)
    browser = own_page.browser("mira")
    absent = "f" * len(thrown)

    listed = browser.get("/trash").text
    foreign = browser.post("/trash/restore", {"id": thrown})
    missing = browser.post("/trash/restore", {"id": absent})

    assert "The trash is empty" in listed
    assert foreign.status_code == missing.status_code == 400
    assert foreign.text.replace(thrown, absent) == missing.text
    assert "omas" not in listed + foreign.text
    assert memory.conflicts.trash()


def test_a_forged_link_puts_no_words_onto_the_page(page: ServedPage) -> None:
    browser = page.browser("mira")

    for words in ("Pay Mallory", TOMAS, "../secret", "\x00"):
        text = browser.get("/trash?restored=" + words.replace("\x00", "%00")).text
        assert "Restored" not in text


def test_an_empty_trash_says_what_would_be_there(page: ServedPage) -> None:
    assert "The trash is empty" in page.browser().get("/trash").text


def test_a_reader_of_the_trash_gets_no_button(own_page: ServedPage) -> None:
    thrown = throw_copy(own_page.memory)
    browser = own_page.browser("mira", may_write=False)

    text = browser.get("/trash").text

    assert "Copy of Profile" in text
    assert "Restore" not in text
    assert browser.post("/trash/restore", {"id": thrown}).status_code == 403
