"""A model server on this machine that says what a test has written down for it, and remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.clients.wires import Answer, Anthropic, Body, Chat, Gemini, Responses, Say, Wire, texts

WIRES: dict[str, Wire] = {
    "/messages": Anthropic(),
    "/responses": Responses(),
    "/chat/completions": Chat(),
    ":streamGenerateContent": Gemini(),
}


@dataclass(frozen=True)
class Request:
    """What a client asked the model."""

    path: str
    body: Body
    wire: Wire

    @cached_property
    def tools(self) -> list[str]:
        return self.wire.tools(self.body)

    @cached_property
    def prompt(self) -> str:
        return self.wire.prompt(self.body)

    @cached_property
    def results(self) -> list[str]:
        return self.wire.results(self.body)

    @cached_property
    def text(self) -> str:
        """Each string of the request; the descriptions of tools are left out."""
        return "\n".join(
            texts({name: value for name, value in self.body.items() if name != "tools"})
        )


Script = Callable[[Request], Answer]


@dataclass
class Model:
    """The server, while it runs."""

    url: str
    script: Script = lambda request: Say("Well.")
    requests: list[Request] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    """what was asked beside that, such as lists of models"""

    @property
    def turns(self) -> list[Request]:
        """The requests of the conversation: clients ask for titles and the like without offering tools."""
        return [request for request in self.requests if request.tools]

    def answer(self, path: str, body: Body) -> tuple[str, bytes] | None:
        """What a request gets; None when it is not for a model."""
        wire = next(
            (wire for end, wire in WIRES.items() if path.partition("?")[0].endswith(end)), None
        )
        if wire is None:
            self.other.append(path)
            return None
        request = Request(path, body, wire)
        self.requests.append(request)
        return wire.write(self.script(request) if request.tools else Say("Boats"), body)


@contextmanager
def model(script: Script) -> Iterator[Model]:
    """A server of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._send(serving.answer(self.path, json.loads(raw or b"{}")))

        def do_GET(self) -> None:
            serving.other.append(self.path)
            self._send(None)

        do_HEAD = do_GET

        def _send(self, answer: tuple[str, bytes] | None) -> None:
            kind, raw = answer or (
                "application/json",
                b'{"error": {"type": "not_found_error", "message": "none"}}',
            )
            self.send_response(200 if answer else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            """Nothing: the requests are kept."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = Model(f"http://127.0.0.1:{server.server_address[1]}", script)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield serving
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
