"""The log on the page: who changed what and why, and Undo where there is something to undo."""

import re
import shutil
from datetime import UTC, datetime

import pytest

from tests.addons.page.served_page import Browser, ServedPage
from vault_memory.addons.page.page_answers import PageView
from vault_memory.addons.page.views.outcome import answer_of
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.rules.edits.audit_record import Record

MIRAS = "Users/mira/lantern/config/USER.md"
TOMAS = "Users/tomas/lantern/config/USER.md"
ARTICLE = re.compile(r"<article.*?</article>", re.DOTALL)
UNDO_BUTTON = re.compile(r'aria-label="(Undo[^"]*)"')


def note_down(
    memory: VaultMemory, heading: str, note: str = MIRAS, line: str = "Sings at night"
) -> str:
    """Returns the id of the record of a person's edit."""
    op = {"op": "add_heading", "heading": heading, "lines": [line]}
    return memory.apply(note, [op], source="cli", why=f"{heading} asked").audit_id or ""


def articles(browser: Browser, path: str = "/log") -> dict[str, str]:
    """The HTML of each record on a view, by id."""
    answer = browser.get(path)
    assert answer.status_code == 200, answer.text
    matches = ARTICLE.findall(answer.text)
    keys = [re.search(r'data-key="([^"]*)"', match) for match in matches]
    return {key.group(1): match for key, match in zip(keys, matches, strict=True) if key}


def undo(browser: Browser, record_id: str, to: str = "/log") -> str:
    """Presses Undo. Returns the view that follows."""
    answer = browser.post("/log/undo", {"id": record_id, "to": to})
    assert answer.status_code == 303, answer.text
    return browser.get(answer.headers["location"]).text


def newest(memory: VaultMemory) -> Record:
    return memory.log()[-1]


def test_a_record_shows_who_changed_what_and_why(own_page: ServedPage) -> None:
    line = "Sings at night (ref:mpn27i80bj0gh4)"
    record = note_down(own_page.memory, "Evenings", line=line)

    [article] = articles(own_page.browser("mira")).values()

    assert f'data-key="{record}"' in article
    assert "Sings at night" in article
    assert "Profile" in article
    assert 'href="/source?ref=mpn27i80bj0gh4"' in article
    assert UNDO_BUTTON.findall(article)
    alone = own_page.browser("mira").get(f"/log?id={record}").text
    details = alone.partition('class="details"')[2]
    assert "by hand" in details
    assert "Evenings asked" in details
    assert f'href="/note/{MIRAS}"' in details
    assert '<span class="hidden">added: </span><code>- Sings at night' in alone


def test_undo_and_redo(own_page: ServedPage) -> None:
    memory = own_page.memory
    record = note_down(memory, "Evenings")
    noted = memory.read(MIRAS).text
    browser = own_page.browser("mira")
    articles(browser)

    notice = undo(browser, record)
    undoing = newest(memory)

    assert "## Evenings" not in memory.read(MIRAS).text
    assert 'id="notice"' in notice
    assert "Undone: removed" in notice
    # What is undone already offers no Undo, and the undo can be undone.
    shown = articles(browser)
    assert not UNDO_BUTTON.findall(shown[record])
    assert f'<a href="/log?id={undoing.id}">undone</a>' in shown[record]
    assert UNDO_BUTTON.findall(shown[undoing.id])[0].startswith("Undo the undo")

    undo(browser, undoing.id)

    assert memory.read(MIRAS).text == noted
    shown = articles(browser)
    assert UNDO_BUTTON.findall(shown[record])
    assert not UNDO_BUTTON.findall(shown[undoing.id])


def test_what_changed_nothing_is_folded_and_has_no_undo(own_page: ServedPage) -> None:
    memory = own_page.memory
    note_down(memory, "Evenings")
    op = {"op": "append", "heading": "Evenings", "line": "Sings at night"}
    idle = memory.apply(MIRAS, [op], source="cli").audit_id or ""
    lost = {"op": "append", "heading": "Nowhere", "line": "Sings"}
    refused = memory.apply(MIRAS, [lost], source="cli").audit_id or ""

    browser = own_page.browser("mira")
    shown = articles(browser)

    text = browser.get("/log").text
    for record_id, reason in ((idle, "nothing to do"), (refused, "heading_missing")):
        assert text.index("2 that changed nothing") < text.index(record_id)
        assert not UNDO_BUTTON.findall(shown[record_id])
        assert reason in browser.get(f"/log?id={record_id}").text


@pytest.mark.sampled
def test_a_forgotten_text_is_shown_as_forgotten(own_page: ServedPage) -> None:
    memory = own_page.memory
    record = note_down(memory, "Evenings", line="Plays the zither at night")
    memory.forget("Plays the zither at night")

    shown = articles(own_page.browser("mira"))

    assert "What it said was forgotten" in shown[record]
    assert not UNDO_BUTTON.findall(shown[record])
    assert "zither" not in "".join(shown.values())


