"""The facts that a session may see, as sentences, and how it changes them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.addons.page.viewers.note_viewer import author_of, cut_label, reader
from vault_memory.addons.page.wording import person, said_in
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.facts.entity_finder import EntityInfo
from vault_memory.rules.facts.fact import Fact, folded
from vault_memory.rules.facts.relevance import unclear_values

if TYPE_CHECKING:
    from vault_memory.contract import Source
    from vault_memory.contract.answers import HeldJson
    from vault_memory.edits.edit_result import Edit


class FactRow(NamedTuple):
    """A fact, and what the page says of it."""

    fact: Fact
    origin: str
    """who wrote or said it: `by hand`, `you said it`"""
    remarks: Sequence[str]

    @property
    def sentence(self) -> str:
        """What it says"""
        return f"{self.fact.subject} {self._predicate} {self.fact.object}"

    @property
    def label(self) -> str:
        """The beginning of the sentence, for the names of buttons"""
        return cut_label(self.sentence)

    @property
    def key(self) -> str:
        """Names it in a view"""
        return self.fact.id

    @property
    def _predicate(self) -> str:
        return self.fact.predicate.replace("_", " ")

    def words_about(self, name: str) -> str:
        """Returns what is before the object, without this subject: `Works at`, `Mira works at`."""
        words = self._predicate
        if folded(self.fact.subject) == folded(name):
            return words[:1].upper() + words[1:]
        return f"{person(self.fact.subject)} {words}"


def _origin(fact: Fact, you: str) -> str:
    if not fact.text:
        return "follows from another fact"
    return said_in(fact.scope, you) if fact.ref else author_of(PERSON)


def _remarks(fact: Fact, choices: tuple[str, ...]) -> Iterator[str]:
    if choices:
        yield f"unclear: {' or '.join(choices)}"
    if fact.confirmed:
        yield "confirmed"
    # What a person wrote is certain, and needs no number.
    if fact.confidence != 1:
        yield f"{fact.confidence:.0%} certain"
    if fact.temporary:
        yield "for a while"
    if fact.origin != "owner":
        yield f"from {fact.origin}"


PERSON: "Source" = "cli"
"""A form of the page is a person's act"""


class FactViewer:
    """The facts of a vault, as one session may see them."""

    def __init__(self, memory: VaultMemory, scopes: Sequence[str]) -> None:
        self._memory = memory
        self._scopes = scopes

    # ---- reading -----------------------------------------------------------------------

    def rows(self, facts: Iterable[Fact]) -> list[FactRow]:
        """Return facts for a template."""
        facts = list(facts)
        choices = unclear_values(facts)
        you = reader(self._memory, self._scopes)
        return [
            FactRow(fact, _origin(fact, you), list(_remarks(fact, choices.get(fact.id, ()))))
            for fact in facts
        ]

    def current(self, entity: str) -> list[FactRow]:
        """Return the facts that hold now; with a name, those about it."""
        return self.rows(self._memory.facts(scopes=self._scopes, entity=entity or None))

    def timeline(self, entity: str) -> list[FactRow]:
        """Return all present and past facts about an entity, oldest first."""
        return self.rows(self._memory.timeline(entity, scopes=self._scopes))

    def past(self, entity: str, current: Iterable[FactRow]) -> list[FactRow]:
        """Return the facts that hold no longer, or not yet, the newest first."""
        # A fact that a newer one replaced is not struck through on its page, and one of next
        # month holds later: only the list of current facts tells both.
        ids = {row.key for row in current}
        return [row for row in reversed(self.timeline(entity)) if row.key not in ids]

    def named(self, links: Mapping[str, int]) -> "list[EntityInfo]":
        """Return people and things, and names that notes link to so often; the most named first."""
        entities = self._memory.facts.entities(scopes=self._scopes)
        names = {folded(name) for entity in entities for name in (entity.name, *entity.aliases)}
        entities += [
            EntityInfo(name, "other", (), 0, count)
            for name, count in links.items()
            if folded(name) not in names
        ]
        return sorted(entities, key=lambda info: (-info.facts - info.mentions, folded(info.name)))

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

    def correct(self, fact_id: str, right: Mapping[str, Any]) -> "Edit":
        """Replace a fact that was never true. Raises UnclearId, UsageError."""
        change = self._memory.correct_fact(fact_id, scopes=self._scopes, source=PERSON, **right)
        return change.edit
