"""Answers of a search call, and how current they are: frozen values of the JSON contract."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.contract import SemanticState

if TYPE_CHECKING:
    from vault_memory.rules.paths.layout_survey import Survey
    from vault_memory.search.results import Hit
    from vault_memory.search.unknown_filters import UnknownFilter


class Freshness(NamedTuple):
    """How current an answer is."""

    stale_files: tuple[str, ...]
    """notes whose file is missing, or newer than the index"""
    semantic: SemanticState
    reason: str
    """why `semantic` is not ready; empty when it is"""
    missing_notes: int = 0
    """notes that are not searched, because the vault has more files than one listing can have"""


class SearchAnswer(NamedTuple):
    """Hits, best first, and how current they are."""

    hits: "tuple[Hit, ...]"
    freshness: Freshness
    left_out: Mapping[str, int]
    """how many candidates each filter excluded; empty without `why`"""
    unknown_scopes: tuple[str, ...] = ()
    """scopes of the question that have no note: perhaps misspelt names"""
    unknown_filters: "tuple[UnknownFilter, ...]" = ()
    """filters with a value that nothing in the scopes has"""
    words_missing: bool = False
    """whether no note has a word of the query: the hits are the nearest in meaning"""
    unsure: bool = False
    """whether each hit shares only a few words with the query"""
    survey: "Survey | None" = None
    """how many Markdown files the layout leaves out, when nothing is found"""
