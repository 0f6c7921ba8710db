"""Writes the blocks of a note: headings, paragraphs, lists, tables, code and front matter."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise

from markdown_it.token import Token

from vault_memory.addons.page.note_html.hidden_letters import code_point, replace_hidden, visible
from vault_memory.addons.page.note_html.link_resolver import HeadingIds, LinkResolver
from vault_memory.addons.page.note_html.note_parser import DEEPEST_TEXT, Limit, NoteParser, TooLong

MOST_HTML = 4 * 1024 * 1024
"""Letters of HTML for one note"""
_LOWEST_HEADING = 6
_WITH_LINE = frozenset({"p", "li", "blockquote", "table"})
"""Tags that have the line of the note where they begin"""
_ALIGNED: Mapping[object, str] = {
    f"text-align:{side}": f' class="{side}"' for side in ("left", "center", "right")
}
_BREAKS = {"softbreak": "\n", "hardbreak": "<br>\n", "hr": "<hr>\n"}
_LINK_END = "</a>"
_TASK = re.compile(r"^\[([ xX])\](?=\s)")
_CALLOUT = re.compile(r"^\[!([\w-]{1,30})\][+-]?(?=\s|$)")


class NoteWriter:
    """Writes one note. What is opened is closed in the order in which it must be."""

    def __init__(
        self,
        parser: NoteParser,
        links: LinkResolver,
        limit: Limit,
        front_lines: int,
        beside: Mapping[int, str],
    ) -> None:
        self._parser = parser
        self._links = links
        self._limit = limit
        self._front_lines = front_lines
        """Lines of front matter, which the parser does not count"""
        self._beside = beside
        self.edited = 0
        """The line of the item whose text is replaced by what is beside it"""
        self.lowered = 1
        """Levels by which each heading is lower on the page than in the note"""
        self._pieces: list[str] = []
        self._size = 0
        """Letters so far"""
        self._ends: list[str] = []
        """What closes each open element, the innermost last"""
        self._destination = ""
        self._link_start = 0
        """Letters before the text of the open link"""
        self._ids = HeadingIds()
        self._tools: list[str] = []
        """What comes beside the text of each open list item, until the writer gets there"""
        self._item_line = 0
        """The line of the item that has just begun; 0 after its first text"""
        self._anchored: set[int] = set()
        """Lines that have an anchor"""

    @property
    def html(self) -> str:
        """All that was written."""
        return "".join(self._pieces)

    def _add(self, html: str) -> None:
        # Fault: a mark is sixty times as long as the letter that it shows.
        self._size += len(html)
        if self._size > MOST_HTML:
            raise TooLong
        self._pieces.append(html)

    def write_front_matter(self, lines: Sequence[str]) -> None:
        """Write front matter as it is. It is not a heading with a rule above it."""
        # Fault: CommonMark reads its last line as the underline of a heading.
        if lines:
            attributes = attribute("class", "properties") + attribute("data-line", 1)
            code = _preformatted(attributes, "\n".join(lines))
            self._add(f"<details><summary>Properties</summary>{code}</details>")

    def write(self, tokens: Sequence[Token]) -> None:
        """Write blocks, or the text of one. Raises TooLong."""
        for opening, text in pairwise(tokens):
            if opening.type == "heading_open":
                opening.content = text.content
        for token in tokens:
            self._limit.check()
            if token.nesting > 0:
                start, end = self._element(token)
                self._add(start)
                self._ends.append(end)
                self._link_start = self._size if end == _LINK_END else self._link_start
            elif token.nesting < 0:
                self._close(token)
            elif token.type == "inline":
                self._write_text(token)
            else:
                self._add(self._leaf(token))

    # --- Elements -----------------------------------------------------------------------------

    def _element(self, token: Token) -> tuple[str, str]:
        """Return what opens an element, and what closes it."""
        # The paragraphs of a tight list.
        if token.hidden:
            return "", ""
        tag = token.tag
        attributes = self._line(token) if tag in _WITH_LINE else ""
        match token.type:
            case "link_open":
                return self._link(token)
            # Fault: ten thousand nested elements stop some browsers.
            case "em_open" | "strong_open" | "s_open" if token.level >= DEEPEST_TEXT:
                return escaped(token.markup), escaped(token.markup)
            case "heading_open":
                # The page has the first level: below its name, the note begins one lower.
                level = int(tag[1:]) + self.lowered
                tag = f"h{max(2, min(level, _LOWEST_HEADING))}"
                attributes = attribute("id", self._ids.next_id(token.content))
                attributes += attribute("data-line", self._line_number(token))
            case "list_item_open":
                self._item_line = self._line_number(token)
                self._tools.append(self._beside.get(self._item_line, ""))
            case "ordered_list_open":
                attributes = attribute("start", token.attrs.get("start", 1))
            # The policy of the page allows no `style`.
            case "th_open" | "td_open":
                attributes = _ALIGNED.get(token.attrs.get("style"), "")
        return f"<{tag}{attributes}>", f"</{tag}>\n" if token.block else f"</{tag}>"

    def _close(self, token: Token) -> None:
        end = self._ends.pop()
        # Fault: a link without a text would be there, and not be seen.
        if end == _LINK_END and self._size == self._link_start:
            self._add(escaped(self._destination))
        if token.type == "list_item_close":
            self._item_line = 0
            end = self._tools.pop() + end
        self._add(end)
        # A loose item has several paragraphs, and its buttons once.
        if token.type == "paragraph_close" and self._tools:
            self._add(self._tools[-1])
            self._tools[-1] = ""

    def _link(self, token: Token) -> tuple[str, str]:
        """Return the ends of a link, or those of its text as it is written."""
        destination = str(token.attrs["href"])
        title = str(token.attrs.get("title", ""))
        url = self._links.url(destination)
        # Fault: `[<http://a>](http://b)` is a link within a link.
        if url is not None and _LINK_END not in self._ends:
            self._destination = destination
            return f"<a{_link_attributes(url, title)}>", _LINK_END
        if token.markup == "autolink":
            return "&lt;", "&gt;"
        quoted = f' "{title}"' if title else ""
        return "[", escaped(f"]({destination}{quoted})")

    # --- Text ---------------------------------------------------------------------------------

    def _write_text(self, token: Token) -> None:
        line, self._item_line = self._item_line, 0
        tokens = self._parser.inline(token.content)
        if tokens and line:
            tokens[0].content = _TASK.sub(_box, tokens[0].content)
        if tokens:
            tokens[0].content = _CALLOUT.sub(_kind, tokens[0].content)
        # The text of an item that is edited is in the form beside it.
        if not line or line != self.edited:
            self.write(tokens)

    def _leaf(self, token: Token) -> str:
        """Return the HTML of a token that has nothing in it."""
        text = escaped(token.content)
        match token.type:
            case "softbreak" | "hardbreak" | "hr":
                return _BREAKS[token.type]
            case "code_inline":
                return f"<code>{text}</code>"
            case "wiki_link":
                return f"<a{_link_attributes(str(token.attrs['href']), '')}>{text}{_LINK_END}"
            case "image":
                return _image(token)
            case "definition":
                return f"<p{attribute('class', 'definition')}{self._line(token)}>{text}</p>\n"
            case "fence" | "code_block":
                language = token.info.strip()
                info = attribute("data-info", language) if language else ""
                return _preformatted(self._line(token) + info, token.content)
        # Text, or a kind of token that a newer parser may have.
        return text

    # --- Lines --------------------------------------------------------------------------------

    def _line(self, token: Token) -> str:
        """Return the line, and an anchor for it on the first block that begins there."""
        line = self._line_number(token)
        anchor = "" if line in self._anchored else attribute("id", f"line-{line}")
        self._anchored.add(line)
        return attribute("data-line", line) + anchor

    def _line_number(self, token: Token) -> int:
        first_line = token.map[0] if token.map else 0
        return self._front_lines + first_line + 1


def _box(task: re.Match[str]) -> str:
    """Return the box of a task."""
    return "☐" if task[1] == " " else "☑"


def _kind(callout: re.Match[str]) -> str:
    """Return what a callout is, such as `Warning:`."""
    return f"{callout[1].capitalize()}:"


def _image(token: Token) -> str:
    """Return what an image is called. A loaded image would show its server who reads."""
    source = str(token.attrs["src"])
    place = f"{source} {token.attrs.get('title', '')}".strip()
    attributes = attribute("class", "image") + attribute("title", place)
    name = escaped(plain_text(token.children or ()) or source)
    return f"<span{attributes}>[image: {name}]</span>"


def _link_attributes(url: str, title: str) -> str:
    attributes = attribute("href", url)
    if not url.startswith(("#", "/")):
        attributes += attribute("rel", "noreferrer nofollow")
    return attributes + attribute("title", title) if title else attributes


def _preformatted(attributes: str, text: str) -> str:
    return f"<pre{attributes}><code>{escaped(text)}</code></pre>\n"


def escaped(text: str) -> str:
    """Return a text as HTML, with a mark in place of each hidden letter."""
    return replace_hidden(escape(text), _mark)


def attribute(name: str, value: object) -> str:
    """Return an attribute, with the blank before it. Marks in it are plain text."""
    return f' {name}="{escape(visible(str(value)))}"'


def _mark(letter: str) -> str:
    name = code_point(letter)
    return f'<span class="mark" title="{name}">⟨{name}⟩</span>'


def plain_text(tokens: Iterable[Token]) -> str:
    """Return the text of tokens without marks of emphasis and links."""
    return "".join(
        plain_text(token.children)
        if token.children
        else " " * (token.type == "softbreak") + token.content
        for token in tokens
    )
