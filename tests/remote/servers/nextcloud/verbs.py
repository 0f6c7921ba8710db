"""What the fake Nextcloud does with files and folders: GET, PUT, DELETE, MKCOL, MOVE, COPY."""

import gzip
import hashlib
import re
from collections.abc import Callable
from threading import get_ident

from tests.remote.servers.exchange import ConnectionLost, Response, http_date
from tests.remote.servers.nextcloud.call import Call, Refused, check_name, file_id, not_found
from tests.remote.servers.nextcloud.listing import content_type
from tests.remote.servers.nextcloud.tree import File, Folder, Missing, Node, name_of, parent_of

_RANGE = re.compile(r"bytes=(\d*)-(\d*)$")


def get(call: Call) -> Response:
    """The content, whole or in part. Reading is also when a change behind the server's back is noticed."""
    node = call.account.tree.find(call.path)
    call.account.check_storage(call.path)
    if node is None:
        raise not_found(call.path)
    if isinstance(node, Folder):
        return Response(
            200,
            {"Content-Type": "text/html; charset=utf-8"},
            b"<!DOCTYPE html><title>WebDAV</title>\n",
        )
    call.account.check_lock(call.path, node)
    _refuse_while_written(call)
    if call.account.tree.scan(node):
        call.account.tree.touched(node)
    headers = {
        "Content-Type": content_type(node.name),
        "Last-Modified": http_date(node.mtime),
        "Accept-Ranges": "bytes",
        **identity_headers(node),
    }
    if node.checksum:
        headers["OC-Checksum"] = node.checksum
    return _part(call, node.raw, headers)


