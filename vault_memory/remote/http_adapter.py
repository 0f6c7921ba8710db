"""The connections under the transport: with an end in sight, off the machine's own services, strict about heads."""

import http.client
import ipaddress
import threading
from typing import Any

import urllib3
from requests.adapters import HTTPAdapter

CLOUD_METADATA = frozenset({"fd00:ec2::254", "100.100.100.200"})
"""Addresses beside the link-local ones at which clouds hand out credentials"""
here = threading.local()
"""``exchange``: what this thread is waiting for"""


class Forbidden(urllib3.exceptions.NewConnectionError):
    """The name led to an address that no server of notes has."""


class _Lines:
    """Remembers whether the last line was one: the standard library takes a head that is cut for a whole one."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.last = b"\n"

    def readline(self, size: int = -1) -> bytes:
        self.last = self.source.readline(size)
        return self.last

    def close(self) -> None:
        self.source.close()


class _WholeHead(http.client.HTTPResponse):
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
        if not lines.last.endswith(b"\n"):
            raise http.client.HTTPException("the head of the answer broke off")
        return None


class _Watched:
    """A connection that tells the exchange of its thread which socket it goes over."""

    sock: Any
    proxy: Any

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        self._tell()
        if self.proxy is None:
            _refuse_metadata(self)

    def putrequest(self, *args: Any, **options: Any) -> None:
        self._tell()
        super().putrequest(*args, **options)  # type: ignore[misc]

    def _tell(self) -> None:
        if (
            self.sock is not None
            and (exchange := getattr(here, "exchange", None)) is not None
        ):
            exchange.sock = self.sock


class _Plain(_Watched, urllib3.connection.HTTPConnection):
    response_class = _WholeHead


class _Secure(_Watched, urllib3.connection.HTTPSConnection):
    response_class = _WholeHead


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _Secure


class Adapter(HTTPAdapter):
    """Makes such connections, and tries nothing twice."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = {
            "http": _PlainPool,
            "https": _SecurePool,
        }

    def close(self) -> None:
        for manager in (self.poolmanager, *self.proxy_manager.values()):
            for key in manager.pools.keys():  # noqa: SIM118  # it is no mapping that can be walked
                manager.pools[
                    key
                ].close()  # clearing alone leaves sockets open until garbage is collected
        super().close()

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}
        return manager


def _refuse_metadata(connection: Any) -> None:
    """After connecting and before a word is said: what a name resolved to is only known for sure now."""
    peer = ipaddress.ip_address(str(connection.sock.getpeername()[0]).partition("%")[0])
    peer = getattr(peer, "ipv4_mapped", None) or peer
    if peer.is_link_local or str(peer) in CLOUD_METADATA:
        connection.close()
        raise Forbidden(connection, "a forbidden address")
