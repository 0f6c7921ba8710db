"""Builds a Listing from the lines of a PROPFIND: complete, with its own folder in it, or an error."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from vault_memory.errors import BadPath
from vault_memory.remote.address import Address
from vault_memory.remote.contract import Capabilities, Entry, RemoteListing
from vault_memory.remote.propfind_parser import DAV, OWNCLOUD, Line
from vault_memory.remote.remote_errors import NotUnderstood

YOUNG = 2
"""Seconds in which a second write may get the same tag"""


class _UnusableLine(Exception):
    """The reason why a line does not describe its file."""


@dataclass(frozen=True, slots=True)
class ListingContext:
    """What is needed to interpret the lines of a server."""

    at: Address
    traits: Capabilities
    date: int | None
    """the server's clock when it answered, to judge how new a tag is"""


@dataclass(slots=True)
class _Collected:
    """The usable lines of a listing, and the paths of the others with the reason."""

    entries: dict[str, Entry] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    dropped: int = 0


def listing(
    lines: Iterable[Line], context: ListingContext, *, folder: str, deep: bool
) -> RemoteListing:
    """The listing of a folder, or with `deep` of a whole tree. Raises NotUnderstood when it is incomplete."""
    collected = _Collected()
    for line in lines:
        try:
            path = context.at.inside(line.href)
        except BadPath as error:
            name = context.at.readable(line.href)
            if name is None:
                collected.dropped += 1
            elif _is_in(name, folder, deep):
                collected.unknown[name] = error.reason
            continue
        if path == folder or _is_in(path, folder, deep):
            _collect(line, path, context, collected)
        else:
            collected.dropped += 1
    return _checked(collected, folder)


def _collect(line: Line, path: str, context: ListingContext, collected: _Collected) -> None:
    if path in collected.entries or path in collected.unknown:
        # Fault (E88): two entries of one file contradict each other, and neither is
        # sure.
        collected.entries.pop(path, None)
        collected.unknown[path] = "the server lists it twice"
        return
    try:
        collected.entries[path] = _entry(line, path, context)
    except _UnusableLine as error:
        collected.unknown[path] = str(error)


def single_entry(lines: Iterable[Line], path: str, context: ListingContext) -> Entry:
    """The entry of the one path that was requested. Raises NotUnderstood."""
    matches = [line for line in lines if _path_of(line, context.at) == path]
    if len(matches) != 1:
        raise NotUnderstood("the answer does not name what was asked for", path=path)
    try:
        return _entry(matches[0], path, context)
    except _UnusableLine as error:
        raise NotUnderstood(str(error), path=path) from None


def etag_of(text: str) -> tuple[str, bool]:
    """The tag in the form of ``If-Match``, and whether it is weak; "" when no tag can be sent."""
    text = text.strip()
    weak = text.startswith("W/")
    text = text.removeprefix("W/").strip('"')
    # Fault: a tag returns to the server in a header. A line break in it would add
    # headers of its own.
    if not text or not re.fullmatch(r"[\x21\x23-\x7e]+", text):
        return "", False
    return f'"{text}"', weak


def seconds_of(date: str | None) -> int | None:
    """A date of HTTP in Unix seconds; None when it cannot be read."""
    try:
        return int(parsedate_to_datetime(date or "").timestamp())
    except (ValueError, OverflowError):
        return None


def is_old(modified: int | None, date: int | None) -> bool:
    """Whether a tag of that moment is reliable."""
    # Fault (E102): a second write within the same second gets the same tag.
    if modified is None or date is None:
        return False
    return abs(date - modified) >= YOUNG


def sha256_of(checksums: str) -> str:
    """The SHA-256 in ``SHA1:… SHA256:…``, or ""."""
    match = re.search(r"(?i)\bSHA256:([0-9a-f]{64})\b", checksums)
    return match[1].lower() if match else ""


def substitute_tag(modified: int, size: int) -> str:
    """A tag for a server without tags; it is never sent."""
    return f"~{modified}-{size}"


