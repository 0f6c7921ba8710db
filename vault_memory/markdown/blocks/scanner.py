"""Reads ordinary Markdown blocks fast, and reports where it is not sure.

`scan` reads the block that begins at a line: a heading, a list with its items, a paragraph, a fence, a
quote, a rule, or indented code. It follows the block rules of markdown-it-py (CommonMark, no tables). It
returns UNSURE for other constructs: HTML, link reference definitions, lazy lines after quotes, and code,
quotes or headings in items. The caller then reads that one block with markdown-it-py. Tests compare the
two on generated and on real notes. Lists are scanned by indent: items, their continuation lines and
nested items.

The patterns are CommonMark's block rules for one line. All but `item` are matched where the indent of the
line ends.
"""

import re
from collections.abc import Callable

from vault_memory.markdown.blocks.model import BLANKS, Block, heading_name, without_blank_end

_RULE = r"(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)$"
_FENCE = r"(?:`{3,}+[^`]*|~{3}.*)$"
_HEADING = r"#{1,6}(?:[ \t]|$)"
_MARKER = r"(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t]|$)"
_MAYBE_REFERENCE = r"\[(?![^\[\]\\]*+(?:\[|\](?!:)))"

indented = re.compile(r" {4}| {0,3}\t").match
is_rule = re.compile(_RULE).match
is_fence = re.compile(_FENCE).match
is_marker = re.compile(_MARKER).match
maybe_reference = re.compile(_MAYBE_REFERENCE).match
odd_start = re.compile(rf"[<>]|{_HEADING}|{_FENCE}|{_RULE}|{_MARKER}|{_MAYBE_REFERENCE}").match
breaks = re.compile(
    rf"(?P<underline>(?:=+|-+)[ \t]*$)|(?P<unsure><)|(?P<ends>>|{_HEADING}|{_FENCE}|{_RULE}"
    r"|(?:[-+*]|0{0,8}1[.)])[ \t]+[^ \t])"
).match
item = re.compile(r"( *)(?:[-+*]|([0-9]{1,9})[.)])(?: {1,4}(?=([^ \t]))| *$)").match
"""The line of an item up to its content. Group 1: indent; 2: number; 3: first letter of the content"""

MAY_BREAK = frozenset(" \t<>#`~-+*_=0123456789")
"""First characters of lines that may end a paragraph, or be an underline."""
MAY_BE_ODD = frozenset("<>#`~-+*_[0123456789")
"""First characters of content that may be something else than the beginning of a paragraph."""


def fence_mark(text: str) -> str:
    """Return the backticks or tildes that a fence opens with."""
    return text[: len(text) - len(text.lstrip(text[0]))]


def closes(text: str, mark: str, inside: int = 0) -> bool:
    """Return whether a line closes the fence opened with `mark`, in content at column `inside`."""
    if indented(text, inside):
        return False
    text = text.strip(BLANKS)
    return len(text) >= len(mark) and not text.strip(mark[0])


_DEEPEST = 24
"""Levels of nested items; markdown-it-py reads a few more and gives up on the remaining note"""
_CODE_INDENT = 4
"""Columns by which a line is indented code"""


class _Unsure(Exception):
    """The scanner does not know this construct; only markdown-it-py does."""


def scan_list(lines: list[str], line: int, blocks: list[Block]) -> int:
    """Add the items of the list that begins at `line`, and of lists right after it.

    Return the line after them, or 0 where the scanner is not sure.
    """
    reading = _ListReading(lines, line)
    try:
        end = reading.run()
    except _Unsure:
        return 0
    blocks += reading.items()
    return end


