"""A folder on some server, and a client that sends exactly what it is told to: for finding out what the server does."""

import http.client
import os
import socket
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit
from xml.etree import ElementTree

XML = {"Content-Type": "application/xml"}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, read to its end."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes


class Laboratory:
    """Paths are decoded and relative to the folder at `url`."""

    def __init__(self, url: str, user: str, password: str, age: Callable[[str], None]) -> None:
        self.url = url
        self.age = age
        """Makes what lies at a path look as if it had been written a while ago."""
        parts = urlsplit(url)
        self.host, self._path = parts.netloc, parts.path
        self._basic = "Basic " + b64encode(f"{user}:{password}".encode()).decode()
        self._line = http.client.HTTPConnection(parts.netloc, timeout=120)

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    def send(self, method: str, path: str = "", body: bytes | None = None, **headers: str) -> Reply:
        """One request; `If_Match="..."` becomes the header If-Match."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._line.request(method, self.target(path), body, {"Authorization": self._basic, **named})
        answer: HTTPResponse = self._line.getresponse()
        reply = Reply(answer.status, answer.headers, answer.read())
        if answer.will_close:
            self._line.close()
        return reply

    def status(self, method: str, path: str = "", body: bytes | None = None, **headers: str) -> int:
        """One request, and how it went."""
        return self.send(method, path, body, **headers).status

    def put(self, path: str, body: bytes = b"first\n", **headers: str) -> int:
        """Upload."""
        return self.status("PUT", path, body, **headers)

    def read(self, path: str) -> bytes | int:
        """The content, or the status that says why there is none."""
        reply = self.send("GET", path)
        return reply.body if reply.status == 200 else reply.status

    def tag(self, path: str) -> str:
        """The ETag of HEAD."""
        return self.send("HEAD", path).headers.get("ETag") or ""

    def listed(self, path: str = "", depth: str = "0") -> dict[str, dict[str, str]]:
        """Properties by decoded path below the folder, local names only."""
        reply = self.send("PROPFIND", path, b"", Depth=depth, **XML)
        assert reply.status == 207, reply.status
        found = {}
        for response in ElementTree.fromstring(reply.body).iter("{DAV:}response"):
            where = unquote(urlsplit(response.findtext("{DAV:}href") or "").path)
            known = {
                element.tag.rpartition("}")[2]: "".join(element.itertext())
                for propstat in response.iter("{DAV:}propstat")
                if " 200 " in f"{propstat.findtext('{DAV:}status')} "
                for element in propstat.findall("{DAV:}prop/*")
            }
            found[where.removeprefix(unquote(self._path)).strip("/")] = known
        return found

    def target(self, path: str) -> str:
        """What stands in the request line."""
        return self._path + quote(path, safe="/%")

    def put_half(self, path: str, body: bytes, sent: int) -> None:
        """Upload, and hang up after so many bytes of the body."""
        head = (
            f"PUT {self.target(path)} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: {self._basic}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        host, _, port = self.host.partition(":")
        with socket.create_connection((host, int(port)), timeout=120) as line:
            line.sendall(head.encode() + body[:sent])
            line.shutdown(socket.SHUT_WR)
            line.settimeout(0.1)
            try:
                while line.recv(4096):
                    pass
            except OSError:
                return


def on_disk(root: Path) -> Callable[[str], None]:
    """Ages files of a real server by their times on its disk."""

    def age(path: str) -> None:
        then = time.time() - 100
        os.utime(root / path, (then, then))

    return age
