"""Writes the text of one block: emphasis, code, links, and what images are called."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from markdown_it.token import Token

from vault_memory.addons.page.note_html.html_output import HtmlOutput, attribute, escaped
from vault_memory.addons.page.note_html.link_resolver import LinkResolver
from vault_memory.addons.page.note_html.note_parser import DEEPEST_TEXT

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
