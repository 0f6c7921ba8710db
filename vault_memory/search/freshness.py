"""What a search gets back, and how fresh any answer is: frozen values, named as in the JSON contract."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from vault_memory.search.results import Hit


class Freshness(NamedTuple):
    """How far an answer can be trusted to be of now."""

    stale_files: tuple[str, ...]
    """notes whose file is newer than, or missing from, what was searched"""
    semantic: Literal["ready", "warming", "off"]
    reason: str
    """why `semantic` is not ready; empty when it is"""


class SearchAnswer(NamedTuple):
    """Hits, best first, and how fresh they are."""

    hits: "tuple[Hit, ...]"
    freshness: Freshness
    left_out: Mapping[str, int]
    """how many candidates each filter left out; empty unless `why` was asked for"""
