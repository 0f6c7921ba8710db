"""The embedder that runs everywhere: real weights, real tokenizer, bounded memory."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.models.contract import UnderstandingContract, cosine
from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.embedding.model_files import ModelFiles
from vault_memory.models.embedding.onnx import OnnxEmbedder

MEMORY = """
from vault_memory.models.embedding.model_files import minilm_at
from vault_memory.models.embedding.onnx import OnnxEmbedder
from vault_memory.models.embedding.packaged import MINILM_WEIGHTS, installed
embedder = OnnxEmbedder(minilm_at(installed(MINILM_WEIGHTS)))
embedder.embed(["the quick brown fox jumps over the lazy dog " * length for length in range(1, 40)])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")))
"""


class TestOnnxEmbedder(UnderstandingContract):
    @pytest.fixture
    def embedder(self, minilm: OnnxEmbedder) -> OnnxEmbedder:
        return minilm


def test_a_text_is_read_up_to_the_maximum_length_of_the_model(minilm: OnnxEmbedder) -> None:
    within = minilm.embed(["tea " * 200 + "coffee", "tea " * 200 + "bicycle"])
    beyond = minilm.embed(["tea " * 300 + "coffee", "tea " * 300 + "bicycle"])

    assert within[0] != within[1]
    assert beyond[0] == beyond[1]


def test_queries_and_passages_get_different_prefixes(
    minilm_files: ModelFiles, minilm: OnnxEmbedder
) -> None:
    told = OnnxEmbedder(replace(minilm_files, query_prefix="query: ", passage_prefix="passage: "))

    assert told.embed(["tea"], query=True) == minilm.embed(["query: tea"])
    assert told.embed(["tea"]) == minilm.embed(["passage: tea"])
    assert told.fingerprint != minilm.fingerprint


@pytest.mark.sampled
@pytest.mark.parametrize(
    "change", [{"max_tokens": 128}, {"pooling": "cls"}, {"passage_prefix": "passage: "}]
)
def test_any_setting_that_changes_vectors_changes_the_fingerprint(
    minilm_files: ModelFiles, minilm: OnnxEmbedder, change: dict[str, object]
) -> None:
    other = OnnxEmbedder(replace(minilm_files, **change))  # type: ignore[arg-type]

    assert other.fingerprint != minilm.fingerprint


def test_a_different_tokenizer_changes_the_fingerprint(
    minilm_files: ModelFiles, minilm: OnnxEmbedder, tmp_path: Path
) -> None:
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_bytes(minilm_files.tokenizer.read_bytes() + b"\n")

    assert (
        OnnxEmbedder(replace(minilm_files, tokenizer=tokenizer)).fingerprint != minilm.fingerprint
    )


def test_name_and_path_do_not_change_the_fingerprint(
    minilm_files: ModelFiles, minilm: OnnxEmbedder, tmp_path: Path
) -> None:
    moved = tmp_path / "elsewhere.onnx"
    moved.write_bytes(minilm_files.model.read_bytes())
    embedder = OnnxEmbedder(replace(minilm_files, name="other", model=moved))

    assert embedder.fingerprint == minilm.fingerprint
    assert embedder.embed(["tea"]) == minilm.embed(["tea"])


def test_pooling_by_the_first_token_differs_from_the_mean(
    minilm_files: ModelFiles, minilm: OnnxEmbedder
) -> None:
    first = OnnxEmbedder(replace(minilm_files, pooling="cls"))

    assert cosine(*first.embed(["green tea"]), *minilm.embed(["green tea"])) < 0.99


@pytest.mark.parametrize(
    "content", [b"", b"not a model at all", None], ids=["empty", "rubbish", "cut short"]
)
def test_a_broken_model_is_reported_in_plain_words(
    minilm_files: ModelFiles, tmp_path: Path, content: bytes | None
) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(minilm_files.model.read_bytes()[:1_000_000] if content is None else content)

    with pytest.raises(EmbedderUnavailable, match=r"model\.onnx") as caught:
        OnnxEmbedder(replace(minilm_files, model=model))

    assert "keywords" in caught.value.hint


def test_a_broken_tokenizer_is_reported_in_plain_words(
    minilm_files: ModelFiles, tmp_path: Path
) -> None:
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_bytes(b'{"version": ')

    with pytest.raises(EmbedderUnavailable, match=r"tokenizer\.json"):
        OnnxEmbedder(replace(minilm_files, tokenizer=tokenizer))


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_without_its_packages_the_error_says_what_to_install(
    minilm_files: ModelFiles, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(EmbedderUnavailable, match=package) as caught:
        OnnxEmbedder(minilm_files)

    assert "vault-memory[onnx]" in caught.value.hint


@pytest.mark.sampled
@pytest.mark.skipif(
    sys.platform != "linux", reason="reads /proc, and only glibc is told to give memory back"
)
def test_a_process_with_the_model_uses_little_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )

    assert int(done.stdout) / 1024 <= 200, "measured: 160 MB"
