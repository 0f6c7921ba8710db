"""What a search gives back."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MODES = ("balanced", "keyword", "semantic", "rrf")


@dataclass(frozen=True, slots=True)
class Why:
    """How a hit came by its score."""

    terms: Mapping[str, float]
    """the parts of the sum, by name; their sum is the score"""
    arms: Mapping[str, int]
    """which arm found it, and as which of its candidates, 1 being the best"""

    def as_json(self) -> dict[str, object]:
        return {
            "terms": {name: round(term, 4) for name, term in self.terms.items()},
            "arms": dict(self.arms),
        }


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
    """the lines as they stand"""
    score: float
    why: Why | None = None
    pending: bool = False
    """it waits to be written into the note, where it does not stand yet; `lines` is where it is to stand"""


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits, best first, and how they were found."""

    hits: tuple[Hit, ...] = ()
    arms: Mapping[str, int] = field(default_factory=dict)
    """how many candidates each arm brought"""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """with `why`: by filter, how many chunks of the scopes it alone leaves out"""
    terms: tuple[str, ...] = ()
    """the words that were looked for; `excerpt` finds them in a hit"""
