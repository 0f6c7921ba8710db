"""Uploads in parts (chunked upload v2), and many small files in one request (bulk upload)."""

import hashlib
import json
import re

from tests.remote.servers.exchange import ConnectionLost, Response
from tests.remote.servers.nextcloud.account import json_response
from tests.remote.servers.nextcloud.call import (
    Call,
    Refused,
    check_name,
    file_id,
    not_found,
    quoted,
)
from tests.remote.servers.nextcloud.listing import multistatus
from tests.remote.servers.nextcloud.tree import File, Missing, composed, parent_of
from tests.remote.servers.nextcloud.verbs import check_target, store

ASSEMBLED = ".file"


def uploads(call: Call) -> Response:
    """Everything below ``uploads/USER``."""
    upload, _, part = call.path.partition("/")
    if call.method == "MKCOL" and not part:
        return _begin(call, upload)
    if (parts := call.account.uploads.get(upload)) is None:
        raise not_found(upload)
    match call.method, part:
        case "PUT", _ if part:
            return _put_part(call, parts, part)
        case "MOVE", "" | ".file":
            return _assemble(call, upload, parts)
        case "DELETE", "":
            del call.account.uploads[upload]
            return Response(204)
        case "PROPFIND", "":
            return multistatus(_part_entry(call, name, raw) for name, raw in parts.items())
    raise Refused(405, "MethodNotAllowed", f"{call.method} is not for uploads")


def _begin(call: Call, upload: str) -> Response:
    if upload in call.account.uploads:
        raise Refused(405, "MethodNotAllowed", "The resource you tried to create already exists")
    call.account.uploads[upload] = {}
    return Response(201)


def _put_part(call: Call, parts: dict[str, bytes], name: str) -> Response:
    if not name.isdecimal() or not 1 <= int(name) <= 10000:
        raise Refused(400, "BadRequest", "Invalid chunk name, must be numeric between 1 and 10000")
    if not call.whole:
        raise ConnectionLost
    call.account.check_quota(len(call.body))
    status = 204 if name in parts else 201
    parts[name] = call.body
    return Response(status)


def _assemble(call: Call, upload: str, parts: dict[str, bytes]) -> Response:
    target = call.destination()
    if target.collection != "files":
        raise Refused(403, "Forbidden", "The destination is not among the files")
    raw = b"".join(parts[name] for name in sorted(parts, key=int))
    expected = call.headers.get("oc-total-length")
    if expected is not None and int(expected) != len(raw):
        raise Refused(
            400,
            "BadRequest",
            f"Chunks on server do not sum up to {expected} but to {len(raw)} bytes",
        )
    check_target(call, target.path)
    call.account.check_quota(len(raw))
    status, headers = store(call, target.path, raw)
    del call.account.uploads[upload]
    return Response(status, headers)


def _part_entry(call: Call, name: str, raw: bytes) -> str:
    where = quoted(f"{call.base}/{call.path}/{name}")
    known = f"<d:getcontentlength>{len(raw)}</d:getcontentlength><d:resourcetype/>"
    return (
        f"<d:response><d:href>{where}</d:href><d:propstat><d:prop>{known}</d:prop>"
        "<d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
    )


_BOUNDARY = re.compile(r'boundary="?([^";]+)"?')


def bulk(call: Call) -> Response:
    """Many files at once. No condition is ever looked at: what is there is written over.

    A part that cannot be read ends it with 400; the answer then names what has been stored before.
    """
    boundary = _BOUNDARY.search(call.headers.get("content-type", ""))
    if call.method != "POST" or not boundary:
        raise Refused(400, "BadRequest", "A multipart/related body was expected")
    results: dict[str, object] = {}
    rest = call.body
    opening, closing = (f"--{boundary[1]}{end}\r\n".encode() for end in ("", "--"))
    while not rest.startswith(closing):
        part = _part(rest, opening)
        if part is None:
            return json_response(400, json.dumps(results))
        headers, raw, rest = part
        results[headers["x-file-path"]] = _store_part(call, headers, raw)
    return json_response(200, json.dumps(results))


def _part(rest: bytes, opening: bytes) -> tuple[dict[str, str], bytes, bytes] | None:
    """Headers and content of the next part, and what follows it; None where it is not as it has to be."""
    head, blank, rest = rest.partition(b"\r\n\r\n")
    if not head.startswith(opening) or not blank:
        return None
    lines = (line.partition(":") for line in head[len(opening) :].decode().split("\r\n"))
    headers = {name.strip().lower(): value.strip() for name, _, value in lines}
    if not {"content-length", "x-file-md5", "x-file-path"} <= headers.keys():
        return None
    length = int(headers["content-length"])
    raw, end = rest[:length], rest[length : length + 2]
    if hashlib.md5(raw).hexdigest() != headers["x-file-md5"] or end != b"\r\n":
        return None
    return headers, raw, rest[length + 2 :]


def _store_part(call: Call, headers: dict[str, str], raw: bytes) -> dict[str, object]:
    """A checksum is not looked at, and that of what is written over is gone."""
    path = composed(headers["x-file-path"].strip("/"))
    try:
        check_name(path)
        call.account.check_quota(len(raw))
        node = call.account.tree.find(path)
        if not isinstance(node, File | None):
            raise Refused(409, "Conflict", "There is a folder of this name")
        call.account.check_lock(path, node)
        mtime = headers.get("x-file-mtime") or headers.get("x-oc-mtime")
        file, _ = call.account.tree.write(path, raw, mtime=int(mtime) if mtime else None)
    except (Refused, Missing) as error:
        return {"error": True, "message": str(error) or f"{parent_of(path)} is missing"}
    return {
        "error": False,
        "etag": file.etag,
        "fileid": file_id(file.id),
        "permissions": file.permissions,
    }