def compressed(answer: Response) -> Response:
    """As Apache's mod_deflate sends it: with another tag than the file's own."""
    packed = gzip.compress(answer.body, mtime=0)
    headers = {**answer.headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    headers["ETag"] = headers["ETag"][:-1] + '-gzip"'
    return Response(answer.status, headers, packed)


def _part(call: Call, raw: bytes, headers: dict[str, str]) -> Response:
    wanted = _RANGE.match(call.headers.get("range", ""))
    if not wanted or call.headers.get("if-range", headers["ETag"]) != headers["ETag"]:
        return Response(200, headers, raw)
    first, last = wanted.groups()
    if first:
        start, end = int(first), min(int(last or len(raw)), len(raw) - 1)
    else:
        start, end = max(0, len(raw) - int(last or 0)), len(raw) - 1
    if start > end:
        raise Refused(
            416, "RequestedRangeNotSatisfiable", "The start offset exceeded the size of the entity"
        )
    headers["Content-Range"] = f"bytes {start}-{end}/{len(raw)}"
    return Response(206, headers, raw[start : end + 1])


def put(call: Call) -> Response:
    """Store the body, or as much of it as came."""
    account, path = call.account, call.path
    check_name(path)
    if account.refused_in_names and account.refused_in_names in name_of(path):
        raise Refused(
            400,
            r"OCA\DAV\Connector\Sabre\Exception\InvalidPath",
            "Filename contains a forbidden word",
        )
    if "content-range" in call.headers:
        raise Refused(400, "BadRequest", "Content-Range on PUT requests are forbidden.")
    account.check_storage(path)
    node = account.tree.find(path)
    if isinstance(node, Folder):
        raise Refused(409, "Conflict", "PUT is not allowed on non-files.")
    account.check_lock(path, node)
    _refuse_while_written(call)
    account.check_quota(int(call.headers.get("content-length") or len(call.body)))
    status, headers = store(call, path, call.body)
    if call.headers.get("x-hash", "").lower() == "sha256":
        headers["X-Hash-SHA256"] = hashlib.sha256(call.body).hexdigest()
    return Response(status, headers)


def store(call: Call, path: str, raw: bytes) -> tuple[int, dict[str, str]]:
    """Content for a path, by PUT or out of chunks: a new one comes whole or not, an old one is written in place."""
    tree = call.account.tree
    if not call.whole:
        if isinstance(tree.find(path), File):
            tree.write(path, raw[: call.dies_at], whole=False)
        raise ConnectionLost
    raw = raw[: call.keeps]
    mtime = call.headers.get("x-oc-mtime")
    good = mtime is None or _is_mtime(mtime)
    try:
        file, created = tree.write(
            path,
            raw,
            mtime=int(float(mtime)) if mtime and good else None,
            checksum=call.headers.get("oc-checksum", ""),
        )
    except Missing:
        raise not_found(parent_of(path)) from None
    if not good:
        # The time is looked at when the bytes are stored already.
        raise Refused(
            500,
            "InvalidArgumentException",
            "X-OC-MTime header must be a valid positive unix timestamp",
        )
    headers = identity_headers(file)
    if mtime is not None:
        headers["X-OC-MTime"] = "accepted"
    return 201 if created else 204, headers


def identity_headers(file: File) -> dict[str, str]:
    """Tag and id."""
    return {"ETag": f'"{file.etag}"', "OC-ETag": f'"{file.etag}"', "OC-FileId": file_id(file.id)}


def _is_mtime(value: str) -> bool:
    try:
        return float(value) > 86400
    except ValueError:
        return False


def _refuse_while_written(call: Call) -> None:
    if call.account.being_written.get(call.path, get_ident()) != get_ident():
        raise Refused(
            423, r"OCA\DAV\Connector\Sabre\Exception\FileLocked", f'"{call.path}" is locked'
        )


def delete(call: Call) -> Response:
    """Into the trash."""
    call.account.check_storage(call.path)
    if (node := call.account.tree.find(call.path)) is None:
        raise not_found(call.path)
    if node.parent is None:
        raise Refused(403, "Forbidden", "The root cannot be deleted")
    call.account.check_lock(call.path, node)
    _refuse_while_written(call)
    call.account.tree.remove(call.path)
    return Response(204)


def mkcol(call: Call) -> Response:
    """A new folder."""
    check_name(call.path)
    if call.headers.get("content-type", "").startswith(("text/", "application/octet")) or (
        call.body and not _xml(call)
    ):
        raise Refused(
            415,
            "UnsupportedMediaType",
            "The request body for the MKCOL request must have an xml Content-Type",
        )
    call.account.check_storage(parent_of(call.path))
    if call.account.tree.find(call.path) is not None:
        raise Refused(405, "MethodNotAllowed", "The resource you tried to create already exists")
    try:
        folder = call.account.tree.mkdir(call.path)
    except Missing:
        raise Refused(409, "Conflict", "Parent node does not exist") from None
    return Response(201, {"OC-FileId": file_id(folder.id)})


def _xml(call: Call) -> bool:
    return "xml" in call.headers.get("content-type", "")


def move(call: Call) -> Response:
    """Another name or folder; id and tag go along."""
    return _to_destination(call, call.account.tree.move)


def copy(call: Call) -> Response:
    """A twin with an id of its own."""
    return _to_destination(call, call.account.tree.copy)


def _to_destination(call: Call, act: Callable[[str, str], Node]) -> Response:
    tree = call.account.tree
    if (source := tree.find(call.path)) is None:
        raise not_found(call.path)
    target = call.destination()
    if target.collection != "files":
        raise Refused(403, "Forbidden", "The destination is not among the files")
    existing = check_target(call, target.path)
    if target.path == call.path:
        raise Refused(403, "Forbidden", "Source and destination uri are identical.")
    one, other = f"{call.path}/", f"{target.path}/"
    if other.startswith(one) or one.startswith(other):
        raise Refused(
            409,
            "Conflict",
            "The destination may not be part of the same subtree as the source path.",
        )
    call.account.check_lock(call.path, source)
    moved = act(call.path, target.path)
    headers = (
        identity_headers(moved) if isinstance(moved, File) else {"OC-FileId": file_id(moved.id)}
    )
    return Response(204 if existing else 201, headers)


def check_target(call: Call, path: str) -> Node | None:
    """What lies at the target of a MOVE or COPY; refuses where it must not be written over."""
    check_name(name_of(path))
    tree = call.account.tree
    call.account.check_storage(path)
    existing = tree.find(path)
    if existing is None and not isinstance(tree.find(parent_of(path)), Folder):
        raise Refused(409, "Conflict", "The parent node does not exist")
    if existing is not None and call.headers.get("overwrite", "T").strip().upper() == "F":
        raise Refused(
            412,
            "PreconditionFailed",
            "The destination node already exists, and the overwrite header is F",
        )
    call.account.check_lock(path, existing)
    return existing
