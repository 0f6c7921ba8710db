"""Fetches the document in which a program describes itself, from the address that is its id.

See the Internet draft "OAuth Client ID Metadata Document". The address comes from anybody, so the
request goes to public addresses only, over TLS, follows nothing, and reads little.
"""

import ipaddress
import json
import re
import socket
import threading
import time
from collections import OrderedDict
from contextlib import closing, suppress
from typing import Any

import urllib3
from urllib3.connection import HTTPSConnection
from urllib3.util import Timeout

FRESH_SECONDS = 600
"""How long a document is not fetched again"""
MOST_KEPT = 100
MOST_AT_ONCE = 4
LONGEST_DOCUMENT = 64 << 10
"""Bytes"""
TIMEOUT = Timeout(connect=5, read=5)
"""Of each block"""
LONGEST_SECONDS = 15
"""Of all blocks"""
_ADDRESS = re.compile(
    r"https://(?P<host>[\w.-]+)(:(?P<port>[1-9]\d{0,4}))?(?P<path>/[!-\"$-~]+)", re.ASCII
)
"""An address without a name before its host, and without a fragment"""


class NoDocument(Exception):
    """The address has no document that describes a program; the text says why."""


class ClientDocuments:
    """The documents of the programs that asked lately."""

    def __init__(self) -> None:
        self._documents: OrderedDict[str, tuple[float, dict[str, Any]]] = OrderedDict()
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)

    def latest(self, address: str) -> dict[str, Any] | None:
        """Returns the document that was fetched last; None without one."""
        entry = self._documents.get(address)
        return None if entry is None else entry[1]

    def fetch(self, address: str) -> dict[str, Any]:
        """Returns the document at an address, at most ten minutes old. Raises NoDocument."""
        entry = self._documents.get(address)
        if entry is not None and entry[0] + FRESH_SECONDS > time.monotonic():
            return entry[1]
        # Fault: servers that answer slowly would take all threads, which calls need.
        if not self._places.acquire(blocking=False):
            raise NoDocument("too many documents are fetched at once")
        try:
            document = _fetched(address)
        finally:
            self._places.release()
        self._documents[address] = (time.monotonic(), document)
        self._documents.move_to_end(address)
        if len(self._documents) > MOST_KEPT:
            self._documents.popitem(last=False)
        return document


class _Connection(HTTPSConnection):
    """A connection that ends after a time, however little at once the other side sends."""

    def _new_conn(self) -> socket.socket:
        connected = super()._new_conn()
        # TLS takes the socket itself over.
        self._copy = connected.dup()
        self._end = threading.Timer(LONGEST_SECONDS, self._cut)
        self._end.daemon = True
        self._end.start()
        return connected

    def _cut(self) -> None:
        with suppress(OSError):
            self._copy.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes the connection."""
        super().close()
        if hasattr(self, "_end"):
            self._end.cancel()
            self._copy.close()


def is_address(client_id: str) -> bool:
    """Returns whether the id of a client is the address of its document."""
    return client_id.startswith("https://")


def _fetched(address: str) -> dict[str, Any]:
    url = _ADDRESS.fullmatch(address)
    # Fault: a path with dots is shown as another address than it is.
    if url is None or "/." in url["path"]:
        raise NoDocument("the address of the program is not `https://HOST/PATH`")
    host, port = url["host"], int(url["port"] or 443)
    body = _read(host, port, url["path"])
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    # Fault: a document would speak for a program of another address.
    if not isinstance(document, dict) or document.get("client_id") != address:
        raise NoDocument(f"the document at `{host}` is of another program")
    return document


def _read(host: str, port: int, path: str) -> bytes:
    """Returns what a server on the internet answers. Raises NoDocument."""
    # Fault: a name may lead to this machine or its network, and may lead elsewhere when it is asked
    # again. The request goes to the very number that was looked at.
    number = _public_number(host, port)
    pool = urllib3.HTTPSConnectionPool(
        number, port, timeout=TIMEOUT, retries=False, server_hostname=host, assert_hostname=host
    )
    # Fault: a server that sends a byte now and then would keep its place for days.
    pool.ConnectionCls = _Connection
    headers = {"host": f"{host}:{port}", "accept": "application/json", "user-agent": "vault-memory"}
    try:
        response = pool.request("GET", path, headers=headers, redirect=False, preload_content=False)
        with closing(response):
            body = response.read(LONGEST_DOCUMENT + 1, decode_content=False)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise NoDocument(f"`{host}` does not answer: {type(error).__name__}") from None
    finally:
        pool.close()
    if response.status != 200 or len(body) > LONGEST_DOCUMENT:
        raise NoDocument(f"`{host}` has no document there")
    return bytes(body)


def _public_number(host: str, port: int) -> str:
    """Returns the number of a host that is on the internet. Raises NoDocument."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, OverflowError, UnicodeError):
        # Fault: a port above 65,535, or a name that no resolver takes.
        raise NoDocument(f"`{host}` is not known") from None
    numbers = [str(entry[4][0]) for entry in addresses]
    # Fault: the document would be read from a machine of the owner's network.
    if not numbers or not all(is_public(number) for number in numbers):
        raise NoDocument(f"`{host}` is not on the internet")
    return numbers[0]


def is_public(number: str) -> bool:
    """Returns whether a number of IP is on the internet."""
    return ipaddress.ip_address(number.partition("%")[0]).is_global
