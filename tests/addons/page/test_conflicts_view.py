"""Conflicts on the page: both sides, their merge, and one button for each way to resolve them."""

import html
import re
from base64 import b64encode
from pathlib import Path

import pytest

from tests.addons.page.served_page import Browser, ServedPage
from vault_memory.api.vault_memory import VaultMemory

MIRAS = "Users/mira/lantern/config/USER.md"
TOMAS = "Users/tomas/lantern/config/USER.md"
COPY = "USER.sync-conflict-20260526-120000-ABCDEFG.md"
HIDDEN = re.compile(r'name="(\w+)" value="([^"]*)"')
TAG = re.compile(r"<[^>]*>")
TEXT = re.compile(r"<textarea[^>]*>\n(.*?)</textarea>", re.DOTALL)


def read(memory: VaultMemory, note: str = MIRAS) -> str:
    return memory.read(note).text


def leave_copy(
    memory: VaultMemory, old: str = "before 06:30", new: str = "before 07:00", note: str = MIRAS
) -> str:
    """Lets a sync program leave a copy with another line. Returns the id of the copy."""
    path = (memory.root / note).with_name(COPY)
    text = read(memory, note)
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    [match] = [copy.id for copy in memory.conflicts() if copy.note == note]
    return match


def leave_new_line(memory: VaultMemory, note: str = MIRAS) -> str:
    """Lets a sync program leave a copy with one more line, which merges."""
    path = (memory.root / note).with_name(COPY)
    path.write_text(read(memory, note) + "- Sings at night\n", "utf-8")
    [match] = [copy.id for copy in memory.conflicts() if copy.note == note]
    return match


def copy_path(memory: VaultMemory) -> Path:
    return (memory.root / MIRAS).with_name(COPY)


def press(browser: Browser, button: str, copy_id: str) -> str:
    """Presses a button. Returns the view that follows."""
    answer = browser.post(f"/resolve/{button}", {"id": copy_id})
    assert answer.status_code == 303, answer.text
    return browser.get(answer.headers["location"]).text


def hand_form(browser: Browser, copy_id: str) -> dict[str, str]:
    """The fields of *By hand*, as a browser would post them."""
    page = browser.get(f"/conflicts/{copy_id}").text
    form = page.partition('action="/resolve/hand"')[2].partition("</form>")[0]
    fields = {name: html.unescape(value) for name, value in HIDDEN.findall(form)}
    text = TEXT.search(form)
    assert text
    fields["text"] = html.unescape(text.group(1)).replace("\n", "\r\n")
    del fields["csrf"]
    return fields


def test_a_conflict_names_both_sides_and_what_they_changed(own_page: ServedPage) -> None:
    copy_id = leave_copy(own_page.memory)
    browser = own_page.browser("mira")

    listed = browser.get("/inbox").text
    shown = browser.get(f"/conflicts/{copy_id}").text

    for text in (listed, shown):
        assert "Syncthing" in text
        assert 'datetime="2026-05-26 12:00:00"' in text
        assert "newer" not in text
    assert f'href="/conflicts/{copy_id}"' in listed
    assert "before 07:00" in TAG.sub("", shown)
    for button in ("Keep this", "Take that", "Keep both"):
        assert f'aria-label="{button}: Profile, line ' in shown
    for button in ("Keep this note whole", "Take the other whole"):
        assert f'aria-label="{button}: Profile"' in shown


def test_the_list_of_conflicts_is_a_part_of_the_review(own_page: ServedPage) -> None:
    answer = own_page.browser("mira").get("/conflicts")

    assert answer.status_code == 303
    assert answer.headers["location"] == "/inbox"


