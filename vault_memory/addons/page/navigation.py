"""The entries of the navigation, and the tabs of each: six places, and every view in one of them."""

from collections.abc import Sequence
from typing import NamedTuple

from vault_memory.addons.page.page_answers import page_path
from vault_memory.addons.page.wording import person


class NavigationTab(NamedTuple):
    """A view that one chooses within an entry."""

    path: str
    name: str
    is_here: bool = False


class NavigationEntry(NamedTuple):
    """A place that each view offers."""

    name: str
    tabs: tuple[NavigationTab, ...]
    """the first one is where the entry leads"""
    within: tuple[str, ...] = ()
    """beginnings of the paths of its other views"""
    waiting: int = 0
    """how many things wait there"""

    @property
    def path(self) -> str:
        """Where the entry leads"""
        return self.tabs[0].path

    def has(self, path: str) -> bool:
        """Returns whether a view belongs to this entry."""
        return any(_is_below(path, start) for start in (*self.within, *self._starts()))

    def _starts(self) -> Sequence[str]:
        return [tab.path for tab in self.tabs]


def _is_below(path: str, start: str) -> bool:
    return path == start or (start != "/" and path.startswith(f"{start}/"))


MOST_SCOPES = 6
"""Tabs of people and channels; `/about` names all"""


def memory_tabs(people: Sequence[str], channels: Sequence[str]) -> list[NavigationTab]:
    """Returns the tabs of what is remembered: a tab a person, a channel, and the lists of all."""
    named = [NavigationTab(page_path("/about", name=name), person(name)) for name in people]
    named += [NavigationTab(page_path("/about", channel=name), f"#{name}") for name in channels]
    if len(named) > MOST_SCOPES:
        named[MOST_SCOPES:] = [NavigationTab("/about", "All")]
    return [
        *named,
        NavigationTab("/people", "People and things"),
        NavigationTab("/notes", "All notes"),
    ]


def entries(
    waiting: int, memory: Sequence[NavigationTab], settings: Sequence[NavigationTab]
) -> list[NavigationEntry]:
    """Returns the entries; `memory` and `settings` are the tabs that this session has there."""
    return [
        NavigationEntry("Home", (NavigationTab("/", "Home"),)),
        NavigationEntry(
            "Memory",
            tuple(memory),
            (
                *("/about", "/facts", "/people", "/note", "/notes"),
                *("/edit", "/history", "/source", "/search"),
            ),
        ),
        NavigationEntry(
            "Review", (NavigationTab("/inbox", "Review"),), ("/conflicts", "/resolve"), waiting
        ),
        NavigationEntry(
            "Changes",
            (
                NavigationTab("/log", "Changes"),
                NavigationTab("/nights", "Nights"),
                NavigationTab("/trash", "Trash"),
            ),
        ),
        NavigationEntry("Prompt", (NavigationTab("/prompt", "Prompt"),)),
        NavigationEntry("Settings", tuple(settings), ("/connections", "/setup", "/doctor")),
    ]


def tabs_at(path: str, tab: str, places: Sequence[NavigationEntry]) -> list[NavigationTab]:
    """Returns the tabs around the view at `path`, which belongs to the tab with the path `tab`.

    There are none where a place has but one view.
    """
    for entry in places:
        if entry.has(path) and len(entry.tabs) > 1:
            return [each._replace(is_here=_is_below(tab, each.path)) for each in entry.tabs]
    return []
