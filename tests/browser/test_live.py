"""An open page keeps up: saves, the daemon's end and start, the server's end, twelve tabs."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.browser.acts import append, expect, goto, script_runs, tabs
from tests.browser.web_process import WebProcess
from tests.scenarios.outside import Outside, Running

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Request

Web = Callable[..., WebProcess]
TABS = 12


def test_today_shows_a_save_and_leaves_a_half_typed_form_alone(
    daemon: Running, signed_in: Web, house: Outside, tab: "Page"
) -> None:
    append(house, "Likes the smell of tar")
    signed_in()
    script_runs(tab)
    expect(tab.locator("#state")).to_contain_text("Live")

    append(house, "Whistles before rain")

    expect(tab.locator("#new")).to_contain_text("Whistles before rain")
    expect(tab.locator("#status")).to_have_text("1 new")

    goto(tab, "/about?name=mira")
    script_runs(tab)
    form = tab.locator("#add-fact")
    form.get_by_text("Add a fact").click()
    form.get_by_label("How").press_sequentially("plays")
    append(house, "Sings on the gallery")
    # Where a person types, the news waits for a click.
    offer = tab.get_by_role("button", name="new").or_(
        tab.get_by_role("button", name="Changed: show")
    )
    expect(offer).to_be_visible()
    expect(form.get_by_label("How")).to_be_focused()
    form.get_by_label("What").press_sequentially("the concertina")
    offer.click()

    expect(tab.locator("#about")).to_contain_text("Sings on the gallery")
    expect(form.get_by_label("How")).to_have_value("plays")
    expect(form.get_by_label("What")).to_have_value("the concertina")
    expect(form).to_have_attribute("open", "")


def test_folds_stay_open_when_a_view_is_shown_again(
    daemon: Running, signed_in: Web, house: Outside, tab: "Page"
) -> None:
    append(house, "Likes the smell of tar")
    append(house, "Likes the smell of tar")
    signed_in()
    goto(tab, "/log")
    script_runs(tab)
    fold = tab.locator("details").filter(has_text="1 that changed nothing")
    fold.locator("summary").click()
    expect(fold.get_by_role("article")).to_be_visible()
    tab.locator("h1").click()
    tab.evaluate("document.activeElement.blur()")

    append(house, "Whistles before rain")

    expect(tab.locator("#records")).to_contain_text("Whistles before rain")
    expect(fold.get_by_role("article")).to_be_visible()


def test_the_status_line_tells_when_the_daemon_ends_and_comes_back(
    signed_in: Web, house: Outside, tab: "Page"
) -> None:
    state = tab.locator("#state")
    with house.daemon() as daemon:
        signed_in()
        expect(state).to_contain_text("Live")
        tab.evaluate("window.sameDocument = true")
        daemon.kill()
        expect(state).to_contain_text("Not watching")
    with house.daemon() as daemon:
        expect(state).to_contain_text("Live")
        append(house, "Whistles before rain")
        expect(tab.locator("#new")).to_contain_text("Whistles before rain")
    assert tab.evaluate("window.sameDocument") is True


def test_the_page_tells_when_its_server_ends_and_comes_back(
    signed_in: Web, house: Outside, tab: "Page"
) -> None:
    append(house, "Likes the smell of tar")
    process = signed_in()
    script_runs(tab)
    button = tab.get_by_role("button", name="Undo: ")
    expect(button).to_be_enabled()
    code, _ = process.stop()
    assert code == 0

    status = tab.locator("#status")
    expect(status).to_contain_text("offline: as of")
    expect(button).to_be_disabled()

    process.start()
    expect(status).not_to_contain_text("offline")
    expect(button).to_be_enabled()
    button.click()
    expect(tab.locator("#notice")).to_be_visible()


def test_twelve_tabs_share_one_stream(
    daemon: Running, signed_in: Web, house: Outside, context: "BrowserContext", tab: "Page"
) -> None:
    streams: list[Request] = []
    context.on("request", lambda request: "/events?" in request.url and streams.append(request))
    signed_in()
    opened = [tab, *tabs(context, tab.url, TABS - 1)]
    for page in opened:
        script_runs(page)

    append(house, "Likes the smell of tar")
    for page in opened:
        expect(page.locator("#new")).to_contain_text("smell of tar")
    [stream] = _open(streams)

    leader = stream.frame.page
    leader.close()
    others = [page for page in opened if page is not leader]
    assert len(others) == TABS - 1
    append(house, "Whistles before rain")
    for page in others:
        expect(page.locator("#new")).to_contain_text("Whistles before rain")
    [stream] = _open(streams)


def _open(streams: "list[Request]") -> "list[Request]":
    """The streams of tabs that are open. Nothing tells of the end of a closed tab's stream."""
    return [stream for stream in streams if not stream.frame.page.is_closed()]


def test_the_server_ends_at_once_although_twelve_tabs_are_open(
    signed_in: Web, context: "BrowserContext", tab: "Page"
) -> None:
    process = signed_in()
    for page in [tab, *tabs(context, tab.url, TABS - 1)]:
        script_runs(page)

    code, seconds = process.stop()

    assert code == 0
    assert seconds < 9, "uvicorn itself would wait ten seconds for the streams"