@pytest.mark.parametrize(
    ("choice", "left", "gone"),
    [("keep", "06:30", "07:00"), ("take", "07:00", "06:30"), ("both", "07:00", "09:00")],
)
def test_one_place_is_settled_and_the_other_waits(
    own_page: ServedPage, choice: str, left: str, gone: str
) -> None:
    memory = own_page.memory
    before = read(memory)
    path = copy_path(memory)
    changed = before.replace("before 06:30", "before 07:00").replace("much honey", "little honey")
    path.write_text(changed, "utf-8")
    [copy] = memory.conflicts()
    [place] = [place for place in copy.places if "06:30" in place.note]
    browser = own_page.browser("mira")
    fields = {"id": copy.id, "place": place.id, "choice": choice}

    answer = browser.post("/resolve/place", fields)

    assert answer.headers["location"].startswith(f"/conflicts/{copy.id}?done=")
    text = read(memory)
    assert f"before {left}" in text
    assert f"before {gone}" not in text
    view = browser.get(answer.headers["location"]).text
    assert 'id="notice"' in view
    assert place.id not in view
    assert len(next(iter(memory.conflicts())).places) == 1
    assert browser.post("/resolve/place", fields).status_code == 400
    browser.post("/log/undo", {"id": memory.log(MIRAS)[-1].id, "to": "/inbox"})
    assert read(memory) == before
    assert len(next(iter(memory.conflicts())).places) == 2


def test_merge_brings_the_new_line_and_can_be_undone(own_page: ServedPage) -> None:
    memory = own_page.memory
    before = read(memory)
    copy_id = leave_new_line(memory)
    browser = own_page.browser("mira")

    view = press(browser, "merge", copy_id)

    assert "Sings at night" in read(memory)
    assert 'id="notice"' in view
    assert "Nothing waits." in view
    record = memory.log(MIRAS)[-1].id
    browser.post("/log/undo", {"id": record, "to": "/inbox"})
    assert read(memory) == before


def test_keep_both_keeps_both_lines(own_page: ServedPage) -> None:
    memory = own_page.memory
    copy_id = leave_copy(memory)

    press(own_page.browser("mira"), "both", copy_id)

    assert "before 06:30" in read(memory)
    assert "before 07:00" in read(memory)
    assert not memory.conflicts()


def test_take_copy_replaces_the_text(own_page: ServedPage) -> None:
    memory = own_page.memory
    copy_id = leave_copy(memory)

    press(own_page.browser("mira"), "take", copy_id)

    assert "before 06:30" not in read(memory)
    assert "before 07:00" in read(memory)


def test_discard_keeps_the_note_and_the_trash_has_the_copy(own_page: ServedPage) -> None:
    memory = own_page.memory
    before = read(memory)
    copy_id = leave_copy(memory)

    press(own_page.browser("mira"), "discard", copy_id)

    assert read(memory) == before
    assert not memory.conflicts()
    assert [entry.note.rpartition("/")[2] for entry in memory.conflicts.trash()] == [COPY]


def test_merge_of_what_both_changed_is_refused_with_the_reason(own_page: ServedPage) -> None:
    memory = own_page.memory
    before = read(memory)
    copy_id = leave_copy(memory)

    answer = own_page.browser("mira").post("/resolve/merge", {"id": copy_id})

    assert answer.status_code == 409
    assert 'role="alert"' in answer.text
    assert "Keep this note" in answer.text
    assert read(memory) == before
    assert memory.conflicts()


def test_by_hand_writes_the_typed_text_and_removes_the_copy(own_page: ServedPage) -> None:
    memory = own_page.memory
    before = read(memory)
    copy_id = leave_copy(memory)
    browser = own_page.browser("mira")
    fields = hand_form(browser, copy_id)
    assert "before 07:00" in fields["text"]
    typed = before.replace("before 06:30", "before 06:45")

    answer = browser.post("/resolve/hand", {**fields, "text": typed.replace("\n", "\r\n")})

    assert answer.status_code == 303, answer.text
    assert 'id="notice"' in browser.get(answer.headers["location"]).text
    assert (memory.root / MIRAS).read_bytes() == typed.encode()
    assert not memory.conflicts()


def test_by_hand_untouched_writes_the_merged_text(own_page: ServedPage) -> None:
    memory = own_page.memory
    copy_id = leave_new_line(memory)
    browser = own_page.browser("mira")
    merged = next(iter(memory.conflicts())).folded.result

    browser.post("/resolve/hand", hand_form(browser, copy_id))

    assert (memory.root / MIRAS).read_bytes() == merged
    assert not memory.conflicts()


