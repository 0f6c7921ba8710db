"""What a view returns: data for a template, or the place where the browser goes next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from vault_memory.errors import VaultMemoryError


class NotHere(VaultMemoryError):
    """There is no such view, or nothing of this name for this session."""

    http_status = 404

    def __init__(
        self, message: str = "there is nothing here", hint: str = "go back to the page"
    ) -> None:
        super().__init__(message, hint=hint)


@dataclass(frozen=True, slots=True)
class PageView:
    """A template with its data."""

    template: str
    title: str
    """the name of the view: its `<title>` and its `<h1>`"""
    data: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Redirect:
    """The view that the browser asks for after a POST."""

    to: str
    """a path of the page, from `page_path`"""
    done: str = ""
    """the id of the audit record that the next view shows"""

    def location(self) -> str:
        """Returns the path with the id of the record."""
        if not self.done:
            return self.to
        path, hash_mark, fragment = self.to.partition("#")
        joint = "&" if "?" in path else "?"
        done = urlencode({"done": self.done})
        return f"{path}{joint}{done}{hash_mark}{fragment}"


Answer = PageView | Redirect


def page_path(path: str, **query: object) -> str:
    """Returns a path of the page, such as `/note/USER.md?done=…`; empty values are left out."""
    # A file's name may have bytes that are not UTF-8.
    escaped = quote(path, safe="/", errors="surrogatepass")
    pairs = [(name, value) for name, value in query.items() if value not in ("", None)]
    text = urlencode(pairs, doseq=True, errors="surrogatepass")
    return f"{escaped}?{text}" if text else escaped


def note_path(note: str, view: str = "note", **query: object) -> str:
    """Returns the path of a view of a note."""
    return page_path(f"/{view}/{note}", **query)
