"""The connections below the transport.

They keep a deadline, never reach the network services of a machine, and reject a head that was cut off.
"""

import http.client
import ipaddress
import threading
from typing import Any

import urllib3
from requests.adapters import HTTPAdapter

CLOUD_METADATA = frozenset({"fd00:ec2::254", "100.100.100.200"})
"""Addresses at which clouds give out credentials, in addition to the link-local ones"""
this_thread = threading.local()
"""its attribute `exchange` is the exchange that the thread waits for"""


class Forbidden(urllib3.exceptions.NewConnectionError):
    """The name resolved to an address that no file server has."""


class _Lines:
    """Remembers the last line that was read."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.last = b"\n"

    def readline(self, size: int = -1) -> bytes:
        self.last = self.source.readline(size)
        return self.last

    def close(self) -> None:
        self.source.close()


class _CompleteHead(http.client.HTTPResponse):
    """A response that rejects a head without an end."""

    def begin(self) -> None:
        source: Any = self.fp
        if source is None or self.headers is not None:
            return super().begin()
        lines = _Lines(source)
        self.fp = lines
        try:
            super().begin()
        finally:
            if self.fp is lines:
                self.fp = source
        # Fault (E103): the line breaks within the head. The standard library takes such
        # a head for complete.
        if not lines.last.endswith(b"\n"):
            raise http.client.HTTPException("the head of the answer broke off")
        return None


class _Watched:
    """A connection that gives its socket to the exchange of its thread."""

    sock: Any
    proxy: Any

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        self._share_socket()
        if self.proxy is None:
            _refuse_metadata(self)

    def putrequest(self, *args: Any, **options: Any) -> None:
        self._share_socket()
        super().putrequest(*args, **options)  # type: ignore[misc]

    def _share_socket(self) -> None:
        exchange = getattr(this_thread, "exchange", None)
        if self.sock is not None and exchange is not None:
            exchange.sock = self.sock


class _Plain(_Watched, urllib3.connection.HTTPConnection):
    response_class = _CompleteHead


class _Secure(_Watched, urllib3.connection.HTTPSConnection):
    response_class = _CompleteHead


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _Secure


class Adapter(HTTPAdapter):
    """Makes these connections, and retries nothing."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}

    def close(self) -> None:
        for manager in (self.poolmanager, *self.proxy_manager.values()):
            # Fault: clearing the pools alone leaves sockets open until garbage is collected.
            for key in manager.pools.keys():  # noqa: SIM118  # it cannot be iterated itself
                manager.pools[key].close()
        super().close()

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}
        return manager


def _refuse_metadata(connection: Any) -> None:
    """Raise Forbidden for an address of a machine's own network services."""
    # Fault (H125): a hostile name resolves to a harmless address at first, and to such
    # an address when the connection is made. So the address of the open connection is
    # checked, before a request.
    peer = ipaddress.ip_address(str(connection.sock.getpeername()[0]).partition("%")[0])
    # Fault (H125): an IPv4 address in the form of IPv6 would pass the comparison.
    peer = getattr(peer, "ipv4_mapped", None) or peer
    if peer.is_link_local or str(peer) in CLOUD_METADATA:
        connection.close()
        raise Forbidden(connection, "a forbidden address")
