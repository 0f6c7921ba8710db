"""Six places on each view, the tabs of each, and the box for searching."""

import re

import pytest

from tests.addons.page.served_page import ServedPage
from vault_memory.addons.page.navigation import NavigationTab, entries, tabs_at
from vault_memory.addons.page.page_routes import ROUTES

PLAIN = [route.path for route in ROUTES if route.method == "GET" and "{" not in route.path]
BELOW = ["/note/MEMORY.md", "/edit/MEMORY.md", "/history/MEMORY.md", "/people/petrel"]
WITHOUT_FRAME = ("/connection",)
OUTSIDE = ("/search", *WITHOUT_FRAME)


def views_of(text: str) -> str:
    """The navigation of a view."""
    found = re.search(r'<nav aria-label="Views".*?</nav>', text, re.DOTALL)
    assert found, text[:2000]
    return found[0]


@pytest.mark.parametrize("path", [path for path in PLAIN if path not in WITHOUT_FRAME] + BELOW)
def test_each_view_has_six_places_and_is_in_one_of_them(page: ServedPage, path: str) -> None:
    answer = page.browser().get(path)

    assert answer.status_code in (200, 404)
    if "Views" not in answer.text:
        # A view that is not offered now has no frame.
        assert answer.status_code == 404
        return
    views = views_of(answer.text)
    assert views.count("<li>") == 6
    is_search = path == "/search"
    assert views.count("aria-current") == (0 if is_search else 1)
    assert ('id="find"' in answer.text) is not is_search


def test_a_person_sees_no_tab_of_the_whole_vault(page: ServedPage) -> None:
    text = page.browser("mira").get("/sync").text

    assert 'href="/doctor"' not in text
    assert 'href="/doctor"' in page.browser().get("/sync").text


def test_every_view_with_a_frame_belongs_to_a_place() -> None:
    settings = [
        NavigationTab(path, path) for path in ("/sync", "/setup", "/doctor", "/connections")
    ]
    places = entries(0, settings)

    for path in [*PLAIN, *BELOW, "/nights/2026-05-27", "/conflicts/x"]:
        owners = [place.name for place in places if place.has(path)]
        assert len(owners) == (0 if path in OUTSIDE else 1), path


def test_one_tab_is_marked_and_a_place_with_one_view_has_none() -> None:
    places = entries(3, [NavigationTab("/sync", "Sync")])

    assert [tab.name for tab in tabs_at("/people/petrel", places) if tab.is_here] == [
        "People and things"
    ]
    assert [tab.is_here for tab in tabs_at("/note/MEMORY.md", places)] == [False] * 4
    assert tabs_at("/", places) == tabs_at("/sync", places) == []
    assert [place.waiting for place in places] == [0, 0, 3, 0, 0, 0]