class _ListReading:
    """Walks the lines of a list. `widths` are the columns where the contents of the open items begin."""

    __slots__ = ("_items", "empty", "last", "line", "lines", "open", "paragraph", "widths")

    def __init__(self, lines: list[str], line: int) -> None:
        self.lines = lines
        self.line = line
        self.last = line
        """The last line that was not blank"""
        self.paragraph = False
        """Whether the line before belongs to a paragraph that may continue"""
        self.empty = False
        """Whether the last item had nothing after its marker"""
        self.widths: list[int] = []
        self.open: list[int] = []
        """The indexes of the open items in `_items`"""
        self._items: list[list[int]] = []
        """[first, end, depth] of each item"""

    def items(self) -> list[Block]:
        return [Block("item", first, end, depth) for first, end, depth in self._items]

    def run(self) -> int:
        """Read up to the end of the list and return the line after it. Raises _Unsure."""
        lines, count = self.lines, len(self.lines)
        while self.line < count:
            text = lines[self.line]
            if not text or not text.strip(BLANKS):
                self._blank()
            else:
                if "\t" in text:
                    # Only columns count here, and a tab takes up to four of them.
                    text = text.expandtabs(4)
                match = item(text)
                if match and text[0] != " " and match[3] and match[3] not in MAY_BE_ODD:
                    self._item_at_the_left(match)
                elif not (self._marker(text, match) if match else self._plain(text)):
                    break
            self.line += 1
        self._close(0)
        return self.line

    def _item_at_the_left(self, match: re.Match[str]) -> None:
        """Begin an item at the top: whatever is above it, it is nothing else."""
        line = self.line
        if self.open:
            end = self.last + 1
            for index in self.open:
                self._items[index][1] = end
        self.open = [len(self._items)]
        self._items.append([line, 0, 1])
        self.widths = [match.end()]
        self.empty = False
        self.paragraph = True
        self.last = line

    def _close(self, depth: int) -> None:
        """End the items below that depth."""
        end = self.last + 1
        for index in self.open[depth:]:
            self._items[index][1] = end
        del self.open[depth:], self.widths[depth:]

    def _close_right_of(self, indent: int) -> None:
        """End the items that a line with that indent does not belong to."""
        depth = len(self.widths)
        while depth and indent < self.widths[depth - 1]:
            depth -= 1
        self._close(depth)
        inside = self.widths[-1] if self.widths else 0
        if indent - inside >= _CODE_INDENT:
            raise _Unsure

    def _blank(self) -> None:
        self.paragraph = False
        # A blank line right after an empty marker ends the item.
        if self.open and self.empty and self._items[-1][0] == self.line - 1:
            self._close(len(self.open) - 1)

    def _marker(self, text: str, match: re.Match[str]) -> bool:
        """Read a line that looks like an item; return whether it belongs to the list."""
        _, indent = match.span(1)
        if self.paragraph and self._goes_on(indent, match):
            self.last = self.line
            return True
        first = match[3]
        if first in MAY_BE_ODD and self._is_odd(text, match):
            if indent == 0 and is_rule(text):
                return False
            raise _Unsure
        self._close_right_of(indent)
        self.open.append(len(self._items))
        self.widths.append(match.end() if first else len(text.rstrip(BLANKS)) + 1)
        self._items.append([self.line, 0, len(self.open)])
        if len(self.open) > _DEEPEST:
            raise _Unsure
        self.empty = not first
        self.paragraph = not self.empty
        self.last = self.line
        return True

    def _is_odd(self, text: str, match: re.Match[str]) -> bool:
        """Return whether a line is a rule, or an item whose content may be no paragraph."""
        return bool(is_rule(text, match.end(1)) or odd_start(text, match.end()))

    def _goes_on(self, indent: int, match: re.Match[str]) -> bool:
        """Return whether a line that looks like an item continues the paragraph above."""
        inside = self.widths[-1]
        if indent - inside >= _CODE_INDENT:
            return True
        if indent >= inside:
            # A marker without text may be an underline, or text.
            if not match[3]:
                raise _Unsure
            # Only a list that begins with 1 may interrupt a paragraph.
            return match[2] is not None and int(match[2]) != 1
        outside = self.widths[-2] if len(self.widths) > 1 else 0
        is_code_indent = indent - outside >= _CODE_INDENT
        return is_code_indent and not is_rule(match.string, indent)

    def _plain(self, text: str) -> bool:
        """Read a line that begins no item; return whether it belongs to the list."""
        indent = len(text) - len(text.lstrip(" "))
        if self.paragraph:
            is_code_indent = indent - self.widths[-1] >= _CODE_INDENT
            if not is_code_indent and text[indent] in MAY_BREAK:
                return self._may_break(text, indent)
            self.last = self.line
            return True
        if is_marker(text, indent):
            if indent == 0 and is_rule(text):
                return False
            raise _Unsure
        if not self.widths or indent < self.widths[0]:
            return False
        self._close_right_of(indent)
        if text[indent] in MAY_BE_ODD and odd_start(text, indent):
            return self._fence(text, indent)
        self.paragraph = True
        self.last = self.line
        return True

    def _may_break(self, text: str, indent: int) -> bool:
        """Read a line after a paragraph that may be more than its continuation."""
        match = breaks(text, indent)
        if match and indent >= self.widths[-1]:
            return self._fence(text, indent)
        if indent == 0 and self._ends_list(text, match):
            return False
        if match or is_marker(text, indent):
            raise _Unsure
        self.last = self.line
        return True

    def _ends_list(self, text: str, match: re.Match[str] | None) -> bool:
        """Return whether a line in the first column ends the list: a rule or another block."""
        if is_rule(text):
            return True
        return bool(match and match.lastgroup == "ends" and not is_marker(text))

    def _fence(self, text: str, indent: int) -> bool:
        """Read a fence in an item. Raises _Unsure for anything else that is no plain text."""
        if not is_fence(text, indent):
            raise _Unsure
        mark, inside = fence_mark(text[indent:]), self.widths[-1]
        for number in range(self.line + 1, len(self.lines)):
            text = self.lines[number].expandtabs(4)
            if not text.strip(BLANKS):
                continue
            # A line left of the item's content ends the item, and the open fence with it.
            if len(text) - len(text.lstrip(" ")) < inside:
                raise _Unsure
            if closes(text, mark, inside):
                self.line = self.last = number
                self.paragraph = False
                return True
        raise _Unsure


