"""What an entity is related to: its picture, with the table beside it. Pure."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from markupsafe import Markup

from vault_memory.http.page.pictures.graph import (
    Edge,
    Neighbour,
    neighbours,
    neighbours_svg,
)
from vault_memory.rules.facts.fact import ALIAS, SUMMARY, TYPE, Fact

DESCRIPTIONS = (ALIAS, SUMMARY, TYPE)
"""Predicates whose object is no other person or thing"""
MOST_ROWS = 200


class Neighbourhood(NamedTuple):
    """An entity and its relations."""

    name: str
    """its own name, also when it was found by an alias"""
    edges: list[Edge]

    @property
    def rows(self) -> list[Neighbour]:
        """The neighbours, the strongest first."""
        return neighbours(self.name, self.edges)[:MOST_ROWS]

    @property
    def picture(self) -> Markup:
        """The picture of the strongest neighbours."""
        # The picture escapes the names itself: a test feeds it hostile ones.
        return Markup(neighbours_svg(self.name, self.edges))


def edges(facts: Iterable[Fact]) -> Iterator[Edge]:
    """Yields the relations in some facts."""
    for fact in facts:
        if fact.predicate not in DESCRIPTIONS:
            predicate = fact.predicate.replace("_", " ")
            yield Edge(fact.subject, predicate, fact.object, fact.confidence)
