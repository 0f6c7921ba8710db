"""Correcting on the page what the bot did: undo, a night, facts."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.browser.acts import FACTS, RULES, USER, append, expect, goto, learn, script_runs
from tests.browser.web_process import WebProcess
from tests.scenarios.outside import Outside

if TYPE_CHECKING:
    from playwright.sync_api import Page

Web = Callable[..., WebProcess]


def test_the_keyboard_undoes_an_edit(signed_in: Web, house: Outside, tab: "Page") -> None:
    before = (house.vault / USER).read_bytes()
    append(house, "Likes the smell of tar")
    signed_in()
    script_runs(tab)

    tab.keyboard.press("j")
    expect(tab.get_by_role("article").first).to_be_focused()
    tab.keyboard.press("u")
    question = tab.get_by_role("dialog")
    expect(question).to_contain_text("Undo: Likes the smell of tar")
    tab.keyboard.press("Shift+Tab")
    tab.keyboard.press("Enter")

    expect(tab.locator("#notice")).to_be_focused()
    assert (house.vault / USER).read_bytes() == before
    # The notice offers the way back.
    tab.get_by_role("status", name="Done").get_by_role("button").click()
    tab.wait_for_load_state()
    assert "Likes the smell of tar" in (house.vault / USER).read_text()


def test_escape_answers_the_question_of_the_undo_key_with_no(
    signed_in: Web, house: Outside, tab: "Page"
) -> None:
    append(house, "Likes the smell of tar")
    signed_in()
    script_runs(tab)

    tab.keyboard.press("j")
    tab.keyboard.press("u")
    expect(tab.get_by_role("dialog")).to_be_visible()
    tab.keyboard.press("Escape")

    expect(tab.get_by_role("dialog")).to_be_hidden()
    assert "Likes the smell of tar" in (house.vault / USER).read_text()
    assert tab.url.endswith("/")


def test_a_night_is_undone_after_a_look_at_what_that_changes(
    signed_in: Web, house: Outside, tab: "Page"
) -> None:
    before = {note: _text(house, note) for note in (RULES, FACTS)}
    learn(house)
    learned = {note: _text(house, note) for note in (RULES, FACTS)}
    assert learned != before
    signed_in()

    tab.get_by_role("button", name="Undo the night of").click()
    expect(tab.locator("main")).to_contain_text("Nothing was changed yet")
    assert {note: _text(house, note) for note in (RULES, FACTS)} == learned
    tab.get_by_role("button", name="Undo the night of").click()

    expect(tab.locator("#notice")).to_contain_text("2 changes are undone")
    expect(tab.get_by_role("alert")).to_have_count(0)
    assert {note: _text(house, note) for note in (RULES, FACTS)} == before


def _text(house: Outside, note: str) -> str:
    path = house.vault / note
    return path.read_text("utf-8") if path.exists() else ""


def test_facts_are_corrected_confirmed_and_ended(
    signed_in: Web, house: Outside, tab: "Page"
) -> None:
    signed_in()
    assert goto(tab, "/facts?entity=mira") == 200

    _choose(tab, "Has sister", "Edit")
    tab.get_by_label("Right value").fill("Annika")
    tab.keyboard.press("Enter")
    expect(tab.locator("#notice")).to_be_focused()
    assert "has_sister: Annika" in _text(house, FACTS)

    script_runs(tab)
    _choose(tab, "Learns", "No longer true")
    # The sentence stands where the fact was.
    expect(tab.get_by_role("region", name="Facts").locator("#notice")).to_be_focused()
    assert "~~learns: Chinese~~" in _text(house, FACTS)

    tab.get_by_role("status", name="Done").get_by_role("button", name="Undo").click()
    expect(tab.locator("#notice")).to_be_focused()
    assert "- learns: Chinese" in _text(house, FACTS)


def _choose(tab: "Page", words: str, action: str) -> None:
    """Chooses from the menu of a row."""
    row = tab.get_by_role("listitem").filter(has_text=words)
    row.get_by_label("More: ").click()
    row.get_by_text(action, exact=True).click()


def test_a_line_is_edited_in_its_row_and_left_with_escape(
    signed_in: Web, house: Outside, tab: "Page"
) -> None:
    signed_in()
    goto(tab, "/about?name=mira")
    script_runs(tab)

    _choose(tab, "coffee black", "Edit")
    box = tab.get_by_role("textbox", name="Text")
    expect(box).to_be_focused()
    box.fill("Drinks tea")
    tab.keyboard.press("Escape")
    expect(box).to_have_count(0)
    assert "Drinks tea" not in _text(house, USER)

    script_runs(tab)
    _choose(tab, "coffee black", "Edit")
    box.fill("Drinks tea")
    tab.keyboard.press("Enter")
    expect(tab.locator("#notice")).to_be_focused()
    assert "Drinks tea" in _text(house, USER)
    tab.get_by_role("status", name="Done").get_by_role("button", name="Undo").click()
    expect(tab.locator("#notice")).to_be_focused()
    assert "coffee black" in _text(house, USER)


def test_the_menu_of_a_row_opens_and_closes_by_keys(signed_in: Web, tab: "Page") -> None:
    signed_in()
    goto(tab, "/about?name=mira")
    script_runs(tab)
    menu = tab.get_by_role("listitem").filter(has_text="coffee black").get_by_label("More: ")

    menu.focus()
    tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")
    expect(tab.get_by_text("Edit", exact=True).locator("visible=true")).to_be_focused()
    tab.keyboard.press("Escape")

    expect(menu).to_be_focused()
    expect(tab.get_by_text("Remove", exact=True).locator("visible=true")).to_have_count(0)


def test_a_fact_is_added_on_the_page(signed_in: Web, house: Outside, tab: "Page") -> None:
    signed_in()
    goto(tab, "/facts?entity=mira")

    tab.get_by_text("Add a fact").click()
    tab.get_by_label("How").fill("plays")
    tab.get_by_label("What").fill("the concertina")
    tab.get_by_role("button", name="Add", exact=True).click()

    expect(tab.locator("#notice")).to_be_focused()
    assert "plays: the concertina" in _text(house, FACTS)
    facts = tab.get_by_role("region", name="Facts")
    expect(facts.get_by_role("listitem").filter(has_text="the concertina")).to_have_count(1)