@pytest.mark.sampled
def test_a_redacted_record_is_not_undone_by_a_forged_form(own_page: ServedPage) -> None:
    memory = own_page.memory
    record = note_down(memory, "Evenings", line="Plays the zither at night")
    memory.forget("Plays the zither at night")
    browser = own_page.browser("mira")
    note_down(memory, "Mornings")
    articles(browser)

    answer = browser.post("/log/undo", {"id": record, "to": "/log"})

    assert answer.status_code == 409
    assert 'role="alert"' in answer.text
    assert "nothing brings it back" in answer.text


def test_an_unclear_id_is_refused_with_candidates_of_this_session_only(
    own_page: ServedPage,
) -> None:
    memory = own_page.memory
    own = [note_down(memory, "Evenings"), note_down(memory, "Mornings")]
    other = note_down(memory, "Evenings", TOMAS)
    browser = own_page.browser("mira")
    articles(browser)
    start = own[0][:4]
    assert other.startswith(start)

    answer = browser.post("/log/undo", {"id": start, "to": "/log"})

    assert answer.status_code == 400
    assert all(record_id in answer.text for record_id in own)
    assert other not in answer.text


@pytest.mark.sampled
def test_the_undo_of_a_note_that_vanished_says_so(own_page: ServedPage) -> None:
    memory = own_page.memory
    op = {"op": "append", "heading": "Evenings", "line": "Sings at night"}
    note_down(memory, "Evenings")
    record = memory.apply(MIRAS, [{**op, "line": "Hums"}], source="cli").audit_id or ""
    browser = own_page.browser("mira")
    articles(browser)
    (memory.root / MIRAS).unlink()

    answer = browser.post("/log/undo", {"id": record, "to": "/log"})

    assert answer.status_code in (303, 404, 409), answer.text
    if answer.status_code == 303:
        assert "no change" in browser.get(answer.headers["location"]).text
    assert not (memory.root / MIRAS).exists()


@pytest.mark.sampled
@pytest.mark.parametrize(
    "to", ["https://evil.example.org/", "//evil.example.org", "/\\evil", "log", "/a\nb", ""]
)
def test_undo_leads_to_no_other_site(own_page: ServedPage, to: str) -> None:
    memory = own_page.memory
    record = note_down(memory, "Evenings")
    browser = own_page.browser("mira")
    articles(browser)
    count = len(memory.log())

    answer = browser.post("/log/undo", {"id": record, "to": to})

    assert answer.status_code == 400
    assert len(memory.log()) == count


def test_an_undo_that_waits_is_never_called_done(own_page: ServedPage) -> None:
    memory = own_page.memory
    record = note_down(memory, "Evenings")
    browser = own_page.browser("mira")
    articles(browser)
    (memory.root / MIRAS).with_name(".USER.md.swp").write_bytes(b"")

    answer = browser.post("/log/undo", {"id": record, "to": "/log"})

    assert answer.status_code == 202
    assert "<h1>Not done yet</h1>" in answer.text
    assert 'role="alert"' in answer.text
    assert "It waits: an editor has the note open" in answer.text
    assert "## Evenings" in memory.read(MIRAS).text


def test_a_refused_edit_says_why_and_what_to_do(own_page: ServedPage) -> None:
    op = {"op": "append", "heading": "Nowhere", "line": "Sings"}
    edit = own_page.memory.apply(MIRAS, [op], source="cli")

    answer = answer_of(edit, "/log")

    assert isinstance(answer, PageView)
    assert (answer.status, answer.title) == (409, "Not done")
    [refusal] = answer.data["refusals"]
    assert refusal.reason == "The note has no such section"
    assert refusal.hint.startswith("Name one of these, or add one: ")


@pytest.mark.sampled
def test_a_long_log_comes_in_parts(own_page: ServedPage) -> None:
    memory = own_page.memory
    made = [note_down(memory, f"Evening {number}") for number in range(53)]
    browser = own_page.browser("mira")

    first = articles(browser)
    answer = browser.get("/log")
    older = re.search(r'rel="next" href="([^"]*)"', answer.text)
    assert older
    second = articles(browser, older.group(1).replace("&amp;", "&"))

    assert list(first) == made[:2:-1]
    assert list(second) == made[2::-1]
    assert 'rel="next"' not in browser.get(older.group(1)).text


def test_the_log_of_one_note_and_of_one_source(own_page: ServedPage) -> None:
    memory = own_page.memory
    own = note_down(memory, "Evenings")
    other = note_down(memory, "Evenings", TOMAS)
    undone = memory.undo(own).audit_id or ""
    browser = own_page.browser()

    assert set(articles(browser, f"/log?note={MIRAS}")) == {own, undone}
    assert set(articles(browser, "/log?note=USER.md")) == {own, other, undone}
    assert set(articles(browser, "/log?source=undo")) == {undone}
    assert "No change is like this" in browser.get("/log?note=absent.md").text


