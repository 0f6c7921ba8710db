"""PROPFIND: the multistatus of the fake Nextcloud, for files and folders and for what is in the trash."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from tests.remote.servers.exchange import Response, http_date
from tests.remote.servers.nextcloud.account import Account
from tests.remote.servers.nextcloud.call import Call, Refused, file_id, not_found, quoted
from tests.remote.servers.nextcloud.tree import File, Folder, Node, size_of

PREFIXES = {
    "DAV:": "d",
    "http://owncloud.org/ns": "oc",
    "http://nextcloud.org/ns": "nc",
    "http://sabredav.org/ns": "s",
}
D, OC, NC = "{DAV:}", "{http://owncloud.org/ns}", "{http://nextcloud.org/ns}"
_ALLPROP = tuple(
    D + name
    for name in (
        "getlastmodified",
        "getcontentlength",
        "resourcetype",
        "quota-used-bytes",
        "quota-available-bytes",
        "getetag",
        "getcontenttype",
    )
)
_OPENING = (
    '<?xml version="1.0"?>\n<d:multistatus xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns" '
    'xmlns:oc="http://owncloud.org/ns" xmlns:nc="http://nextcloud.org/ns">'
)

Property = Callable[[Node, Account], str | None]


def _checksums(node: Node, _: Account) -> str | None:
    if not isinstance(node, File) or not node.checksum:
        return None
    return f"<oc:checksum>{escape(node.checksum)}</oc:checksum>"


def _available(node: Node, account: Account) -> str | None:
    if isinstance(node, File):
        return None
    return "-3" if account.quota is None else str(max(0, account.quota - account.tree.used()))


PROPERTIES: dict[str, Property] = {
    D + "getlastmodified": lambda node, _: http_date(node.mtime),
    D + "getcontentlength": lambda node, _: str(node.size) if isinstance(node, File) else None,
    D + "resourcetype": lambda node, _: "<d:collection/>" if isinstance(node, Folder) else "",
    D + "getetag": lambda node, _: f"&quot;{node.etag}&quot;",
    D + "getcontenttype": lambda node, _: _content_type(node) if isinstance(node, File) else None,
    D + "displayname": lambda node, _: escape(node.name),
    D + "quota-used-bytes": lambda node, _: (
        str(size_of(node)) if isinstance(node, Folder) else None
    ),
    D + "quota-available-bytes": _available,
    OC + "fileid": lambda node, _: str(node.id),
    OC + "id": lambda node, _: file_id(node.id),
    OC + "size": lambda node, _: str(size_of(node)),
    OC + "permissions": lambda node, _: node.permissions,
    OC + "checksums": _checksums,
    OC + "owner-id": lambda _, account: escape(account.user),
    OC + "data-fingerprint": lambda node, account: account.fingerprint,
}


def propfind(call: Call) -> Response:
    """The listing of what lies at the path."""
    account = call.account
    if call.place.user != account.user:
        return empty_home(call)
    account.check_storage(call.path)
    if (node := account.tree.find(call.path)) is None:
        raise not_found(call.path)
    depth = {"0": 0, "1": 1}.get(call.headers.get("depth", "").strip(), 1 << 30)
    wanted = requested(call.body)
    entries = (
        entry(href(call.base, path, each), wanted, each, account)
        for path, each in _below(call, node, depth)
    )
    return multistatus(entries)


def empty_home(call: Call) -> Response:
    """Somebody else's home is shown as an empty folder without a tag."""
    if call.path:
        raise not_found(call.path)
    kind = _propstat(["<d:resourcetype><d:collection/></d:resourcetype>"], 200)
    text = f"<d:response><d:href>{quoted(call.base)}/</d:href>{kind}</d:response>"
    return multistatus([text])


def _below(call: Call, node: Node, depth: int) -> Iterator[tuple[str, Node]]:
    """A node and what is below it, parents first, as deep as asked; a storage that is gone shows nothing below."""
    left = call.account.omitted
    stack = [(call.path, node, depth)]
    while stack:
        path, each, deeper = stack.pop()
        if path in left and path != call.path:
            left[path] -= 1
            if left[path] <= 0:
                del left[path]
            continue
        yield path, each
        if deeper and isinstance(each, Folder) and not each.unavailable:
            start = f"{path}/" if path else ""
            stack.extend(
                (start + name, child, deeper - 1) for name, child in reversed(each.children.items())
            )


@lru_cache(maxsize=256)
def requested(body: bytes) -> tuple[str, ...] | None:
    """The properties a PROPFIND names, in Clark's notation; None for all there are by default."""
    if not body.strip():
        return None
    try:
        asked = ElementTree.fromstring(body)
    except ElementTree.ParseError as error:
        raise Refused(400, "BadRequest", f"The body is not well-formed XML: {error}") from None
    named = asked.find(D + "prop")
    return None if named is None else tuple(element.tag for element in named)


def href(base: str, path: str, node: Node) -> str:
    """Where a node is."""
    slash = "/" if isinstance(node, Folder) and path else ""
    return quoted(f"{base}/{path}") + slash


def entry(
    where: str,
    wanted: Iterable[str] | None,
    node: Node,
    account: Account,
    extra: Callable[[str], str | None] = lambda name: None,
) -> str:
    """One response element."""
    found, missing = [], []
    for name in _ALLPROP if wanted is None else wanted:
        known = PROPERTIES.get(name)
        value = extra(name)
        if value is None and known is not None:
            value = known(node, account)
        if value is not None:
            tag = _tag(name)
            found.append(f"<{tag}>{value}</{tag}>" if value else f"<{tag}/>")
        elif wanted is not None:
            missing.append(_absent(name))
    parts = (_propstat(found, 200) if found or not missing else "") + (
        _propstat(missing, 404) if missing else ""
    )
    return f"<d:response><d:href>{where}</d:href>{parts}</d:response>"


def multistatus(entries: Iterable[str]) -> Response:
    """The whole answer."""
    body = "".join([_OPENING, *entries, "</d:multistatus>\n"])
    return Response(
        207,
        {"Content-Type": "application/xml; charset=utf-8", "DAV": "1, 3, extended-mkcol"},
        body.encode(),
    )


def _propstat(properties: list[str], status: int) -> str:
    words = "200 OK" if status == 200 else "404 Not Found"
    return f"<d:propstat><d:prop>{''.join(properties)}</d:prop><d:status>HTTP/1.1 {words}</d:status></d:propstat>"


@lru_cache(maxsize=256)
def _tag(name: str) -> str:
    namespace, _, local = name[1:].partition("}")
    return f"{PREFIXES[namespace]}:{local}"


@lru_cache(maxsize=256)
def _absent(name: str) -> str:
    namespace, _, local = name[1:].partition("}") if name.startswith("{") else ("", "", name)
    if namespace in PREFIXES:
        return f"<{PREFIXES[namespace]}:{local}/>"
    return f'<x:{local} xmlns:x="{escape(namespace)}"/>'


def _content_type(node: Node) -> str:
    return content_type(node.name)


@lru_cache(maxsize=1024)
def content_type(name: str) -> str:
    """By the end of the name."""
    known = {
        "md": "text/markdown",
        "txt": "text/plain",
        "json": "application/json",
        "png": "image/png",
    }
    return known.get(name.rpartition(".")[2].lower(), "application/octet-stream")
