"""Bytes of a vector, whatever numbers a model gives."""

import math
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from tests.models.contract import numbers
from vault_memory.models.base import plain, unit


@given(
    st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=40).filter(
        lambda v: max(map(abs, v)) > 1e-30
    )
)
@example([1e-300, 0.0])
@example([1e308, 1e307])
def test_a_normalised_vector_keeps_its_direction_and_has_length_one(vector: list[float]) -> None:
    scaled = numbers(unit(vector))

    assert math.isclose(math.hypot(*scaled), 1.0, abs_tol=1e-5)
    assert all(a * b >= 0 for a, b in zip(vector, scaled, strict=True))


@every("vector", [[], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]])
def test_a_zero_or_invalid_vector_is_refused(vector: list[float]) -> None:
    with pytest.raises(ValueError, match="direction"):
        unit(vector)


def test_vectors_are_stored_little_endian_on_every_machine() -> None:
    assert unit([3.0, 4.0]) == struct.pack("<2f", 0.6, 0.8)


@given(st.text(st.characters(), max_size=20))
@example("\ud83d")
def test_cleaned_text_is_accepted_by_every_tokenizer(text: str) -> None:
    assert "\0" not in plain(text)
    assert plain(text).encode("utf-8").decode("utf-8") == plain(text)
    if text.isascii() and "\0" not in text:
        assert plain(text) == text
