"""Writes the blocks of a note: headings, paragraphs, lists, tables, code and front matter."""

import re
from collections.abc import Callable, Mapping, Sequence

from markdown_it.token import Token

from vault_memory.addons.page.note_html.html_output import HtmlOutput, attribute
from vault_memory.addons.page.note_html.link_resolver import HeadingIds, LinkResolver
from vault_memory.addons.page.note_html.note_parser import Limit, NoteParser
from vault_memory.addons.page.note_html.text_writer import TextWriter

_BLOCKS = {"blockquote_open": "blockquote", "table_open": "table"}
_GROUPS = {"bullet_list_open": "ul", "thead_open": "thead", "tbody_open": "tbody", "tr_open": "tr"}
_CELLS = {"th_open": "th", "td_open": "td"}
_ALIGNED = {"text-align:left": "left", "text-align:center": "center", "text-align:right": "right"}
_LOWEST_HEADING = 6
_TASK = re.compile(r"^\[([ xX])\](?=\s)")


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
        self._output = HtmlOutput()
        self._text = TextWriter(self._output, links)
        self._ids = HeadingIds()
        self._tools: list[str] = []
        """What comes beside the text of each open list item, until the writer gets there"""
        self._is_item_start = False
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
            self._preformatted(attributes, "\n".join(lines))

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
        tokens = self._parser.inline(token.content)
        if self._is_item_start and tokens:
            tokens[0].content = _TASK.sub(_box, tokens[0].content)
        self._is_item_start = False
        self._text.write(tokens)

    def _heading(self, token: Token, text: str) -> None:
        """Write a heading one level lower: the page has the first level."""
        level = int(token.tag[1:]) + 1
        tag = f"h{min(level, _LOWEST_HEADING)}"
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
        line = self._line_number(token)
        self._tools.append(self._beside.get(line, ""))
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
