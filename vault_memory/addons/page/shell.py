"""What is around each view: navigation with its counts, the state of the vault, the notice."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from vault_memory.addons.page.browser_sessions import BrowserSession
from vault_memory.addons.page.page_answers import page_path
from vault_memory.addons.page.viewer import Viewer

ERROR_TITLES: Mapping[int, str] = {
    400: "Not understood",
    401: "Sign in",
    403: "Not allowed",
    404: "Not here",
    405: "Not here",
    409: "Not done",
    413: "Too long",
    415: "Not understood",
    421: "Another server",
    429: "Too often",
    503: "Not now",
}
"""Status → the title of the view of an error"""


class NavigationLink(NamedTuple):
    """An entry of the navigation."""

    path: str
    name: str
    waiting: int = 0
    """how many things wait there"""
    key: str = ""
    """after `g`, the key that leads there"""


def frame(viewer: Viewer, session: BrowserSession, path: str, record_id: str) -> dict[str, Any]:
    """Returns what the template `base.html` shows around a view."""
    counts = viewer.counts()
    links = [
        NavigationLink("/", "Today", key="t"),
        NavigationLink("/search", "Search", key="s"),
        NavigationLink("/notes", "Notes", key="n"),
        NavigationLink("/inbox", "Inbox", counts.proposals, key="i"),
        NavigationLink("/conflicts", "Conflicts", counts.conflicts, key="c"),
        NavigationLink("/facts", "Facts", key="f"),
        NavigationLink("/people", "People"),
        NavigationLink("/about", "About me"),
        NavigationLink("/prompt", "Prompt", key="p"),
        NavigationLink("/log", "Log", key="l"),
        NavigationLink("/nights", "Nights"),
        NavigationLink("/sync", "Sync"),
        NavigationLink("/trash", "Trash"),
    ]
    if viewer.sees_all:
        links.append(NavigationLink("/doctor", "Doctor"))
    if viewer.offers_setup():
        links.append(NavigationLink("/setup", "Set up"))
    return {
        "links": links,
        "path": path,
        "here": page_path(path),
        "csrf": session.csrf,
        "may_write": viewer.may_write,
        "state": viewer.state(),
        "notice": viewer.notice(record_id) if record_id else None,
    }
