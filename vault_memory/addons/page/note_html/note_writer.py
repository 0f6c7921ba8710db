"""Writes the blocks of a note: headings, paragraphs, lists, tables, code and front matter."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from markdown_it.token import Token

from vault_memory.addons.page.note_html.hidden_letters import code_point, replace_hidden, visible
from vault_memory.addons.page.note_html.link_resolver import HeadingIds, LinkResolver
from vault_memory.addons.page.note_html.note_parser import DEEPEST_TEXT, Limit, NoteParser, TooLong

_BLOCKS = {"blockquote_open": "blockquote", "table_open": "table"}
_GROUPS = {"bullet_list_open": "ul", "thead_open": "thead", "tbody_open": "tbody", "tr_open": "tr"}
_CELLS = {"th_open": "th", "td_open": "td"}
_ALIGNED = {"text-align:left": "left", "text-align:center": "center", "text-align:right": "right"}
_LOWEST_HEADING = 6
_TASK = re.compile(r"^\[([ xX])\](?=\s)")
_CALLOUT = re.compile(r"^\[!([\w-]{1,30})\][+-]?(?=\s|$)")
MOST_HTML = 4 * 1024 * 1024
"""Letters of HTML for one note"""


class NoteWriter:
    """Writes one note."""

    def __init__(
        self,
        parser: NoteParser,
        links: LinkResolver,
        limit: Limit,
        front_lines: int,
        beside: Mapping[int, str],
    ) -> None:
        self._parser = parser
        self._limit = limit
        self._front_lines = front_lines
        """Lines of front matter, which the parser does not count"""
        self._beside = beside
        self.edited = 0
        """The line of the item whose text is replaced by what is beside it"""
        self.lowered = 1
        """Levels by which each heading is lower on the page than in the note"""
        self._output = HtmlOutput()
        self._text = TextWriter(self._output, links)
        self._ids = HeadingIds()
        self._tools: list[str] = []
        """What comes beside the text of each open list item, until the writer gets there"""
        self._is_item_start = False
        self._item_line = 0
        """The line of the innermost item"""
        self._anchored: set[int] = set()
        """Lines that have an anchor"""
        self._writers = self._writers_of_types()

    def _writers_of_types(self) -> dict[str, Callable[[Token], None]]:
        writers: dict[str, Callable[[Token], None]] = {
            "inline": self._inline,
            "paragraph_open": self._paragraph,
            "paragraph_close": self._paragraph_end,
            "ordered_list_open": self._ordered_list,
            "list_item_open": self._item,
            "list_item_close": self._item_end,
            "fence": self._code,
            "code_block": self._code,
            "definition": self._definition,
            "hr": self._rule,
        }
        writers |= dict.fromkeys(_BLOCKS, self._block)
        writers |= dict.fromkeys(_GROUPS, self._group)
        writers |= dict.fromkeys(_CELLS, self._cell)
        return writers

    @property
    def html(self) -> str:
        """All that was written."""
        return self._output.html

    def write_front_matter(self, lines: Sequence[str]) -> None:
        """Write front matter as it is. It is not a heading with a rule above it."""
        # Fault: CommonMark reads its last line as the underline of a heading.
        if lines:
            attributes = attribute("class", "properties") + attribute("data-line", 1)
            self._output.open("details")
            self._output.add("<summary>Properties</summary>")
            self._preformatted(attributes, "\n".join(lines))
            self._output.close()

    def write_blocks(self, tokens: Sequence[Token]) -> None:
        """Write all blocks. Raises TooLong."""
        for number, token in enumerate(tokens):
            self._limit.check()
            if token.type == "heading_open":
                following = tokens[number + 1]
                self._heading(token, following.content)
            else:
                self._write(token)

    def _write(self, token: Token) -> None:
        writer = self._writers.get(token.type)
        if writer is not None:
            writer(token)
        elif token.nesting < 0:
            self._output.close()
        else:
            # A kind of token that a newer parser may have.
            self._output.text(token.content)

    # --- Text ---------------------------------------------------------------------------------

    def _inline(self, token: Token) -> None:
        if self._is_item_start and self._item_line == self.edited:
            self._is_item_start = False
            self._write_tools()
            return
        tokens = self._parser.inline(token.content)
        if self._is_item_start and tokens:
            tokens[0].content = _TASK.sub(_box, tokens[0].content)
        if tokens:
            tokens[0].content = _CALLOUT.sub(_kind, tokens[0].content)
        self._is_item_start = False
        self._text.write(tokens)

    def _heading(self, token: Token, text: str) -> None:
        """Write a heading. The page has the first level: below its name, the note begins one lower."""
        level = int(token.tag[1:]) + self.lowered
        tag = f"h{max(2, min(level, _LOWEST_HEADING))}"
        attributes = attribute("id", self._ids.next_id(text))
        attributes += attribute("data-line", self._line_number(token))
        self._output.open(tag, attributes, after="\n")

    def _paragraph(self, token: Token) -> None:
        if not token.hidden:
            self._open("p", token)

    def _paragraph_end(self, token: Token) -> None:
        if not token.hidden:
            self._output.close()
        self._write_tools()

    def _definition(self, token: Token) -> None:
        self._open("p", token, attribute("class", "definition"))
        self._output.text(token.content)
        self._output.close()

    def _rule(self, token: Token) -> None:
        self._output.add("<hr>\n")

    # --- Code ---------------------------------------------------------------------------------

    def _code(self, token: Token) -> None:
        attributes = self._line(token)
        language = token.info.strip()
        if language:
            attributes += attribute("data-info", language)
        self._preformatted(attributes, token.content)

    def _preformatted(self, attributes: str, text: str) -> None:
        self._output.open("pre", attributes, after="\n")
        self._output.open("code")
        self._output.text(text)
        self._output.close()
        self._output.close()

    # --- Lists --------------------------------------------------------------------------------

    def _ordered_list(self, token: Token) -> None:
        start = token.attrs.get("start")
        number = attribute("start", int(start)) if start is not None else ""
        self._output.open("ol", number, after="\n")

    def _item(self, token: Token) -> None:
        self._open("li", token)
        self._item_line = self._line_number(token)
        self._tools.append(self._beside.get(self._item_line, ""))
        self._is_item_start = True

    def _item_end(self, token: Token) -> None:
        self._write_tools()
        self._tools.pop()
        self._is_item_start = False
        self._output.close()

    def _write_tools(self) -> None:
        """Write what belongs beside the innermost item, once."""
        # A loose item has several paragraphs, and its buttons once.
        if self._tools and self._tools[-1]:
            self._output.add(self._tools[-1])
            self._tools[-1] = ""

    # --- Quotes and tables --------------------------------------------------------------------

    def _block(self, token: Token) -> None:
        self._open(_BLOCKS[token.type], token)

    def _group(self, token: Token) -> None:
        self._output.open(_GROUPS[token.type], after="\n")

    def _cell(self, token: Token) -> None:
        # The policy of the page allows no `style`.
        style = str(token.attrs.get("style", ""))
        aligned = _ALIGNED.get(style)
        classes = attribute("class", aligned) if aligned else ""
        self._output.open(_CELLS[token.type], classes)

    # --- Lines --------------------------------------------------------------------------------

    def _open(self, tag: str, token: Token, attributes: str = "") -> None:
        """Open a block with its line in the note."""
        self._output.open(tag, attributes + self._line(token), after="\n")

    def _line(self, token: Token) -> str:
        """Return the line, and an anchor for it on the first block that begins there."""
        line = self._line_number(token)
        attributes = attribute("data-line", line)
        if line in self._anchored:
            return attributes
        self._anchored.add(line)
        return attributes + attribute("id", f"line-{line}")

    def _line_number(self, token: Token) -> int:
        first_line = token.map[0] if token.map else 0
        return self._front_lines + first_line + 1


def _box(task: re.Match[str]) -> str:
    """Return the box of a task."""
    return "☐" if task[1] == " " else "☑"


def _kind(callout: re.Match[str]) -> str:
    """Return what a callout is, such as `Warning:`."""
    return f"{callout[1].capitalize()}:"


# --- Text writer ---


# Collects HTML. Tags are closed in the order in which they must be, so it is well-formed.
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


_EMPHASIS = {"em_open": "em", "strong_open": "strong", "s_open": "s"}
_OF_THE_WEB = attribute("rel", "noreferrer nofollow")


class _OpenLink(NamedTuple):
    """A link whose text is being written."""

    destination: str
    start: int
    """Letters of HTML before its text"""
    is_text: bool
    """Whether it is shown as it is written, and leads nowhere"""


class TextWriter:
    """Writes tokens of text into the HTML of a note."""

    def __init__(self, output: HtmlOutput, links: LinkResolver) -> None:
        self._output = output
        self._links = links
        self._depth = 0
        self._open_links: list[_OpenLink] = []
        self._writers: dict[str, Callable[[Token], None]] = {
            "softbreak": self._break,
            "hardbreak": self._hard_break,
            "code_inline": self._code,
            "em_open": self._emphasis,
            "strong_open": self._emphasis,
            "s_open": self._emphasis,
            "em_close": self._emphasis_end,
            "strong_close": self._emphasis_end,
            "s_close": self._emphasis_end,
            "link_open": self._link,
            "link_close": self._link_end,
            "wiki_link": self._wiki_link,
            "image": self._image,
        }

    def write(self, tokens: Iterable[Token]) -> None:
        """Write all tokens of one block."""
        for token in tokens:
            writer = self._writers.get(token.type, self._text)
            writer(token)

    def _text(self, token: Token) -> None:
        self._output.text(token.content)

    def _break(self, token: Token) -> None:
        self._output.add("\n")

    def _hard_break(self, token: Token) -> None:
        self._output.add("<br>\n")

    def _code(self, token: Token) -> None:
        self._output.open("code")
        self._output.text(token.content)
        self._output.close()

    # --- Emphasis -----------------------------------------------------------------------------

    def _emphasis(self, token: Token) -> None:
        self._depth += 1
        # Fault: ten thousand nested elements stop some browsers.
        if self._depth > DEEPEST_TEXT:
            sign = escaped(token.markup)
            self._output.open_between(sign, sign)
        else:
            self._output.open(_EMPHASIS[token.type])

    def _emphasis_end(self, token: Token) -> None:
        self._depth -= 1
        self._output.close()

    # --- Links --------------------------------------------------------------------------------

    def _link(self, token: Token) -> None:
        destination = str(token.attrs["href"])
        title = str(token.attrs.get("title", ""))
        url = self._links.url(destination)
        # Fault: `[<http://a>](http://b)` is a link within a link.
        is_inside = any(not link.is_text for link in self._open_links)
        is_text = url is None or is_inside
        if url is None or is_inside:
            self._open_as_text(token, destination, title)
        else:
            self._output.open("a", _link_attributes(url, title))
        link = _OpenLink(destination, self._output.size, is_text)
        self._open_links.append(link)

    def _open_as_text(self, token: Token, destination: str, title: str) -> None:
        """Show a link as it is written."""
        if token.markup == "autolink":
            self._output.open_between("&lt;", "&gt;")
            return
        quoted = f' "{title}"' if title else ""
        end = escaped(f"]({destination}{quoted})")
        self._output.open_between("[", end)

    def _link_end(self, token: Token) -> None:
        link = self._open_links.pop()
        is_empty = self._output.size == link.start
        # Fault: a link without a text would be there, and not be seen.
        if is_empty and not link.is_text:
            self._output.text(link.destination)
        self._output.close()

    def _wiki_link(self, token: Token) -> None:
        url = str(token.attrs["href"])
        self._output.open("a", _link_attributes(url, ""))
        self._output.text(token.content)
        self._output.close()

    # --- Images -------------------------------------------------------------------------------

    def _image(self, token: Token) -> None:
        """Write what an image is called. A loaded image would show its server who reads."""
        source = str(token.attrs["src"])
        title = str(token.attrs.get("title", ""))
        name = plain_text(token.children or ()) or source
        place = f"{source} {title}".strip()
        classes = attribute("class", "image")
        self._output.open("span", classes + attribute("title", place))
        self._output.text(f"[image: {name}]")
        self._output.close()


def _link_attributes(url: str, title: str) -> str:
    attributes = attribute("href", url)
    if not url.startswith(("#", "/")):
        attributes += _OF_THE_WEB
    if title:
        attributes += attribute("title", title)
    return attributes


def plain_text(tokens: Iterable[Token]) -> str:
    """Return the text of tokens without marks of emphasis and links."""
    texts: list[str] = []
    for token in tokens:
        if token.children:
            texts.append(plain_text(token.children))
        elif token.type == "softbreak":
            texts.append(" ")
        else:
            texts.append(token.content)
    return "".join(texts)
