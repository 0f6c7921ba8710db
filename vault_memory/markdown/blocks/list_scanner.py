"""The list half of the scanner: items, their continuation lines and nested items, by indent."""

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
"""Items in items; markdown-it-py reads a few more and gives up on the rest of the note."""


class _Unsure(Exception):
    """Something that only markdown-it-py knows."""


def scan_list(lines: list[str], line: int, blocks: list[Block]) -> int:
    """Adds the items of the list that begins at `line`, and of lists right after it; returns where it ends, or 0."""
    reading = _ListReading(lines, line)
    try:
        end = reading.run()
    except _Unsure:
        return 0
    blocks += reading.items()
    return end


class _ListReading:
    """Walks the lines of a list. `widths` are the columns where the contents of the open items begin."""

    __slots__ = (
        "empty",
        "found",
        "last",
        "line",
        "lines",
        "open",
        "paragraph",
        "widths",
    )

    def __init__(self, lines: list[str], line: int) -> None:
        self.lines = lines
        self.line = line
        self.last = line
        """the last line that was not blank"""
        self.paragraph = False
        """whether the line before belongs to a paragraph that may go on"""
        self.empty = False
        """whether the last item had nothing after its marker"""
        self.widths: list[int] = []
        self.open: list[int] = []
        """which of `found` are open"""
        self.found: list[list[int]] = []
        """[first, end, depth] of each item"""

    def items(self) -> list[Block]:
        return [Block("item", first, end, depth) for first, end, depth in self.found]

    def run(self) -> int:
        lines, count = self.lines, len(self.lines)
        while self.line < count:
            text = lines[self.line]
            if not text or not text.strip(BLANKS):
                self._blank()
            else:
                if "\t" in text:
                    text = text.expandtabs(
                        4
                    )  # what stands at a column is all that counts here
                match = item(text)
                if match and text[0] != " " and match[3] and match[3] not in MAY_BE_ODD:
                    self._item_at_the_left(match)
                elif not (self._marker(text, match) if match else self._plain(text)):
                    break
            self.line += 1
        self._close(0)
        return self.line

    def _item_at_the_left(self, match: re.Match[str]) -> None:
        """Whatever stands above it, this is an item at the top."""
        line = self.line
        if self.open:
            end = self.last + 1
            for which in self.open:
                self.found[which][1] = end
        self.open = [len(self.found)]
        self.found.append([line, 0, 1])
        self.widths = [match.end()]
        self.empty = False
        self.paragraph = True
        self.last = line

    def _close(self, depth: int) -> None:
        """Ends the items below that depth."""
        end = self.last + 1
        for which in self.open[depth:]:
            self.found[which][1] = end
        del self.open[depth:], self.widths[depth:]

    def _close_right_of(self, indent: int) -> None:
        """Ends the items that a line with that indent does not belong to."""
        depth = len(self.widths)
        while depth and indent < self.widths[depth - 1]:
            depth -= 1
        self._close(depth)
        if indent - (self.widths[-1] if self.widths else 0) > 3:
            raise _Unsure  # indented code

    def _blank(self) -> None:
        self.paragraph = False
        if self.open and self.found[-1][0] == self.line - 1 and self.empty:
            self._close(len(self.open) - 1)

    def _marker(self, text: str, match: re.Match[str]) -> bool:
        _, indent = match.span(1)
        if self.paragraph and self._goes_on(indent, match):
            self.last = self.line
            return True
        first = match[3]
        if first in MAY_BE_ODD and (
            is_rule(text, indent) or odd_start(text, match.end())
        ):
            if indent == 0 and is_rule(text):
                return False
            raise _Unsure
        self._close_right_of(indent)
        self.open.append(len(self.found))
        self.widths.append(match.end() if first else len(text.rstrip(BLANKS)) + 1)
        self.found.append([self.line, 0, len(self.open)])
        if len(self.open) > _DEEPEST:
            raise _Unsure
        self.empty = not first
        self.paragraph = not self.empty
        self.last = self.line
        return True

    def _goes_on(self, indent: int, match: re.Match[str]) -> bool:
        """Whether what looks like an item is the next line of the paragraph."""
        inside = self.widths[-1]
        if indent - inside > 3:
            return True
        if indent >= inside:
            if not match[3]:
                raise _Unsure  # an underline, or text
            return match[2] is not None and int(match[2]) != 1
        far = indent - (self.widths[-2] if len(self.widths) > 1 else 0) > 3
        return far and not is_rule(match.string, indent)

    def _plain(self, text: str) -> bool:
        indent = len(text) - len(text.lstrip(" "))
        if self.paragraph:
            if indent - self.widths[-1] <= 3 and text[indent] in MAY_BREAK:
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
        """A line after a paragraph's, which may be something else than its next line."""
        found = breaks(text, indent)
        if found and indent >= self.widths[-1]:
            return self._fence(text, indent)
        if indent == 0 and (
            is_rule(text)
            or (found and found.lastgroup == "ends" and not is_marker(text))
        ):
            return False
        if found or is_marker(text, indent):
            raise _Unsure
        self.last = self.line
        return True

    def _fence(self, text: str, indent: int) -> bool:
        """A fence in an item; anything else that is no plain text is not ours."""
        if not is_fence(text, indent):
            raise _Unsure
        mark, inside = fence_mark(text[indent:]), self.widths[-1]
        for number in range(self.line + 1, len(self.lines)):
            text = self.lines[number].expandtabs(4)
            if not text.strip(BLANKS):
                continue
            indent = len(text) - len(text.lstrip(" "))
            if indent < inside:
                raise _Unsure
            if closes(text, mark, inside):
                self.line = self.last = number
                self.paragraph = False
                return True
        raise _Unsure
