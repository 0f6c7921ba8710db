"""Real weights in sentence-transformers; large, so only where it was asked for."""

import os
from pathlib import Path

import pytest

from tests.models.contract import UnderstandingContract, cosine
from vault_memory.config.sections import EmbeddingSettings
from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.embedding.embedders import available, load_embedder
from vault_memory.models.embedding.onnx import OnnxEmbedder

if not (os.environ.get("CI") or os.environ.get("WITH_TORCH")):
    pytest.skip("torch is large: CI or WITH_TORCH=1 runs these", allow_module_level=True)

from vault_memory.models.embedding.sentence_transformers import SentenceEmbedder

TEXTS = (
    "The cat sat on the mat.",
    "Ann said the dentist moved her appointment to Monday 08 May 2023 at nine.",
    "## Preferences\n- prefers tea over coffee, no sugar",
    "Вчера мы ели суп",
    "what did Bob say about the budget for 2024?",
    "a long note " * 200,
)


@pytest.fixture(scope="module")
def sentence() -> SentenceEmbedder:
    return SentenceEmbedder("minilm")


class TestSentenceEmbedder(UnderstandingContract):
    @pytest.fixture
    def embedder(self, sentence: SentenceEmbedder) -> SentenceEmbedder:
        return sentence


def test_quantised_weights_give_nearly_the_same_vectors_as_full_ones(
    sentence: SentenceEmbedder, minilm: OnnxEmbedder
) -> None:
    pairs = zip(sentence.embed(TEXTS), minilm.embed(TEXTS), strict=True)

    assert min(cosine(full, small) for full, small in pairs) >= 0.99


def test_full_and_quantised_weights_have_different_fingerprints(
    sentence: SentenceEmbedder, minilm: OnnxEmbedder
) -> None:
    assert sentence.fingerprint != minilm.fingerprint


def test_reloading_the_same_weights_keeps_the_fingerprint(
    sentence: SentenceEmbedder, tmp_path: Path
) -> None:
    sentence.embed(TEXTS)

    again = load_embedder(EmbeddingSettings(kind="sentence"), cache=tmp_path)

    assert again is not None
    assert again.fingerprint == sentence.fingerprint
    assert available(EmbeddingSettings(kind="sentence")) == ""


def test_a_folder_without_a_model_is_reported_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")

    with pytest.raises(EmbedderUnavailable, match="cannot be loaded") as caught:
        load_embedder(EmbeddingSettings(kind="sentence", model=str(tmp_path)), cache=tmp_path)

    assert caught.value.hint
