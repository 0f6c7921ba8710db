"""Reading the memory on the page: search, the prompt, other people, other screens."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.browser.acts import USER, append, expect, goto, heading, learn, script_runs
from tests.browser.conftest import open_link, watched
from tests.browser.web_process import WebProcess
from tests.scenarios.outside import Outside

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Playwright, Route

Web = Callable[..., WebProcess]


def test_search_answers_while_a_person_types(signed_in: Web, tab: "Page") -> None:
    signed_in()
    goto(tab, "/search")
    script_runs(tab)
    box = tab.get_by_role("searchbox")
    expect(box).to_be_focused()

    box.press_sequentially("spare key barometer", delay=20)

    expect(tab.locator("#hits")).to_contain_text("behind the barometer")
    expect(tab).to_have_url(re.compile(r"/search\?q=spare\+key\+barometer$"))
    expect(box).to_be_focused()
    assert box.input_value() == "spare key barometer"
    box.fill("halogen")
    expect(tab.locator("#hits")).to_contain_text("1000 W halogen")
    # One view, one entry of the history.
    tab.go_back()
    assert heading(tab) == "67 notes are memory"


def test_a_search_below_the_box_answers_the_last_key(signed_in: Web, tab: "Page") -> None:
    signed_in()
    goto(tab, "/log")
    script_runs(tab)
    searches: list[str] = []
    tab.on("request", lambda request: "/search?" in request.url and searches.append(request.url))
    address = tab.url

    tab.keyboard.press("/")
    box = tab.get_by_role("searchbox", name="Search memory")
    expect(box).to_be_focused()
    box.press_sequentially("spare keys")

    below = tab.locator("#found")
    expect(below.locator("mark", has_text="key").first).to_be_visible()
    assert 0 < len(searches) <= len("spare keys")
    assert searches[-1].endswith("?q=spare+keys")
    assert below.locator("article").count() <= 10
    assert tab.url == address
    ids = tab.eval_on_selector_all("[id]", "(parts) => parts.map((part) => part.id)")
    assert len(ids) == len(set(ids))

    box.fill("xyzzyq")
    expect(below).to_contain_text("No note has these words")
    expect(below).not_to_contain_text("Answers")
    expect(box).to_be_focused()


def test_late_hits_do_not_cover_what_is_read_now(signed_in: Web, tab: "Page") -> None:
    signed_in()
    goto(tab, "/log")
    script_runs(tab)
    below = tab.locator("#found")
    answers: list[Route] = []
    tab.route(re.compile(r"/search\?"), lambda route: answers.append(route))

    with tab.expect_request(re.compile(r"/search\?")):
        tab.get_by_role("searchbox", name="Search memory").fill("spare keys")
    tab.locator("h1").click()
    with tab.expect_response(re.compile(r"/search\?")) as response:
        answers[-1].continue_()
    response.value.finished()
    tab.evaluate("() => new Promise((then) => setTimeout(then))")

    expect(below).to_be_empty()


def test_a_hit_leads_to_its_line(signed_in: Web, tab: "Page") -> None:
    signed_in()
    goto(tab, "/search?q=left-handed")
    row = tab.locator(".row", has_text="Is left-handed; the tools").first
    row.locator("summary").first.click()
    row.get_by_role("link", name="Edit").click()

    expect(tab).to_have_url(re.compile(r"/note/.*USER\.md\?edit="))
    expect(tab.get_by_role("textbox", name="Text")).to_have_value(re.compile("left-handed"))


def test_the_prompt_is_the_text_of_the_command(signed_in: Web, house: Outside, tab: "Page") -> None:
    signed_in()
    goto(tab, "/prompt")
    tab.get_by_label("What would you ask?").fill("where is the spare key?")
    tab.get_by_role("combobox", name="as").select_option("mira")
    tab.get_by_role("button", name="Show").click()

    parts = tab.locator(".part pre")
    expect(parts.last).to_contain_text("spare key")
    command = house.run("context", "--user", "mira", "where is the spare key?")
    assert command.code == 0
    assert "".join(parts.all_text_contents()) == command.out.removesuffix("\n")
    # A part folds, and stays folded when the view is brought up to date.
    tab.locator(".part summary", has_text="Profile").click()
    expect(parts.nth(1)).to_be_hidden()


def test_the_page_works_without_its_script(web: Web, house: Outside, chromium: "Browser") -> None:
    append(house, "Likes the smell of tar")
    with watched(chromium.new_context(java_script_enabled=False)) as context:
        tab = context.new_page()
        open_link(tab, web().start())

        tab.get_by_role("button", name="Undo: ").click()
        expect(tab.locator("#notice")).to_contain_text("Undo")
        assert not house.finds("smell of tar")

        goto(tab, "/search")
        tab.get_by_role("searchbox").fill("spare key")
        tab.get_by_role("searchbox").press("Enter")
        expect(tab.locator("#hits")).to_contain_text("behind the barometer")
        # Buttons that only the script can serve are not there.
        expect(tab.get_by_role("button", name="Copy")).to_have_count(0)


def test_a_read_only_page_has_no_form_that_changes_something(
    signed_in: Web, house: Outside, tab: "Page"
) -> None:
    append(house, "Likes the smell of tar")
    learn(house)
    signed_in("--read-only")

    views = ("/", "/log", "/facts", "/about?name=mira", "/inbox", "/sync", "/trash")
    notes = tuple(f"/{view}/{USER}" for view in ("note", "edit", "history"))
    for path in (*views, *notes):
        assert goto(tab, path) == 200
        expect(tab.locator("form[method=post]")).to_have_count(0)
    status = tab.evaluate(
        """() => fetch("/today/seen", {method: "POST", body: new URLSearchParams()})
            .then((answer) => answer.status)"""
    )
    assert status == 403


def test_two_people_see_their_own_notes_only(web: Web, chromium: "Browser") -> None:
    process = web()
    process.start()
    lines = {
        "mira": "Grew up in a lock-keeper's house",
        "tomas": "Was a clockmaker for eleven years",
    }
    for person, link in (
        ("mira", process.link("--user", "mira")),
        ("tomas", process.link("--user", "tomas")),
    ):
        with watched(chromium.new_context()) as context:
            tab = context.new_page()
            open_link(tab, link)
            for owner, line in lines.items():
                goto(tab, f"/search?q={quote(line)}")
                match = tab.locator("#hits li").filter(has_text=line)
                expect(match).to_have_count(1 if owner == person else 0)


def test_the_page_is_used_on_a_phone(
    web: Web, house: Outside, chromium: "Browser", playwright: "Playwright"
) -> None:
    append(house, "Likes the smell of tar")
    phone = playwright.devices["Pixel 5"]
    with watched(chromium.new_context(**phone)) as context:
        tab = context.new_page()
        open_link(tab, web().start())
        script_runs(tab)
        for control in tab.locator("button:visible, nav a, summary:visible").all():
            size = control.bounding_box()
            assert size
            assert size["height"] >= 44, control.inner_text()
        tab.get_by_role("link", name="Memory", exact=True).tap()
        # The menu of a row is as large as a finger.
        row = tab.get_by_role("listitem").filter(has_text="Has sister Anneke")
        row.locator("summary").tap()
        expect(row.get_by_role("button", name="Still true")).to_be_visible()
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        goto(tab, "/")
        tab.get_by_role("button", name="Undo: ").tap()
        expect(tab.locator("#notice")).to_contain_text("Undo")
    assert not house.finds("smell of tar")


def test_a_dark_browser_gets_a_dark_page(web: Web, house: Outside, chromium: "Browser") -> None:
    append(house, "Likes the smell of tar")
    link = web()
    with watched(chromium.new_context(color_scheme="dark")) as context:
        tab = context.new_page()
        open_link(tab, link.start())
        goto(tab, "/")
        tab.locator("#new").get_by_role("link", name="Profile").click()
        assert _brightness(tab, "body", "backgroundColor") < 60
        assert _brightness(tab, "main a", "color") > 120
        # Added text is marked by a sign and a word, beside its colour.
        added = tab.locator("ins").filter(has_text="smell of tar")
        expect(added).to_contain_text("+")
        expect(added).to_contain_text("added:")
        tab.emulate_media(color_scheme="light")
        assert _brightness(tab, "body", "backgroundColor") > 200


def _brightness(tab: "Page", selector: str, name: str) -> float:
    """The mean of red, green and blue of a colour."""
    colour = tab.locator(selector).first.evaluate(
        "(part, name) => getComputedStyle(part)[name]", name
    )
    parts = [int(part) for part in re.findall(r"\d+", colour)[:3]]
    return sum(parts) / len(parts)


def test_keys_lead_through_the_page_and_can_be_switched_off(signed_in: Web, tab: "Page") -> None:
    signed_in()
    script_runs(tab)

    tab.keyboard.press("g")
    tab.keyboard.press("f")
    expect(tab.get_by_role("heading", level=1)).to_have_text("Facts")
    script_runs(tab)
    box = tab.get_by_role("searchbox", name="Search memory")
    tab.keyboard.press("/")
    expect(box).to_be_focused()
    box.press_sequentially("gtu?")
    expect(box).to_have_value("gtu?")
    # The hits lie over the heading.
    expect(tab.locator("#found")).not_to_be_empty()
    box.press("Escape")
    expect(tab.locator("#found")).to_be_empty()
    tab.locator("h1").click()
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("heading", level=1)).to_have_text("67 notes are memory")
    script_runs(tab)

    tab.keyboard.press("?")
    keys = tab.get_by_role("dialog", name="Keys")
    keys.get_by_label("Switch these keys off").check()
    keys.get_by_role("button", name="Close").click()
    expect(keys).to_be_hidden()
    tab.keyboard.press("g")
    tab.keyboard.press("f")
    tab.keyboard.press("?")
    expect(keys).to_be_hidden()
    assert heading(tab) == "67 notes are memory"
    # They are switched on again by a button.
    goto(tab, "/setup")
    tab.get_by_role("button", name="Keys").click()
    expect(keys.get_by_label("Switch these keys off")).to_be_checked()
