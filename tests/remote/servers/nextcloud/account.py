"""One account of the fake Nextcloud, and the door: passwords, app passwords, cookies, and the brake on wrong ones."""

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie

from tests.remote.servers.exchange import Response
from tests.remote.servers.nextcloud.call import INSTANCE, Refused
from tests.remote.servers.nextcloud.tree import File, Folder, Node, Tree

_BRAKE_FORGETS = 30 * 60


@dataclass(slots=True)
class Account:
    """What belongs to one user."""

    user: str
    tree: Tree
    clock: Callable[[], float]
    quota: int | None = None
    refused_in_names: str = ""
    """An administrator may forbid names, which only this server then knows."""
    fingerprint: str = ""
    uploads: dict[str, dict[str, bytes]] = field(default_factory=dict)
    omitted: dict[str, int] = field(default_factory=dict)
    """How many listings more leave out a path."""
    being_written: dict[str, int] = field(default_factory=dict)
    """Files whose new content is just coming in, by the thread that receives it."""

    def check_lock(self, path: str, node: Node | None) -> None:
        """423 where somebody holds the file, or a file below."""
        nodes: list[Node] = [node] if node is not None else []
        while nodes:
            held = nodes.pop()
            if held.locked_until > self.clock():
                raise Refused(
                    423, r"OCA\DAV\Connector\Sabre\Exception\FileLocked", f'"{path}" is locked'
                )
            if isinstance(held, Folder):
                nodes.extend(held.children.values())

    def check_storage(self, path: str) -> None:
        """503 at and below a folder whose storage does not answer."""
        node: Node | None = self.tree.root
        for name in path.split("/"):
            if isinstance(node, File) or node is None:
                return
            node = node.children.get(name)
            if isinstance(node, Folder) and node.unavailable:
                raise Refused(503, "ServiceUnavailable", "Storage is temporarily not available")

    def check_quota(self, length: int) -> None:
        """507 where a body of this length does not fit."""
        if self.quota is not None and length > self.quota - self.tree.used():
            raise Refused(507, "InsufficientStorage", "Insufficient space in /, no file written")


class Door:
    """Who may come in."""

    def __init__(self, clock: Callable[[], float], seed: str) -> None:
        self.passwords: dict[str, str] = {}
        self.app_passwords: dict[str, str] = {}
        """User by app password."""
        self.wrong_allowed = 10
        self._cookies: dict[str, str] = {}
        self._wrong: dict[str, list[float]] = {}
        self._clock, self._seed, self._count = clock, seed, 0

    def new_app_password(self, user: str) -> str:
        """Five groups of five letters."""
        letters = self._token("app password").upper()
        token = "-".join(letters[at : at + 5] for at in range(0, 25, 5))
        self.app_passwords[token] = user
        return token

    def forget_wrong_passwords(self) -> None:
        """The brake is off again."""
        self._wrong.clear()

    def end_sessions(self) -> None:
        """No cookie is good any more."""
        self._cookies.clear()

    def enter(self, headers: Mapping[str, str], address: str) -> tuple[str, dict[str, str]]:
        """The user, and what the answer must carry so that the next request is let in by cookie."""
        if user := self._cookies.get(_session(headers.get("cookie", ""))):
            return user, {}
        if self.braked(address):
            raise Refused(429, r"OC\Security\Bruteforce\MaxDelayReached", "Reached maximum delay")
        if "authorization" not in headers:
            raise self._unauthorized(
                "No public access to this resource., No 'Authorization: Basic' header found."
            )
        if not (user := self._known(headers["authorization"])):
            self._wrong.setdefault(address, []).append(self._clock())
            raise self._unauthorized("Username or password was incorrect")
        cookie = self._token("session")
        self._cookies[cookie] = user
        return user, {"Set-Cookie": f"{INSTANCE}={cookie}; path=/; HttpOnly; SameSite=Lax"}

    def braked(self, address: str) -> bool:
        """Whether an address has tried too many wrong passwords."""
        recent = [
            moment
            for moment in self._wrong.get(address, ())
            if self._clock() - moment < _BRAKE_FORGETS
        ]
        return len(recent) > self.wrong_allowed

    def password_of(self, headers: Mapping[str, str]) -> str:
        """The secret a request carries."""
        return _credentials(headers.get("authorization", ""))[1]

    def _known(self, authorization: str) -> str:
        name, secret = _credentials(authorization)
        owner = self.app_passwords.get(secret, "")
        if owner and name in (owner, ""):
            return owner
        return name if name and secret and self.passwords.get(name) == secret else ""

    def _unauthorized(self, message: str) -> Refused:
        return Refused(
            401,
            "NotAuthenticated",
            message,
            {"WWW-Authenticate": 'Basic realm="Nextcloud", charset="UTF-8"'},
        )

    def _token(self, what: str) -> str:
        self._count += 1
        return sha256(f"{self._seed}:{what}:{self._count}".encode()).hexdigest()[:32]


def _credentials(authorization: str) -> tuple[str, str]:
    """Name and secret; a Bearer token has no name."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return "", value.strip()
    if scheme.lower() != "basic":
        return "", ""
    try:
        name, _, secret = b64decode(value, validate=True).decode("utf-8").partition(":")
    except ValueError:
        return "", ""
    return name, secret


@lru_cache(maxsize=256)
def _session(cookies: str) -> str:
    try:
        cookie = SimpleCookie(cookies).get(INSTANCE)
    except CookieError:
        return ""
    return cookie.value if cookie else ""


def json_response(status: int, text: str) -> Response:
    """An answer in JSON."""
    return Response(status, {"Content-Type": "application/json; charset=utf-8"}, text.encode())
