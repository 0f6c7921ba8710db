"""Notes on the page: read, changed item by item, edited as a text, and restored."""

import html
import os
import random
import re
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.addons.page.served_page import Browser, ServedPage
from tests.effort import cases

USER = "Users/mira/lantern/config/USER.md"
TOMAS = "Users/tomas/lantern/config/USER.md"
AREA = re.compile(r"<textarea[^>]*>(.*?)</textarea>", re.DOTALL)
SAVES_BESIDE_AN_EDITOR = cases(200)
HOSTILE_PATHS = (
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "%252e%252e%252fUSER.md",
    "%00",
    "USER.md%00.md",
    "..\\..\\etc",
    "%2fetc%2fpasswd",
    "/etc/passwd",
    "x" * 4000,
    "%ff%fe.md",
    "%e2%80%aeUSER.md",
    "{{7*7}}.md",
    ".vault-memory",
    "Users",
    "Users/mira",
    ".git/config",
)


class Form:
    """The form of `/edit`, filled in and sent as a browser does."""

    def __init__(self, browser: Browser, note: str) -> None:
        self._browser = browser
        self.path = f"/edit/{quote(note)}"
        self.read(browser.get(self.path).text)

    def read(self, text: str) -> None:
        """Takes the fields of an answer."""
        match = AREA.search(text)
        assert match is not None, text
        # A parser of HTML drops one newline after the start tag.
        self.text = html.unescape(match.group(1).removeprefix("\n"))
        self.base = _field(text, "base")
        self.revision = _field(text, "revision")

    def save(self, text: str | None = None) -> "tuple[int, str]":
        """Sends the form. Returns the status, and the next place or the text of the answer."""
        typed = self.text if text is None else text
        fields = {
            "base": self.base,
            "revision": self.revision,
            "text": re.sub("\r\n|\r|\n", "\r\n", typed),
        }
        answer = self._browser.post(self.path, fields)
        return answer.status_code, answer.headers.get("location", answer.text)


def _field(text: str, name: str) -> str:
    match = re.search(rf'name="{name}" value="([^"]*)"', text)
    assert match is not None, name
    return html.unescape(match.group(1))


def test_the_list_has_the_notes_of_the_session_only(page: ServedPage) -> None:
    everything = page.browser().get("/notes").text
    mine = page.browser("mira").get("/notes").text

    assert USER in everything
    assert TOMAS in everything
    assert USER in mine
    assert "tomas" not in mine


@pytest.mark.sampled
def test_the_list_comes_in_parts(own_page: ServedPage) -> None:
    folder = own_page.memory.root / "Users/mira/memories"
    for number in range(250):
        (folder / f"note-{number:03}.md").write_text(f"- number {number}\n")
    own_page.memory.index(embed=False)
    browser = own_page.browser("mira")

    top = browser.get("/notes?scope=user:mira").text
    first = browser.get("/notes?folder=Users/mira/memories").text
    second = browser.get("/notes?folder=Users/mira/memories&part=2").text

    assert "folder=Users" in top
    assert "note-000.md" not in top
    assert first.count("data-item") + first.count("folder=Users/mira/memories/") <= 200
    assert "part=2" in first
    assert "note-249.md" in second
    assert browser.get("/notes?part=0").status_code == 400


def test_the_list_shows_folders_and_finds_names(page: ServedPage) -> None:
    browser = page.browser("mira")

    every = browser.get("/notes").text
    lamp = browser.get("/notes?named=lamp").text
    rules = browser.get("/notes?kind=rules&scope=user:mira").text

    assert "<summary>config" in every
    assert lamp.count("data-item") == 1
    assert ">lamp-room</a>" in lamp
    assert ">Rules</a>" in rules
    assert USER not in rules
    assert "No note is like this" in browser.get("/notes?named=zeppelin").text


