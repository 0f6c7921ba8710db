"""A person edits a whole note on the page, while editors save it and servers end."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.browser.acts import PREFERENCE, USER, expect, goto, script_runs
from tests.browser.conftest import open_link, watched
from tests.browser.web_process import WebProcess
from tests.scenarios.outside import Outside, Running

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page

Web = Callable[..., WebProcess]
NEW_LINE = "- Likes the smell of tar"
FIRST_LINE = "# Mira Lumen"


@pytest.fixture
def note(house: Outside) -> "Path":
    """Mira's own note."""
    return house.vault / USER


def box_of(tab: "Page", note: str = USER) -> "Locator":
    """Opens a note as a text."""
    assert goto(tab, f"/edit/{note}") == 200
    script_runs(tab)
    return tab.get_by_role("textbox", name="Text")


def add_line(box: "Locator") -> None:
    """Types a line at the end of the text."""
    box.focus()
    box.press("Control+End")
    box.press_sequentially(NEW_LINE)


def editor_saves(note: "Path", before: str, after: str) -> None:
    """Another program saves the note."""
    text = note.read_text("utf-8")
    assert before in text
    note.write_text(text.replace(before, after), "utf-8")


def save(tab: "Page") -> None:
    tab.get_by_role("button", name="Save", exact=True).click()
    tab.wait_for_load_state()


def test_what_an_editor_saved_meanwhile_is_merged_and_shown(
    daemon: Running, signed_in: Web, note: "Path", tab: "Page"
) -> None:
    signed_in()
    box = box_of(tab)
    add_line(box)
    typed = box.input_value()
    editor_saves(note, "too much honey", "some honey")

    # The box is never replaced.
    expect(tab.locator("#disk-change")).to_contain_text("changed on disk")
    assert box.input_value() == typed
    expect(box).to_be_focused()
    save(tab)

    expect(tab.locator("#notice")).to_be_focused()
    notice = tab.locator("#notice")
    expect(notice).to_contain_text("What others had saved meanwhile")
    expect(notice).to_contain_text("her tea with some honey")
    saved = note.read_text("utf-8")
    assert NEW_LINE in saved
    assert "some honey" in saved
    # What is saved is not offered again.
    box = box_of(tab)
    expect(tab.get_by_role("button", name="Bring back")).to_have_count(0)


@pytest.mark.parametrize("has_script", [True, False])
def test_a_line_is_edited_and_removed_where_it_stands(
    web: Web, note: "Path", chromium: "Browser", has_script: bool
) -> None:
    link = web().start()
    with watched(chromium.new_context(java_script_enabled=has_script)) as context:
        tab = context.new_page()
        open_link(tab, link)
        goto(tab, f"/note/{USER}")
        line = tab.locator("#note li").filter(has_text="too much honey")
        line.get_by_label("More").click()
        line.get_by_role("link", name="Edit").click()
        box = tab.get_by_role("textbox", name="Text")
        expect(box).to_be_focused()
        assert box.input_value() == PREFERENCE
        box.fill(PREFERENCE.replace("too much", "a little"))
        tab.get_by_role("button", name="Save").click()

        expect(tab.locator("#notice")).to_contain_text("a little honey")
        assert f"- {PREFERENCE.replace('too much', 'a little')}\n" in note.read_text("utf-8")
        line = tab.locator("#note li").filter(has_text="a little honey")
        line.get_by_label("More").click()
        line.get_by_role("button", name="Remove").click()

        expect(tab.locator("#notice")).to_be_visible()
        assert "honey" not in note.read_text("utf-8")


def test_the_same_line_saved_by_an_editor_is_not_overwritten(
    signed_in: Web, note: "Path", tab: "Page"
) -> None:
    signed_in()
    box = box_of(tab)
    mine = box.input_value().replace("too much honey", "no honey at all")
    box.fill(mine)
    editor_saves(note, "too much honey", "some honey")
    disk = note.read_bytes()

    save(tab)
    expect(tab.get_by_role("alert")).to_be_visible()
    assert note.read_bytes() == disk
    for name in ("On disk now", "Yours", "As you opened it"):
        expect(tab.get_by_role("region", name=name)).to_be_visible()
    box = tab.get_by_role("textbox", name="Text")
    assert box.input_value() == mine

    box.fill(mine.replace("no honey at all", "a spoon of honey"))
    save(tab)
    expect(tab.get_by_role("alert")).to_have_count(0)
    assert "a spoon of honey" in note.read_text("utf-8")
    assert PREFERENCE not in note.read_text("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"\xef\xbb\xbf\r\n\r\n# Tides\r\n\r\n- high\r\n- low", id="crlf"),
        pytest.param("\n\n# 潮\r\n- 高\n- 🌊\r\n\n".encode(), id="mixed"),
    ],
)
def test_a_note_with_other_line_ends_keeps_every_byte(
    signed_in: Web, house: Outside, tab: "Page", text: bytes
) -> None:
    path = house.write("memory/tides.md", text)
    house.ok("index")
    signed_in()
    box_of(tab, "memory/tides.md")
    records = len(house.ok("log", "memory/tides.md")["records"])
    save(tab)

    expect(tab.get_by_text("Nothing was changed.")).to_be_visible()
    assert path.read_bytes() == text
    assert len(house.ok("log", "memory/tides.md")["records"]) == records

    # A changed line changes no other line.
    box = box_of(tab, "memory/tides.md")
    box.fill(box.input_value().replace("high", "higher").replace("高", "高い"))
    save(tab)
    expected = text.replace(b"high", b"higher").replace("高".encode(), "高い".encode())
    assert path.read_bytes() == expected


def test_text_survives_the_end_of_the_server_and_is_saved_once(
    signed_in: Web, note: "Path", tab: "Page"
) -> None:
    process = signed_in()
    before = note.read_text("utf-8")
    box = box_of(tab)
    box.focus()
    box.press("Control+End")
    box.press_sequentially("- Likes the smell")
    process.stop()
    status = tab.get_by_role("status")
    expect(status).to_contain_text("offline")
    expect(tab.get_by_role("button", name="Save")).to_be_disabled()
    box.press_sequentially(" of tar")
    box.press("Control+s")
    expect(box).to_be_focused()

    process.start()
    expect(status).not_to_contain_text("offline")
    expect(box).to_have_value(before + NEW_LINE)
    tab.reload()
    script_runs(tab)
    assert box.input_value() == before
    tab.get_by_role("button", name="Bring back what you typed").click()
    box.press("Control+s")

    tab.wait_for_url("**/note/**")
    saved = note.read_text("utf-8")
    assert saved.count(NEW_LINE) == 1
    assert saved.startswith(FIRST_LINE)
    box_of(tab)
    expect(tab.get_by_role("button", name="Bring back")).to_have_count(0)
