"""Nextcloud's bulk upload: the body of the request, and the results in its answer.

The server checks no precondition. It overwrites a file that exists already.
"""

import hashlib
import json
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from vault_memory.remote.contract import PutResult
from vault_memory.remote.remote_listing import etag_of

REFUSALS = frozenset({403, 404, 405, 409, 410, 411, 412, 413, 415, 423, 501, 507})
"""Statuses after which no file was stored"""


@dataclass(frozen=True, slots=True)
class BulkFile:
    """One new file of the request."""

    path: str
    """in the remote"""
    name: str
    """the path among the account's files, with a slash at its start"""
    raw: bytes


@dataclass(frozen=True, slots=True)
class BulkResult:
    """The result for one file."""

    is_stored: bool
    etag: str = ""
    fileid: str = ""
    """as sent, with the server's name"""


def fits(name: str) -> bool:
    """Whether a name survives the header of a part: the server trims headers and composes names."""
    # Fault (F109): a line break in the name would end the header, and the rest of it
    # would be another one.
    is_plain = name.isprintable() and name == name.strip()
    return is_plain and name == unicodedata.normalize("NFC", name)


def body(files: Iterable[BulkFile], boundary: str, modified: int) -> bytes:
    """The body of the request. `modified`: the time of the files, 0 for that of the server."""
    chunks = []
    for file in files:
        headers = [
            f"--{boundary}",
            f"X-File-Path: {file.name}",
            f"X-File-MD5: {hashlib.md5(file.raw, usedforsecurity=False).hexdigest()}",
            f"Content-Length: {len(file.raw)}",
        ]
        if modified:
            headers.append(f"X-OC-Mtime: {modified}")
        chunks += ["\r\n".join(headers).encode(), b"\r\n\r\n", file.raw, b"\r\n"]
    chunks.append(f"--{boundary}--\r\n".encode())
    return b"".join(chunks)


def results(text: bytes) -> dict[str, BulkResult] | None:
    """The results in an answer, by the names of the files; None when it holds no results."""
    try:
        answer = json.loads(text)
    except ValueError:
        return None
    # PHP encodes an empty mapping as a list.
    if answer == []:
        return {}
    if not isinstance(answer, dict):
        return None
    return {name: _result(fields) for name, fields in answer.items() if isinstance(fields, dict)}


def _result(fields: dict[str, object]) -> BulkResult:
    if fields.get("error") is not False:
        return BulkResult(False)
    etag = fields.get("etag")
    tag = etag_of(f'"{etag}"')[0] if isinstance(etag, str) else ""
    return BulkResult(True, tag, str(fields.get("fileid") or ""))


def number_of(stored: PutResult) -> int:
    """The file id as a number; 0 without one."""
    return int(stored.fileid) if stored.fileid.isdecimal() else 0
