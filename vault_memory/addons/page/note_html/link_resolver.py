"""Decides which links of a note become links of the page. All others stay text."""

import re
from collections.abc import Callable
from urllib.parse import unquote

from markdown_it.common.normalize_url import normalizeLink

from vault_memory.addons.page.note_html.hidden_letters import HIDDEN

NoteUrl = Callable[[str], str | None]
"""A link's target as the note has it → URL of that note; None where the session has none"""

LONGEST = 2000
"""Letters of a destination"""
MOST_TARGETS = 2000
"""Different notes that one note links to"""
ID_PREFIX = "h-"
"""Before each id, so that no heading of a note has the id of a part of the page"""

_LONGEST_ID = 80
_WEB = re.compile(r"(?:https?://|mailto:)[^/\\]", re.IGNORECASE)
_ODD_BLANK = re.compile(r"^\s|[\t\n]|\s$|^$")
_PRINTABLE = re.compile(r"[!-~]+")
_SCHEME_OR_HOST = re.compile(r"[^/?#]*:|[/\\]{2}")
_LOCAL_URL = re.compile(r"/(?![/\\])[^\x00-\x1f\x7f\\]*")
_NOT_IN_IDS = re.compile(r"[^\w\- ]+")
_BLANKS = re.compile(r"\s+")


class LinkResolver:
    """Turns the destinations in one note into URLs."""

    def __init__(self, note_url: NoteUrl) -> None:
        self._note_url = note_url
        self._urls: dict[str, str | None] = {}

    def url(self, destination: str) -> str | None:
        """Return the URL of a link `[text](destination)`; None when it must stay text."""
        if len(destination) > LONGEST or not _is_plain(destination):
            return None
        if destination.startswith("#"):
            return fragment(unquote(destination[1:]))
        if _WEB.match(destination):
            return _web_url(destination)
        # Fault: browsers read `//host` and `\\host` as another server.
        if _SCHEME_OR_HOST.match(destination):
            return None
        # A name can have `#` in it, written as `%23`.
        target, _, heading = destination.partition("#")
        return self.note_url(unquote(target), unquote(heading))

    def note_url(self, target: str, heading: str) -> str | None:
        """Return the URL of a heading in a note; without a target, in this note."""
        if not target:
            return fragment(heading) if heading else None
        url = self._resolved(target)
        if url is None or not heading:
            return url
        return url + fragment(heading)

    def _resolved(self, target: str) -> str | None:
        """Ask once for each target."""
        if target not in self._urls:
            # Fault: a hostile note links to a hundred thousand names, each of them a
            # query.
            if len(self._urls) >= MOST_TARGETS:
                return None
            self._urls[target] = self._safe_url(target)
        return self._urls[target]

    def _safe_url(self, target: str) -> str | None:
        url = self._note_url(target)
        if url is None or not _LOCAL_URL.fullmatch(url):
            return None
        return url


def _is_plain(destination: str) -> bool:
    """Return whether a destination is what it looks like.

    Browsers drop tabs and line breaks within a URL, and blanks and controls at its ends.
    """
    if _ODD_BLANK.search(destination):
        return False
    return HIDDEN.search(destination) is None


def _web_url(destination: str) -> str | None:
    """Return a destination on the web with each foreign letter encoded."""
    # Fault: the encoder reads `HTTPS` as a scheme without a host.
    scheme, _, address = destination.partition(":")
    url = normalizeLink(f"{scheme.lower()}:{address}")
    if _WEB.match(url) and _PRINTABLE.fullmatch(url):
        return url
    return None


# --- Ids of headings --------------------------------------------------------------------------


def fragment(heading: str) -> str:
    """Return the URL of a heading on the same page."""
    return f"#{heading_id(heading)}"


def heading_id(text: str) -> str:
    """Return the id of a heading: its words in lower case, joined by hyphens."""
    words = _NOT_IN_IDS.sub("", text.lower())
    joined = _BLANKS.sub("-", words.strip())
    return ID_PREFIX + (joined[:_LONGEST_ID] or "section")


class HeadingIds:
    """Gives each heading of a page an id of its own."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def next_id(self, text: str) -> str:
        """Return the id for the next heading."""
        base = heading_id(text)
        count = self._counts.get(base, 0)
        candidate = f"{base}-{count}" if count else base
        # Fault: a heading may be called as another one is counted: `a`, `a-1`, `a`.
        while count and candidate in self._counts:
            count += 1
            candidate = f"{base}-{count}"
        self._counts[base] = count + 1
        self._counts.setdefault(candidate, 1)
        return candidate
