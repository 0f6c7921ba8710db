"""The gate before the door: who asks under another name, or from a strange page in a browser, is sent away."""

from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from vault_memory.config import LOOPBACK_HOSTS
from vault_memory.http.responses import refusal

BODILESS = ("GET", "HEAD")


class Gate:
    """Against pages that let a name of theirs point at this machine, and against pages that post here blindly."""

    def __init__(
        self, app: ASGIApp, hosts: Iterable[str], origins: Iterable[str]
    ) -> None:
        self._app = app
        self._hosts = {*LOOPBACK_HOSTS, *(host_name(host) for host in hosts)}
        self._origins = {origin.rstrip("/").lower() for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app if scope["type"] == "lifespan" else self._let_by(scope)
        await app(scope, receive, send)

    def _let_by(self, scope: Scope) -> ASGIApp:
        """The app, or the refusal that takes its place."""
        if scope["type"] != "http":
            return WebSocketClose(1008)
        headers = Headers(scope=scope)
        if host_name(headers.get("host", "")) not in self._hosts:
            hint = "`serve.allowed_hosts` lists the names under which it may be asked"
            return refusal(
                421, "wrong_host", "this is not the host that was asked", hint
            )
        if any(
            origin.lower() not in self._origins for origin in headers.getlist("origin")
        ):
            hint = "`serve.allowed_origins` lists the pages that may"
            return refusal(403, "wrong_origin", "this page may not ask here", hint)
        return _misframed(scope["method"], headers) or self._app


def _misframed(method: str, headers: Headers) -> ASGIApp | None:
    """Refuses a request whose end a server in front may see elsewhere: the rest would be taken for another request."""
    encoded = "transfer-encoding" in headers
    if encoded and "content-length" in headers:
        message = "a request has either Content-Length or Transfer-Encoding"
    elif method in BODILESS and (encoded or headers.get("content-length", "0") != "0"):
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
