"""Cuts what a document says into chunks: its name, then each page. The heading names the page."""

import re
from collections.abc import Iterator

from vault_memory.markdown.chunking.chunk_text import Chunk
from vault_memory.rules.paths.layout import Place
from vault_memory.rules.search.tokens import clean

LONGEST = 1_000
"""Letters of a chunk; a page of print has two or three"""
_DIVIDED = re.compile(r"(?<=[^\W\d_])[-\u00ad]\n(?=[^\W\d_])|\u00ad")
"""A hyphen at the end of a line, and one that is only seen there"""


def name_chunk(path: str, place: Place) -> Chunk:
    """Returns the chunk of a file's name, below the folders that are no part of the layout."""
    folders = place.name.split("/")[:-1]
    return _chunk(path.rpartition("/")[2], tuple(folders), 1)


def page_chunks(page: int, text: str) -> Iterator[Chunk]:
    """Yields the chunks of a page, the first of which is 1."""
    for stretch in _stretchs(_DIVIDED.sub("", clean(text)).strip()):
        yield _chunk(stretch, (f"page {page}",), page)


def _chunk(text: str, heading: tuple[str, ...], page: int) -> Chunk:
    return Chunk(text, heading, "", page, page, None, "")


def _stretchs(text: str) -> Iterator[str]:
    """Yields a text in stretchs that end with a line or a word, where there is one."""
    while len(text) > LONGEST:
        end = max(text.rfind("\n", LONGEST // 2, LONGEST), text.rfind(" ", LONGEST // 2, LONGEST))
        # A script without blanks is cut anywhere.
        end = end if end > 0 else LONGEST
        yield text[:end].rstrip()
        text = text[end:].lstrip()
    if text:
        yield text
