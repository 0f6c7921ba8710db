"""A proxy on a port of its own, in front of any server, on which a script of faults falls."""

import contextlib
import http.client
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from tests.remote.servers.exchange import (
    ConnectionLost,
    NoAnswer,
    Response,
    Seen,
    lowered,
    request_head,
)
from tests.remote.servers.faults import Faulty, Script
from tests.remote.servers.front import Front


class Upstream:
    """An app that passes requests on to a real server."""

    def __init__(self, url: str, *, timeout: float = 30) -> None:
        parts = urlsplit(url)
        self.base = f"{parts.scheme}://{parts.netloc}"
        self.log: list[Seen] = []
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._timeout = timeout

    def handle(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        address: str = "127.0.0.1",
    ) -> Response:
        """What the real server says. An incomplete body reaches it incomplete, and then the line breaks."""
        ours = self._as_its_own(headers, body)
        status = 0
        try:
            if int(ours.get("Content-Length") or 0) > len(body):
                self._send_part(request_head(method, path, ours) + body)
                raise ConnectionLost
            answer = self._exchange(method, path, ours, body)
            status = answer.status
            return answer
        finally:
            self.log.append(Seen(method, path, lowered(headers), len(body), status))

    def _as_its_own(self, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
        """The request as if it had been meant for the server itself: its host, and its URLs in Destination and If."""
        mine = "http://" + lowered(headers).get("host", "")
        ours = {
            name: value.replace(mine, self.base) if name.lower() in ("destination", "if") else value
            for name, value in headers.items()
            if name.lower() not in ("host", "connection", "transfer-encoding", "content-length")
        }
        ours["Host"] = f"{self._host}:{self._port}"
        length = lowered(headers).get("content-length")
        if length is not None or body:
            ours["Content-Length"] = length or str(len(body))
        return ours

    def _exchange(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Response:
        # A line of its own for each request: a kept one may be stale, and sending twice is for the script to decide.
        connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            return Response(answer.status, dict(answer.getheaders()), answer.read())
        except TimeoutError:
            raise NoAnswer from None
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionLost from error
        finally:
            connection.close()

    def _send_part(self, raw: bytes) -> None:
        with socket.create_connection((self._host, self._port), timeout=self._timeout) as line:
            line.sendall(raw)
            line.shutdown(socket.SHUT_WR)
            # The server has taken in what there is once it hangs up or complains; some wait for more.
            line.settimeout(0.2)
            with contextlib.suppress(OSError):
                while line.recv(65536):
                    pass


class FaultProxy:
    """A running proxy. `url` has the path of the server's own URL."""

    def __init__(self, url: str, script: Script | None = None) -> None:
        self.script = script or Script()
        self.upstream = Upstream(url)
        self._front = Front(Faulty(self.upstream, self.script))
        self.url = self._front.url + urlsplit(url).path

    @property
    def log(self) -> list[Seen]:
        """What reached the server."""
        return self.upstream.log

    def stop(self) -> None:
        """Close the port."""
        self._front.stop()

    def __enter__(self) -> "FaultProxy":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
