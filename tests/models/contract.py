"""What holds for every embedder, whoever computes."""

import math
import struct
from concurrent.futures import ThreadPoolExecutor

from hypothesis import example, given, settings
from hypothesis import strategies as st

from vault_memory.models.base import Embedder

ODD = (
    *("", " ", "\0", "a\0b", "\ud800 half a pair", "\u202e turned round"),
    *("🦔" * 40, "word " * 3_000, "x" * 5_000, "ё е́ ﬁ", "你好，世界"),
)


def numbers(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def cosine(one: bytes, other: bytes) -> float:
    return sum(a * b for a, b in zip(numbers(one), numbers(other), strict=True))


class EmbedderContract:
    """Subclasses bring a fixture ``embedder``."""

    def test_a_vector_has_unit_length_and_the_promised_dimension(self, embedder: Embedder) -> None:
        for vector in embedder.embed(["Ann likes green tea.", "Bob rides a red bicycle to work."]):
            assert len(vector) == 4 * embedder.dimensions
            assert math.isclose(math.hypot(*numbers(vector)), 1.0, abs_tol=1e-5)

    def test_unusual_texts_have_vectors_too(self, embedder: Embedder) -> None:
        vectors = embedder.embed(ODD) + embedder.embed(ODD, query=True)

        assert {len(vector) for vector in vectors} == {4 * embedder.dimensions}
        assert all(
            math.isclose(math.hypot(*numbers(vector)), 1.0, abs_tol=1e-5) for vector in vectors
        )

    def test_an_empty_list_of_texts_gives_no_vectors(self, embedder: Embedder) -> None:
        assert embedder.embed([]) == []

    def test_a_text_has_the_same_vector_alone_and_in_a_batch(self, embedder: Embedder) -> None:
        self._same_alone_and_in_company(embedder)

    @staticmethod
    def _same_alone_and_in_company(embedder: Embedder) -> None:
        @settings(max_examples=8)
        @given(st.lists(st.text(max_size=60), min_size=1, max_size=3))
        @example(
            [
                "short",
                "a much longer text, which a padded batch would make the others feel " * 3,
                "",
            ]
        )
        def law(texts: list[str]) -> None:
            together = embedder.embed(texts)
            assert together == [embedder.embed([text])[0] for text in texts]
            assert together == embedder.embed(texts)

        law()

    def test_two_threads_get_the_same_vectors_as_one(self, embedder: Embedder) -> None:
        texts = [f"note {number} about tea {'and more tea ' * number}" for number in range(8)]
        alone = embedder.embed(texts)

        with ThreadPoolExecutor(2) as pool:
            both = list(pool.map(lambda _turn: embedder.embed(texts), range(2)))

        assert both == [alone, alone]

    def test_the_fingerprint_is_a_hash(self, embedder: Embedder) -> None:
        assert len(embedder.fingerprint) == 64
        assert set(embedder.fingerprint) <= set("0123456789abcdef")
        assert embedder.name


class UnderstandingContract(EmbedderContract):
    """For real models: they tell like from unlike."""

    margin = 0.1
    """How much nearer, in cosine; the scale is each model's own"""

    def test_texts_with_similar_meaning_have_nearer_vectors(self, embedder: Embedder) -> None:
        near, far = embedder.embed(
            ["The spare key lies under the blue flower pot.", "Bob finished the tax form."]
        )
        (asked,) = embedder.embed(["where is the second key to the house?"], query=True)

        assert cosine(asked, near) > cosine(asked, far) + self.margin
