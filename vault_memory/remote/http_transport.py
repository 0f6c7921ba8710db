"""Sends requests: webdavclient3's client, with the one method that sends replaced by a strict one.

It follows no redirect, and ignores ``.netrc`` and the proxies of the environment. It reads every answer
to its end, under a cap and a deadline, and never reveals a password. Its errors only say whether the
server may have received the request.
"""

import base64
import http.client
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import requests
import urllib3
from requests.adapters import BaseAdapter
from webdav3.client import Client

from vault_memory.remote.http_adapter import Adapter, Forbidden, this_thread

SILENCE = 60.0
"""Seconds without a byte"""
_CHUNK = 65_536
_CAP_OF_ERRORS = 2**20
_ALWAYS = {"Accept-Encoding": "identity", "User-Agent": "vault-memory"}
METHODS = {"poll": "GET", "post": "POST", "bulk": "POST"}
"""Methods by our own names, in addition to those of webdavclient3"""


# --- Deadline ---

# A deadline for every exchange, even if the server sends a byte now and then: the socket is
# shut down.


@dataclass(slots=True, eq=False)
class HttpExchange:
    """One request and its answer."""

    ends: float
    """on the monotonic clock"""
    sock: socket.socket | None = None
    late: bool = False


@dataclass(slots=True)
class Deadlines:
    """Watches all exchanges of a remote from a thread of its own."""

    seconds: float
    _running: set[HttpExchange] = field(default_factory=set)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _thread: threading.Thread | None = None
    _asleep: bool = False

    def start(self) -> HttpExchange:
        exchange = HttpExchange(time.monotonic() + self.seconds)
        with self._changed:
            self._running.add(exchange)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="remote-deadlines", daemon=True
                )
                self._thread.start()
            elif self._asleep:
                self._changed.notify()
        return exchange

    def stop(self, exchange: HttpExchange) -> None:
        with self._changed:
            self._running.discard(exchange)

    def close(self) -> None:
        with self._changed:
            thread, self._thread = self._thread, None
            self._changed.notify()
        if thread is not None:
            thread.join()

    def _watch(self) -> None:
        idle = False
        with self._changed:
            while self._thread is threading.current_thread():
                now = time.monotonic()
                late = [each for each in self._running if each.ends <= now]
                for exchange in late:
                    self._running.discard(exchange)
                    _cut(exchange)
                ends = min(
                    (exchange.ends for exchange in self._running), default=now + self.seconds
                )
                # All exchanges have the same time, so one that starts during the wait ends after it.
                self._asleep = idle and not self._running
                idle = not self._running
                self._changed.wait(None if self._asleep else max(0.01, ends - now))
                self._asleep = False


def _cut(exchange: HttpExchange) -> None:
    exchange.late = True
    if exchange.sock is not None:
        try:
            # Fault: a server that sends a byte now and then never runs into a read
            # timeout. A close from another thread would not wake the reader; a shutdown
            # does.
            socket.socket.shutdown(exchange.sock, socket.SHUT_RDWR)
        except OSError:
            exchange.sock.close()


# --- HTTP transport ---


class NotSent(Exception):
    """The server was not reached, so nothing was changed there."""

    hint = ""
    """what a person can do; empty where only waiting helps"""


class NoAnswer(Exception):
    """The request may have arrived; no complete answer came."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the server."""

    action: str
    """the name of a method in webdavclient3, e.g. `upload`, or in `METHODS`"""
    target: str
    """the encoded path of the request line"""
    body: bytes | None = None
    headers: Sequence[str] = ()
    cap: int | None = None
    """the most bytes that the body of a success may have; None: those of an error"""
    sink: Callable[[bytes], None] | None = None
    """takes the body of a listing (207) in chunks as they arrive"""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """One complete answer."""

    status: int
    headers: requests.structures.CaseInsensitiveDict[str]
    body: bytes
    """empty when a sink took it"""
    size: int
    """of the body, in bytes"""
    has_length: bool
    """whether the length is announced, so that a cut is noticed"""

    def header(self, name: str) -> str:
        return self.headers.get(name, "")


@dataclass(frozen=True, slots=True)
class Account:
    """The account, and the way to the server. Its ``repr`` contains no secret."""

    user: str = ""
    password: str = ""
    proxy: str = ""
    ca_file: str = ""

    def __repr__(self) -> str:
        return f"Account(user={self.user!r})"


