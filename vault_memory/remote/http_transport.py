"""The way to the server: webdavclient3's client with the one method that sends requests replaced by a strict one.

No redirect is followed, no ``.netrc`` or proxy of the environment is heeded, every answer is read to its end under
a cap and a deadline, and nobody is told a password. Errors here say only whether the request can have been received.
"""

import base64
import socket
import ssl
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import requests
import urllib3
from requests.adapters import BaseAdapter
from webdav3.client import Client

from vault_memory.remote.deadline import Deadlines, HttpExchange
from vault_memory.remote.http_adapter import Adapter, Forbidden, here

SILENCE = 60.0
"""Seconds without a byte"""
_PIECE = 65_536
_CAP_OF_ERRORS = 2**20
_ALWAYS = {"Accept-Encoding": "identity", "User-Agent": "vault-memory"}
METHODS = {"poll": "GET", "post": "POST", "bulk": "POST"}
"""Beside those that webdavclient3 knows by its own names"""


class NotSent(Exception):
    """The server was not reached, so nothing happened there."""

    hint = ""
    """what a person can do about it; nothing where only waiting helps"""


class NoAnswer(Exception):
    """The request may have arrived; a whole answer did not."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer."""

    status: int
    headers: requests.structures.CaseInsensitiveDict[str]
    body: bytes
    """Empty when it went to a sink"""
    size: int
    """Of the whole body"""
    has_length: bool
    """Whether a cut would have been noticed"""

    def header(self, name: str) -> str:
        return self.headers.get(name, "")


@dataclass(frozen=True, slots=True)
class Account:
    """Who asks, and how to get there. Its ``repr`` tells no secret."""

    user: str = ""
    password: str = ""
    proxy: str = ""
    ca_file: str = ""

    def __repr__(self) -> str:
        return f"Account(user={self.user!r})"


class _Session(requests.Session):
    """A session that never looks where a redirect leads.

    With ``allow_redirects=False`` alone, ``requests`` reads the whole body of a redirect into memory before the
    caller sees the answer: no cap holds, and nothing is left to read.
    """

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


