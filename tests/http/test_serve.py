"""`vault-memory serve` as a process: it says where it listens, answers, and ends when it is told to."""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.scenarios.outside import PATIENCE_SECONDS, Outside, until
from tests.scenarios.outside import outside as outside
from vault_memory.http.listen import at_socket

NOTE = "Users/mira/memories/2026-05-01.md"


@pytest.fixture(autouse=True)
def written(outside: Outside) -> None:
    outside.write(NOTE, "# Friday\n\n- The marigold is in bloom\n")
    outside.write("Users/tomas/memories/2026-05-01.md", "# Friday\n\n- The marigold is a weed\n")


class Process:
    """A server in a process of its own, and what it said."""

    def __init__(self, outside: Outside, *arguments: str) -> None:
        self.errors: list[str] = []
        self.process = subprocess.Popen(
            outside.command("serve", *arguments),
            env=outside.environment,
            cwd=outside.home,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        until(lambda: self.place or self.process.poll() is not None, says=lambda: self.errors)

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            self.errors.extend(iter(stream.readline, ""))

    @property
    def place(self) -> str:
        found = re.search("^listening on (.+)$", "".join(self.errors), re.MULTILINE)
        return found[1] if found else ""

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE_SECONDS)
        self._reader.join(PATIENCE_SECONDS)
        assert "Traceback" not in "".join(self.errors), "".join(self.errors)
        return code


@contextmanager
def serve(outside: Outside, *arguments: str) -> Iterator[Process]:
    process = Process(outside, *arguments)
    try:
        yield process
    finally:
        process.end(signal.SIGKILL)


def token_for(outside: Outside, user: str) -> str:
    """Made as the page on HTTP says."""
    made = outside.run("serve", "--new-token", f"{user}.token", "--user", user)
    assert made.code == 0, made.err
    with (outside.home / "vault-memory.toml").open("a") as config:
        config.write(made.out)
    file = outside.home / f"{user}.token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = file.read_text().strip()
    assert token not in made.out + made.err
    return token


@pytest.mark.sampled
def test_two_bots_are_served_over_tcp_and_running_requests_finish_before_the_stop(outside: Outside):
    outside.quick = True
    tokens = [token_for(outside, user) for user in ("mira", "tomas")]
    asked = {"query": "marigold", "limit": 1}

    with serve(outside, "--config", "vault-memory.toml", "--port", "0") as process:
        mira, tomas = (
            httpx.Client(base_url=process.place, headers={"authorization": f"Bearer {one}"})
            for one in tokens
        )
        with mira, tomas:
            assert "bloom" in mira.post("/v1/search", json=asked).json()["hits"][0]["text"]
            assert "weed" in tomas.post("/v1/search", json=asked).json()["hits"][0]["text"]
            assert httpx.post(f"{process.place}/v1/search", json=asked).status_code == 401

        url = httpx.URL(process.place)
        with socket.create_connection((url.host, url.port or 0), PATIENCE_SECONDS) as connection:
            head = f"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {tokens[0]}\r\n"
            body = b'{"query": "marigold"}'
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body[:1])
            connection.settimeout(
                0.3
            )  # long enough for the head to arrive; what comes late is refused, and seen below
            with pytest.raises(TimeoutError):
                connection.recv(1)
            connection.settimeout(PATIENCE_SECONDS)
            process.process.send_signal(signal.SIGTERM)
            until(lambda: refuses(url), says="it still takes new requests")
            connection.sendall(body[1:])
            answer = connection.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 200")
        assert NOTE.encode() in answer
        assert process.end() == 0
    assert process.errors == [f"listening on {process.place}\n", "stopped\n"]


def refuses(url: httpx.URL) -> bool:
    try:
        socket.create_connection((url.host, url.port or 0), 1).close()
    except OSError:
        return True
    return False