def _path_of(line: Line, at: Address) -> str | None:
    try:
        return at.inside(line.href)
    except BadPath:
        return None


def _checked(collected: _Collected, folder: str) -> RemoteListing:
    """The listing, if it has its own folder and the folder of each entry. Raises NotUnderstood."""
    entries, unknown = collected.entries, collected.unknown
    own = entries.pop(folder, None)
    # Fault (E87): a proxy or another folder may answer. A listing that does not name
    # its own folder lists something else.
    if own is None:
        reason = unknown.get(folder, "it is missing")
        raise NotUnderstood(f"the listing does not name its own folder ({reason})")
    if not own.is_folder:
        raise NotUnderstood("it is a file, not a folder", path=folder)
    subfolders = {path for path, entry in entries.items() if entry.is_folder}
    folders = {folder, *subfolders, *unknown}
    for path in entries:
        parent = path.rpartition("/")[0]
        if parent not in folders:
            # Fault (E89): an incomplete listing would make the files that it leaves out
            # look deleted.
            raise NotUnderstood(
                "the listing leaves a folder out and names what is in it", path=parent
            )
    ordered = tuple(entries[path] for path in sorted(entries))
    return RemoteListing(own, ordered, unknown, collected.dropped)


def _is_in(path: str, folder: str, deep: bool) -> bool:
    """Whether a path is in a folder, or with `deep` anywhere below it."""
    start = f"{folder}/" if folder else ""
    name = path.removeprefix(start)
    if not path.startswith(start) or not name:
        return False
    return deep or "/" not in name


def _entry(line: Line, path: str, context: ListingContext) -> Entry:
    """The entry that a line describes. Raises _UnusableLine."""
    is_folder = _kind(line) == "folder"
    modified = seconds_of(line.props.get(f"{DAV} getlastmodified"))
    size = _size(line, is_folder=is_folder)
    fileid = line.props.get(f"{OWNCLOUD} fileid", "")
    etag, weak = etag_of(line.props.get(f"{DAV} getetag", ""))
    if not etag:
        etag = _missing_tag(context.traits, modified, size, is_folder=is_folder)
    if not fileid and context.traits.fileids:
        raise _UnusableLine("the server gives no fileid for it")
    fingerprint = line.props.get(f"{OWNCLOUD} data-fingerprint", "")
    return Entry(
        path=path,
        is_folder=is_folder,
        etag=etag,
        size=size,
        modified=modified or 0,
        fileid=fileid,
        checksum=sha256_of(line.props.get(f"{OWNCLOUD} checksums", "")),
        confirmed=is_folder or (not weak and is_old(modified, context.date)),
        fingerprint="" if path else fingerprint,
    )


def _kind(line: Line) -> str:
    """The kind of a line's path. Raises _UnusableLine."""
    # Fault (E85): a line with an error names a file that exists. It is unknown, and not
    # absent.
    if line.status and not 200 <= line.status < 300:
        raise _UnusableLine(f"the server answers {line.status} for it")
    kind = line.props.get(f"{DAV} resourcetype")
    if kind is None:
        raise _UnusableLine("the server does not say whether it is a file")
    return kind


def _size(line: Line, *, is_folder: bool) -> int:
    text = line.props.get(f"{DAV} getcontentlength", "0" if is_folder else "")
    # Fault (H121): Python raises ValueError for a number of thousands of digits, and no
    # file has a size of 20.
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise _UnusableLine("the server does not say how long it is")
    return int(text)


def _missing_tag(traits: Capabilities, modified: int | None, size: int, *, is_folder: bool) -> str:
    """The substitute for a missing tag; empty for a folder that needs none. Raises _UnusableLine."""
    if is_folder and not traits.recursive_etags:
        return ""
    if is_folder or traits.etags or modified is None:
        raise _UnusableLine("the server gives no ETag for it")
    return substitute_tag(modified, size)