class Transport(Client):  # type: ignore[misc]  # it comes without types
    """Sends one request at a time for each thread, on a connection and with cookies of that thread's own."""

    def __init__(
        self,
        origin: str,
        account: Account,
        *,
        deadline: float,
        adapter: BaseAdapter | None = None,
    ) -> None:
        self._adapter = adapter
        self._mine = threading.local()
        self._sessions: weakref.WeakSet[requests.Session] = (
            weakref.WeakSet()
        )  # one goes with its thread
        self._opening = threading.Lock()
        self._account = account
        self._silence = min(SILENCE, deadline)
        self._deadlines = Deadlines(deadline)
        super().__init__({"webdav_hostname": origin, "webdav_timeout": self._silence})
        self.requests.update(METHODS)

    @property
    def session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._mine, "session", None)
        if session is None:
            session = self._mine.session = self._new_session()
            with self._opening:
                self._sessions.add(session)
        return session

    @session.setter
    def session(self, _: requests.Session) -> None:
        """webdavclient3 brings one for all threads; each makes its own instead."""

    def execute_request(
        self,
        action: str,
        path: str,
        data: bytes | None = None,
        headers_ext: list[str] | None = None,
    ) -> requests.Response:
        """The answer with its headers read and its body not; whatever its status."""
        here.exchange = exchange = self._deadlines.start()
        try:
            return self.session.request(
                self.requests[action],
                self.get_url(path),
                data=data,
                headers={**self.get_headers(action, headers_ext), **_ALWAYS},
                auth=self._authorise,
                timeout=self._silence,
                allow_redirects=False,
                stream=True,
            )
        except requests.RequestException as error:
            self._deadlines.stop(exchange)
            if _never_sent(error) and not exchange.late:
                raise _not_sent(error) from None
            raise NoAnswer(self._why(exchange, error)) from None
        except BaseException:
            self._deadlines.stop(exchange)
            raise

    def ask(
        self,
        action: str,
        path: str,
        body: bytes | None = None,
        headers: Iterable[str] = (),
        *,
        cap: int | None = None,
        sink: Callable[[bytes], None] | None = None,
    ) -> Answer:
        """One exchange from end to end. ``sink`` takes the pieces of a 207 as they come."""
        response = self.execute_request(action, path, body, list(headers))
        exchange: HttpExchange = here.exchange
        whole = False
        try:
            if is_redirect(response.status_code):
                return Answer(
                    response.status_code, response.headers, b"", 0, False
                )  # its body tells nothing
            pieces = _Pieces(
                response,
                cap
                if cap is not None and response.status_code < 300
                else _CAP_OF_ERRORS,
            )
            if (
                sink is not None
                and response.status_code == 207
                and "xml" in response.headers.get("Content-Type", "")
            ):
                for piece in pieces:
                    sink(piece)
                kept = b""
            else:
                kept = b"".join(pieces)
            whole = True
            return Answer(
                response.status_code,
                response.headers,
                kept,
                pieces.total,
                pieces.has_length,
            )
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise NoAnswer(self._why(exchange, error)) from None
        finally:
            self._deadlines.stop(exchange)
            if whole:
                response.raw.release_conn()
            else:
                response.close()

    def close(self) -> None:
        with self._opening:
            sessions = list(self._sessions)
        for session in sessions:
            session.close()
        self._deadlines.close()

    def _new_session(self) -> requests.Session:
        session = _Session()
        session.trust_env = False
        session.verify = self._account.ca_file or True
        if self._account.proxy:
            session.proxies = {
                "http": self._account.proxy,
                "https": self._account.proxy,
            }
        adapter = self._adapter or Adapter()
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        return session

    def _authorise(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._account.user or self._account.password:
            pair = f"{self._account.user}:{self._account.password}".encode()
            request.headers["Authorization"] = (
                "Basic " + base64.b64encode(pair).decode()
            )
        return request

    def _why(self, exchange: HttpExchange, error: Exception) -> str:
        return (
            f"no whole answer within {self._deadlines.seconds:g} s"
            if exchange.late
            else _in_words(error)
        )


def is_redirect(status: int) -> bool:
    """Whether the answer only says that something else is to be asked."""
    return 300 <= status < 400 and status != 304


class _Pieces:
    """The body as it arrives, not decompressed, as long as it is no longer than the cap and as long as announced."""

    def __init__(self, response: requests.Response, cap: int) -> None:
        self._raw: Any = response.raw
        self._is_bare = (
            response.status_code in (204, 304) or response.request.method == "HEAD"
        )
        self._cap = cap
        self.total = 0
        length = response.headers.get("Content-Length", "")
        encoding = response.headers.get("Content-Encoding", "identity") or "identity"
        self._announced = int(length) if length.isascii() and length.isdigit() else None
        self.has_length = (
            self._announced is not None
            or response.headers.get("Transfer-Encoding", "") != ""
        )
        if encoding.lower() != "identity":
            raise ValueError("the answer is compressed although that was declined")
        if (self._announced or 0) > cap:
            raise ValueError(f"the answer is longer than {cap} bytes")

    def __iter__(self) -> Iterator[bytes]:
        while piece := self._raw.read1(_PIECE, decode_content=False):
            self.total += len(piece)
            if self.total > self._cap:
                raise ValueError(f"the answer is longer than {self._cap} bytes")
            yield piece
        if (
            self._announced not in (None, self.total)
            and not self._raw.chunked
            and not self._is_bare
        ):
            raise ValueError("the answer broke off")
        self._raw.read(
            decode_content=False
        )  # nothing is left; only this lets go of the socket


def _never_sent(error: requests.RequestException) -> bool:
    if isinstance(
        error,
        requests.ConnectTimeout
        | requests.exceptions.SSLError
        | requests.exceptions.ProxyError,
    ):
        return True
    if isinstance(
        error, requests.exceptions.InvalidURL | requests.exceptions.InvalidHeader
    ):
        return True
    inner = error.args[0] if error.args else None
    reason = getattr(inner, "reason", inner)
    return isinstance(
        reason,
        urllib3.exceptions.NewConnectionError | urllib3.exceptions.NameResolutionError,
    )


def _not_sent(error: requests.RequestException) -> NotSent:
    failure = NotSent(_in_words(error))
    certificate = next(
        (
            link
            for link in _causes(error)
            if isinstance(link, ssl.SSLCertVerificationError)
        ),
        None,
    )
    if certificate is not None:
        failure = NotSent(_CERTIFICATES.get(certificate.verify_code, _UNTRUSTED))
        failure.hint = _HINTS.get(certificate.verify_code, _HINT_CA_FILE)
    return failure


_UNTRUSTED = "its certificate is signed by nobody whom this system trusts"
_CERTIFICATES = {
    9: "its certificate is not valid yet",
    10: "its certificate has expired",
    18: "its certificate is self-signed, and this system does not trust it",
    19: "its certificate is signed by an authority of its own, which this system does not trust",
    62: "its certificate is for another name than the address has",
    64: "its certificate is for another name than the address has",
}
"""By the number that OpenSSL gives for it"""
_HINT_CA_FILE = (
    "if it is your server, store its certificate, or that of the authority that signed it, in a file, and name the "
    "file with `vault-memory remote add URL --ca-file FILE`, or as `ca_file` in [remote]"
)
_HINTS = {
    9: "check the clock of this machine and of the server",
    10: "renew the certificate on the server",
    62: "use the address that the certificate names",
    64: "use the address that the certificate names",
}


def _causes(error: BaseException) -> list[BaseException]:
    """The error, what caused it, what caused that, and so on."""
    seen: list[BaseException] = []
    link: object = error
    while isinstance(link, BaseException) and link not in seen:
        seen.append(link)
        link = (
            getattr(link, "reason", None)
            or link.__cause__
            or link.__context__
            or (link.args or (None,))[0]
        )
    return seen


def _in_words(error: BaseException) -> str:
    """What went wrong on the wire, without class names, addresses of objects, or URLs."""
    if isinstance(error, requests.exceptions.InvalidURL):
        return str(error)
    seen = _causes(error)
    for link in reversed(seen):
        match link:
            case Forbidden():
                return "its address belongs to the machine's own network services"
            case socket.gaierror():
                return "its name cannot be resolved"
            case ConnectionRefusedError():
                return "nothing listens there"
            case TimeoutError() | urllib3.exceptions.TimeoutError():
                return "it does not answer in time"
            case ValueError() if type(link) is ValueError:
                return str(link)
    if any(
        isinstance(link, requests.exceptions.SSLError | urllib3.exceptions.SSLError)
        for link in seen
    ):
        return "its certificate does not hold"
    return "the connection broke off"
