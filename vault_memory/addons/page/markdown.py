"""Renders a note as HTML that is safe to show, also when the note is hostile.

    html = render(text, link)        # in the template: {{ html | safe }}, and nowhere else

Tags and attributes are written by this package alone; of the note comes only escaped text. Links
lead to the web, to a heading or to a note that `link` knows. Images are never loaded. Hidden
letters become visible marks.
"""

import re
import time
from collections.abc import Callable, Mapping
from html import escape

from vault_memory.addons.page.note_html.hidden_letters import visible
from vault_memory.addons.page.note_html.link_resolver import LinkResolver, NoteUrl
from vault_memory.addons.page.note_html.note_parser import LONGEST_NOTE, Limit, NoteParser, TooLong
from vault_memory.addons.page.note_html.note_writer import NoteWriter, plain_text
from vault_memory.markdown.blocks.outline import BOM, front_matter_end

__all__ = ["TooLong", "raw_html", "render", "title_of"]

_TITLE = re.compile(r"(?:[ \t]*+\n)*+# ++([^\s#](?:[^\n]*[^ #\n])?)[ #]*+(?=\n|\Z)")
_NOTHING: Mapping[int, str] = {}


def render(
    text: str,
    link: NoteUrl,
    *,
    beside: Mapping[int, str] = _NOTHING,
    edited: int = 0,
    with_title: bool = True,
    clock: Callable[[], float] = time.thread_time,
) -> str:
    """Return a note as HTML. Raises TooLong: then show `raw_html(text)` in a `<pre>`.

    link: target of a link as the note has it (`Bo`, `people/bo.md`) → local URL, or None.
    beside: line of a list item, from 1 → trusted HTML to put after its text, such as buttons.
    edited: the line of the item whose text is replaced by what is beside it.
    with_title: whether the heading at the top is shown; the view may have it as its own.

    Each block has its line in the note, from 1, as `data-line="7"`; a link to `#line-7` leads to
    it. A heading has the id `h-its-words` in place of the line.
    """
    # Fault: only counting the bytes of a huge text needs as much memory again.
    if len(text) > LONGEST_NOTE or _size(text) > LONGEST_NOTE:
        raise TooLong
    lines = _normal_lines(text)
    front = body = front_matter_end(lines)
    title = None if with_title else _TITLE.match("\n".join(lines[front:]))
    if title is not None:
        body += title[0].count("\n") + 1
    limit = Limit(clock)
    links = LinkResolver(link)
    parser = NoteParser(links, limit)
    writer = NoteWriter(parser, links, limit, body, beside)
    writer.edited = edited
    writer.lowered = int(title is None)
    writer.write_front_matter(lines[:front])
    writer.write(parser.blocks("\n".join(lines[body:])))
    return writer.html


def title_of(text: str) -> str:
    """Return the words of the heading `#` at the top of a note; empty without one."""
    lines = _normal_lines(text[:LONGEST_NOTE])
    title = _TITLE.match("\n".join(lines[front_matter_end(lines) :]))
    if title is None:
        return ""
    parser = NoteParser(LinkResolver(lambda target: "/"), Limit(time.thread_time))
    return plain_text(parser.inline(title[1]))


def raw_html(text: str) -> str:
    """Return a text as HTML for a `<pre>`: escaped, with hidden letters as `⟨U+202E⟩`."""
    lines = _normal_lines(text)
    return escape(visible("\n".join(lines)))


def _size(text: str) -> int:
    # Fault: a text from JSON can have half of a surrogate pair.
    return len(text.encode("utf-8", "surrogatepass"))


def _normal_lines(text: str) -> list[str]:
    """Return the lines as markdown-it-py counts them."""
    without_mark = text.removeprefix(BOM)
    normal = without_mark.replace("\r\n", "\n").replace("\r", "\n")
    return normal.split("\n")
