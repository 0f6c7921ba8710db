"""Nextcloud's bulk upload: the body of the request, and what its answer tells about each part.

The server looks at no precondition. A file that is already there is written over.
"""

import hashlib
import json
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from vault_memory.remote.contract import PutResult
from vault_memory.remote.remote_listing import etag_of

REFUSALS = frozenset({403, 404, 405, 409, 410, 411, 412, 413, 415, 423, 501, 507})
"""Statuses of the whole answer after which no part has been stored"""


@dataclass(frozen=True, slots=True)
class Part:
    """One new file."""

    path: str
    """of the remote"""
    name: str
    """the path among the account's files, with a slash at its start"""
    raw: bytes


@dataclass(frozen=True, slots=True)
class Result:
    """What the server tells about one part."""

    is_stored: bool
    etag: str = ""
    fileid: str = ""
    """as sent, with the server's name"""


def fits(name: str) -> bool:
    """Whether a name comes back as the same one from the header of a part: the server trims headers."""
    is_plain = name.isprintable() and name == name.strip()
    return is_plain and name == unicodedata.normalize("NFC", name)


def body(parts: Iterable[Part], boundary: str, modified: int) -> bytes:
    """The parts; `modified`: the time that the files get, 0 for that of the server."""
    pieces = []
    for part in parts:
        headers = [
            f"--{boundary}",
            f"X-File-Path: {part.name}",
            f"X-File-MD5: {hashlib.md5(part.raw, usedforsecurity=False).hexdigest()}",
            f"Content-Length: {len(part.raw)}",
        ]
        if modified:
            headers.append(f"X-OC-Mtime: {modified}")
        pieces += ["\r\n".join(headers).encode(), b"\r\n\r\n", part.raw, b"\r\n"]
    pieces.append(f"--{boundary}--\r\n".encode())
    return b"".join(pieces)


def results(text: bytes) -> dict[str, Result] | None:
    """What an answer tells, by the names of the parts; None when it is no such answer."""
    try:
        answer = json.loads(text)
    except ValueError:
        return None
    if answer == []:  # PHP writes an empty mapping so
        return {}
    if not isinstance(answer, dict):
        return None
    return {
        name: _result(fields)
        for name, fields in answer.items()
        if isinstance(fields, dict)
    }


def _result(fields: dict[str, object]) -> Result:
    if fields.get("error") is not False:
        return Result(False)
    etag = fields.get("etag")
    tag = etag_of(f'"{etag}"')[0] if isinstance(etag, str) else ""
    return Result(True, tag, str(fields.get("fileid") or ""))


def number_of(stored: PutResult) -> int:
    """The id as a number; 0 when there is none."""
    return int(stored.fileid) if stored.fileid.isdecimal() else 0