def test_by_hand_overwrites_nothing_that_an_editor_saved_meanwhile(own_page: ServedPage) -> None:
    memory = own_page.memory
    copy_id = leave_copy(memory)
    browser = own_page.browser("mira")
    fields = hand_form(browser, copy_id)
    saved = read(memory).replace("before 06:30", "before 05:00")
    (memory.root / MIRAS).write_text(saved, "utf-8")
    typed = fields["text"].replace("before 06:30", "before 06:45")

    answer = browser.post("/resolve/hand", {**fields, "text": typed})

    assert answer.status_code == 409, answer.text
    assert 'role="alert"' in answer.text
    assert "before 06:45" in answer.text
    assert "before 05:00" in TAG.sub("", answer.text)
    assert read(memory) == saved
    assert copy_path(memory).exists()


@pytest.mark.sampled
@pytest.mark.parametrize("field", ["shown", "base"])
def test_a_damaged_form_writes_nothing(own_page: ServedPage, field: str) -> None:
    memory = own_page.memory
    copy_id = leave_copy(memory)
    before = read(memory)
    browser = own_page.browser("mira")

    answer = browser.post("/resolve/hand", {**hand_form(browser, copy_id), field: "é%"})

    assert answer.status_code == 400
    assert read(memory) == before


def test_a_copy_that_changed_meanwhile_is_not_thrown_away(own_page: ServedPage) -> None:
    memory = own_page.memory
    copy_id = leave_copy(memory)
    browser = own_page.browser("mira")
    leave_copy(memory, new="before 08:00")

    answer = browser.post("/resolve/discard", {"id": copy_id})

    assert answer.status_code == 400
    assert memory.conflicts()


@pytest.mark.sampled
@pytest.mark.parametrize("button", ["merge", "both", "take", "discard", "hand", "place"])
def test_the_conflict_of_another_person_is_as_an_absent_one(
    own_page: ServedPage, button: str
) -> None:
    memory = own_page.memory
    heading = re.search(r"^- (.+)$", read(memory, TOMAS), re.MULTILINE)
    assert heading
    copy_id = leave_copy(memory, heading.group(1), "Balalaika", TOMAS)
    before = read(memory, TOMAS)
    browser = own_page.browser("mira")
    absent = "f" * len(copy_id)
    nothing = b64encode(b"").decode()
    texts = {"text": "", "shown": nothing, "base": nothing}
    fields = {"hand": texts, "place": {"place": "a", "choice": "take"}}.get(button, {})

    foreign = browser.post(f"/resolve/{button}", {**fields, "id": copy_id})
    missing = browser.post(f"/resolve/{button}", {**fields, "id": absent})
    shown = browser.get(f"/conflicts/{copy_id}")
    nowhere = browser.get(f"/conflicts/{absent}")

    assert foreign.status_code == missing.status_code == 400
    assert foreign.text.replace(copy_id, absent) == missing.text
    assert shown.status_code == nowhere.status_code
    assert shown.text.replace(copy_id, absent) == nowhere.text
    listed = browser.get("/inbox").text
    assert "Nothing waits." in listed
    assert "1 conflict" not in listed
    assert read(memory, TOMAS) == before
    assert memory.conflicts()


def test_a_reader_of_conflicts_gets_no_button(own_page: ServedPage) -> None:
    copy_id = leave_copy(own_page.memory)
    browser = own_page.browser("mira", may_write=False)

    for path in ("/inbox", f"/conflicts/{copy_id}"):
        main = browser.get(path).text.partition("<main")[2].partition("</main>")[0]
        assert "<form" not in main
        assert "<textarea" not in main


def test_hostile_texts_of_a_copy_stay_texts(own_page: ServedPage) -> None:
    memory = own_page.memory
    hostile = "</textarea><script>alert(1)</script> {{7*7}} \u202e"
    copy_id = leave_copy(memory, new=hostile)
    browser = own_page.browser("mira")

    for path in ("/inbox", f"/conflicts/{copy_id}"):
        assert "<script>" not in browser.get(path).text
    assert "{{7*7}}" in TAG.sub("", browser.get(f"/conflicts/{copy_id}").text)


def test_a_copy_of_a_missing_note_can_be_taken(own_page: ServedPage) -> None:
    memory = own_page.memory
    leave_new_line(memory)
    (memory.root / MIRAS).unlink()
    [copy] = memory.conflicts()
    browser = own_page.browser("mira")
    assert browser.get(f"/conflicts/{copy.id}").status_code == 200

    press(browser, "take", copy.id)

    assert "Sings at night" in read(memory)
