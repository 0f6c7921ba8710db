"""Checks the host and the origin of each request before its token."""

from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from vault_memory.config import LOOPBACK_HOSTS
from vault_memory.http.responses import refusal

BODILESS = ("GET", "HEAD")


class Gate:
    """Refuses requests to another host name, of an unknown web page, or with an unclear end."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str], origins: Iterable[str]) -> None:
        self._app = app
        self._hosts = {*LOOPBACK_HOSTS, *(host_name(host) for host in hosts)}
        self._origins = {origin.rstrip("/").lower() for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._refusal(scope) or self._app
        await app(scope, receive, send)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Returns the refusal of a request, or None."""
        match scope["type"]:
            case "lifespan":
                return None
            case "http":
                headers = Headers(scope=scope)
                return (
                    self._host_refusal(headers)
                    or self._origin_refusal(headers)
                    or _framing_refusal(scope["method"], headers)
                )
            case _:
                return WebSocketClose(1008)

    def _host_refusal(self, headers: Headers) -> ASGIApp | None:
        # Fault: DNS rebinding. A page lets its own name point at this machine.
        if host_name(headers.get("host", "")) in self._hosts:
            return None
        hint = "add the name to `serve.allowed_hosts`"
        return refusal(421, "wrong_host", "this server has another name", hint)

    def _origin_refusal(self, headers: Headers) -> ASGIApp | None:
        # Fault: a foreign page can post here although it cannot read the answer.
        origins = {origin.lower() for origin in headers.getlist("origin")}
        if origins <= self._origins:
            return None
        hint = "add the page to `serve.allowed_origins`"
        return refusal(403, "wrong_origin", "this page may not call here", hint)


def _framing_refusal(method: str, headers: Headers) -> ASGIApp | None:
    # Fault: request smuggling. A proxy that sees the end of the request at another
    # place takes its last bytes for another request.
    is_encoded = "transfer-encoding" in headers
    has_body = is_encoded or headers.get("content-length", "0") != "0"
    if is_encoded and "content-length" in headers:
        message = "a request has either Content-Length or Transfer-Encoding"
    elif has_body and method in BODILESS:
        message = f"a {method} request has no body"
    else:
        return None
    return refusal(400, "wrong_framing", message, "send it again without", {"connection": "close"})


def host_name(host: str) -> str:
    """Returns the name in a Host header, without its port and the brackets of IPv6."""
    name = host.strip().lower()
    before_port, _, port = name.rpartition(":")
    # Without brackets, the last group of an IPv6 address looks like a port.
    is_bare_ipv6 = ":" in before_port and not before_port.endswith("]")
    if before_port and port.isdecimal() and not is_bare_ipv6:
        name = before_port
    return name.removeprefix("[").removesuffix("]").removesuffix(".")
