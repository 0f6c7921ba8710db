"""From the lines of a multistatus to a Listing: complete, with its own folder in it, or an error."""

import re
from collections.abc import Iterable
from email.utils import parsedate_to_datetime

from vault_memory.errors import BadPath
from vault_memory.remote.address import Address
from vault_memory.remote.contract import Capabilities, Entry, Listing
from vault_memory.remote.propfind_parser import DAV, OWNCLOUD, Line
from vault_memory.remote.remote_errors import NotUnderstood

YOUNG = 2
"""Seconds in which a second write may leave a tag as it is"""


class _Odd(Exception):
    """Why a line tells too little about its file."""


def listing(
    lines: Iterable[Line],
    *,
    folder: str,
    deep: bool,
    at: Address,
    traits: Capabilities,
    date: int | None,
) -> Listing:
    """``date``: the server's clock when it answered, to tell how young a tag is."""
    found: dict[str, Entry] = {}
    unknown: dict[str, str] = {}
    dropped = 0
    for line in lines:
        try:
            path = at.inside(line.href)
        except BadPath as error:
            odd = at.readable(line.href)
            dropped += odd is None
            if odd is not None and _is_in(odd, folder, deep):
                unknown[odd] = error.reason
            continue
        if path != folder and not _is_in(path, folder, deep):
            dropped += 1
            continue
        try:
            if path in found or path in unknown:
                raise _Odd("the server lists it twice")
            found[path] = _entry(line, path, traits, date)
        except _Odd as error:
            found.pop(path, None)
            unknown[path] = str(error)
    return _whole(found, unknown, dropped, folder)


def lone(
    lines: Iterable[Line],
    path: str,
    *,
    at: Address,
    traits: Capabilities,
    date: int | None,
) -> Entry:
    """The entry of the one thing that was looked at."""
    found = [line for line in lines if _path_of(line, at) == path]
    if len(found) != 1:
        raise NotUnderstood("the answer does not name what was asked for", path=path)
    try:
        return _entry(found[0], path, traits, date)
    except _Odd as error:
        raise NotUnderstood(str(error), path=path) from None


def etag_of(text: str) -> tuple[str, bool]:
    """The tag as ``If-Match`` wants it, and whether it is weak; "" when there is none that can be sent."""
    text = text.strip()
    weak = text.startswith("W/")
    text = text.removeprefix("W/").strip('"')
    if not text or not re.fullmatch(r"[\x21\x23-\x7e]+", text):
        return "", False
    return f'"{text}"', weak


def seconds_of(date: str | None) -> int | None:
    """A date of HTTP in Unix seconds, None when it is none."""
    try:
        return int(parsedate_to_datetime(date or "").timestamp())
    except (ValueError, OverflowError):
        return None


def is_old(modified: int | None, date: int | None) -> bool:
    """Whether a tag of that moment can be relied on: nobody can write in that second any more."""
    return (
        modified is not None
        and date is not None
        and not -YOUNG < date - modified < YOUNG
    )


def sha256_of(checksums: str) -> str:
    """The SHA-256 out of ``SHA1:… SHA256:…``, or ""."""
    found = re.search(r"(?i)\bSHA256:([0-9a-f]{64})\b", checksums)
    return found[1].lower() if found else ""


def standing_in(modified: int, size: int) -> str:
    """What serves for a tag where the server gives none; never sent to it."""
    return f"~{modified}-{size}"


def _path_of(line: Line, at: Address) -> str | None:
    try:
        return at.inside(line.href)
    except BadPath:
        return None


def _whole(
    found: dict[str, Entry], unknown: dict[str, str], dropped: int, folder: str
) -> Listing:
    own = found.pop(folder, None)
    if own is None:
        raise NotUnderstood(
            f"the listing does not name its own folder ({unknown.get(folder, 'it is missing')})"
        )
    if not own.is_folder:
        raise NotUnderstood("it is a file, not a folder", path=folder)
    folders = (
        {folder}
        | {path for path, entry in found.items() if entry.is_folder}
        | set(unknown)
    )
    for path in list(found):
        parent = path.rpartition("/")[0]
        if parent not in folders:
            raise NotUnderstood(
                "the listing leaves a folder out and names what is in it", path=parent
            )
    return Listing(own, tuple(found[path] for path in sorted(found)), unknown, dropped)


def _is_in(path: str, folder: str, deep: bool) -> bool:
    start = f"{folder}/" if folder else ""
    return (
        path.startswith(start)
        and len(path) > len(start)
        and (deep or "/" not in path[len(start) :])
    )


def _entry(line: Line, path: str, traits: Capabilities, date: int | None) -> Entry:
    if line.status and not 200 <= line.status < 300:
        raise _Odd(f"the server answers {line.status} for it")
    kind = line.props.get(f"{DAV} resourcetype")
    if kind is None:
        raise _Odd("the server does not say whether it is a file")
    is_folder = kind == "folder"
    modified = seconds_of(line.props.get(f"{DAV} getlastmodified"))
    size = line.props.get(f"{DAV} getcontentlength", "0" if is_folder else "")
    fileid = line.props.get(f"{OWNCLOUD} fileid", "")
    etag, weak = etag_of(line.props.get(f"{DAV} getetag", ""))
    if not (size.isascii() and size.isdigit() and len(size) < 20):
        raise _Odd("the server does not say how long it is")
    if not etag and not is_folder and not traits.etags and modified is not None:
        etag = standing_in(modified, int(size))
    if not etag and (not is_folder or traits.recursive_etags):
        raise _Odd("the server gives no ETag for it")
    if not fileid and traits.fileids:
        raise _Odd("the server gives no fileid for it")
    return Entry(
        path=path,
        is_folder=is_folder,
        etag=etag,
        size=int(size),
        modified=modified or 0,
        fileid=fileid,
        checksum=sha256_of(line.props.get(f"{OWNCLOUD} checksums", "")),
        confirmed=is_folder or (not weak and is_old(modified, date)),
        fingerprint="" if path else line.props.get(f"{OWNCLOUD} data-fingerprint", ""),
    )
