"""Turns answers without success into errors."""

import re
from collections.abc import Callable
from typing import NoReturn
from urllib.parse import unquote_to_bytes, urlsplit

from vault_memory.remote.http_transport import (
    GIVE_HTTPS,
    SPEAKS_HTTPS,
    HttpAnswer,
    NotSent,
    is_redirect,
)
from vault_memory.remote.remote_errors import (
    NotUnderstood,
    OutcomeUnknown,
    ParentMissing,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteError,
    RemoteFull,
    RemoteLocked,
    RemoteMissing,
    RemoteUnreachable,
    Unauthorised,
)
from vault_memory.remote.remote_listing import seconds_of

WRITES = frozenset({"upload", "clean", "move", "mkdir", "bulk"})
"""Actions that may have been done although no clear answer came"""
SUCCESSES = {
    "download": {200},
    "list": {207},
    "upload": {200, 201, 204},
    "clean": {200, 204},
    "move": {200, 201, 204},
}
"""The successful statuses of each action; 201 for all others"""
LONGEST_WAIT = 24 * 3600.0
LOCKED_OUT_WAIT = 300.0
"""Seconds between two tries while the address of this machine is locked out; a try does not prolong that"""
_PARENT_MISSING = {
    *((action, status) for action in ("upload", "mkdir") for status in (404, 410)),
    *((action, 409) for action in WRITES),
}
"""Actions and statuses that mean a missing parent folder"""
_ERRORS_OF_PATH: dict[int, Callable[[str], RemoteError]] = {
    404: RemoteMissing,
    410: RemoteMissing,
    412: RemoteChanged,
    423: RemoteLocked,
    507: RemoteFull,
}
"""The errors of statuses that mean the same for every other action"""


def refuse(action: str, path: str, answer: HttpAnswer) -> NoReturn:
    """Raise the error that an answer means. `action` is a name that webdavclient3 uses."""
    raise _error(action, path, answer)


def _error(action: str, path: str, answer: HttpAnswer) -> RemoteError:
    status = answer.status
    if (action, status) in _PARENT_MISSING:
        return ParentMissing(path)
    if (action, status) == ("mkdir", 405):
        return RemoteChanged(path)
    error_of_path = _ERRORS_OF_PATH.get(status)
    if error_of_path is not None:
        return error_of_path(path)
    match status:
        case 401:
            return Unauthorised()
        case 429 | 503:
            return _busy(answer)
        case _ if is_redirect(status):
            reason = f"it redirects to another address (status {status})"
            hint = _redirect_hint(answer.header("Location"))
            return NotUnderstood(reason, path=path, hint=hint)
        case _ if 400 <= status < 500:
            return _refused(path, answer)
        case _ if action in WRITES:
            # Fault (E81): the server stored the file, and a proxy lost its answer.
            return OutcomeUnknown(path, f"status {status}")
        case _:
            return _server_error(path, status)


def _refused(path: str, answer: HttpAnswer) -> RemoteError:
    if b"plain http" in answer.body.lower():
        return NotUnderstood(SPEAKS_HTTPS, path=path, hint=GIVE_HTTPS)
    status = answer.status
    reason = _REFUSALS.get(status, f"status {status}")
    return Refused(path, reason, lasting=status in _LASTING)


def _server_error(path: str, status: int) -> RemoteError:
    if status in (502, 504):
        return RemoteUnreachable(f"a server before it answers {status}")
    return NotUnderstood(f"status {status}", path=path, is_silence=True)


def retry_after(answer: HttpAnswer) -> float | None:
    """The seconds that the server asks to wait; None when it does not say."""
    text = answer.header("Retry-After").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        # Fault (E97): a wrong time would stop the sync for years.
        return min(float(text), LONGEST_WAIT)
    until, now = seconds_of(text), seconds_of(answer.header("Date"))
    if until is None or now is None:
        return None
    return float(min(max(until - now, 0), LONGEST_WAIT))


def unreachable(error: NotSent) -> RemoteUnreachable:
    """The error for a request that did not reach the server."""
    return RemoteUnreachable(str(error), hint=error.hint)


def locked_out() -> RemoteBusy:
    """The error for a 429 without a time to wait: Nextcloud's protection against guessed passwords."""
    return RemoteBusy(
        "after wrong passwords, the Nextcloud has locked out the address of this machine, for up to half an hour "
        "after the last of them",
        retry_after=LOCKED_OUT_WAIT,
        everywhere=True,
        hint="find the program that tries a wrong password, wait for half an hour, and try again",
    )


def adds_slash(answer: HttpAnswer, target: str) -> bool:
    """Whether the server redirects to the target with a slash, since it is a folder (Apache's mod_dir)."""
    if not is_redirect(answer.status):
        return False
    location = urlsplit(answer.header("Location")).path
    return unquote_to_bytes(location) == unquote_to_bytes(target) + b"/"


def is_page(answer: HttpAnswer) -> bool:
    """Whether it is a page for people, e.g. a login form."""
    return "html" in answer.header("Content-Type").lower()


def is_by_proxy(answer: HttpAnswer) -> bool:
    """Whether a proxy reports a path as missing or forbidden, in place of the server."""
    # Fault (E86): taken for the server's answer, it would make files look deleted. The
    # server answers in XML.
    is_xml = "xml" in answer.header("Content-Type").lower()
    return answer.status in (403, 404, 410) and not is_xml


_REFUSALS = {
    400: "it does not accept this name or request",
    403: "this account may not do that",
    405: "it does not do that here",
    413: "it is too large",
    414: "the name is too long",
    415: "it does not accept this kind of content",
}


_LASTING = frozenset({400, 413, 414, 415})
"""Refusals that another try would meet again"""


def _busy(answer: HttpAnswer) -> RemoteBusy:
    wait = retry_after(answer)
    is_overrun = answer.status == 429
    reason = "the server is busy or in maintenance"
    if is_overrun:
        reason = "the server gets too many requests"
    return RemoteBusy(reason, retry_after=wait, everywhere=is_overrun or wait is not None)


def _redirect_hint(location: str) -> str:
    """A hint that names the other address, without any part that could be a secret."""
    match = re.match(r"(?i)(https?://)(?:[^/@?#]*@)?([^/?#]+)", location)
    if match and match[1].lower() == "https://":
        return f"if you trust {match[1]}{match[2]}, put that into `remote.url`"
    return "a login page may stand between; check `remote.url`"
