"""One authenticated request to the fake Nextcloud, with its path taken apart, and the errors it can end in."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes, urlsplit
from xml.sax.saxutils import escape

from tests.remote.servers.exchange import Response
from tests.remote.servers.nextcloud.tree import composed

if TYPE_CHECKING:
    from tests.remote.servers.nextcloud.account import Account

DAV = "/remote.php/dav"
LEGACY = "/remote.php/webdav"
INSTANCE = "oc8fk2m1x0p3"


class Refused(Exception):
    """The request ends in an error, in the form that sabre/dav gives it."""

    def __init__(
        self, status: int, kind: str, message: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message or kind)
        self.status, self.kind, self.message, self.headers = (
            status,
            kind,
            message,
            dict(headers or {}),
        )

    def response(self) -> Response:
        """What is sent."""
        kind = self.kind if "\\" in self.kind else f"Sabre\\DAV\\Exception\\{self.kind}"
        body = (
            '<?xml version="1.0" encoding="utf-8"?>\n'
            '<d:error xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns">\n'
            f"  <s:exception>{escape(kind)}</s:exception>\n"
            f"  <s:message>{escape(self.message)}</s:message>\n</d:error>\n"
        )
        return Response(
            self.status,
            {"Content-Type": "application/xml; charset=utf-8", **self.headers},
            body.encode(),
        )


def not_found(path: str) -> Refused:
    """404, as for a file."""
    return Refused(404, "NotFound", f"File with name {path} could not be located")


@dataclass(frozen=True, slots=True)
class Place:
    """A decoded address below the DAV root."""

    collection: str
    """files, uploads, trashbin, versions, bulk or nothing."""
    user: str
    path: str
    """Composed, without slashes at its ends."""


@dataclass(slots=True)
class Call:
    """A request by somebody who is let in."""

    method: str
    place: Place
    headers: Mapping[str, str]
    body: bytes
    account: "Account"
    base: str
    """What an href starts with, such as ``/remote.php/dav/files/mira``."""
    dies_at: int | None = None
    """The server's process dies when it has written so many bytes."""
    keeps: int | None = None
    """The server stores so many bytes, and answers as if it had stored all of them."""

    @property
    def path(self) -> str:
        """The path inside the collection."""
        return self.place.path

    @property
    def whole(self) -> bool:
        """Whether all of the body arrives, and the server lives."""
        return self.dies_at is None and int(self.headers.get("content-length") or 0) <= len(
            self.body
        )

    def destination(self) -> Place:
        """Where MOVE and COPY go."""
        if not (url := self.headers.get("destination")):
            raise Refused(400, "BadRequest", "The destination header was not supplied")
        place = place_of(urlsplit(url).path, self.account.user)
        if place is None or place.user != self.account.user:
            raise Refused(502, "BadGateway", "The destination url is not under this server")
        return place


@lru_cache(maxsize=8192)
def place_of(target: str, user: str = "") -> Place | None:
    """What a request target means; None where it does not lie below the DAV root."""
    target = target.partition("?")[0]
    if target.startswith(LEGACY):
        return Place("files", user, _decoded(target[len(LEGACY) :]))
    if not target.startswith(DAV):
        return None
    collection, _, rest = target[len(DAV) :].strip("/").partition("/")
    owner, _, path = rest.partition("/")
    return Place(collection, _decoded(owner), _decoded(path))


def _decoded(quoted: str) -> str:
    if "%2f" in quoted.lower() or "%00" in quoted:
        raise not_found(quoted)
    try:
        path = unquote_to_bytes(quoted).decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(400, "BadRequest", "The path is not UTF-8") from None
    return composed("/".join(name for name in path.split("/") if name))


def check_name(path: str) -> None:
    """Names that no file or folder may be given."""
    name = path.rpartition("/")[2]
    bad = "\\" in name or any(ord(letter) < 32 for letter in name) or len(name.encode()) > 250
    if bad or name.lower().endswith(".part") or name.lower() == ".htaccess" or name in (".", ".."):
        raise Refused(
            400, r"OCA\DAV\Connector\Sabre\Exception\InvalidPath", "File name is not allowed"
        )


@lru_cache(maxsize=8192)
def quoted(path: str) -> str:
    """A path as hrefs of Nextcloud have it: escapes in lower case, the apostrophe escaped."""
    upper = quote(path, safe="/()~")
    if "%" not in upper:
        return upper
    first, *rest = upper.split("%")
    return first + "".join(f"%{part[:2].lower()}{part[2:]}" for part in rest)


def file_id(number: int) -> str:
    """As in OC-FileId and oc:id."""
    return f"{number:08d}{INSTANCE}"
