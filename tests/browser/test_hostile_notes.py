"""Hostile notes in a real browser: they run nothing, load nothing, and ask nothing."""

import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from tests.addons.page.test_markdown_properties import FRAGMENTS, rendered
from tests.browser.acts import expect, goto, script_runs
from tests.browser.web_process import WebProcess
from tests.effort import cases
from tests.scenarios.outside import Outside
from vault_memory.addons.page import render

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

Web = Callable[..., WebProcess]
NOTES = 2000
NOTES_OF_A_DOCUMENT = 100
LONGEST = 30
"""Fragments of a note"""
NAME = 'memory/x" onmouseover=alert(1) <img src=x onerror=alert(2)> ‮txt.md'
ATTACKS = """# <script>alert(3)</script>

- <img src="https://evil.example/x.png" onerror="alert(4)">
- ![picture](https://evil.example/y.png) [link](javascript:alert(5))
- {{ 7*7 }} [[x|<svg onload=alert(6)>]] &#60;script>alert(7)&#60;/script>
- <style>@import "https://evil.example/z.css"</style>

<iframe src="https://evil.example/"></iframe>
"""


def hostile_notes() -> Iterator[str]:
    """Notes made of what attacks and damaged files have."""
    numbers = random.Random(16)
    for _ in range(cases(NOTES)):
        yield "".join(numbers.choices(FRAGMENTS, k=numbers.randint(1, LONGEST)))


def test_hostile_notes_run_and_load_nothing(signed_in: Web, tab: "Page") -> None:
    signed_in()
    notes = hostile_notes()
    documents = [
        "".join(
            f"<section>{rendered(note)}</section>" for note in islice(notes, NOTES_OF_A_DOCUMENT)
        )
        for _ in range(cases(NOTES) // NOTES_OF_A_DOCUMENT)
    ]
    assert documents

    def answer(route: "Route") -> None:
        number = int(route.request.url.rpartition("/")[2])
        body = f"<!doctype html><title>x</title><main>{documents[number]}</main>"
        headers = {**render.HEADERS, "content-type": "text/html; charset=utf-8"}
        route.fulfill(body=body, headers=headers)

    tab.route("**/hostile/*", answer)
    for number in range(len(documents)):
        assert goto(tab, f"/hostile/{number}") == 200
        loaded = tab.locator("script, img, iframe, style, link, object, embed, form")
        assert loaded.count() == 0
        # Each note ended inside of its section.
        assert tab.locator("main > section").count() == NOTES_OF_A_DOCUMENT


def test_a_hostile_note_is_only_text_in_every_view(
    signed_in: Web, house: Outside, tab: "Page"
) -> None:
    house.write(NAME, ATTACKS)
    house.ok("index")
    signed_in()
    goto(tab, "/notes")
    tab.get_by_role("link", name="onmouseover").click()

    # What the browser would run, load or ask fails the test at its end.
    main = tab.locator("main")
    expect(main).to_contain_text("<script>alert(3)</script>")
    expect(main).to_contain_text("{{ 7*7 }}")
    expect(main.locator("img, iframe, style, script")).to_have_count(0)
    for name in ("Versions", "Changes", "Edit"):
        script_runs(tab)
        main.get_by_role("link", name=name, exact=True).click()
        expect(tab.locator("h1")).to_be_visible()
        if name != "Edit":
            tab.go_back()
    expect(tab.get_by_role("textbox", name="Text")).to_have_value(ATTACKS)
    goto(tab, "/search?q=picture+link")
    expect(tab.locator("#hits")).to_contain_text("onerror")
