"""A `requests` transport that calls an app in this process: no sockets, no threads, no waiting."""

import http.client
import io
from collections.abc import Mapping
from http.client import HTTPMessage
from typing import Any

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPHeaderDict, HTTPResponse
from urllib3.exceptions import ProtocolError

from tests.remote.servers.exchange import (
    App,
    ConnectionLost,
    NoAnswer,
    Response,
    reason,
    response_head,
)


class DirectAdapter(BaseAdapter):
    """Mount it on a session: ``session.mount("http://", DirectAdapter(app))``."""

    def __init__(self, app: App) -> None:
        super().__init__()
        self.app = app

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Answer as the app does; a cut line becomes the error that a real one would be."""
        body = _bytes_of(request.body)
        headers = {str(name): _text(value) for name, value in request.headers.items()}
        headers.setdefault("Host", _host(request.url or ""))
        try:
            answer = self.app.handle(request.method or "GET", request.path_url, headers, body)
        except NoAnswer as lost:
            raise requests.ReadTimeout("no answer came", request=request) from lost
        except ConnectionLost as lost:
            broken = ProtocolError("Connection aborted.", ConnectionResetError("the line was cut"))
            raise requests.ConnectionError(broken, request=request) from lost
        return self._built(request, answer)

    def _built(self, request: requests.PreparedRequest, answer: Response) -> requests.Response:
        if answer.cut is not None:
            return self._response(request, _as_read(answer, request.method))
        headers = HTTPHeaderDict(answer.headers)
        if answer.status not in (204, 304):
            headers.setdefault("Content-Length", str(len(answer.body)))
        raw = HTTPResponse(
            io.BytesIO(b"" if request.method == "HEAD" else answer.body),
            headers=headers,
            status=answer.status,
            reason=reason(answer.status),
            preload_content=False,
            request_method=request.method,
        )
        return self._response(request, raw)

    def _response(self, request: requests.PreparedRequest, raw: HTTPResponse) -> requests.Response:
        response = requests.Response()
        response.status_code = raw.status
        response.headers = CaseInsensitiveDict(raw.headers)
        response.encoding = requests.utils.get_encoding_from_headers(response.headers)
        response.raw = raw
        response.reason = raw.reason or ""
        response.url = request.url or ""
        response.request = request
        response.connection = self  # type: ignore[assignment]
        if cookie := raw.headers.get("Set-Cookie"):
            raw._original_response = _WithCookies(cookie)  # type: ignore[assignment]
            requests.cookies.extract_cookies_to_jar(response.cookies, request, raw)
        return response

    def close(self) -> None:
        """Nothing is open."""


def _as_read(answer: Response, method: str | None) -> HTTPResponse:
    """What Python makes of an answer whose line breaks: also of half a head, which it takes for a whole one."""
    arrived = (response_head(answer) + (b"" if method == "HEAD" else answer.body))[: answer.cut]
    read = http.client.HTTPResponse(_Line(arrived), method=method)  # type: ignore[arg-type]
    try:
        read.begin()
    except (http.client.HTTPException, OSError) as broken:
        raise requests.ConnectionError(ProtocolError("Connection aborted.", broken)) from broken
    return HTTPResponse(
        read,
        headers=HTTPHeaderDict(read.headers.items()),
        status=read.status,
        reason=read.reason,
        preload_content=False,
        request_method=method,
    )


class _Line:
    """A socket from which so much comes, and no more."""

    def __init__(self, arrived: bytes) -> None:
        self._arrived = arrived

    def makefile(self, *_: object) -> io.BytesIO:
        return io.BytesIO(self._arrived)


class _WithCookies:
    """The one thing that the cookie jar asks of a response of http.client."""

    def __init__(self, cookie: str) -> None:
        self.msg = HTTPMessage()
        self.msg["Set-Cookie"] = cookie

    def isclosed(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing is open."""


def _bytes_of(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    return bytes(body.read()) if hasattr(body, "read") else b"".join(body)


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2]