class _Session(requests.Session):
    """A session that never follows a redirect."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        # Fault: with ``allow_redirects=False`` alone, ``requests`` reads the complete body of a
        # redirect into memory before the caller sees the answer, without any cap.
        return None


class Transport(Client):  # type: ignore[misc]  # it comes without types
    """Sends one request at a time for each thread. Each thread has its own connection and cookies."""

    def __init__(
        self, origin: str, account: Account, *, deadline: float, adapter: BaseAdapter | None = None
    ) -> None:
        self._adapter = adapter
        self._mine = threading.local()
        # A session ends with its thread.
        self._sessions: weakref.WeakSet[requests.Session] = weakref.WeakSet()
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
        """Ignore the one session that webdavclient3 sets for all threads."""

    def execute_request(
        self,
        action: str,
        path: str,
        data: bytes | None = None,
        headers_ext: list[str] | None = None,
    ) -> requests.Response:
        """Send a request. Returns the answer of any status, with its headers read and its body unread."""
        this_thread.exchange = exchange = self._deadlines.start()
        try:
            return self.session.request(
                self.requests[action],
                self.get_url(path),
                data=data,
                headers={**self.get_headers(action, headers_ext), **_ALWAYS},
                auth=self._authorise,
                timeout=self._silence,
                # Fault (E98): a redirect to another host would take the password there.
                allow_redirects=False,
                stream=True,
            )
        except requests.RequestException as error:
            self._deadlines.stop(exchange)
            # Fault (E81): after a deadline it is unknown whether the server has stored
            # the file. It must not count as not sent.
            if _never_sent(error) and not exchange.late:
                raise _not_sent(error) from None
            raise NoAnswer(self._why(exchange, error)) from None
        except BaseException:
            self._deadlines.stop(exchange)
            raise

    def ask(self, request: Request) -> HttpAnswer:
        """Send a request and read the complete answer. Raises NotSent, NoAnswer."""
        response = self.execute_request(
            request.action, request.target, request.body, list(request.headers)
        )
        exchange: HttpExchange = this_thread.exchange
        is_complete = False
        try:
            answer = _read(response, request)
            # Fault: the body of a redirect stays unread. The next answer on this
            # connection would begin with it.
            is_complete = not is_redirect(answer.status)
            return answer
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise NoAnswer(self._why(exchange, error)) from None
        finally:
            self._deadlines.stop(exchange)
            if is_complete:
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
        # Fault: a ``.netrc`` or a proxy of the environment would get the password.
        session.trust_env = False
        session.verify = self._account.ca_file or True
        if self._account.proxy:
            session.proxies = {"http": self._account.proxy, "https": self._account.proxy}
        adapter = self._adapter or Adapter()
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        return session

    def _authorise(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._account.user or self._account.password:
            pair = f"{self._account.user}:{self._account.password}".encode()
            request.headers["Authorization"] = "Basic " + base64.b64encode(pair).decode()
        return request

    def _why(self, exchange: HttpExchange, error: Exception) -> str:
        if exchange.late:
            return f"no complete answer within {self._deadlines.seconds:g} s"
        return _in_words(error)


def is_redirect(status: int) -> bool:
    """Whether the answer only names another address."""
    return 300 <= status < 400 and status != 304


def _read(response: requests.Response, request: Request) -> HttpAnswer:
    """Read the body of an answer. Raises ValueError when it is not as long as announced, or too long."""
    status, headers = response.status_code, response.headers
    if is_redirect(status):
        return HttpAnswer(status, headers, b"", 0, False)
    cap = _CAP_OF_ERRORS
    if request.cap is not None and status < 300:
        cap = request.cap
    chunks = _Chunks(response, cap)
    is_listing = status == 207 and "xml" in headers.get("Content-Type", "")
    body = b""
    if request.sink is not None and is_listing:
        for chunk in chunks:
            request.sink(chunk)
    else:
        body = b"".join(chunks)
    return HttpAnswer(status, headers, body, chunks.total, chunks.has_length)


class _Chunks:
    """The body of an answer in chunks, not decompressed.

    Raises ValueError when it is longer than the cap, or not as long as announced.
    """

    def __init__(self, response: requests.Response, cap: int) -> None:
        self._raw: Any = response.raw
        self._is_bare = response.status_code in (204, 304) or response.request.method == "HEAD"
        self._cap = cap
        self.total = 0
        length = response.headers.get("Content-Length", "")
        encoding = response.headers.get("Content-Encoding", "identity") or "identity"
        # `isdigit` alone accepts other scripts, and "²", which `int` refuses.
        self._announced = int(length) if length.isascii() and length.isdigit() else None
        self.has_length = (
            self._announced is not None or response.headers.get("Transfer-Encoding", "") != ""
        )
        # Fault (E92): a small compressed answer that expands to gigabytes.
        if encoding.lower() != "identity":
            raise ValueError("the answer is compressed although that was declined")
        if (self._announced or 0) > cap:
            raise ValueError(f"the answer is longer than {cap} bytes")

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self._raw.read1(_CHUNK, decode_content=False):
            self.total += len(chunk)
            # Fault (H121): a hostile server announces no length, and sends without end.
            if self.total > self._cap:
                raise ValueError(f"the answer is longer than {self._cap} bytes")
            yield chunk
        is_other_length = self._announced not in (None, self.total)
        if is_other_length and not self._raw.chunked and not self._is_bare:
            # Fault (E92): a proxy closes the connection early, and half a note counts
            # as the note.
            raise ValueError("the answer broke off")
        # All bytes are read; urllib3 releases the socket only after this read.
        self._raw.read(decode_content=False)


_BEFORE_SENDING = (
    requests.ConnectTimeout,
    requests.exceptions.SSLError,
    requests.exceptions.ProxyError,
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidHeader,
)
"""Errors that come before the request is sent"""


def _never_sent(error: requests.RequestException) -> bool:
    """Whether the server cannot have received the request."""
    if isinstance(error, _BEFORE_SENDING):
        return True
    inner = error.args[0] if error.args else None
    reason = getattr(inner, "reason", inner)
    return isinstance(
        reason, urllib3.exceptions.NewConnectionError | urllib3.exceptions.NameResolutionError
    )


def _not_sent(error: requests.RequestException) -> NotSent:
    """The reason for an error before sending, with a hint for problems of certificates."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            failure = NotSent(_CERTIFICATES.get(cause.verify_code, _UNTRUSTED))
            failure.hint = _HINTS.get(cause.verify_code, _HINT_CA_FILE)
            return failure
        if isinstance(cause, ssl.SSLError) and cause.reason in _NO_TLS:
            failure = NotSent("it speaks http:// at this port, and not https://")
            failure.hint = _HINT_HTTP
            return failure
    return NotSent(_in_words(error))


