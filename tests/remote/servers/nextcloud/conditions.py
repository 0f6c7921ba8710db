"""The preconditions of a request, judged as sabre/dav judges them for every method before it does anything."""

import re
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from tests.remote.servers.nextcloud.call import Call, Refused, place_of
from tests.remote.servers.nextcloud.tree import File, Node

_CONDITION = re.compile(r"(?:<(?P<uri>[^>]*)>\s*)?(?P<lists>(?:\([^)]*\)\s*)+)")
_LIST = re.compile(r"\(([^)]*)\)")
_TERM = re.compile(r"(?P<not>Not\s+)?(?:<(?P<token>[^>]*)>|\[(?P<tag>[^\]]*)\])", re.IGNORECASE)


class NotModified(Exception):
    """The client has it already."""

    def __init__(self, tag: str) -> None:
        super().__init__(tag)
        self.tag = tag


def check(call: Call, node: Node | None) -> None:
    """Raise when a precondition of the request does not hold for what lies at its path."""
    headers = call.headers
    if "if-match" in headers:
        _if_match(headers["if-match"], node)
    if "if-none-match" in headers:
        _if_none_match(call.method, headers["if-none-match"], node)
    if "if-unmodified-since" in headers and isinstance(node, File):
        since = parsedate_to_datetime(headers["if-unmodified-since"])
        if node.mtime > since.timestamp():
            raise _failed("If-Unmodified-Since", "the resource was modified")
    if "if" in headers:
        _if(call, headers["if"], node)


def tag_of(node: Node | None) -> str | None:
    """The tag with its quotes; folders have none here, which is why conditions on them never hold."""
    return f'"{node.etag}"' if isinstance(node, File) else None


def _tags(value: str) -> list[str]:
    return [tag.strip() for tag in value.split(",")]


def _failed(header: str, why: str, headers: dict[str, str] | None = None) -> Refused:
    return Refused(
        412, "PreconditionFailed", f"An {header} header was specified, but {why}", headers
    )


def _if_match(value: str, node: Node | None) -> None:
    if node is None:
        raise _failed("If-Match", "the resource did not exist")
    if value.strip() == "*":
        return
    tag = tag_of(node)
    if tag not in _tags(value):
        raise _failed(
            "If-Match", "none of the specified ETags matched", {"ETag": tag} if tag else None
        )


def _if_none_match(method: str, value: str, node: Node | None) -> None:
    if node is None or (value.strip() != "*" and tag_of(node) not in _tags(value)):
        return
    if method in ("GET", "HEAD"):
        raise NotModified(tag_of(node) or "")
    raise _failed("If-None-Match", "the ETag matched")


def _if(call: Call, value: str, own: Node | None) -> None:
    for condition in _CONDITION.finditer(value):
        node = own
        if condition["uri"]:
            place = place_of(urlsplit(condition["uri"]).path, call.account.user)
            node = (
                call.account.tree.find(place.path)
                if place and place.collection == "files"
                else None
            )
        if not any(_holds(terms, node) for terms in _LIST.findall(condition["lists"])):
            raise _failed("If", "no combination of token and ETag was valid")


def _holds(terms: str, node: Node | None) -> bool:
    for term in _TERM.finditer(terms):
        # No locks are ever given out, so no token is ever valid.
        valid = term["tag"] is not None and tag_of(node) == term["tag"]
        if valid == bool(term["not"]):
            return False
    return True
