"""The fake Nextcloud as an app: what is asked for by which address, and who may ask."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tests.remote.servers.exchange import Response, Seen, http_date, lowered
from tests.remote.servers.nextcloud import conditions, verbs
from tests.remote.servers.nextcloud.account import Account, Door, json_response
from tests.remote.servers.nextcloud.bins import trashbin, versions
from tests.remote.servers.nextcloud.call import (
    DAV,
    LEGACY,
    Call,
    Place,
    Refused,
    not_found,
    place_of,
)
from tests.remote.servers.nextcloud.chunks import bulk, uploads
from tests.remote.servers.nextcloud.controls import Controls
from tests.remote.servers.nextcloud.listing import propfind
from tests.remote.servers.nextcloud.login import LoginFlow, capabilities, cloud, status
from tests.remote.servers.nextcloud.tree import Backup, Tree

_COLLECTIONS: dict[str, Callable[[Call], Response]] = {
    "uploads": uploads,
    "trashbin": trashbin,
    "versions": versions,
    "bulk": bulk,
}
_VERBS: dict[str, Callable[[Call], Response]] = {
    "GET": verbs.get,
    "HEAD": verbs.get,
    "PUT": verbs.put,
    "DELETE": verbs.delete,
    "MKCOL": verbs.mkcol,
    "MOVE": verbs.move,
    "COPY": verbs.copy,
    "PROPFIND": propfind,
}
_ALLOWED = "OPTIONS, GET, HEAD, DELETE, PROPFIND, PUT, PROPPATCH, COPY, MOVE, REPORT, MKCOL"


class FakeNextcloud(Controls):
    """A Nextcloud in this process, with the traits that were measured on a real one.

    `handle` is all a transport needs. Nothing in it waits or draws lots; the clock is the caller's.
    """

    def __init__(
        self,
        user: str = "mira",
        password: str = "correct horse battery staple",
        *,
        clock: Callable[[], float] = time.time,
        seed: str = "",
        deflates: bool = False,
        pollinterval: int = 60,
    ) -> None:
        self.user, self.password = user, password
        self.clock, self.seed = clock, seed
        self.deflates = deflates
        self.pollinterval = pollinterval
        self.is_in_maintenance = False
        self.keeps_versions = True
        self.keeps_trash = True
        self._between = None
        self.log: list[Seen] = []
        self.door = Door(clock, seed)
        self.flow = LoginFlow(self.door, seed)
        self.accounts: dict[str, Account] = {}
        self._cut_put: int | None = None
        self._short_put = self._short_puts = 0
        self._cut_assembly: int | None = None
        self._backups: dict[str, Backup] = {}
        self._lock = threading.RLock()
        self.add_user(user, password)
        self.app_password = self.door.new_app_password(user)

    def add_user(self, user: str, password: str) -> None:
        """One more account, empty."""
        self.door.passwords[user] = password
        self.accounts[user] = Account(user, Tree(self.clock, f"{self.seed}:{user}"), self.clock)

    @property
    def dav_path(self) -> str:
        """Where the files of the account are."""
        return f"{DAV}/files/{self.user}/"

    def handle(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        address: str = "127.0.0.1",
    ) -> Response:
        """The answer to one request."""
        known = lowered(headers)
        with self._lock:
            answered = 0
            try:
                answer = self._answer(method, path, known, body, address)
                answered = answer.status
            finally:
                self.log.append(Seen(method, path, known, len(body), answered))
        answer.headers.setdefault("Date", http_date(int(self.clock())))
        return answer

    def _answer(
        self, method: str, path: str, headers: dict[str, str], body: bytes, address: str
    ) -> Response:
        plain = path.partition("?")[0]
        try:
            if not plain.startswith("/remote.php/"):
                return self._page(method, plain, headers, body, address)
            if self.is_in_maintenance:
                raise Refused(
                    503,
                    "ServiceUnavailable",
                    "System is in maintenance mode. (ServerMaintenanceMode)",
                )
            user, cookie = self.door.enter(headers, address)
            answer = self._dav(method, plain, headers, body, self.accounts[user])
        except Refused as refused:
            return refused.response()
        except conditions.NotModified as same:
            return Response(304, {"ETag": same.tag})
        answer.headers.update(cookie)
        return answer

    def _page(
        self, method: str, path: str, headers: dict[str, str], body: bytes, address: str
    ) -> Response:
        """What is not WebDAV."""
        if path == "/status.php":
            return status(maintenance=self.is_in_maintenance)
        if path == "/.well-known/webdav":
            return Response(301, {"Location": f"{_origin(headers)}{DAV}/"})
        if self.is_in_maintenance:
            waiting = {
                "Retry-After": "120",
                "X-Nextcloud-Maintenance-Mode": "1",
                "Content-Type": "text/html",
            }
            return Response(503, waiting, b"<!DOCTYPE html><title>Maintenance mode</title>\n")
        match method, path:
            case "POST", "/index.php/login/v2":
                return self.flow.begin(_origin(headers))
            case "POST", "/index.php/login/v2/poll":
                return self.flow.poll(_origin(headers), body)
        if path.endswith("/cloud/capabilities"):
            return capabilities(self.pollinterval, undelete=self.keeps_trash)
        if path.startswith("/ocs/"):
            user, _ = self.door.enter(headers, address)
            return cloud(path, method, user, self.door, headers)
        return json_response(404, "[]")

    def _dav(
        self, method: str, path: str, headers: dict[str, str], body: bytes, account: Account
    ) -> Response:
        place = place_of(path, account.user)
        if place is None or not place.collection:
            place = Place("", account.user, "")
        if not place.collection and method == "REPORT":
            raise Refused(415, "ReportNotSupported", "The report is not known here")
        base = LEGACY if path.startswith(LEGACY) else f"{DAV}/{place.collection}/{place.user}"
        return self._called(
            Call(method, place, headers, body, account, base, self._death(method, place))
        )

    def _called(self, call: Call) -> Response:
        if call.method == "OPTIONS":
            return Response(
                200, {"Allow": _ALLOWED, "DAV": "1, 3, extended-mkcol", "MS-Author-Via": "DAV"}
            )
        if call.place.collection == "versions" and not self.keeps_versions:
            raise not_found(call.path)
        if collection := _COLLECTIONS.get(call.place.collection):
            conditions.check(call, None)
            return collection(call)
        if call.place.collection != "files" or (
            call.place.user != call.account.user and call.method != "PROPFIND"
        ):
            raise not_found(call.path)
        return self._file_verb(call)

    def _file_verb(self, call: Call) -> Response:
        if call.method in ("LOCK", "UNLOCK"):
            raise Refused(
                501,
                "NotImplemented",
                "There was no plugin in the system that was willing to handle this",
            )
        if call.method == "REPORT":
            raise Refused(415, "ReportNotSupported", "The report is not known here")
        if (verb := _VERBS.get(call.method)) is None:
            raise Refused(501, "NotImplemented", f"{call.method} is not known here")
        conditions.check(call, call.account.tree.find(call.path))
        if call.method == "PUT" and self._between:
            act, self._between = self._between, None
            act()
        if call.method == "PUT" and call.account.tree.find(call.path) is not None:
            call.keeps = self._short_put if self._short_puts > 0 else None
            self._short_puts -= 1
        answer = verb(call)
        packs = self.deflates and answer.status == 200 and "ETag" in answer.headers
        return (
            verbs.compressed(answer)
            if packs and "gzip" in call.headers.get("accept-encoding", "")
            else answer
        )

    def _death(self, method: str, place: Place) -> int | None:
        """At which byte the server's process dies over this request, if it is to."""
        at: int | None = None
        if method == "PUT":
            at, self._cut_put = self._cut_put, None
        elif method == "MOVE" and place.collection == "uploads":
            at, self._cut_assembly = self._cut_assembly, None
        return at

    @contextmanager
    def receiving(self, method: str, path: str) -> Iterator[None]:
        """While the body of a PUT comes in, nobody else may read or write the file."""
        try:
            place = place_of(path, self.user) if method == "PUT" else None
        except Refused:
            place = None
        account = self.accounts.get(place.user) if place and place.collection == "files" else None
        if account is None or place is None or account.tree.find(place.path) is None:
            yield
            return
        with self._lock:
            mine = (
                account.being_written.setdefault(place.path, threading.get_ident())
                == threading.get_ident()
            )
        try:
            yield
        finally:
            if mine:
                account.being_written.pop(place.path, None)


def _origin(headers: Mapping[str, str]) -> str:
    return f"http://{headers.get('host', 'localhost')}"
