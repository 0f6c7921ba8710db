"""Every view: axe, light and dark, with all folds open, on a narrow screen, full and empty."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import pytest

from tests.browser import acts
from tests.browser.acts import expect, goto, script_runs
from tests.browser.conftest import SCREENSHOTS, open_link
from tests.browser.web_process import WebProcess
from tests.scenarios.outside import Outside, at
from vault_memory.addons.page.page_routes import ROUTES

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page, ViewportSize

Web = Callable[..., WebProcess]
TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]
AXE = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
DESK: "ViewportSize" = {"width": 1280, "height": 800}
PHONE: "ViewportSize" = {"width": 320, "height": 640}
"""Also what a screen of 1,280 pixels shows at 400 %"""
VIEWS = sorted({route.path for route in ROUTES if route.method == "GET"})
MISSING = "not-here"
QUERIES = {
    "/": (f"?done={MISSING}",),
    "/search": ("?q=key", f"?q={MISSING}", "?q=key&kind=facts&since=2026-04-01"),
    "/prompt": ("?prompt=where+is+the+spare+key&channel=harbour",),
    "/about": ("?name=mira", "?name=petrel"),
    "/facts": ("?entity=mira", f"?entity={MISSING}"),
    "/source": (f"?ref={acts.USER}:9", f"?ref={MISSING}"),
    "/log": (f"?note={acts.USER}", f"?note={MISSING}"),
}
"""Path → what else it shows, beside the view without a query"""
SHOTS = {
    "/": "today",
    "/search?q=key": "search",
    "/facts?entity=mira": "facts",
    "/about?name=mira": "about",
    "/inbox": "inbox",
    "/nights": "nights",
    "/prompt?prompt=where+is+the+spare+key&channel=harbour": "prompt",
    f"/note/{acts.USER}": "note",
    f"/edit/{acts.USER}": "edit",
    f"/history/{acts.USER}": "history",
}
NO_SHOTS: Mapping[str, str] = {}
OPEN_FOLDS = """() => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
}"""
TOO_WIDE = """() => {
    const width = document.documentElement.scrollWidth;
    if (width <= innerWidth) return "";
    const wide = [...document.querySelectorAll("body *")]
        .filter((part) => part.getBoundingClientRect().right > innerWidth)
        .map((part) => `${part.localName}.${part.className}`);
    return `${width}: ${[...new Set(wide)].slice(0, 8).join(", ")}`;
}"""
FAULTS = """() => {
    const part = document.createElement("div");
    part.style.width = "900px";
    part.append("wide", document.createElement("input"));
    document.querySelector("main").append(part);
    document.getElementById("state").style.color = "#777";
}"""


@pytest.fixture
def full_house(house: Outside) -> Outside:
    """The sample vault after edits, a night, a proposal, a conflict and a thrown note."""
    acts.learn(house)
    acts.append(house, "Likes the smell of tar")
    acts.throw_away(house)
    acts.propose(house)
    acts.leave_conflict_copy(house)
    return house


@pytest.fixture
def empty_house(tmp_path: "Path") -> Outside:
    """A vault without a note."""
    folder = tmp_path / "empty"
    folder.mkdir()
    outside = at(folder)
    outside.ok("init")
    return outside


def test_everybody_can_read_every_view_of_a_full_vault(
    full_house: Outside, signed_in: Web, tab: "Page"
) -> None:
    signed_in()
    goto(tab, "/doctor")
    tab.get_by_role("button", name="Check now").click()
    expect(tab.get_by_text("in order").first).to_be_visible()

    problems = _problems(tab, _addresses(full_house), SHOTS)

    assert not problems, "\n".join(problems)


def test_everybody_can_read_every_view_of_an_empty_vault(empty_house: Outside, tab: "Page") -> None:
    process = WebProcess(empty_house)
    try:
        tab.goto(process.start())
        problems = problems_here(tab, "/open")
        open_link(tab, process.link())
        problems += _problems(tab, _addresses(empty_house))
    finally:
        process.end()

    assert not problems, "\n".join(problems)


def test_everybody_can_read_the_answers_to_buttons(
    full_house: Outside, signed_in: Web, tab: "Page"
) -> None:
    signed_in()
    problems = []
    script_runs(tab)
    tab.keyboard.press("?")
    expect(tab.get_by_role("dialog")).to_be_visible()
    problems += problems_here(tab, "the keys")
    tab.keyboard.press("Escape")

    tab.get_by_role("button", name="Undo the night of").click()
    expect(tab.locator("main")).to_contain_text("Nothing was changed yet")
    problems += problems_here(tab, "what a night would undo")
    tab.get_by_role("button", name="Undo the night").click()
    expect(tab.locator("#notice")).to_be_focused()
    problems += problems_here(tab, "a night undone")

    goto(tab, f"/edit/{acts.USER}")
    box = tab.get_by_role("textbox", name="Text")
    box.fill(box.input_value().replace("some honey", "a spoon of honey"))
    note = full_house.vault / acts.USER
    note.write_text(note.read_text("utf-8").replace("some honey", "no honey"), "utf-8")
    tab.get_by_role("button", name="Save").click()
    expect(tab.get_by_role("alert")).to_be_visible()
    problems += problems_here(tab, "a conflict of a save")
    tab.get_by_role("button", name="Save").click()
    expect(tab.locator("#notice")).to_be_visible()
    problems += problems_here(tab, "the notice of a save")

    assert not problems, "\n".join(problems)


def test_a_view_with_faults_is_noticed(signed_in: Web, tab: "Page") -> None:
    signed_in()
    script_runs(tab)
    tab.evaluate(FAULTS)

    problems = problems_here(tab, "/")

    assert any("color-contrast" in problem for problem in problems)
    assert any("label" in problem for problem in problems)
    assert any("wider than" in problem for problem in problems)


def _addresses(house: Outside) -> Iterator[str]:
    """Each view, with examples for the fields of its path, and for its query."""
    for path in VIEWS:
        for example in _examples(path, house):
            yield example
            for query in QUERIES.get(path, ()):
                yield example + query


def _examples(path: str, house: Outside) -> Iterator[str]:
    before, brace, field = path.partition("{")
    if not brace:
        yield path
        return
    values = {
        "night}": [acts.NIGHT],
        "note}": [acts.USER, acts.FACTS, "memory/electricity.md"],
        "name}": ["mira", "petrel"],
        "id}": [copy["id"] for copy in house.ok("conflicts")["items"]],
    }
    # A view with another field needs an example here.
    for value in (*values[field], MISSING):
        yield before + quote(value)


def _problems(
    tab: "Page", addresses: Iterator[str], shots: Mapping[str, str] = NO_SHOTS
) -> list[str]:
    problems = []
    for address in addresses:
        status = goto(tab, address)
        assert status < 500, address
        if name := shots.get(address, ""):
            _take(tab, name)
        problems += problems_here(tab, address)
    return problems


def problems_here(tab: "Page", address: str) -> list[str]:
    """What is wrong with the view that the tab shows."""
    from axe_playwright_python.sync_playwright import Axe

    problems = []
    tab.set_viewport_size(DESK)
    tab.evaluate(OPEN_FOLDS)
    for scheme in SCHEMES:
        tab.emulate_media(color_scheme=scheme)
        answer = Axe().run(tab, options=AXE).response
        assert answer["passes"]
        problems += [f"{scheme}: {_described(violation)}" for violation in answer["violations"]]
    tab.set_viewport_size(PHONE)
    if too_wide := tab.evaluate(TOO_WIDE):
        problems.append(f"wider than {PHONE['width']} pixels: {too_wide}")
    return [f"{address}: {problem}" for problem in problems]


def _take(tab: "Page", name: str) -> None:
    """Keeps pictures of a view for the reader of the test run."""
    for screen, size in (("desk", DESK), ("phone", PHONE)):
        tab.set_viewport_size(size)
        for scheme in SCHEMES:
            tab.emulate_media(color_scheme=scheme)
            file = SCREENSHOTS / f"{name}-{screen}-{scheme}.png"
            tab.screenshot(path=file)


def _described(violation: dict[str, Any]) -> str:
    places = [node["html"][:120] for node in violation["nodes"][:3]]
    return f"{violation['id']} ({violation['impact']}): {places}"
