"""What Nextcloud says of itself, and how a program is let in without ever seeing the login password."""

import json
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import parse_qs

from tests.remote.servers.exchange import Response
from tests.remote.servers.nextcloud.account import Door, json_response

VERSION = {
    "major": 32,
    "minor": 0,
    "micro": 1,
    "string": "32.0.1",
    "edition": "",
    "extendedSupport": False,
}


def status(*, maintenance: bool) -> Response:
    """``status.php``, which is answered also while maintenance goes on."""
    said = {
        "installed": True,
        "maintenance": maintenance,
        "needsDbUpgrade": False,
        "version": "32.0.1.2",
        "versionstring": "32.0.1",
        "edition": "",
        "productname": "Nextcloud",
        "extendedSupport": False,
    }
    return json_response(200, json.dumps(said, separators=(",", ":")))


def capabilities(pollinterval: int, *, undelete: bool = True) -> Response:
    """``/ocs/v2.php/cloud/capabilities?format=json``"""
    features = {
        "core": {"pollinterval": pollinterval, "webdav-root": "remote.php/webdav"},
        "dav": {"chunking": "1.0", "bulkupload": "1.0"},
        "files": {
            "bigfilechunking": True,
            "undelete": undelete,
            "versioning": True,
            "forbidden_filenames": [".htaccess"],
        },
        "checksums": {"supportedTypes": ["SHA1", "MD5", "ADLER32"], "preferredUploadType": "SHA1"},
    }
    return ocs({"version": VERSION, "capabilities": features})


def ocs(data: object) -> Response:
    """An answer of the OCS interface."""
    meta = {"status": "ok", "statuscode": 200, "message": "OK"}
    return json_response(200, json.dumps({"ocs": {"meta": meta, "data": data}}))


class LoginFlow:
    """Login flow v2: the program shows a page, the person grants it, the program polls for its app password."""

    def __init__(self, door: Door, seed: str) -> None:
        self._door, self._seed, self._count = door, seed, 0
        self._waiting: dict[str, str | None] = {}

    def begin(self, origin: str) -> Response:
        """``POST /index.php/login/v2``"""
        self._count += 1
        token = sha256(f"{self._seed}:flow:{self._count}".encode()).hexdigest() * 2
        self._waiting[token] = None
        said = {
            "poll": {"token": token, "endpoint": f"{origin}/index.php/login/v2/poll"},
            "login": f"{origin}/index.php/login/v2/flow/{token[:40]}",
        }
        return json_response(200, json.dumps(said))

    def grant(self, login_url: str, user: str) -> None:
        """The person says yes in the browser, on the page the program has shown."""
        start = login_url.rpartition("/")[2]
        token = next(token for token in self._waiting if token[:40] == start)
        self._waiting[token] = user

    def poll(self, origin: str, body: bytes) -> Response:
        """``POST /index.php/login/v2/poll``: 404 until granted, the password once, 404 again."""
        token = parse_qs(body.decode("latin-1")).get("token", [""])[0]
        if (user := self._waiting.get(token)) is None:
            return json_response(404, "[]")
        del self._waiting[token]
        said = {
            "server": origin,
            "loginName": user,
            "appPassword": self._door.new_app_password(user),
        }
        return json_response(200, json.dumps(said))


def cloud(path: str, method: str, user: str, door: Door, headers: Mapping[str, str]) -> Response:
    """What the OCS interface says to somebody who is let in."""
    if "ocs-apirequest" not in headers:
        return json_response(412, json.dumps({"message": "CSRF check failed"}))
    if path.endswith("/cloud/user"):
        return ocs({"id": user, "display-name": user, "enabled": True})
    if path.endswith("/core/apppassword") and method == "DELETE":
        door.app_passwords.pop(door.password_of(headers), None)
        return ocs([])
    return json_response(
        404, json.dumps({"ocs": {"meta": {"status": "failure", "statuscode": 404}, "data": []}})
    )