SPEAKS_HTTPS = "this port speaks https://, and the address begins with http://"
GIVE_HTTPS = "write the address with https://"
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
"""OpenSSL's reasons when the answer is not encrypted"""
_HINT_HTTP = (
    "check the port; in a network that is private itself, `vault-memory remote add http://… "
    "--allow-http` syncs without encryption"
)
_UNTRUSTED = "its certificate is not signed by an authority that this system trusts"
_CERTIFICATES = {
    9: "its certificate is not valid yet",
    10: "its certificate has expired",
    18: "its certificate is self-signed, and this system does not trust it",
    19: "its certificate is signed by an authority of its own, which this system does not trust",
    62: "its certificate is for another name than the address has",
    64: "its certificate is for another name than the address has",
}
"""By OpenSSL's number of the error"""
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
    """The error, its cause, the cause of that, and so on."""
    causes: list[BaseException] = []
    cause: object = error
    while isinstance(cause, BaseException) and cause not in causes:
        causes.append(cause)
        cause = (
            getattr(cause, "reason", None)
            or cause.__cause__
            or cause.__context__
            or (cause.args or (None,))[0]
        )
    return causes


def _in_words(error: BaseException) -> str:
    """What went wrong on the wire, without class names, addresses of objects, or URLs."""
    if isinstance(error, requests.exceptions.InvalidURL):
        return str(error)
    causes = _causes(error)
    for cause in reversed(causes):
        match cause:
            case Forbidden():
                return "its address belongs to the machine's own network services"
            case socket.gaierror():
                return "its name cannot be resolved"
            case ConnectionRefusedError():
                return "nothing listens there"
            case http.client.BadStatusLine() if "\x15\x03" in str(cause):
                return SPEAKS_HTTPS
            case TimeoutError() | urllib3.exceptions.TimeoutError():
                return "it does not answer in time"
            case ValueError() if type(cause) is ValueError:
                return str(cause)
    tls_errors = requests.exceptions.SSLError | urllib3.exceptions.SSLError
    if any(isinstance(cause, tls_errors) for cause in causes):
        return "its certificate is not valid"
    return "the connection broke off"
