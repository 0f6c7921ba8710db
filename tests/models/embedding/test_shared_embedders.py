"""Vaults of one process share a loaded model: one copy in memory, and no vault harms another."""

import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vault_memory.config.sections import EmbeddingSettings
from vault_memory.errors import EmbedderUnavailable, VaultMemoryError
from vault_memory.models.embedding import embedders, shared_embedders
from vault_memory.models.embedding.model_files import ModelFiles
from vault_memory.models.embedding.onnx import OnnxEmbedder
from vault_memory.models.embedding.shared_embedders import shared_embedder
from vault_memory.search.open_vault import Semantic

TEXTS = [f"the ferry {number} leaves the harbour at {number} o'clock" for number in range(40)]


class Loads:
    """Counts how often a model is loaded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        load = embedders.load_embedder

        def counted(*arguments: object, **options: object) -> object:
            self.count += 1
            return load(*arguments, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(shared_embedders, "load_embedder", counted)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loads]:
    monkeypatch.setattr(shared_embedders, "_slots", {})
    yield Loads(monkeypatch)
    gc.collect()


@pytest.fixture
def folder(tmp_path: Path, minilm_files: ModelFiles) -> Path:
    """A model of the user."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.onnx").symlink_to(minilm_files.model)
    (folder / "tokenizer.json").symlink_to(minilm_files.tokenizer)
    return folder


def handle(settings: EmbeddingSettings, cache: Path) -> Semantic:
    return Semantic(settings, cache, reason="not loaded", vault=cache / "vault")


@pytest.mark.sampled
def test_vaults_with_the_same_model_share_it_and_others_do_not(
    minilm: OnnxEmbedder, tmp_path: Path, loads: Loads
) -> None:
    handles = [handle(EmbeddingSettings(kind="onnx"), tmp_path) for _ in range(20)]
    other = handle(EmbeddingSettings(kind="onnx"), tmp_path / "other")

    shared = {id(one.warm()) for one in handles}
    assert len(shared) == 1
    assert id(other.warm()) not in shared
    assert loads.count == 2
    # `auto` loads the same model.
    assert id(handle(EmbeddingSettings(), tmp_path).warm()) in shared
    assert loads.count == 2


@pytest.mark.sampled
def test_threads_that_open_vaults_at_once_load_the_model_once(
    minilm: OnnxEmbedder, tmp_path: Path, loads: Loads
) -> None:
    start = threading.Barrier(8)

    def warm() -> object:
        start.wait()
        return handle(EmbeddingSettings(kind="onnx"), tmp_path).warm()

    with ThreadPoolExecutor(8) as pool:
        warmed = [job.result() for job in [pool.submit(warm) for _ in range(8)]]
    assert all(embedder is warmed[0] is not None for embedder in warmed)
    assert loads.count == 1


@pytest.mark.sampled
def test_a_vault_that_drops_the_model_takes_it_from_no_other(
    minilm: OnnxEmbedder, tmp_path: Path, loads: Loads
) -> None:
    first, second = (handle(EmbeddingSettings(kind="onnx"), tmp_path) for _ in range(2))
    first.warm()
    second.warm()

    first.drop("it failed")
    assert first.state == "off"
    assert first.warm() is None, "the vault waits before it tries again"
    assert second.state == "ready"
    assert second.embedder is not None
    assert second.embedder.embed(["tea"])


@pytest.mark.sampled
def test_a_model_that_no_vault_uses_is_freed(
    minilm: OnnxEmbedder, tmp_path: Path, loads: Loads
) -> None:
    first = handle(EmbeddingSettings(kind="onnx"), tmp_path)
    first.warm()
    first.drop("the vault is closed")
    gc.collect()
    [slot] = shared_embedders._slots.values()
    assert slot.embedder is not None
    assert slot.embedder() is None

    assert handle(EmbeddingSettings(kind="onnx"), tmp_path).warm() is not None
    assert loads.count == 2


@pytest.mark.sampled
def test_a_replaced_model_is_loaded_by_the_next_vault(
    folder: Path, tmp_path: Path, loads: Loads
) -> None:
    settings = EmbeddingSettings(kind="onnx", model=str(folder))
    first = handle(settings, tmp_path)
    before = first.warm()
    (folder / "config.json").write_text('{"max_position_embeddings": 8}')

    after = handle(settings, tmp_path).warm()
    assert before is not None
    assert after is not None
    assert after.fingerprint != before.fingerprint
    assert first.embedder is before


def test_a_damaged_model_is_read_once_for_all_vaults_until_it_is_replaced(
    folder: Path, tmp_path: Path, minilm_files: ModelFiles, loads: Loads
) -> None:
    settings = EmbeddingSettings(kind="onnx", model=str(folder))
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").write_bytes(b"no weights")
    for _ in range(5):
        with pytest.raises(EmbedderUnavailable, match="cannot be loaded"):
            shared_embedder(settings, cache=tmp_path)
    assert loads.count == 1

    (folder / "model.onnx").unlink()
    (folder / "model.onnx").symlink_to(minilm_files.model)
    assert shared_embedder(settings, cache=tmp_path) is not None


def test_a_missing_model_is_looked_for_by_each_vault(tmp_path: Path, loads: Loads) -> None:
    settings = EmbeddingSettings(kind="onnx", model=str(tmp_path / "absent"))
    for _ in range(3):
        with pytest.raises(VaultMemoryError, match="does not exist"):
            shared_embedder(settings, cache=tmp_path)
    assert loads.count == 3


@pytest.mark.sampled
def test_threads_that_share_a_model_get_the_vectors_of_one_thread(
    minilm: OnnxEmbedder, tmp_path: Path, loads: Loads
) -> None:
    alone = minilm.embed(TEXTS)
    handles = [handle(EmbeddingSettings(kind="onnx"), tmp_path) for _ in range(6)]

    def embed(semantic: Semantic) -> list[bytes]:
        embedder = semantic.warm()
        assert embedder is not None
        return embedder.embed(TEXTS)

    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(embed, handles))
    assert all(vectors == alone for vectors in together)
