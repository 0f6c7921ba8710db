"""The facts that a session may see, and how it changes them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from vault_memory.addons.page.facts.fact_sentences import FactRow, fact_rows
from vault_memory.addons.page.pictures.graph import Edge, Neighbour, neighbours, neighbours_svg
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.rules.facts.entities import Entities
from vault_memory.rules.facts.fact import ALIAS, SUMMARY, TYPE, Fact

if TYPE_CHECKING:
    from vault_memory.contract import Source
    from vault_memory.contract.answers import HeldJson
    from vault_memory.edits.edit_result import Edit
    from vault_memory.facts.entity_finder import EntityInfo
    from vault_memory.facts.entity_info import About
    from vault_memory.facts.known import Known

PERSON: "Source" = "cli"
"""A form of the page is a person's act"""


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


class FactViewer:
    """The facts of a vault, as one session may see them."""

    def __init__(self, memory: VaultMemory, scopes: Sequence[str]) -> None:
        self._memory = memory
        self._scopes = scopes

    # ---- reading -----------------------------------------------------------------------

    def current(self, entity: str) -> list[FactRow]:
        """Return the facts that hold now; with a name, those about it."""
        facts = self._memory.facts(scopes=self._scopes, entity=entity or None)
        return fact_rows(facts)

    def timeline(self, entity: str) -> list[FactRow]:
        """Return all present and past facts about an entity, oldest first."""
        return fact_rows(self._memory.timeline(entity, scopes=self._scopes))

    def neighbourhood(self, entity: str) -> Neighbourhood:
        """Return what an entity is related to by the facts that hold now."""
        facts = self._memory.facts(scopes=self._scopes, entity=entity)
        name = Entities.of(facts).resolve(entity).name
        return Neighbourhood(name, list(edges(facts)))

    def entity(self, name: str) -> "About":
        """Return who or what a name is."""
        return self._memory.facts.entity(name, scopes=self._scopes)

    def about(self, name: str) -> "Known":
        """Return who or what a name is, with the notes about a person."""
        return self._memory.facts.about(name, scopes=self._scopes)

    def entities(self) -> "list[EntityInfo]":
        """Return the people and things that the notes are about, sorted by name."""
        return self._memory.facts.entities(scopes=self._scopes)

    def held(self, scopes: Sequence[str]) -> "list[HeldJson]":
        """Return what the bot keeps only if more turns say it, of those scopes that are seen."""
        # Fault: without a scope, the list would be that of the complete vault.
        seen = [scope for scope in scopes if scope in self._scopes]
        return self._memory.learning.held(seen) if seen else []

    # ---- changing ----------------------------------------------------------------------

    def add(self, fact: Mapping[str, Any], scope: str) -> "Edit":
        """Add a fact to a scope; an empty scope is chosen by the subject. Raises UsageError."""
        # Fault: without the scopes, the fact might go to the page of another person.
        if not scope:
            scope = self._memory.facts.scope_for(fact["subject"], self._scopes)
        change = self._memory.add_fact(**fact, scope=scope, source=PERSON)
        return change.edit

    def confirm(self, fact_id: str) -> "Edit":
        """Mark a fact as right. Raises UnclearId."""
        return self._memory.facts.confirm(fact_id, scopes=self._scopes).edit

    def correct(self, fact_id: str, right: Mapping[str, Any]) -> "Edit":
        """Replace a fact that was never true. Raises UnclearId, UsageError."""
        change = self._memory.correct_fact(fact_id, scopes=self._scopes, source=PERSON, **right)
        return change.edit

    def end(self, fact_id: str) -> "Edit":
        """End a fact that is no longer true. Raises UnclearId."""
        return self._memory.facts.invalidate(fact_id, scopes=self._scopes).edit

    def delete(self, fact_id: str) -> "Edit":
        """Delete a fact that was never true. Raises UnclearId."""
        return self._memory.facts.delete(fact_id, scopes=self._scopes).edit


def edges(facts: Iterable[Fact]) -> Iterator[Edge]:
    """Yields the relations in some facts."""
    for fact in facts:
        if fact.predicate not in DESCRIPTIONS:
            predicate = fact.predicate.replace("_", " ")
            yield Edge(fact.subject, predicate, fact.object, fact.confidence)