@pytest.mark.sampled
def test_over_a_unix_socket_one_person_is_served_without_a_token(outside: Outside):
    path = outside.home / "vault.sock"

    with serve(outside, "--socket", str(path), "--user", "mira") as process:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert process.place == str(path)
        with httpx.Client(
            transport=httpx.HTTPTransport(uds=str(path)), base_url="http://localhost"
        ) as client:
            [note] = client.get("/v1/notes").json()["notes"]
            assert note["note"] == NOTE
        taken = outside.here("serve", "--socket", str(path), "--user", "tomas")
        assert taken.code == 6
        assert "another process listens" in taken.err
        process.end(signal.SIGKILL)

    assert path.exists()
    with at_socket(path):  # nobody listens there any more, so there is room
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.sampled
def test_with_a_daemon_a_save_is_found_at_once(outside: Outside):
    path = outside.home / "vault.sock"
    with outside.daemon(), serve(outside, "--socket", str(path), "--user", "mira") as process:
        transport = httpx.HTTPTransport(uds=str(path))
        with httpx.Client(
            transport=transport, base_url="http://localhost", timeout=PATIENCE_SECONDS
        ) as client:
            outside.write("Users/mira/memories/2026-05-02.md", "- A zyzzyva was seen\n")

            until(lambda: client.post("/v1/search", json={"query": "zyzzyva"}).json()["hits"])

            assert client.post("/v1/context", json={"prompt": "the zyzzyva"}).json()["parts"]
        assert process.end(signal.SIGINT) == 0
    assert not path.exists()


def test_without_a_token_the_server_does_not_start_and_shows_how_to_create_one(outside: Outside):
    done = outside.here("serve", "--port", "0")

    assert done.code == 3
    assert "no access token is configured" in done.err
    assert "vault-memory serve --new-token FILE --user NAME" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "about"),
    [
        (["--port", "0", "--user", "mira"], 2, "need --socket"),
        (["--socket", "x.sock", "--port", "1"], 2, "excludes --host and --port"),
        (["--socket", "x.sock", "--channel", "harbour"], 2, "whom it serves"),
        (["--socket", "a" * 200, "--user", "mira"], 3, "too long"),
        (["--socket", "a-file", "--user", "mira"], 3, "is not a socket"),
        (["--socket", "no/folder/x.sock", "--user", "mira"], 3, "cannot be made"),
        (["--config", "open.toml", "--port", "0"], 3, "read by others"),
        (["--config", "good.toml", "--host", "host.invalid"], 3, "is not an address"),
        (["--config", "good.toml", "--port", "99999"], 2, "0<=x<=65535"),
        (["--new-token", "a-file", "--user", "mira"], 2, "exists already"),
        (["--new-token", "new"], 2, "needs the person"),
        (["--new-token", "../vault/token", "--user", "mira"], 2, "is in a vault"),
    ],
    ids=range(12),
)
def test_an_invalid_setup_is_reported_before_the_server_listens(
    outside: Outside, arguments: list[str], code: int, about: str
):
    outside.here("index")
    (outside.home / "a-file").write_text("b" * 40)
    (outside.home / "a-file").chmod(0o600)
    (outside.home / "open").write_text("c" * 40)
    (outside.home / "open").chmod(0o644)
    (outside.home / "good.toml").write_text(
        '[[serve.tokens]]\nuser = "mira"\ntoken_file = "a-file"\n'
    )
    (outside.home / "open.toml").write_text(
        '[[serve.tokens]]\nuser = "mira"\ntoken_file = "open"\n'
    )

    done = outside.here("serve", *arguments)

    assert (done.code, about in done.err) == (code, True), done.err
    assert not (outside.vault / "token").exists()


def test_a_port_in_use_is_reported(outside: Outside):
    token_for(outside, "mira")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        done = outside.here("--config", "vault-memory.toml", "serve", "--port", str(port))

    assert done.code == 3
    assert f"nothing can listen on 127.0.0.1:{port}" in done.err


def test_without_its_packages_serve_names_what_to_install(outside: Outside):
    script = "import sys; sys.modules['starlette'] = None; from vault_memory.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", script, "--vault", str(outside.vault), "serve", "--json"]

    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, **outside.environment},
        timeout=60,
    )

    assert done.returncode == 3
    assert "vault-memory[web]" in done.stdout
    assert "extra_missing" in done.stdout
