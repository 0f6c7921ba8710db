"""Shows an app on a port of this machine, one thread for each connection."""

import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.remote.servers.exchange import App, ConnectionLost, NoAnswer, Response, response_head


class Front:
    """A running HTTP server for one app. `url` has no slash at its end."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.failures: list[Exception] = []
        self._stopped = threading.Event()
        self._server = _Listening(("127.0.0.1", 0), _handler_of(app, self._stopped, self.failures))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Close the port and every connection; raises what the app itself has broken over."""
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._server.close_connections()
        self._thread.join()
        if self.failures:
            raise self.failures[0]

    def __enter__(self) -> "Front":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Listening(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        for connection in self._open.copy():
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what these servers are for."""


def _handler_of(
    app: App, stopped: threading.Event, failures: list[Exception]
) -> type[BaseHTTPRequestHandler]:
    receiving = getattr(app, "receiving", lambda method, path: contextlib.nullcontext())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65537)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            if self.headers.get("Expect", "").lower() == "100-continue":
                self.send_response_only(100)
                self.end_headers()
            try:
                with receiving(self.command, self.path):
                    body, headers = self._body(), dict(self.headers.items())
                    answer = app.handle(
                        self.command, self.path, headers, body, address=self.client_address[0]
                    )
            except NoAnswer:
                self._wait_for_the_client_to_go()
            except ConnectionLost:
                self.close_connection = True
            except Exception as failure:
                failures.append(failure)
                raise
            else:
                self._send(answer)

        def _body(self) -> bytes:
            if "chunked" in self.headers.get("Transfer-Encoding", ""):
                return self._chunked()
            length = int(self.headers.get("Content-Length") or 0)
            return self.rfile.read(length) if length else b""

        def _chunked(self) -> bytes:
            parts = []
            while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return b"".join(parts)

        def _send(self, answer: Response) -> None:
            head = response_head(answer)
            body = b"" if self.command == "HEAD" or answer.status in (204, 304) else answer.body
            if answer.cut is not None:
                self.close_connection = True
            self.wfile.write((head + body)[: answer.cut])
            self.wfile.flush()

        def _wait_for_the_client_to_go(self) -> None:
            self.close_connection = True
            self.connection.settimeout(0.05)
            while not stopped.is_set():
                try:
                    if not self.connection.recv(1024):
                        return
                except TimeoutError:
                    continue
                except OSError:
                    return

        def log_message(self, *_: object) -> None:
            """The app keeps the log."""

    return Handler
