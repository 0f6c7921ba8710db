"""The row of embedding; see `benchmarks.embedding`."""

from collections.abc import Iterator

from benchmarks import embedding
from benchmarks.place import Place
from benchmarks.table import Row

LEAST_RATIO = 0.9


def rows(place: Place) -> Iterator[Row]:
    """One row: ours beside the bare session, turn about."""
    ours, bare, padded, ratio = embedding.measure()
    yield Row(
        f"embedding, {embedding.LENGTH}-character chunks",
        "17.7 chunks per CPU s (torch); 15.6 padded ONNX",
        f"{bare:.1f} (bare session); {padded:.1f} padded",
        f"{ours:.1f} chunks per CPU s, {ratio:.0%} of the bare session",
        "within 10 % of the bare session",
        ratio >= LEAST_RATIO,
    )
