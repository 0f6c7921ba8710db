"""Short words for requests to the fake Nextcloud in this process, as its one user with an app password."""

from base64 import b64encode
from xml.etree import ElementTree

from tests.remote.servers.exchange import Response
from tests.remote.servers.nextcloud import FakeNextcloud

FILES = "/remote.php/dav/files/mira"
UPLOADS = "/remote.php/dav/uploads/mira"
ORIGIN = "http://cloud.example"


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{user}:{password}".encode()).decode()}


def ask(
    cloud: FakeNextcloud, method: str, path: str, body: bytes = b"", **headers: str
) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    target = path if path.startswith("/") else f"{FILES}/{path}"
    return cloud.handle(method, target, {**basic("mira", cloud.app_password), **named}, body)


def prop(
    cloud: FakeNextcloud, path: str, name: str, namespace: str = "http://owncloud.org/ns"
) -> str | None:
    body = f'<d:propfind xmlns:d="DAV:"><d:prop><x:{name} xmlns:x="{namespace}"/></d:prop></d:propfind>'
    answer = ask(cloud, "PROPFIND", path, body.encode(), Depth="0")
    found = ElementTree.fromstring(answer.body).find(f".//{{{namespace}}}{name}")
    assert found is not None
    parent = ElementTree.fromstring(answer.body).find(".//{DAV:}status")
    assert parent is not None
    return "".join(found.itertext()) if parent.text and "200" in parent.text else None


def names(cloud: FakeNextcloud, path: str = "", depth: str = "1") -> list[str]:
    listing = ElementTree.fromstring(ask(cloud, "PROPFIND", path, Depth=depth).body)
    return [(href.text or "").removeprefix(FILES).strip("/") for href in listing.iter("{DAV:}href")]


def error(answer: Response) -> str:
    return (
        ElementTree.fromstring(answer.body).findtext("{http://sabredav.org/ns}exception") or ""
    ).rpartition("\\")[2]
