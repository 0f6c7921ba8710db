"""Fetching a model: cut, resumed, refused, offline; over real sockets, from a server that misbehaves on purpose."""

import hashlib
import os
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.every import every
from tests.models.conftest import Reply, ScriptedServer, says
from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.embedding import hub_download as room
from vault_memory.models.embedding.hub_download import (
    Hub,
    Pinned,
    cached_minilm,
    ensure_minilm,
    fetch,
    minilm_pins,
)
from vault_memory.models.embedding.model_files import ModelFiles

CONTENT = os.urandom(700_000)


def pinned(content: bytes = CONTENT, path: str = "onnx/model.onnx") -> Pinned:
    return Pinned("maker/model", "1" * 40, path, len(content), hashlib.sha256(content).hexdigest())


def ranged(content: bytes = CONTENT, cut: int | None = None) -> Reply:
    """Serves what is asked for, as a good server does; with ``cut`` it hangs up after so many bytes."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        asked = handler.headers.get("Range")
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        handler.send_response(206 if asked else 200)
        if asked:
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        handler.wfile.write(content[start:][:cut])

    return reply


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_a_file_is_downloaded_once_and_progress_is_reported(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.script = [ranged()]
    told: list[tuple[str, int, int]] = []

    for _ in range(2):
        path = fetch(
            pinned(), tmp_path, hub=Hub(server.url), progress=lambda *step: told.append(step)
        )

    assert path.read_bytes() == CONTENT
    assert [asked[0] for asked in server.asked] == [
        f"/maker/model/resolve/{'1' * 40}/onnx/model.onnx"
    ]
    assert told[-1] == ("model.onnx", len(CONTENT), len(CONTENT))
    assert [step[1] for step in told] == sorted({step[1] for step in told})


def test_an_interrupted_download_resumes_where_it_broke(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.script = [ranged(cut=300_000), ranged(cut=300_000), ranged()]

    assert fetch(pinned(), tmp_path, hub=Hub(server.url)).read_bytes() == CONTENT
    assert [asked[1].get("Range") for asked in server.asked] == [
        None,
        "bytes=300000-",
        "bytes=600000-",
    ]
    assert left_over(tmp_path) == ["model.onnx"]


def test_a_later_run_resumes_a_partial_download(server: ScriptedServer, tmp_path: Path) -> None:
    server.script = [ranged(cut=400_000), says(503)]
    with pytest.raises(EmbedderUnavailable, match="503"):
        fetch(pinned(), tmp_path, hub=Hub(server.url))

    server.script = [ranged()]

    assert fetch(pinned(), tmp_path, hub=Hub(server.url)).read_bytes() == CONTENT
    assert server.asked[-1][1]["Range"] == "bytes=400000-"


def test_a_server_without_range_support_is_read_from_the_start(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.script = [ranged(cut=100_000), says(200, CONTENT)]

    assert fetch(pinned(), tmp_path, hub=Hub(server.url)).read_bytes() == CONTENT


def test_a_download_with_a_wrong_checksum_is_refused_and_removed(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.script = [ranged(CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]))]

    with pytest.raises(EmbedderUnavailable, match="SHA-256"):
        fetch(pinned(), tmp_path, hub=Hub(server.url))

    assert left_over(tmp_path) == []


def test_a_damaged_cached_file_is_downloaded_again(server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(CONTENT[:-1])
    server.script = [ranged()]

    assert fetch(pinned(), tmp_path, hub=Hub(server.url)).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (says(404, b"Entry not found"), "404"),
        (says(500, b"oops"), "500"),
        (says(200, CONTENT + b"more"), "more bytes than"),
        (says(206, CONTENT, Content_Range="bytes 77-99/100"), "wrong position"),
        (says(302, Location="http://127.0.0.1:1/elsewhere"), "foreign"),
        (says(302, Location="https://hub.example.org/model"), "foreign"),
        (says(302, Location="file:///etc/passwd"), "foreign"),
        (says(302, Location="/again"), "redirects too often"),
        (says(200, b"", Content_Length=str(len(CONTENT))), "cut"),
    ],
    ids=[
        "404",
        "500",
        "too long",
        "wrong range",
        "other port",
        "other host",
        "file",
        "redirect loop",
        "no data",
    ],
)
def test_an_unusable_response_is_reported_in_plain_words(
    server: ScriptedServer, tmp_path: Path, reply: Reply, words: str
) -> None:
    server.script = [reply]

    with pytest.raises(EmbedderUnavailable, match=words) as caught:
        fetch(pinned(), tmp_path, hub=Hub(server.url))

    assert "embedding.model" in caught.value.hint
    assert "model.onnx" not in left_over(tmp_path)
    assert len(server.asked) <= 3


def test_a_redirect_within_the_hub_is_followed(server: ScriptedServer, tmp_path: Path) -> None:
    server.script = [says(307, Location="/storage/blob?key=value"), ranged()]

    assert fetch(pinned(), tmp_path, hub=Hub(server.url)).read_bytes() == CONTENT
    assert server.asked[-1][0] == "/storage/blob?key=value"


@every(
    ("location", "followed"),
    [
        ("https://cdn.example.net/x", True),
        ("https://evil-example.net/x", False),
        ("http://cdn.example.net/x", False),
        ("https://cdn.example.net:8443/x", False),
        ("https://cdn.example.net.evil.org/x", False),
        ("https://user@cdn.example.net/x", False),
    ],
)
def test_only_redirects_to_the_hubs_own_storage_are_followed(location: str, followed: bool) -> None:
    hub = Hub("https://hub.example.org", (".example.net",))

    if followed:
        assert room.onward("https://hub.example.org/a", location, hub) == location
    else:
        with pytest.raises(room.Unreachable):
            room.onward("https://hub.example.org/a", location, hub)


def test_without_a_network_the_error_names_the_alternatives(
    server: ScriptedServer, tmp_path: Path
) -> None:
    gone = server.url
    server.close()

    with pytest.raises(EmbedderUnavailable, match="nothing listens") as caught:
        fetch(pinned(), tmp_path, hub=Hub(gone))

    assert "folder" in caught.value.hint


def test_an_unwritable_cache_is_reported(server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(EmbedderUnavailable, match="cannot be written"):
        fetch(pinned(), tmp_path / "file" / "models", hub=Hub(server.url))


def test_a_downloaded_model_is_complete_when_both_files_exist(
    server: ScriptedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    minilm_files: ModelFiles,
) -> None:
    weights, tokenizer = CONTENT, minilm_files.tokenizer.read_bytes()
    pins = (pinned(weights), pinned(tokenizer, "tokenizer.json"))
    monkeypatch.setattr(room, "minilm_pins", lambda: pins)
    server.script = [ranged(weights), ranged(tokenizer)]
    assert cached_minilm(tmp_path) is None

    files = ensure_minilm(tmp_path, hub=Hub(server.url))

    assert cached_minilm(tmp_path) == files
    assert files.model.read_bytes() == weights
    assert files.tokenizer.read_bytes() == tokenizer


def test_the_pinned_tokenizer_equals_the_packaged_one(minilm_files: ModelFiles) -> None:
    _weights, tokenizer = minilm_pins()
    raw = minilm_files.tokenizer.read_bytes()

    assert (tokenizer.size, tokenizer.sha256) == (len(raw), hashlib.sha256(raw).hexdigest())