UNSURE = 0
"""Never the end of a block, which comes after its first line"""

Blocks = list[Block]


def scan(lines: list[str], line: int, blocks: Blocks) -> int:
    """Add the block that begins at `line`, which is not blank; return the line after it, or UNSURE."""
    text = lines[line]
    first = text[0]
    if first in BLANKS:
        indent = len(text) - len(text.lstrip(" "))
        first = text[indent]
        if indent > 3 or first == "\t":
            return _code(lines, line, blocks)
    read = _READERS.get(first, _paragraph)
    return read(lines, line, blocks)


def _paragraph(lines: list[str], line: int, blocks: Blocks) -> int:
    end, count = line + 1, len(lines)
    while end < count:
        text = lines[end]
        if not text:
            break
        if text[0] in MAY_BREAK:
            stripped = text.lstrip(BLANKS)
            if not stripped:
                break
            if stripped[0] in MAY_BREAK and not indented(text):
                match = breaks(stripped)
                kind = match.lastgroup if match else None
                if kind == "ends":
                    break
                if kind == "underline":
                    return _setext(lines, line, end, blocks)
                if kind == "unsure":
                    return UNSURE
        end += 1
    blocks.append(Block("paragraph", line, end))
    return end


def _setext(lines: list[str], line: int, underline: int, blocks: Blocks) -> int:
    """Add a heading with an underline."""
    level = 1 if "=" in lines[underline] else 2
    name = heading_name(" ".join(lines[line:underline]))
    blocks.append(Block("heading", line, underline + 1, level, name))
    return underline + 1


def _heading(lines: list[str], line: int, blocks: Blocks) -> int:
    text = lines[line].strip(BLANKS)
    content = text.lstrip("#")
    level = len(text) - len(content)
    if level > 6 or (content and content[0] not in BLANKS):
        return _paragraph(lines, line, blocks)
    # The marks at the end of `# C #` are not part of the name, those of `# C#` are.
    if content.endswith("#"):
        unclosed = content.rstrip("#")
        if unclosed[-1] in BLANKS:
            content = unclosed
    blocks.append(Block("heading", line, line + 1, level, heading_name(content)))
    return line + 1


def _fence(lines: list[str], line: int, blocks: Blocks) -> int:
    text = lines[line].lstrip(" ")
    if not is_fence(text):
        return _paragraph(lines, line, blocks)
    mark = fence_mark(text)
    for number in range(line + 1, len(lines)):
        if mark in lines[number] and closes(lines[number], mark):
            blocks.append(Block("fence", line, number + 1))
            return number + 1
    # An open fence takes all lines to the end of the note.
    blocks.append(Block("fence", line, without_blank_end(lines, line, len(lines))))
    return len(lines)


def _code(lines: list[str], line: int, blocks: Blocks) -> int:
    end = number = line + 1
    while number < len(lines):
        text = lines[number]
        number += 1
        if text.strip(BLANKS):
            if not indented(text):
                break
            end = number
    blocks.append(Block("code", line, end))
    return end


def _quote(lines: list[str], line: int, blocks: Blocks) -> int:
    end = line + 1
    while end < len(lines):
        text = lines[end].lstrip(BLANKS)
        if not text:
            break
        # A line without a mark may continue a paragraph in the quote.
        if text[0] != ">" or indented(lines[end]):
            return UNSURE
        end += 1
    blocks.append(Block("quote", line, end))
    return end


def _rule(lines: list[str], line: int, blocks: Blocks) -> int:
    """Read a line that begins like a rule or a bullet."""
    text = lines[line].lstrip(" ")
    if is_rule(text):
        blocks.append(Block("rule", line, line + 1))
        return line + 1
    return _list(lines, line, blocks)


def _list(lines: list[str], line: int, blocks: Blocks) -> int:
    if not is_marker(lines[line].lstrip(" ")):
        return _paragraph(lines, line, blocks)
    return scan_list(lines, line, blocks)


def _reference(lines: list[str], line: int, blocks: Blocks) -> int:
    if maybe_reference(lines[line].lstrip(" ")):
        return UNSURE
    return _paragraph(lines, line, blocks)


def _unsure(lines: list[str], line: int, blocks: Blocks) -> int:
    return UNSURE


_READERS: dict[str, Callable[[list[str], int, Blocks], int]] = {
    "#": _heading,
    "`": _fence,
    "~": _fence,
    ">": _quote,
    "[": _reference,
    "<": _unsure,
    **dict.fromkeys("-*_", _rule),
    **dict.fromkeys("+0123456789", _list),
}
