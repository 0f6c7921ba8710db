"""Six places on each view, the tabs of each, and the box for searching."""

import re

import pytest

from tests.addons.page.served_page import ServedPage
from vault_memory.addons.page.navigation import (
    NavigationEntry,
    NavigationTab,
    entries,
    memory_tabs,
    tabs_at,
)
from vault_memory.addons.page.page_routes import ROUTES

PLAIN = [route.path for route in ROUTES if route.method == "GET" and "{" not in route.path]
BELOW = ["/note/MEMORY.md", "/edit/MEMORY.md", "/history/MEMORY.md", "/people/petrel"]
WITHOUT_FRAME = ("/connection",)
LEADS_ON = "/conflicts"
"""It is a part of the review"""


def views_of(text: str) -> str:
    """The navigation of a view."""
    found = re.search(r'<nav aria-label="Views".*?</nav>', text, re.DOTALL)
    assert found, text[:2000]
    return found[0]


@pytest.mark.parametrize(
    "path", [path for path in PLAIN if path not in (*WITHOUT_FRAME, LEADS_ON)] + BELOW
)
def test_each_view_has_six_places_and_is_in_one_of_them(page: ServedPage, path: str) -> None:
    answer = page.browser().get(path)

    assert answer.status_code in (200, 404)
    if "Views" not in answer.text:
        # A view that is not offered now has no frame.
        assert answer.status_code == 404
        return
    views = views_of(answer.text)
    assert views.count("<li>") == 6
    assert views.count("aria-current") == 1
    assert answer.text.count('id="find"') == 1


def test_a_person_sees_no_tab_of_the_whole_vault(page: ServedPage) -> None:
    text = page.browser("mira").get("/sync").text

    assert 'href="/doctor"' not in text
    assert 'href="/doctor"' in page.browser().get("/sync").text


def test_every_view_with_a_frame_belongs_to_a_place() -> None:
    settings = [
        NavigationTab(path, path) for path in ("/sync", "/setup", "/doctor", "/connections")
    ]
    places = entries(0, memory_tabs([], []), settings)

    for path in [*PLAIN, *BELOW, "/nights/2026-05-27", "/conflicts/x"]:
        owners = [place.name for place in places if place.has(path)]
        assert len(owners) == (0 if path in WITHOUT_FRAME else 1), path


def test_one_tab_is_marked_and_a_place_with_one_view_has_none() -> None:
    memory = memory_tabs(["mira", "tomas"], ["harbour"])
    places = entries(3, memory, [NavigationTab("/sync", "Sync")])

    names = ["Mira", "Tomas", "#harbour", "People and things", "All notes"]
    assert [tab.name for tab in memory] == names
    assert _marked("/people/petrel", "/people/petrel", places) == ["People and things"]
    assert _marked("/about", "/about?name=tomas", places) == ["Tomas"]
    assert _marked("/note/MEMORY.md", "/note/MEMORY.md", places) == []
    assert tabs_at("/", "/", places) == tabs_at("/sync", "/sync", places) == []
    assert [place.waiting for place in places] == [0, 0, 3, 0, 0, 0]


def test_a_vault_of_many_people_has_few_tabs() -> None:
    memory = memory_tabs([f"person{number}" for number in range(400)], ["harbour"])

    assert [tab.path for tab in memory[6:]] == ["/about", "/people", "/notes"]


def _marked(path: str, tab: str, places: list[NavigationEntry]) -> list[str]:
    return [each.name for each in tabs_at(path, tab, places) if each.is_here]
