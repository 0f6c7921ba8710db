"""Tells from the source of a turn whose words it has, when nobody says so. Pure.

Only by talking, at a terminal, on the page and through hooks does the owner speak. Hooks name the
owner themselves. A mail or a feed has the words of others, and so may have an unknown source.
"""

import re

from vault_memory.contract import Origin

OWN_SOURCES = frozenset({"talk", "chat", "cli", "terminal", "voice", "page"})
"""The ways by which a person speaks"""
_SOURCES: dict[Origin, str] = {
    "email": "email mail e-mail imap smtp inbox newsletter",
    "web": "web www rss atom feed website browser url crawl crawler scrape scraper news wiki",
    "document": "import document doc docs file files pdf upload scan ocr attachment download clip",
    "tool": "tool mcp plugin function shell",
    "channel": "channel group forum",
}
_ORIGINS: dict[str, Origin] = {
    word: origin for origin, words in _SOURCES.items() for word in words.split()
}
_BREAKS = re.compile(r"[-_]")


def origin_of(source: str) -> Origin:
    """Returns whose words a source has: of a name such as `web-clip` by its first known word."""
    if source in OWN_SOURCES:
        return "owner"
    words = [source, *_BREAKS.split(source)]
    return next((_ORIGINS[word] for word in words if word in _ORIGINS), "person")
