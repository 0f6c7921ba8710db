"""Nextcloud's login in a browser (flow v2): a person says yes there, and an app password comes back here."""

import json
from dataclasses import dataclass
from urllib.parse import quote

from vault_memory.remote.address import Address, address
from vault_memory.remote.http_transport import (
    Account,
    Answer,
    NoAnswer,
    NotSent,
    Transport,
)
from vault_memory.remote.nextcloud import locked_out
from vault_memory.remote.nextcloud_links import read_link, refused
from vault_memory.remote.remote_errors import NotUnderstood
from vault_memory.remote.status_errors import refuse, retry_after, unreachable

_DEADLINE = 30.0


@dataclass(frozen=True, slots=True)
class Granted:
    """What the person gave: a name and a password of this program's own. Its ``repr`` tells no secret."""

    user: str
    password: str
    url: str
    """Of the account's files, for ``remote.url``"""

    def __repr__(self) -> str:
        return f"Granted(user={self.user!r}, url={self.url!r})"


class Login:
    """One attempt: open ``page`` in a browser, then ``poll`` now and then until somebody said yes."""

    def __init__(self, url: str, *, proxy: str = "", ca_file: str = "") -> None:
        link = read_link(url)
        if link.is_certain and link.problem:
            raise refused(link)
        bare = url.partition("?")[0].partition("#")[0]
        start = address(bare).origin + link.base
        self._at = address(
            bare.partition("/remote.php")[0] if link.is_account else start
        )
        self._folder = link.folder
        self._transport = Transport(
            self._at.origin, Account(proxy=proxy, ca_file=ca_file), deadline=_DEADLINE
        )
        told = _object(self._post(self._path("index.php/login/v2"), b""))
        poll = told.get("poll")
        if not isinstance(poll, dict):
            raise NotUnderstood(
                "it is no Nextcloud, or one without a login for programs"
            )
        self.page = self._here(told.get("login")).url_text
        self._endpoint = self._here(poll.get("endpoint")).target
        self._token = str(poll.get("token", ""))

    def poll(self) -> Granted | None:
        """The new account, or None while nobody said yes."""
        answer = self._post(
            self._endpoint, f"token={quote(self._token, safe='')}".encode()
        )
        if answer.status == 404:
            return None
        told = _object(answer)
        user, password = told.get("loginName"), told.get("appPassword")
        if not (
            isinstance(user, str) and isinstance(password, str) and user and password
        ):
            raise NotUnderstood("the server grants no app password")
        files = self._at.origin + self._path(
            f"remote.php/dav/files/{quote(user, safe='@')}"
        )
        return Granted(
            user, password, f"{files}/{quote(self._folder)}" if self._folder else files
        )

    def close(self) -> None:
        """End the connection."""
        self._transport.close()

    def _post(self, target: str, body: bytes) -> Answer:
        try:
            answer = self._transport.ask(
                "post",
                target,
                body,
                ("Content-Type: application/x-www-form-urlencoded",),
            )
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

    def _here(self, url: object) -> "_Page":
        """A page of the very server that was asked, and no other."""
        start, _, rest = str(url).partition("://")
        host, slash, path = rest.partition("/")
        try:
            there = address(f"{start}://{host}")
        except Exception:
            there = Address("", "")
        if there.origin != self._at.origin or not slash:
            raise NotUnderstood(
                "the login leads to another server", hint="check `remote.url`"
            )
        return _Page(str(url), f"/{path}")


@dataclass(frozen=True, slots=True)
class _Page:
    url_text: str
    target: str


def _object(answer: Answer) -> dict[str, object]:
    try:
        told = json.loads(answer.body) if answer.status == 200 else None
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise NotUnderstood("it is no Nextcloud, or one without a login for programs")
    return told
