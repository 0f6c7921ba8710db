"""Collects HTML. Tags are closed in the order in which they must be, so it is well-formed."""

from html import escape

from vault_memory.addons.page.note_html.hidden_letters import code_point, replace_hidden, visible
from vault_memory.addons.page.note_html.note_parser import TooLong

MOST_HTML = 4 * 1024 * 1024
"""Letters of HTML for one note"""


def escaped(text: str) -> str:
    """Return a text as HTML, with a mark in place of each hidden letter."""
    return replace_hidden(escape(text), _mark)


def attribute(name: str, value: object) -> str:
    """Return an attribute, with the blank before it. Marks in it are plain text."""
    text = visible(str(value))
    return f' {name}="{escape(text)}"'


def _mark(letter: str) -> str:
    name = code_point(letter)
    return f'<span class="mark" title="{name}">⟨{name}⟩</span>'


class HtmlOutput:
    """The HTML of one note as it grows."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._ends: list[str] = []
        """What closes each open element, the innermost last"""
        self.size = 0
        """Letters so far"""

    @property
    def html(self) -> str:
        """All of it. Every element must be closed."""
        assert not self._ends
        return "".join(self._pieces)

    def add(self, html: str) -> None:
        """Add trusted HTML. Raises TooLong."""
        # Fault: a mark is sixty times as long as the letter that it shows.
        self.size += len(html)
        if self.size > MOST_HTML:
            raise TooLong
        self._pieces.append(html)

    def text(self, text: str) -> None:
        """Add a text of the note."""
        self.add(escaped(text))

    def open(self, tag: str, attributes: str = "", *, after: str = "") -> None:
        """Open an element. `after` follows its end, such as a line break."""
        self.open_between(f"<{tag}{attributes}>", f"</{tag}>{after}")

    def open_between(self, start: str, end: str) -> None:
        """Add the start, and later, when it is closed, the end."""
        self.add(start)
        self._ends.append(end)

    def close(self) -> None:
        """Close the innermost element."""
        self.add(self._ends.pop())
