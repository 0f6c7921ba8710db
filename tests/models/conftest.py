"""One model for all tests of this room, and a server that answers as it is told to."""

import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from vault_memory.models.embedding.model_files import ModelFiles, minilm_at
from vault_memory.models.embedding.onnx import OnnxEmbedder
from vault_memory.models.embedding.packaged import MINILM_WEIGHTS, installed

Reply = Callable[[BaseHTTPRequestHandler], None]


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is what some tests are about."""


class ScriptedServer:
    """Gives the replies of its script one after the other, the last one for ever, and remembers what it was asked."""

    def __init__(self) -> None:
        self.script: list[Reply] = []
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        self.released = threading.Event()
        self._http = QuietServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = False
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def encrypt(self, certificate: Path, key: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._http.socket = context.wrap_socket(
            self._http.socket, server_side=True, do_handshake_on_connect=False
        )

    def close(self) -> None:
        self.released.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                server.asked.append((self.path, dict(self.headers.items()), body))
                reply = server.script.pop(0) if len(server.script) > 1 else server.script[0]
                self.close_connection = True
                reply(self)

            do_POST = do_CONNECT = do_GET

            def log_message(self, *words: object) -> None:
                pass

        return Handler


def says(status: int, body: bytes = b"", **headers: str) -> Reply:
    """A reply with these headers (`_` for `-`); Content-Length tells the truth unless it is given."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        told = {
            "Content-Length": str(len(body)),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        for name, value in told.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return reply


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


@pytest.fixture(scope="session")
def minilm_files() -> ModelFiles:
    weights = installed(MINILM_WEIGHTS)
    assert weights is not None, "`make test` installs the packages that carry the model"
    return minilm_at(weights)


@pytest.fixture(scope="session")
def minilm(minilm_files: ModelFiles) -> OnnxEmbedder:
    return OnnxEmbedder(minilm_files)