def test_a_path_of_many_folders_is_listed(own_page: ServedPage) -> None:
    deep = own_page.memory.root / "Users/mira/memories" / "/".join("abcdefghijklmnop" * 20)
    deep.mkdir(parents=True)
    for folder in (deep, *list(deep.parents)[:300]):
        (folder / "deep.md").write_text("- deep\n")
    own_page.memory.index(embed=False)
    browser = own_page.browser("mira")

    assert browser.get("/notes").status_code == 200
    assert browser.get("/notes?named=deep").status_code == 200


def test_a_note_shows_its_items_with_authors(own_page: ServedPage) -> None:
    own_page.memory.apply(
        USER, [{"op": "append", "heading": "About", "line": "Plays the accordion"}]
    )

    text = own_page.browser("mira").get(f"/note/{USER}").text

    after = text.partition("Plays the accordion")[2].partition("</li>")[0]
    assert "· the bot</span>" in after
    assert "by hand" not in text
    assert 'aria-label="Remove: Plays the accordion"' in after
    assert "<h1>Mira Lumen</h1>" in text
    assert text.count("Mira Lumen</h") == 1


def test_a_line_is_edited_in_its_place(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    [edit] = re.findall(
        r'href="/note/[^"]*\?edit=([^"#]+)">Edit</a>\s*'
        r'<button[^>]*aria-label="Remove: Is left-handed',
        browser.get(f"/note/{USER}").text,
    )

    text = browser.get(f"/note/{USER}?edit={edit}").text

    box = html.unescape(text.partition("<textarea")[2].partition("</textarea")[0])
    assert box.endswith(
        ">Is left-handed; the tools in the lamp room hang on the left of the hook board"
    )
    reader = own_page.browser("mira", may_write=False)
    assert "<textarea" not in reader.get(f"/note/{USER}?edit={edit}").text
    assert browser.get(f"/note/{USER}?edit=%00").status_code == 200


def test_a_note_names_the_notes_around_it_that_the_session_sees(own_page: ServedPage) -> None:
    memory = own_page.memory
    (memory.root / "Users/mira/memories/hub.md").write_text("See [[spoke]] and [[chess]].\n")
    (memory.root / "Users/mira/memories/spoke.md").write_text("- here\n")
    (memory.root / "Users/tomas/memories/secret.md").write_text("To [[hub]].\n")
    memory.index(embed=False)

    mine = own_page.browser("mira").get("/note/Users/mira/memories/hub.md").text
    every = own_page.browser().get("/note/Users/mira/memories/hub.md").text
    spoke = own_page.browser("mira").get("/note/Users/mira/memories/spoke.md").text

    assert "Links to" in mine
    assert "Linked from" not in mine
    assert "tomas" not in mine
    assert "Users/tomas/memories/secret.md" in every
    assert ">hub</a>" in spoke.partition("Linked from")[2]


@pytest.mark.parametrize("view", ["note", "edit", "history"])
def test_a_note_of_another_person_is_answered_like_a_missing_one(
    page: ServedPage, view: str
) -> None:
    browser = page.browser("mira")

    missing = browser.get(f"/{view}/Users/nobody/lantern/config/USER.md")
    foreign = browser.get(f"/{view}/{TOMAS}")

    assert foreign.status_code == missing.status_code == 404
    assert foreign.text == missing.text.replace("nobody", "tomas")


@pytest.mark.sampled
@pytest.mark.parametrize("path", HOSTILE_PATHS)
@pytest.mark.parametrize("view", ["note", "edit", "history"])
def test_a_hostile_path_is_a_view_that_says_so(page: ServedPage, view: str, path: str) -> None:
    answer = page.browser().client.get(f"/{view}/{path}")

    assert answer.status_code in (400, 404)
    assert 'role="alert"' in answer.text
    assert "root:" not in answer.text
    assert str(page.memory.root) not in answer.text


def test_a_note_with_a_hostile_name_is_shown_as_text(own_page: ServedPage) -> None:
    name = 'x" onmouseover=alert(1) <b>\u202e.md'
    folder = own_page.memory.root / "Users/mira/memories"
    (folder / name).write_text("- harmless\n")
    own_page.memory.index(embed=False)
    browser = own_page.browser("mira")

    for path in ("/notes", f"/note/Users/mira/memories/{quote(name)}"):
        answer = browser.get(path)
        assert answer.status_code == 200
        assert "<b>" not in answer.text
        # A form carries the name as it is; nobody sees it there.
        shown = re.sub(r'<input type="hidden"[^>]*>', "", answer.text)
        assert "\u202e" not in shown


def test_an_item_is_changed_although_the_note_changed_meanwhile(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    fields = {
        "note": USER,
        "expected": own_page.memory.read(USER).revision,
        "heading": "About",
        "match": "Is left-handed",
        "line": "Is right-handed",
    }
    file = own_page.memory.root / USER
    file.write_text(file.read_text() + "- Written in an editor\n")

    answer = browser.post("/note/change", fields)

    assert answer.status_code == 303
    assert "Is right-handed" in file.read_text()
    assert "Written in an editor" in file.read_text()


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/note/append", {"line": "my wifi password is quayfish"}),
        ("/note/append", {"line": "router login admin / quayfish"}),
        ("/note/add-section", {"heading": "Wifi password", "line": "quayfish"}),
        ("/note/change", {"match": "Is left-handed", "line": "Merk dir das Passwort quayfish"}),
    ],
)
def test_a_secret_in_an_item_is_asked_about_before_it_is_kept(
    own_page: ServedPage, path: str, fields: dict[str, str]
) -> None:
    browser = own_page.browser("mira")
    file = own_page.memory.root / USER
    revision = own_page.memory.read(USER).revision
    form = {"note": USER, "expected": revision, "heading": "About", **fields}

    question = browser.post(path, form)

    assert question.status_code == 409
    assert "password or a key" in question.text
    assert "quayfish" not in file.read_text("utf-8")
    assert browser.post(path, {**form, "keep_secret": "1"}).status_code == 303
    assert "quayfish" in file.read_text("utf-8")


