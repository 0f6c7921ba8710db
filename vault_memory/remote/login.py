"""Nextcloud's login in a browser (flow v2): a person approves it there, and an app password comes back."""

import json
from dataclasses import dataclass
from urllib.parse import quote

from vault_memory.remote.address import address
from vault_memory.remote.http_transport import (
    Account,
    HttpAnswer,
    NoAnswer,
    NotSent,
    Request,
    Transport,
)
from vault_memory.remote.nextcloud_links import read_link, refused
from vault_memory.remote.remote_errors import NotUnderstood
from vault_memory.remote.status_errors import locked_out, refuse, retry_after, unreachable

_DEADLINE = 30.0


@dataclass(frozen=True, slots=True)
class Granted:
    """An account and an app password of this program. Its ``repr`` contains no secret."""

    user: str
    password: str
    url: str
    """the address of the account's files, for ``remote.url``"""

    def __repr__(self) -> str:
        return f"Granted(user={self.user!r}, url={self.url!r})"


class Login:
    """One login: a person opens `page` in a browser; `poll` until the login is approved."""

    def __init__(self, url: str, *, proxy: str = "", ca_file: str = "") -> None:
        link = read_link(url)
        if link.is_certain and link.problem:
            raise refused(link)
        bare = url.partition("?")[0].partition("#")[0]
        start = address(bare).origin + link.base
        self._at = address(bare.partition("/remote.php")[0] if link.is_account else start)
        self._folder = link.folder
        self._transport = Transport(
            self._at.origin, Account(proxy=proxy, ca_file=ca_file), deadline=_DEADLINE
        )
        payload = _object(self._post(self._path("index.php/login/v2"), b""))
        poll = payload.get("poll")
        if not isinstance(poll, dict):
            raise NotUnderstood("it is no Nextcloud, or one without a login for programs")
        self.page = self._same_server(payload.get("login")).url_text
        self._endpoint = self._same_server(poll.get("endpoint")).target
        self._token = str(poll.get("token", ""))

    def poll(self) -> Granted | None:
        """Ask whether the login is approved. Returns None while it is not."""
        answer = self._post(self._endpoint, f"token={quote(self._token, safe='')}".encode())
        if answer.status == 404:
            return None
        payload = _object(answer)
        user, password = payload.get("loginName"), payload.get("appPassword")
        if not isinstance(user, str) or not isinstance(password, str):
            raise NotUnderstood("the server grants no app password")
        if not user or not password:
            raise NotUnderstood("the server grants no app password")
        url = self._at.origin + self._path(f"remote.php/dav/files/{quote(user, safe='@')}")
        if self._folder:
            url = f"{url}/{quote(self._folder)}"
        return Granted(user, password, url)

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def _post(self, target: str, body: bytes) -> HttpAnswer:
        content_type = "Content-Type: application/x-www-form-urlencoded"
        try:
            answer = self._transport.ask(Request("post", target, body, (content_type,)))
        except NotSent as error:
            raise unreachable(error) from None
        except NoAnswer as error:
            raise NotUnderstood(str(error)) from None
        if answer.status == 429 and retry_after(answer) is None:
            raise locked_out()
        if answer.status not in (200, 404):
            refuse("post", "", answer)
        return answer

    def _path(self, below: str) -> str:
        return self._at.target("", folder=True) + below

    def _same_server(self, url: object) -> "_LoginPage":
        """A page of the server that was asked. Raises NotUnderstood for any other."""
        scheme, _, location = str(url).partition("://")
        host, slash, path = location.partition("/")
        try:
            origin = address(f"{scheme}://{host}").origin
        except Exception:
            origin = ""
        if origin != self._at.origin or not slash:
            # Fault (H125): a server hands the new password to another one.
            raise NotUnderstood("the login leads to another server", hint="check `remote.url`")
        return _LoginPage(str(url), f"/{path}")


@dataclass(frozen=True, slots=True)
class _LoginPage:
    url_text: str
    target: str


def _object(answer: HttpAnswer) -> dict[str, object]:
    try:
        payload = json.loads(answer.body) if answer.status == 200 else None
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        raise NotUnderstood("it is no Nextcloud, or one without a login for programs")
    return payload
