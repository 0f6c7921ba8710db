"""Parses the answer to PROPFIND, strictly and as it arrives: well-formed to its end, or an error.

It accepts no document type, and therefore no entities. Bytes, depth and lines are bounded, so that
memory is, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from vault_memory.remote.remote_errors import NotUnderstood

LARGEST = 64 * 2**20
"""Bytes of one answer"""
_DEEPEST = 32
_MOST_LINES = 200_000
_LONGEST_TEXT = 65_536

DAV = "DAV:"
OWNCLOUD = "http://owncloud.org/ns"
NEXTCLOUD = "http://nextcloud.org/ns"


@dataclass(slots=True)
class Line:
    """What the server reports about one href."""

    href: str = ""
    status: int = 0
    """of the line; 0 when only its properties have one"""
    props: dict[str, str] = field(default_factory=dict)
    """the properties by ``namespace name``; ``DAV: resourcetype`` is "folder" or "file" """


class Reader:
    """A streaming parser: `feed` takes the answer in chunks, `close` returns the lines."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        # Fault (H121): a document type may define entities that expand without end, or
        # read files of this machine.
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._open: list[str] = []
        self._lines: list[Line] = []
        self._props: dict[str, str] = {}
        self._words: list[str] = []
        self._length = 0
        self._code = 0
        self._is_folder = False

    def feed(self, chunk: bytes) -> None:
        try:
            self._parser.Parse(chunk, False)
        except (expat.ExpatError, ValueError) as error:
            raise NotUnderstood(f"its XML is broken ({error})") from None

    def close(self) -> list[Line]:
        try:
            self._parser.Parse(b"", True)
        except (expat.ExpatError, ValueError) as error:
            raise NotUnderstood(f"its XML is broken or cut ({error})") from None
        # Fault (E87): a line that lost its name is a file of the folder. Without it,
        # that file would look deleted.
        if not all(line.href for line in self._lines):
            raise NotUnderstood("a line of the listing names nothing")
        return self._lines

    def _start(self, tag: str, _attributes: Mapping[str, str]) -> None:
        self._open.append(tag)
        match len(self._open):
            case 1 if tag != f"{DAV} multistatus":
                raise NotUnderstood("it is no listing of a WebDAV server")
            case 2 if tag == f"{DAV} response":
                self._lines.append(Line())
                # Fault (H121): a listing without end would fill the memory before its
                # size is reached.
                if len(self._lines) > _MOST_LINES:
                    raise NotUnderstood(f"the listing has more than {_MOST_LINES} lines")
            case 3 if tag == f"{DAV} propstat":
                self._props, self._code = {}, 0
            case 5:
                self._is_folder = False
            case 6 if tag == f"{DAV} collection":
                self._is_folder = True
            # Fault (H121): each open element takes memory until it ends.
            case deep if deep > _DEEPEST:
                raise NotUnderstood("its XML is nested too deeply")
        if len(self._open) <= 5:
            self._words, self._length = [], 0

    def _end(self, tag: str) -> None:
        above = self._open[1:-1]
        self._open.pop()
        if not above or above[0] != f"{DAV} response":
            return
        text = "".join(self._words).strip()
        match above[1:]:
            case []:
                self._end_of_line_part(tag, text)
            case ["DAV: propstat"] if tag.removeprefix(f"{DAV} ") == "status":
                self._code = _code(text)
            case ["DAV: propstat", "DAV: prop"]:
                if tag.removeprefix(f"{DAV} ") == "resourcetype":
                    text = "folder" if self._is_folder else "file"
                self._props[tag] = text

    def _end_of_line_part(self, tag: str, text: str) -> None:
        """Note the end of an element directly in a response."""
        line = self._lines[-1]
        match tag.removeprefix(f"{DAV} "):
            case "href":
                # Fault (E88): which of two names the properties belong to is unknown.
                # Taken for one, a file would get the tag of another.
                if line.href:
                    raise NotUnderstood("a line of the listing names several things")
                line.href = text
            case "status":
                line.status = _code(text)
            case "propstat":
                if 200 <= self._code < 300:
                    line.props |= self._props

    def _text(self, text: str) -> None:
        self._length += len(text)
        # Fault (H121): one value may be as long as the whole answer.
        if self._length > _LONGEST_TEXT:
            raise NotUnderstood("a value in the listing is too long")
        self._words.append(text)

    def _doctype(self, *_: object) -> None:
        raise NotUnderstood("its XML declares a document type")


def _code(status: str) -> int:
    """``HTTP/1.1 404 Not Found`` → 404; 0 when it is no status."""
    words = status.split()
    if len(words) < 2 or not (words[1].isascii() and words[1].isdigit()):
        return 0
    return int(words[1])
