"""What an answer that is no success means, as an error of this room."""

import re
from typing import NoReturn
from urllib.parse import unquote_to_bytes, urlsplit

from vault_memory.remote.http_transport import Answer, NotSent, is_redirect
from vault_memory.remote.remote_errors import (
    NotUnderstood,
    OutcomeUnknown,
    ParentMissing,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteFull,
    RemoteLocked,
    RemoteMissing,
    RemoteUnreachable,
    Unauthorised,
)
from vault_memory.remote.remote_listing import seconds_of

WRITES = frozenset({"upload", "clean", "move", "mkdir", "bulk"})
"""After these, no clear answer means that nobody knows"""
SUCCESSES = {
    "download": {200},
    "list": {207},
    "upload": {200, 201, 204},
    "clean": {200, 204},
    "move": {200, 201, 204},
}
"""All others: 201"""
LONGEST_WAIT = 24 * 3600.0


def refuse(action: str, path: str, answer: Answer) -> NoReturn:
    """Raise what this answer means; ``action`` by webdavclient3's names."""
    is_write = action in WRITES
    match answer.status:
        case 401:
            raise Unauthorised
        case 404 | 410:
            raise (
                ParentMissing(path)
                if action in ("upload", "mkdir")
                else RemoteMissing(path)
            )
        case 405 if action == "mkdir":
            raise RemoteChanged(path)
        case 409:
            raise ParentMissing(path) if is_write else Refused(path, "status 409")
        case 412:
            raise RemoteChanged(path)
        case 423:
            raise RemoteLocked(path)
        case 429 | 503 as status:
            wait = retry_after(answer)
            raise RemoteBusy(
                _busy(answer),
                retry_after=wait,
                everywhere=status == 429 or wait is not None,
            )
        case 507:
            raise RemoteFull(path)
        case status if is_redirect(status):
            raise NotUnderstood(
                f"it sends us elsewhere (status {status})",
                path=path,
                hint=_elsewhere(answer.header("Location")),
            )
        case status if 400 <= status < 500:
            raise Refused(
                path,
                _REFUSALS.get(status, f"status {status}"),
                lasting=status in _LASTING,
            )
        case status if is_write:
            raise OutcomeUnknown(path, f"status {status}")
        case 502 | 504 as status:
            raise RemoteUnreachable(f"a server before it answers {status}")
        case status:
            raise NotUnderstood(f"status {status}", path=path)


def retry_after(answer: Answer) -> float | None:
    """Seconds to wait as the server asks, in either form; None when it does not say."""
    text = answer.header("Retry-After").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return min(float(text), LONGEST_WAIT)
    until, now = seconds_of(text), seconds_of(answer.header("Date"))
    return (
        None
        if until is None or now is None
        else float(min(max(until - now, 0), LONGEST_WAIT))
    )


def unreachable(error: NotSent) -> RemoteUnreachable:
    """What it means that a request did not get there."""
    return RemoteUnreachable(str(error), hint=error.hint)


def adds_slash(answer: Answer, target: str) -> bool:
    """Whether the server says that a folder is at the target, whose name ends with a slash (Apache's mod_dir)."""
    if not is_redirect(answer.status):
        return False
    location = urlsplit(answer.header("Location")).path
    return unquote_to_bytes(location) == unquote_to_bytes(target) + b"/"


def is_page(answer: Answer) -> bool:
    """Whether it is a page for people, such as a login form, that a program did not ask for."""
    return "html" in answer.header("Content-Type").lower()


def is_by_proxy(answer: Answer) -> bool:
    """Whether a proxy says that a thing is missing or forbidden. The server says so in XML."""
    is_xml = "xml" in answer.header("Content-Type").lower()
    return answer.status in (403, 404, 410) and not is_xml


_REFUSALS = {
    400: "it does not take this name or request",
    403: "this account may not",
    405: "it does not do that here",
    413: "it is too large",
    414: "the name is too long",
    415: "it does not take this kind of content",
}


_LASTING = frozenset({400, 413, 414, 415})
"""What is refused so is refused the next time, too"""


def _busy(answer: Answer) -> str:
    return (
        "the server gets too many requests"
        if answer.status == 429
        else "the server is busy or in maintenance"
    )


def _elsewhere(location: str) -> str:
    """Where to, without anything that could be a secret."""
    where = re.match(r"(?i)(https?://)(?:[^/@?#]*@)?([^/?#]+)", location)
    if where and where[1].lower() == "https://":
        return f"if you trust {where[1]}{where[2]}, put that into `remote.url`"
    return "a login page may stand between; check `remote.url`"
