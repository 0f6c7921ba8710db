"""Checks the host and the origin of each request before its token."""

from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from vault_memory.config import LOOPBACK_HOSTS
from vault_memory.http.responses import refusal

BODILESS = ("GET", "HEAD")


class Gate:
    """Refuses requests to another host name, of an unknown web page, or with an unclear end.

    Faults this guards against: a page whose own name points at this machine (DNS rebinding), and a
    page that posts here without reading the answer.
    """

    def __init__(
        self, app: ASGIApp, hosts: Iterable[str], origins: Iterable[str]
    ) -> None:
        self._app = app
        self._hosts = {*LOOPBACK_HOSTS, *(host_name(host) for host in hosts)}
        self._origins = {origin.rstrip("/").lower() for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app if scope["type"] == "lifespan" else self._choose_app(scope)
        await app(scope, receive, send)

    def _choose_app(self, scope: Scope) -> ASGIApp:
        """The app, or a refusal instead of it."""
        if scope["type"] != "http":
            return WebSocketClose(1008)
        headers = Headers(scope=scope)
        if host_name(headers.get("host", "")) not in self._hosts:
            hint = "add the name to `serve.allowed_hosts`"
            return refusal(421, "wrong_host", "this server has another name", hint)
        origins = {origin.lower() for origin in headers.getlist("origin")}
        if not origins <= self._origins:
            hint = "add the page to `serve.allowed_origins`"
            return refusal(403, "wrong_origin", "this page may not call here", hint)
        return _framing_refusal(scope["method"], headers) or self._app


def _framing_refusal(method: str, headers: Headers) -> ASGIApp | None:
    """The refusal of a request with an unclear end.

    Fault this guards against: a proxy sees the end of the request at another place, and takes its
    last part for another request (request smuggling).
    """
    is_encoded = "transfer-encoding" in headers
    has_body = is_encoded or headers.get("content-length", "0") != "0"
    if is_encoded and "content-length" in headers:
        message = "a request has either Content-Length or Transfer-Encoding"
    elif has_body and method in BODILESS:
        message = f"a {method} request has no body"
    else:
        return None
    return refusal(
        400, "wrong_framing", message, "send it again without", {"connection": "close"}
    )


def host_name(host: str) -> str:
    """The name in a Host header, without its port and the brackets of IPv6."""
    name, _, port = host.strip().lower().rpartition(":")
    if not name or not port.isdecimal() or (":" in name and not name.endswith("]")):
        name = host.strip().lower()
    return name.removeprefix("[").removesuffix("]").removesuffix(".")
