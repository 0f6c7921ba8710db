"""The text of a note as sentences, each with its line, its days and how certain it is. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from vault_memory.markdown.items import ItemFields, parse_item

LONGEST = 32 << 10
"""Characters of a note that are read"""
MOST_SENTENCES = 300
_HEADING = re.compile(r"(#{1,6})[ \t]++((?:.*[^ \t#\n])?)[ \t#]*+")
_ITEM = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(?:\[[ xX]\][ \t]++)?(.*)")


class NoteSentence(NamedTuple):
    """An item or a line of a note."""

    line: int
    """the number of its first line, from 1"""
    text: str
    """without the marks of its brackets"""
    since: str
    """the day on which it was written down, ISO 8601; empty when it is not known"""
    until: str
    ref: str
    """the id of the turn that it comes from; empty for what a person wrote"""
    remarks: tuple[str, ...]
    is_item: bool
    """`source` tells where it comes from"""


class SentenceGroup(NamedTuple):
    """The sentences below a heading."""

    heading: str
    sentences: list[NoteSentence]


class NoteSentences(NamedTuple):
    """A note as sentences."""

    groups: list[SentenceGroup]
    is_cut: bool
    """the note has more text"""


class _TextBlock(NamedTuple):
    """An item or a line with the lines that continue it."""

    line: int
    text: str
    is_item: bool = False


def sentences_of(text: str) -> NoteSentences:
    """Returns a note as groups of sentences; headings without sentences are left out."""
    is_cut = len(text) > LONGEST
    count = 0
    groups = [SentenceGroup("", [])]
    level = 0
    for block in _blocks(text[:LONGEST]):
        heading = _HEADING.fullmatch(block.text)
        # Fault: a note of 30,000 letters may have 10,000 items, and a view of megabytes.
        if count == MOST_SENTENCES:
            is_cut = True
            break
        if heading:
            level = len(heading[1])
            groups.append(SentenceGroup(heading[2], []))
        else:
            # Ops and `source` address the items right below a heading of level 2.
            is_item = block.is_item and level == 2
            count += 1
            groups[-1].sentences.append(_sentence(block._replace(is_item=is_item)))
    return NoteSentences([group for group in groups if group.sentences], is_cut)


def _blocks(text: str) -> Iterator[_TextBlock]:
    """Yields headings, items and lines; a line right below one of them continues it."""
    open_block: _TextBlock | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        item = _ITEM.fullmatch(line)
        is_start = item is not None or _HEADING.fullmatch(line) is not None
        if open_block is not None and (is_start or not line.strip()):
            yield open_block
            open_block = None
        if _HEADING.fullmatch(line):
            yield _TextBlock(number, line)
        elif item:
            open_block = _TextBlock(number, item[1].strip(), is_item=True)
        elif open_block is not None:
            text_so_far = f"{open_block.text} {line.strip()}"
            open_block = open_block._replace(text=text_so_far)
        elif line.strip():
            open_block = _TextBlock(number, line.strip())
    if open_block is not None:
        yield open_block


def _sentence(block: _TextBlock) -> NoteSentence:
    item = parse_item(block.text)
    return NoteSentence(
        line=block.line,
        # An item may have nothing but marks, which are its text then.
        text=item.text or block.text,
        since=item.date.isoformat() if item.date else "",
        until=item.until.isoformat() if item.until else "",
        ref=item.ref,
        remarks=tuple(_remarks(item)),
        is_item=block.is_item,
    )


def _remarks(item: ItemFields) -> Iterator[str]:
    if item.type:
        yield item.type
    if item.unclear:
        yield "unclear: another line contradicts it"
    if item.confirmed:
        yield "confirmed by a person"
    if item.conf != 1:
        yield f"{item.conf:.0%} certain"
    if item.origin != "owner":
        yield f"from {item.origin}"
    if item.evidence:
        yield f"said: “{item.evidence}”"
