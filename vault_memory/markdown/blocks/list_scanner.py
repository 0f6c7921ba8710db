"""Scans lists by indent: items, their continuation lines and nested items."""

import re

from vault_memory.markdown.blocks.model import BLANKS, Block
from vault_memory.markdown.blocks.patterns import (
    MAY_BE_ODD,
    MAY_BREAK,
    breaks,
    closes,
    fence_mark,
    is_fence,
    is_marker,
    is_rule,
    item,
    odd_start,
)

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
