"""The two doors of MCP as an address without a token, which is all that a suite of tests can ask.

Over HTTP each request is passed on to a real `serve` with the token added. Over a pipe each message is one line to a
real `mcp`, and the answer of that id comes back.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from tests.addons.dialogue.doors import serving
from tests.mcp.pipes import Pipe
from tests.scenarios.outside import PATIENCE_SECONDS, Outside

TOKEN = "t" * 40
OF_A_HOP = frozenset({"connection", "content-length", "transfer-encoding"})


class Answer(NamedTuple):
    """What goes back to the client."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""


Passed = Callable[[BaseHTTPRequestHandler, bytes], Answer]
"""Answers a request with its body"""


@contextmanager
def over_http(place: Outside, user: str) -> Iterator[str]:
    """The address of `serve` with its token added."""
    token = place.home / "token"
    token.touch(0o600)
    token.write_text(TOKEN)
    settings = place.home / "served.toml"
    settings.write_text(f'[[serve.tokens]]\nuser = "{user}"\ntoken_file = "{token}"\n')
    command = place.command("--config", str(settings), "serve", "--port", "0")
    with serving(command, place) as server:
        address = server.rpartition("/")[2]

        def passed(request: BaseHTTPRequestHandler, body: bytes) -> Answer:
            # A usual client would refuse the headers that the suite makes wrong on purpose.
            carrier = HTTPConnection(address, timeout=PATIENCE_SECONDS)
            with closing(carrier):
                carrier.putrequest(request.command, request.path, skip_host=True)
                for name, value in request.headers.items():
                    if name.lower() not in OF_A_HOP:
                        carrier.putheader(name, value)
                carrier.putheader("content-length", str(len(body)))
                carrier.putheader("authorization", f"Bearer {TOKEN}")
                carrier.endheaders(body)
                got = carrier.getresponse()
                return Answer(got.status, dict(got.getheaders()), got.read())

        with _served(passed) as url:
            yield f"{url}/mcp"


@contextmanager
def over_pipe(place: Outside, user: str) -> Iterator[str]:
    """The address of a bridge to `mcp`."""
    pipe = Pipe(place.command("mcp", "--user", user), place.environment)
    turn = threading.Lock()

    def passed(request: BaseHTTPRequestHandler, body: bytes) -> Answer:
        if request.command != "POST":
            return Answer(405)
        message = json.loads(body)
        with turn:
            pipe.send(message)
            if "id" not in message:
                return Answer(202)
            answer = json.dumps(pipe.next()).encode()
        return Answer(200, {"content-type": "application/json"}, answer)

    with _served(passed) as url:
        yield f"{url}/mcp"
    code, rest, _ = pipe.end()
    assert (code, rest) == (0, [])


@contextmanager
def _served(passed: Passed) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            answer = passed(self, self.rfile.read(length))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                if name.lower() not in OF_A_HOP:
                    self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_DELETE = do_GET = do_OPTIONS = do_POST = answer

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the suite reports what it asked."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
