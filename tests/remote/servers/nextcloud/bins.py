"""The trash and the earlier versions of files, and how both are put back."""

from collections.abc import Iterator

from tests.remote.servers.exchange import Response, http_date
from tests.remote.servers.nextcloud.account import Account
from tests.remote.servers.nextcloud.call import Call, Place, Refused, not_found, quoted
from tests.remote.servers.nextcloud.listing import NC, OC, D, entry, multistatus, requested
from tests.remote.servers.nextcloud.tree import Binned, File, Folder, walk


def trashbin(call: Call) -> Response:
    """``trashbin/USER/trash``, and MOVE from there to ``trashbin/USER/restore``."""
    tree, (area, _, name) = call.account.tree, call.path.partition("/")
    if area != "trash":
        raise not_found(call.path)
    if call.method == "PROPFIND":
        return multistatus(
            [_area(call, "trash"), *(_binned(call, each) for each in tree.trash.values())]
        )
    if call.method == "DELETE" and not name:
        tree.trash.clear()
        return Response(204)
    if (binned := tree.trash.get(name)) is None:
        raise not_found(call.path)
    match call.method:
        case "GET" if isinstance(binned.node, File):
            return Response(200, {"Content-Type": "application/octet-stream"}, binned.node.raw)
        case "DELETE":
            del tree.trash[name]
            return Response(204)
        case "MOVE":
            _check_restoring(call.destination())
            tree.restore(name)
            return Response(201)
    raise Refused(405, "MethodNotAllowed", f"{call.method} is not for the trash")


def versions(call: Call) -> Response:
    """``versions/USER/versions/FILEID``, and MOVE to ``versions/USER/restore``."""
    area, _, rest = call.path.partition("/")
    number, _, stamp = rest.partition("/")
    file = _by_id(call.account, int(number)) if area == "versions" and number.isdecimal() else None
    if file is None:
        raise not_found(call.path)
    if call.method == "PROPFIND" and not stamp:
        return multistatus([_area(call, call.path), *_version_entries(call, file)])
    if not stamp.isdecimal() or int(stamp) not in (file.mtime, *file.versions):
        raise not_found(call.path)
    if call.method == "HEAD":
        # The listing's entry is enough for this, also for the current content.
        return Response(200, {"Content-Type": "application/octet-stream"})
    # The current content is listed and cannot be read here, unless an earlier one shares its second.
    if (raw := file.versions.get(int(stamp))) is None:
        raise not_found(call.path)
    match call.method:
        case "GET":
            return Response(200, {"Content-Type": "application/octet-stream"}, raw)
        case "MOVE":
            _check_restoring(call.destination())
            call.account.tree.write(_path_of(call.account, file), raw)
            return Response(201)
    raise Refused(405, "MethodNotAllowed", f"{call.method} is not for versions")


def _version_entries(call: Call, file: File) -> Iterator[str]:
    """The current content first, then the earlier ones, the newest first; one entry for a second."""
    yield _version(call, f"{call.path}/{file.mtime}", file.mtime, file.size)
    for moment, raw in sorted(file.versions.items(), reverse=True):
        if moment != file.mtime:
            yield _version(call, f"{call.path}/{moment}", moment, len(raw))


def _check_restoring(place: Place) -> None:
    if not f"{place.path}/".startswith("restore/"):
        raise Refused(403, "Forbidden", "Things can only be moved to restore")


def _by_id(account: Account, number: int) -> File | None:
    return next(
        (
            node
            for _, node in walk(account.tree.root)
            if isinstance(node, File) and node.id == number
        ),
        None,
    )


def _path_of(account: Account, file: File) -> str:
    return next(path for path, node in walk(account.tree.root) if node is file)


def _area(call: Call, path: str) -> str:
    where = quoted(f"{call.base}/{path}/")
    known = "<d:resourcetype><d:collection/></d:resourcetype>"
    return _response(where, known)


def _version(call: Call, path: str, at: int, size: int) -> str:
    return _response(
        quoted(f"{call.base}/{path}"),
        f"<d:getcontentlength>{size}</d:getcontentlength><d:resourcetype/><d:getetag>&quot;{at}&quot;</d:getetag>"
        f"<d:getlastmodified>{http_date(at)}</d:getlastmodified>",
    )


def _response(where: str, properties: str) -> str:
    return (
        f"<d:response><d:href>{where}</d:href><d:propstat><d:prop>{properties}</d:prop>"
        "<d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
    )


_WANTED = (D + "resourcetype", D + "getcontentlength", OC + "fileid")
_TRASH = (
    NC + "trashbin-filename",
    NC + "trashbin-original-location",
    NC + "trashbin-deletion-time",
)


def _binned(call: Call, binned: Binned) -> str:
    known = dict(zip(_TRASH, (binned.node.name, binned.origin, str(binned.deleted)), strict=True))
    slash = "/" if isinstance(binned.node, Folder) else ""
    where = quoted(f"{call.base}/trash/{binned.name}") + slash
    return entry(
        where, requested(call.body) or (*_WANTED, *_TRASH), binned.node, call.account, known.get
    )
