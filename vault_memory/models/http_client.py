"""HTTP requests to a configured server, without redirects, with a deadline and a size limit."""

import http.client
import ipaddress
import socket
import ssl
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from urllib.parse import SplitResult, urlsplit

CLOUD_METADATA = frozenset({"fd00:ec2::254", "100.100.100.200"})
"""Addresses outside the link-local range at which clouds provide credentials."""


PRIVATE_DOMAINS = (".local", ".lan", ".internal", ".home.arpa", ".localhost")
"""Endings of names that belong to local networks."""


class Unreachable(Exception):
    """The server gave no usable answer; the text says why."""


@contextmanager
def answer(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
    timeout: float,
    deadline: float | None = None,
) -> Iterator[http.client.HTTPResponse]:
    """Send one request and yield its answer.

    Read the answer inside the ``with`` block, so that a broken connection raises ``Unreachable`` too.
    ``timeout``: seconds of silence. ``deadline``: seconds for the complete exchange.
    """
    address = urlsplit(url)
    connection = _connection(address, timeout)
    # A server that sends single bytes never exceeds the timeout of a read.
    late = threading.Event()
    sockets: list[socket.socket] = []
    timer = threading.Timer(deadline or timeout, _cut, (connection, sockets, late))
    # Fault: a thread that waits for its timer would keep the program from ending.
    timer.daemon = True
    target = address.path or "/"
    if address.query:
        target += f"?{address.query}"
    try:
        if deadline is not None:
            timer.start()
        connection.connect()
        # Fault: the connection drops its socket when an answer has no length, and the response
        # reads on from it.
        sockets.append(connection.sock)
        # Fault: a configured name may resolve to the service that hands out credentials of the
        # machine.
        _refuse_metadata(connection.sock)
        connection.request(method, target, body, {"Accept-Encoding": "identity", **headers})
        yield connection.getresponse()
        _check_in_time(late)
    except (OSError, http.client.HTTPException, ValueError, Unreachable) as error:
        # On a busy machine the silence may end the wait before the timer's thread is run.
        is_silent = isinstance(error, TimeoutError)
        ends_at_deadline = deadline is not None and timeout >= deadline
        if late.is_set() or (is_silent and ends_at_deadline):
            raise Unreachable(f"no answer within {deadline:g} s") from None
        raise Unreachable(in_words(error)) from None
    finally:
        timer.cancel()
        # Fault: a broken connection that stays open would use up the files of a daemon.
        connection.close()


def _check_in_time(late: threading.Event) -> None:
    """Raise TimeoutError when the answer was cut off at the deadline."""
    # Fault: an answer without length that was cut off looks complete.
    if late.is_set():
        raise TimeoutError


def read(response: http.client.HTTPResponse, cap: int) -> bytes:
    """Return the body.

    Raises ``Unreachable`` when it is compressed, incomplete, or longer than ``cap`` bytes.
    """
    # A small compressed body may expand to gigabytes.
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Unreachable("the answer is compressed although that was declined")
    # Fault: a server without end would fill the memory. One byte more than the limit shows it.
    body = response.read(cap + 1)
    # The standard library returns a short body without an error when the connection closes early.
    if response.length and len(body) <= cap:
        raise Unreachable("the answer broke off")
    if len(body) > cap:
        raise Unreachable(f"the answer is longer than {cap // 2**20} MB")
    return body


def is_private(host: str) -> bool:
    """Return whether the name can only belong to this machine or its local network."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        # A name without a dot exists in no public DNS.
        return "." not in host or host.endswith(PRIVATE_DOMAINS)


def in_words(error: Exception) -> str:
    """Describe a network error for people, without class names."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not valid: {error.verify_message}"
        case TimeoutError():
            return "it does not answer in time"
        case ConnectionRefusedError():
            return "nothing listens there"
        case socket.gaierror():
            return "its name cannot be resolved"
        case http.client.HTTPException():
            return "the answer broke off"
        case OSError():
            return (error.strerror or str(error)).lower()
        case _:
            return str(error)


def _connection(parts: SplitResult, timeout: float) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=timeout)
    if parts.scheme != "https":
        raise Unreachable("its address must begin with https:// or http://")
    context = ssl.create_default_context()
    # A proxy of the company must not get requests for a server in this network.
    proxy = urllib.request.getproxies().get("https", "")
    if not proxy or is_private(host) or urllib.request.proxy_bypass(host):
        return http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=context)
    proxy_url = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    connection = http.client.HTTPSConnection(
        proxy_url.hostname or "", proxy_url.port, timeout=timeout, context=context
    )
    connection.set_tunnel(host, parts.port)
    return connection


def _refuse_metadata(sock: socket.socket) -> None:
    """Refuse the cloud's metadata services, which hand out credentials of the machine."""
    # Checked after the connect: a name may resolve to another address at each look-up.
    address = str(sock.getpeername()[0]).partition("%")[0]
    peer = ipaddress.ip_address(address)
    # `::ffff:169.254.169.254` reaches the same service as the IPv4 address.
    peer = getattr(peer, "ipv4_mapped", None) or peer
    if peer.is_link_local or str(peer) in CLOUD_METADATA:
        raise Unreachable("its address belongs to the machine's own network services")


def _cut(
    connection: http.client.HTTPConnection, sockets: list[socket.socket], late: threading.Event
) -> None:
    """Shut the socket down, which wakes the thread that reads from it."""
    late.set()
    # While the connection is made, it alone knows its socket.
    for sock in filter(None, [connection.sock, *sockets]):
        # `SSLSocket.shutdown` would drop the TLS state that the reading thread is using.
        # Without a socket to shut down, the answer is read already.
        with suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)
