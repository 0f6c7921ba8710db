"""An embedding server that answers well, badly, late, and out of order."""

import base64
import json
import shutil
import socket
import struct
import subprocess
import threading
import time
from contextlib import suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.every import every
from tests.models.conftest import Reply, ScriptedServer, says
from tests.models.contract import EmbedderContract, numbers
from vault_memory.config import load
from vault_memory.config.sections import Config, EmbeddingSettings
from vault_memory.errors import EmbedderUnavailable
from vault_memory.models import http_client
from vault_memory.models.base import unit
from vault_memory.models.credentials import EMBEDDING
from vault_memory.models.embedding.openai_api import ApiEmbedder, embeddings_url, retry_after
from vault_memory.models.http_client import is_private

VARIABLE = EMBEDDING.variable
KEY = "sk-very-secret-0123456789"


def vector_of(text: str) -> list[float]:
    return [float(len(text)) + 1, float(sum(map(ord, text)) % 97), 1.0]


def valid_reply(server: ScriptedServer) -> Reply:
    """Answers whatever it is asked, last text first, as the protocol allows."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        texts = json.loads(server.asked[-1][2])["input"]
        rows = [{"index": place, "embedding": vector_of(text)} for place, text in enumerate(texts)]
        says(200, json.dumps({"data": rows[::-1]}).encode())(handler)

    return reply


def rows(*vectors: Any) -> bytes:
    return json.dumps(
        {"data": [{"index": i, "embedding": vector} for i, vector in enumerate(vectors)]}
    ).encode()


def settings_for(server: ScriptedServer, **more: Any) -> EmbeddingSettings:
    settings: dict[str, Any] = {"model": "small", "base_url": server.url, "dimensions": 3}
    return EmbeddingSettings(kind="api", **settings | more)


class TestApiEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, server: ScriptedServer) -> ApiEmbedder:
        server.script = [valid_reply(server)]
        return ApiEmbedder(settings_for(server))


def test_the_request_names_the_configured_model_and_dimensions(server: ScriptedServer) -> None:
    server.script = [valid_reply(server)]

    ApiEmbedder(settings_for(server)).embed(["tea", ""])

    path, headers, body = server.asked[0]
    assert path == "/v1/embeddings"
    assert json.loads(body) == {
        "model": "small",
        "input": ["tea", "."],
        "dimensions": 3,
        "encoding_format": "float",
    }
    assert "Authorization" not in headers


def test_an_unknown_dimension_is_learned_from_one_request(server: ScriptedServer) -> None:
    server.script = [valid_reply(server)]

    embedder = ApiEmbedder(settings_for(server, dimensions=0))

    assert embedder.dimensions == 3
    assert "dimensions" not in json.loads(server.asked[0][2])


def test_many_texts_are_sent_in_batches_and_returned_in_order(server: ScriptedServer) -> None:
    server.script = [valid_reply(server)]
    texts = [f"text {number}" for number in range(150)]

    vectors = ApiEmbedder(settings_for(server)).embed(texts)

    assert [len(json.loads(body)["input"]) for _path, _headers, body in server.asked] == [
        64,
        64,
        22,
    ]
    assert vectors == [unit(vector_of(text)) for text in texts]


def test_an_answer_without_indices_is_read_in_order(server: ScriptedServer) -> None:
    server.script = [says(200, b'{"data": [{"embedding": [1, 0, 0]}, {"embedding": [0, 1, 0]}]}')]

    assert [numbers(v) for v in ApiEmbedder(settings_for(server)).embed(["a", "b"])] == [
        (1, 0, 0),
        (0, 1, 0),
    ]


def test_an_answer_in_base64_is_decoded(server: ScriptedServer) -> None:
    server.script = [says(200, rows(base64.b64encode(struct.pack("<3f", 0, 2, 0)).decode()))]

    assert numbers(ApiEmbedder(settings_for(server)).embed(["a"])[0]) == (0, 1, 0)


def test_a_busy_server_is_retried_after_its_waiting_time(server: ScriptedServer) -> None:
    server.script = [says(429, Retry_After="7"), says(503), valid_reply(server)]
    waited: list[float] = []

    ApiEmbedder(settings_for(server), wait=waited.append).embed(["tea"])

    assert waited == [7.0, 2.0]


def test_a_query_does_not_wait_for_a_busy_server(server: ScriptedServer) -> None:
    server.script = [says(429, Retry_After="7")]
    waited: list[float] = []

    with pytest.raises(EmbedderUnavailable, match="busy") as caught:
        ApiEmbedder(settings_for(server), wait=waited.append).embed(["tea"], query=True)

    assert waited == []
    assert "7 s" in caught.value.hint


def test_a_waiting_time_that_is_too_long_is_an_error(server: ScriptedServer) -> None:
    server.script = [says(429, Retry_After="3600")]
    waited: list[float] = []
    with pytest.raises(EmbedderUnavailable, match="429"):
        ApiEmbedder(settings_for(server), wait=waited.append).embed(["tea"])
    assert waited == []

    server.script = [says(500, b'{"error": {"message": "out of memory"}}')]
    with pytest.raises(EmbedderUnavailable, match="out of memory"):
        ApiEmbedder(settings_for(server), wait=waited.append).embed(["tea"])
    assert len(waited) == 3


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (says(200, rows([1, 2])), "2 numbers instead of 3"),
        (says(200, rows([1, 2, 3], [1, 2, 3])), "2 vectors for 1 text"),
        (says(200, b'{"data": []}'), "0 vectors"),
        (says(200, b'{"data": [{"index": 5, "embedding": [1, 2, 3]}]}'), "1 vectors for 1 text"),
        (says(200, b'{"data": [{"embedding": [NaN, 1, 2]}]}'), "direction"),
        (says(200, b'{"data": [{"embedding": [0, 0, 0]}]}'), "direction"),
        (says(200, b'{"data": [{"embedding": [1e999, 0, 0]}]}'), "direction"),
        (says(200, rows(["a", "b", "c"])), "not lists of numbers"),
        (says(200, rows([[1], [2], [3]])), "not lists of numbers"),
        (says(200, rows("!!!")), "not lists of numbers"),
        (says(200, rows(None)), "not lists of numbers"),
        (says(200, rows([1, 2, 3])[:-9]), "not a list of embeddings"),
        (says(200, b'{"data": 7}'), "not a list of embeddings"),
        (says(200, b"[" * 100_000), "not a list of embeddings"),
        (says(200, b"\xff\xfe"), "not a list of embeddings"),
        (says(200, b"<html><body>Please log in"), "not a list of embeddings"),
        (says(200, rows([1, 2, 3]), Content_Encoding="gzip"), "compressed"),
        (says(200, rows([1, 2, 3]), Content_Length="5000"), "broke off"),
        (says(302, Location="http://127.0.0.1:1/"), "redirects to another"),
        (says(401, b'{"error": {"message": "bad key"}}'), "key"),
        (says(404, b'{"error": "model small not found"}'), "model small not found"),
        (says(400, b"\x00\x1b[31m"), "status 400$"),
    ],
)
def test_an_invalid_answer_is_reported_in_plain_words(
    server: ScriptedServer, reply: Reply, words: str
) -> None:
    server.script = [reply]

    with pytest.raises(EmbedderUnavailable, match=words) as caught:
        ApiEmbedder(settings_for(server), wait=lambda _seconds: None).embed(["tea"])

    assert server.url in caught.value.message
    assert caught.value.hint


def test_an_endless_answer_is_cut_off(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vault_memory.models.embedding.openai_api.LARGEST", 1 << 20)
    server.script = [says(200, b" " * (2 << 20))]

    with pytest.raises(EmbedderUnavailable, match="longer than 1 MB"):
        ApiEmbedder(settings_for(server)).embed(["tea"])


def test_a_silent_server_is_abandoned_at_the_timeout(server: ScriptedServer) -> None:
    server.script = [lambda _handler: server.released.wait(120) and None]

    with pytest.raises(EmbedderUnavailable, match=r"no answer within 0\.2 s"):
        ApiEmbedder(settings_for(server), timeout=0.2).embed(["tea"], query=True)


DRIPS = {
    "an answer with a length": ({"Content-Length": "100000"}, b" "),
    "an answer without a length": ({"Connection": "close"}, b" "),
    "an answer in chunks": ({"Transfer-Encoding": "chunked"}, b"1\r\n \r\n"),
}
MOST_DRIPS = 200
"""The server gives up by itself: a client without a deadline has a complete answer then"""


@pytest.mark.parametrize("kind", DRIPS)
def test_a_slowly_dripping_server_is_abandoned_at_the_timeout(
    server: ScriptedServer, kind: str
) -> None:
    headers, piece = DRIPS[kind]

    sent: list[bytes] = []

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        with suppress(OSError):
            for _ in range(MOST_DRIPS):
                if server.released.wait(0.05):
                    break
                sent.append(piece)
                handler.wfile.write(piece)
                handler.wfile.flush()

    server.script = [drip]

    with pytest.raises(EmbedderUnavailable, match=r"no answer within 0\.3 s"):
        ApiEmbedder(settings_for(server), timeout=0.3).embed(["tea"])

    assert len(sent) < MOST_DRIPS, "it waited for the whole answer"


def test_a_timeout_is_reported_the_same_when_its_timer_fires_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class LateTimer(threading.Timer):
        """As on a machine that is too busy to run its thread in time."""

        def __init__(self, interval: float, function: Any, arguments: Any) -> None:
            super().__init__(interval + 60, function, arguments)

    monkeypatch.setattr(
        http_client, "threading", SimpleNamespace(Event=threading.Event, Timer=LateTimer)
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        with (
            pytest.raises(http_client.Unreachable, match=r"no answer within 0\.1 s"),
            http_client.answer("GET", url, headers={}, timeout=0.1, deadline=0.1),
        ):
            pass


def test_an_unreachable_server_is_reported_in_plain_words(server: ScriptedServer) -> None:
    server.close()

    with pytest.raises(EmbedderUnavailable, match="nothing listens there"):
        ApiEmbedder(settings_for(server)).embed(["tea"])


def test_with_a_known_dimension_the_embedder_starts_while_the_server_is_down(
    server: ScriptedServer,
) -> None:
    server.close()

    assert ApiEmbedder(settings_for(server)).dimensions == 3
    with pytest.raises(EmbedderUnavailable):
        ApiEmbedder(settings_for(server, dimensions=0))


@pytest.mark.parametrize(
    "change", [{"model": "other"}, {"dimensions": 4}, {"base_url": "http://localhost:9/v1"}]
)
def test_another_model_dimension_or_server_changes_the_fingerprint(
    server: ScriptedServer, change: dict[str, Any]
) -> None:
    settings: dict[str, Any] = {
        "kind": "api",
        "model": "small",
        "base_url": server.url,
        "dimensions": 3,
    }

    assert (
        ApiEmbedder(EmbeddingSettings(**settings)).fingerprint
        != ApiEmbedder(EmbeddingSettings(**settings | change)).fingerprint
    )


def test_the_key_is_read_from_a_file_only_its_owner_can_read(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.script = [valid_reply(server)]
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    file.chmod(0o600)

    ApiEmbedder(settings_for(server, api_key_file=str(file))).embed(["tea"])

    assert server.asked[0][1]["Authorization"] == f"Bearer {KEY}"
    file.chmod(0o640)
    with pytest.raises(EmbedderUnavailable, match="read by others") as caught:
        ApiEmbedder(settings_for(server, api_key_file=str(file)))
    assert "chmod 600" in caught.value.hint
    with pytest.raises(EmbedderUnavailable, match="cannot be read"):
        ApiEmbedder(settings_for(server, api_key_file=str(tmp_path / "nothing")))


def test_the_key_may_come_from_the_service_manager_or_the_environment(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script = [valid_reply(server)]
    monkeypatch.setenv(VARIABLE, "from-environment")
    ApiEmbedder(settings_for(server)).embed(["tea"])
    (tmp_path / "embedding_api_key").write_text("from-manager")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    ApiEmbedder(settings_for(server)).embed(["tea"])

    assert [asked[1]["Authorization"] for asked in server.asked] == [
        "Bearer from-environment",
        "Bearer from-manager",
    ]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_no_error_repeats_the_key(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    server.script = [says(status, json.dumps({"error": {"message": f"wrong key {KEY}"}}).encode())]

    with pytest.raises(EmbedderUnavailable) as caught:
        ApiEmbedder(settings_for(server), wait=lambda _seconds: None).embed(["tea"])

    assert KEY not in f"{caught.value.as_json()}"
    assert KEY not in repr(caught.value.__context__)


@pytest.mark.parametrize("key", ["line\nbreak: x", "ключ", "\x00"])
def test_a_key_that_would_break_the_http_header_is_refused(
    server: ScriptedServer, tmp_path: Path, key: str
) -> None:
    file = tmp_path / "key"
    file.write_text(key)
    file.chmod(0o600)

    with pytest.raises(EmbedderUnavailable, match="no key has"):
        ApiEmbedder(settings_for(server, api_key_file=str(file)))


def test_the_key_is_never_sent_unencrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY)

    with pytest.raises(EmbedderUnavailable, match="unencrypted"):
        ApiEmbedder(
            EmbeddingSettings(kind="api", base_url="http://embeddings.example.org/v1", dimensions=3)
        )


@every(
    ("base", "url"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1/embeddings"),
        ("http://localhost:11434/v1/", "http://localhost:11434/v1/embeddings"),
        ("https://host/openai/v3", "https://host/openai/v3/embeddings"),
        ("https://host/v1/embeddings", "https://host/v1/embeddings"),
    ],
)
def test_the_address_may_be_given_with_or_without_its_endpoint(base: str, url: str) -> None:
    assert embeddings_url(base) == url


@every("base", ["", "localhost:11434", "ftp://host", "https://u:p@host", "https://host/?key=1"])
def test_an_invalid_address_is_refused_without_being_repeated(base: str) -> None:
    with pytest.raises(EmbedderUnavailable, match="base_url") as caught:
        embeddings_url(base)

    assert "u:p" not in f"{caught.value.as_json()}"


@every(
    ("header", "seconds"),
    [(None, None), ("3", 3.0), ("-5", 0.0), ("soon", None), ("nan", None), (formatdate(0), 0.0)],
)
def test_retry_after_may_be_a_number_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds
    assert 50 < (retry_after(formatdate(time.time() + 60)) or 0) <= 61


def test_a_cloud_metadata_address_is_refused(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script = [valid_reply(server)]
    monkeypatch.setattr(
        socket.socket, "getpeername", lambda _self: ("169.254.169.254", 80), raising=False
    )

    with pytest.raises(EmbedderUnavailable, match="own network services"):
        ApiEmbedder(settings_for(server)).embed(["tea"])

    assert server.asked == []


def test_the_environment_variable_for_the_key_is_an_accepted_setting() -> None:
    assert load(None, {VARIABLE: KEY}) == Config()


@pytest.mark.parametrize(
    ("host", "asked"), [("embeddings.example.org", True), ("localhost", False), ("10.0.0.1", False)]
)
def test_a_proxy_is_used_for_public_hosts_and_never_for_the_local_network(
    host: str, asked: bool
) -> None:
    assert is_private(host) is not asked


def test_requests_go_through_the_proxy_in_a_tunnel(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv(VARIABLE, KEY)
    server.script = [says(403)]

    with pytest.raises(EmbedderUnavailable, match="403"):
        ApiEmbedder(settings_for(server, base_url="https://embeddings.example.org/v1")).embed(
            ["tea"], query=True
        )

    ((path, headers, _body),) = server.asked
    assert path == "embeddings.example.org:443"
    assert KEY not in str(headers)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_an_untrusted_certificate_is_refused(server: ScriptedServer, tmp_path: Path) -> None:
    pem = tmp_path / "server.pem"
    made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -days 2"
    subprocess.run(
        [*made.split(), "-keyout", pem, "-out", tmp_path / "cert.pem"],
        check=True,
        capture_output=True,
    )
    server.encrypt(tmp_path / "cert.pem", pem)
    server.script = [valid_reply(server)]

    with pytest.raises(EmbedderUnavailable, match="certificate is not valid"):
        ApiEmbedder(settings_for(server, base_url=server.url.replace("http:", "https:"))).embed(
            ["tea"]
        )

    assert server.asked == []