def test_an_op_on_a_note_of_another_person_changes_nothing(own_page: ServedPage) -> None:
    before = own_page.memory.read(TOMAS)
    fields = {
        "note": TOMAS,
        "expected": before.revision,
        "heading": before.sections[0],
        "line": "Is a thief",
    }

    answer = own_page.browser("mira").post("/note/append", fields)

    assert answer.status_code == 404
    assert own_page.memory.read(TOMAS) == before


def _note(seed: int) -> bytes:
    """A note with the line ends and letters that people's programs write."""
    choose = random.Random(seed)
    words = ["tea", "日本語", "𝔘nicode", "naïve", "", "  indented", "- item", "## Head", "\ttab"]
    end = choose.choice(["\n", "\r\n"])
    lines = [choose.choice(words) for _ in range(choose.randrange(12))]
    text = "".join(
        line + (end if choose.random() < 0.8 else choose.choice(["\n", "\r\n"])) for line in lines
    )
    start = choose.choice(["", "", "\n", "\n\n", "\ufeff"])
    last = choose.choice(["", "last line without end"])
    return (start + text + last).encode()


def test_a_note_that_is_saved_untouched_keeps_its_bytes(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    note = "Users/mira/memories/untouched.md"
    file = own_page.memory.root / note
    for seed in range(cases(2000) // 20):
        file.write_bytes(_note(seed))

        status, where = Form(browser, note).save()

        assert (status, "saved=unchanged" in where) == (303, True), seed
        assert file.read_bytes() == _note(seed), seed
    assert own_page.memory.log(note) == ()


def test_a_save_changes_the_line_that_was_changed_and_no_other(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    note = "Users/mira/memories/changed.md"
    file = own_page.memory.root / note
    for seed in range(cases(400) // 20):
        raw = _note(seed) + b"\nthe line to change\r\nthe end"
        file.write_bytes(raw)
        form = Form(browser, note)

        status, _ = form.save(form.text.replace("the line to change", "changed"))

        assert status == 303, seed
        assert file.read_bytes() == raw.replace(b"the line to change", b"changed"), seed


def _stored(page: ServedPage, note: str, text: str) -> bool:
    """Whether a text is in the note now, or in a version that its history has."""
    memory = page.memory
    if text in memory.read(note).text:
        return True
    versions = memory.history(note)[1:10]
    return any(
        text in memory.edits.read_version(note, version.revision).text for version in versions
    )


@pytest.mark.sampled
def test_saves_lose_no_line_of_an_editor_that_saves_another_line(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    note = "Users/mira/memories/shared.md"
    file = own_page.memory.root / note
    choose = random.Random(7)
    for number in range(1, SAVES_BESIDE_AN_EDITOR + 1):
        file.write_text(f"top {number - 1}\n\nmiddle\n\nbottom {number - 1}\n")
        form = Form(browser, note)
        editor = _editor(file, r"^top \d+", f"top {number}", choose)

        status, answer = form.save(re.sub(r"bottom \d+", f"bottom {number}", form.text))
        editor.join()

        text = file.read_text()
        assert text.startswith("top"), number
        assert text.endswith("\n"), number
        assert _stored(own_page, note, f"top {number}\n"), number
        assert status == 303, answer
        # An editor that read the note before the save has the last word in the file.
        assert _stored(own_page, note, f"bottom {number}\n"), number


@pytest.mark.sampled
def test_saves_beside_an_editor_that_saves_the_same_line_overwrite_nothing(
    own_page: ServedPage,
) -> None:
    browser = own_page.browser("mira")
    note = "Users/mira/memories/same.md"
    file = own_page.memory.root / note
    choose = random.Random(8)
    for number in range(1, SAVES_BESIDE_AN_EDITOR + 1):
        file.write_text("- the boat is red\n")
        form = Form(browser, note)
        editor = _editor(file, "(?s).*", f"- the boat is blue {number}\n", choose)

        status, answer = form.save(f"- the boat is green {number}\n")
        editor.join()

        assert _stored(own_page, note, f"blue {number}\n"), number
        if status == 202:
            # The editor's save looked like half of one. The daemon makes the change later.
            _make_kept_changes(own_page)
        if status in (202, 303):
            assert _stored(own_page, note, f"green {number}\n"), number
        else:
            assert status == 409, answer
            form.read(answer)
            assert form.text == f"- the boat is green {number}\n"
            assert file.read_text() == f"- the boat is blue {number}\n"


def _make_kept_changes(page: ServedPage) -> None:
    later = datetime.now().astimezone() + timedelta(hours=1)
    page.memory.edits.process_due(later)


def _editor(file: Path, pattern: str, text: str, choose: random.Random) -> threading.Thread:
    """An editor that saves a change up to 50 ms before or after what follows."""
    pause = choose.uniform(-0.05, 0.05)
    arguments = (file, pattern, text, max(0.0, pause))
    thread = threading.Thread(target=_save_in_editor, args=arguments)
    thread.start()
    time.sleep(max(0.0, -pause))
    return thread


def _save_in_editor(file: Path, pattern: str, text: str, pause: float) -> None:
    """Saves a change, as an editor does that read the note just now."""
    time.sleep(pause)
    changed = re.sub(pattern, text, file.read_text(), count=1)
    new_file = file.with_name(f".{file.name}.tmp")
    new_file.write_text(changed)
    os.replace(new_file, file)


def test_a_conflict_overwrites_nothing_and_keeps_what_was_typed(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    note = "Users/mira/memories/conflict.md"
    file = own_page.memory.root / note
    file.write_text("- the boat is red\n")
    os.utime(file, (1, 1))
    form = Form(browser, note)
    file.write_text("- the boat is blue\n")
    os.utime(file, (2, 2))

    status, answer = form.save("- the boat is <green>\n")

    assert status == 409
    assert 'role="alert"' in answer
    assert file.read_text() == "- the boat is blue\n"
    assert "the boat is red" in answer
    form.read(answer)
    assert form.text == "- the boat is <green>\n"
    # The box is based on what is on disk now: a person who saw it may save.
    assert form.save()[0] == 303
    assert file.read_text() == "- the boat is <green>\n"


def test_a_note_that_is_gone_can_be_saved_as_a_new_one(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    note = "Users/mira/memories/gone.md"
    file = own_page.memory.root / note
    file.write_text("- here\n")
    form = Form(browser, note)
    file.unlink()

    status, answer = form.save("- here again\n")

    assert status == 409
    assert not file.exists()
    form.read(answer)
    assert "Save as new" in answer
    assert form.save()[0] == 303
    assert file.read_text() == "- here again\n"


def test_a_forged_base_saves_nothing(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    form = Form(browser, USER)
    before = own_page.memory.read(USER).raw
    for base, revision in (
        ("", form.revision),
        (form.base, "0" * 64),
        (form.base, ""),
        ("%%%", form.revision),
        ("", "0" * 64),
    ):
        form.base, form.revision = base, revision

        status, answer = form.save("- only this\n")

        assert status == 400, (base, revision)
        assert 'role="alert"' in answer
        assert own_page.memory.read(USER).raw == before


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("raw", "reason"),
    [(b"\xff\xfe", "UTF-8"), (b"a\0b", "NUL"), (b"a\rb\n", "line"), (b"x" * 300_000, "")],
    ids=["no UTF-8", "NUL", "a lone CR", "too long"],
)
def test_a_note_that_a_box_would_damage_is_not_edited_as_a_text(
    own_page: ServedPage, raw: bytes, reason: str
) -> None:
    note = "Users/mira/memories/raw.md"
    (own_page.memory.root / note).write_bytes(raw)

    answer = own_page.browser("mira").get(f"/edit/{note}")

    assert "<textarea" not in answer.text
    assert 'role="alert"' in answer.text
    assert reason in answer.text


def test_an_open_tab_sees_that_its_note_is_another_one(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    form = Form(browser, USER)
    unchanged = browser.client.get(form.path, headers={"x-base": form.revision}).text
    own_page.memory.apply(
        USER, [{"op": "append", "heading": "About", "line": "Plays the accordion"}], source="cli"
    )

    changed = browser.client.get(form.path, headers={"x-base": form.revision}).text

    assert "changed on disk" not in unchanged
    assert "changed on disk" in changed
    assert "accordion" in changed.partition('id="disk-change"')[2].partition("<form")[0]


def test_restore_shows_the_change_first(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    before = own_page.memory.read(USER)
    own_page.memory.apply(
        USER, [{"op": "append", "heading": "About", "line": "Plays the accordion"}], source="cli"
    )
    fields = {"note": USER, "revision": before.revision}

    shown = browser.post("/history/restore", fields)

    assert shown.status_code == 200
    assert "accordion" in shown.text
    assert own_page.memory.read(USER) != before
    again = {**fields, "sure": "yes", "expected": _field(shown.text, "expected")}
    assert browser.post("/history/restore", again).status_code == 303
    assert own_page.memory.read(USER).raw == before.raw


def test_a_full_disk_keeps_what_was_typed_in_the_browser(own_page: ServedPage) -> None:
    """The answer is an error; the box still has the text when the browser goes back."""
    browser = own_page.browser("mira")
    form = Form(browser, USER)
    folder = own_page.memory.root / USER
    before = folder.read_bytes()
    folder.unlink()
    folder.mkdir()

    status, answer = form.save("- other\n")

    assert status >= 400
    assert 'role="alert"' in answer
    folder.rmdir()
    folder.write_bytes(before)
    assert form.save()[0] == 303


def test_the_notice_of_a_save_shows_what_was_merged(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    note = "Users/mira/memories/merged.md"
    file = own_page.memory.root / note
    file.write_text("# A\n\n- red\n\n# B\n\n- wood\n")
    os.utime(file, (1, 1))
    form = Form(browser, note)
    file.write_text("# A\n\n- blue\n\n# B\n\n- wood\n")
    os.utime(file, (2, 2))

    status, where = form.save(form.text.replace("wood", "steel"))
    notice = browser.get(where).text.partition('id="notice"')[2].partition("</section")

    assert status == 303
    assert "What others had saved meanwhile" in notice[0]
    assert "- blue" in notice[0]
    # The view of the record has only what was saved.
    assert "meanwhile" not in browser.get(f"/log?note={note}").text
