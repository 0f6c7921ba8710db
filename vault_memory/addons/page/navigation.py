"""The entries of the navigation, and the tabs of each: six places, and every view in one of them."""

from collections.abc import Sequence
from typing import NamedTuple


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


def entries(waiting: int, settings: Sequence[NavigationTab]) -> list[NavigationEntry]:
    """Returns the entries; `settings` are the tabs that this session has there."""
    return [
        NavigationEntry("Home", (NavigationTab("/", "Home"),)),
        NavigationEntry(
            "Memory",
            (
                NavigationTab("/about", "What is known"),
                NavigationTab("/facts", "Facts"),
                NavigationTab("/people", "People and things"),
                NavigationTab("/notes", "All notes"),
            ),
            ("/note", "/edit", "/history", "/source"),
        ),
        NavigationEntry(
            "Review",
            (NavigationTab("/inbox", "Proposals"), NavigationTab("/conflicts", "Conflicts")),
            ("/resolve",),
            waiting,
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


def tabs_at(path: str, places: Sequence[NavigationEntry]) -> list[NavigationTab]:
    """Returns the tabs around a view; none where there is but one."""
    for entry in places:
        if entry.has(path) and len(entry.tabs) > 1:
            return [tab._replace(is_here=_is_below(path, tab.path)) for tab in entry.tabs]
    return []