def test_a_long_diff_is_cut_in_the_list_and_complete_alone(own_page: ServedPage) -> None:
    memory = own_page.memory
    op = {"op": "add_heading", "heading": "Songs", "lines": []}
    op["lines"] = [f"Song {number} of the sea" for number in range(80)]
    record = memory.apply(MIRAS, [op], source="cli").audit_id or ""
    browser = own_page.browser("mira")

    listed = articles(browser)[record]

    assert "Song 79" not in listed
    assert "more lines" in listed
    assert f'href="/log?id={record}"' in listed
    assert "Song 79" in browser.get(f"/log?id={record}").text


@pytest.mark.sampled
def test_only_what_the_bot_did(own_page: ServedPage) -> None:
    memory = own_page.memory
    by_hand = note_down(memory, "Evenings")
    op = {"op": "append", "heading": "Evenings", "line": "Hums"}
    by_bot = memory.apply(MIRAS, [op], source="tool").audit_id or ""

    shown = articles(own_page.browser("mira"), "/log?source=bot")

    assert by_bot in shown
    assert by_hand not in shown


def test_another_persons_records_are_as_absent_ones(own_page: ServedPage) -> None:
    memory = own_page.memory
    note_down(memory, "Evenings")
    other = note_down(memory, "Balalaika", TOMAS, "Balalaika")
    browser = own_page.browser("mira")

    pages = [
        browser.get(path).text for path in ("/log", f"/log?note={TOMAS}", f"/log?before={other}")
    ]
    pages.append(browser.get(f"/log?done={other}").text)
    alone = browser.get(f"/log?id={other}")
    undone = browser.post("/log/undo", {"id": other, "to": "/log"})
    absent = "ffff" + other[4:]
    no_record = browser.get(f"/log?id={absent}")

    assert "alalaika" not in "".join([*pages, alone.text, undone.text])
    assert (alone.status_code, undone.status_code) == (404, 400)
    assert alone.text.replace(other, absent) == no_record.text
    assert memory.log(TOMAS)[-1].id == other


def test_another_persons_proposals_are_not_counted(own_page: ServedPage) -> None:
    memory = own_page.memory
    facts = "Users/tomas/lantern/config/USER.md"
    text = memory.read(facts).text
    bullet = re.search(r"^- (.+)$", text, re.MULTILINE)
    heading = re.search(r"^## (.+)$", text, re.MULTILINE)
    assert bullet
    assert heading
    op = {"op": "remove", "heading": heading.group(1), "match": bullet.group(1)}
    memory.apply(facts, [op], source="tool")
    assert memory.inbox()

    assert "waiting" in own_page.browser("tomas").get("/log").text
    assert "waiting" not in own_page.browser("mira").get("/log").text


def test_who_sees_all_also_sees_records_of_notes_that_are_gone(own_page: ServedPage) -> None:
    memory = own_page.memory
    record = note_down(memory, "Evenings", TOMAS)
    shutil.rmtree(memory.root / "Users/tomas/memories")
    for note in (memory.root / "Users/tomas/lantern/config").glob("*.md"):
        note.unlink()
    memory.refresh()
    assert "user:tomas" not in memory.scopes()

    assert record in articles(own_page.browser())
    assert record not in articles(own_page.browser("mira"))


def test_undo_follows_no_link_to_another_persons_note(own_page: ServedPage) -> None:
    memory = own_page.memory
    record = note_down(memory, "Evenings")
    browser = own_page.browser("mira")
    articles(browser)
    (memory.root / MIRAS).unlink()
    (memory.root / MIRAS).symlink_to(memory.root / TOMAS)
    before = (memory.root / TOMAS).read_bytes()

    answer = browser.post("/log/undo", {"id": record, "to": "/log"})

    assert answer.status_code >= 400
    assert (memory.root / TOMAS).read_bytes() == before


def test_an_empty_log_says_what_to_do_next(own_page: ServedPage) -> None:
    answer = own_page.browser().get("/log")

    assert "Nothing learned yet" in answer.text


def test_a_reader_gets_no_button(own_page: ServedPage) -> None:
    record = note_down(own_page.memory, "Evenings")

    article = articles(own_page.browser("mira", may_write=False))[record]

    assert "<button" not in article


def test_hostile_texts_of_records_stay_texts(own_page: ServedPage) -> None:
    memory = own_page.memory
    op = {"op": "add_heading", "heading": "Evenings", "lines": ["<b onclick=x>\u202e"]}
    why = "<script>alert(1)</script> {{7*7}}"
    memory.apply(MIRAS, [op], source="cli", why=why, now=datetime.now(UTC))

    browser = own_page.browser("mira")
    [record] = articles(browser)
    text = browser.get("/log").text + browser.get(f"/log?id={record}").text

    assert "<script>" not in text
    assert "<b onclick" not in text
    assert "\u202e" not in text
    assert "{{7*7}}" in text
