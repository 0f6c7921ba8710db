"""Results of a search: hits, and how each one was scored."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, get_args

from vault_memory.contract import ItemState, SearchMode

if TYPE_CHECKING:
    from vault_memory.search.unknown_filters import UnknownFilter

MODES: tuple[SearchMode, ...] = get_args(SearchMode)


@dataclass(frozen=True, slots=True)
class Why:
    """How the score of a hit came about."""

    terms: Mapping[str, float]
    """the terms of the score, by name; their sum is the score"""
    arms: Mapping[str, int]
    """the arms that brought the hit, with its rank there from 1"""


class Copy(NamedTuple):
    """The place of another chunk that says what a hit says."""

    note: str
    lines: tuple[int, int]
    date: str | None


class Reference(NamedTuple):
    """A reference in the lines of a hit, and what it leads to."""

    start: int
    """in the lines as they are written"""
    end: int
    text: str
    """what is shown in its place"""
    sources: Collection[tuple[str, str]]
    """the kinds and scopes of the notes that `text` is from"""


@dataclass(frozen=True, slots=True)
class Hit:
    """Lines of a note that answer a query."""

    note: str
    """relative to the vault, with ``/``"""
    lines: tuple[int, int]
    """the first and the last, 1-based"""
    heading: tuple[str, ...]
    """the names of the headings above, from level 1 down"""
    date: str | None
    """ISO 8601: of the item, else of the note's name"""
    scope: str
    kind: str
    text: str
    """the lines, with what they refer to in the place of references"""
    score: float
    why: Why | None = None
    pending: bool = False
    """waits to be written into the note; `lines` is where it will be"""
    state: ItemState | None = None
    """how far the item has faded; None unless the search includes faded items"""
    ended: bool = False
    """no longer holds: it is struck through, past its last day, or replaced"""
    key: str = ""
    """the content key of an item that fades and that the query means, so that it is read; else empty"""
    copies: int = 1
    """chunks that say the same, this one included"""
    also: tuple[Copy, ...] = ()
    """the places of the others"""
    references: tuple[Reference, ...] = ()
    """the references in the lines that lead to a text"""
    written: str = ""
    """the unchanged lines; empty when they are `text`"""

    @property
    def in_note(self) -> str:
        """The unchanged lines."""
        return self.written or self.text


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits, best first, and how the search found them."""

    hits: tuple[Hit, ...] = ()
    arms: Mapping[str, int] = field(default_factory=dict)
    """how many candidates each arm brought"""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """how many chunks of the scopes have faded, by state; with `why` also how many each filter
    excludes by itself"""
    terms: tuple[str, ...] = ()
    """the words of the query"""
    words_missing: bool = False
    """whether no chunk of the scopes has a word of the query, so that the hits are only alike"""
    unsure: bool = False
    """whether each hit shares only a few words with the query"""
    unknown_filters: "tuple[UnknownFilter, ...]" = ()
    """filters with a value that nothing in the scopes has"""
