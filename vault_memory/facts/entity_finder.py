"""Finds the people and things that the notes of some scopes are about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from vault_memory.edits.calls import aware
from vault_memory.facts import entity_info
from vault_memory.facts.entity_info import About, FactList
from vault_memory.index import fact_queries as rows
from vault_memory.index.fact_queries import NoteAlias
from vault_memory.index.store import Index
from vault_memory.rules.facts.entities import Entities, Entity, has_title
from vault_memory.rules.facts.fact import Fact, canonical, folded
from vault_memory.rules.facts.inference import RELATIONSHIPS, Together
from vault_memory.search.calls import SearchCalls, SearchOptions
from vault_memory.search.open_vault import OpenVault
from vault_memory.search.results import Hit

MOST_RELATED = 20
"""Entities whose common mentions are counted"""
MOST_HITS = 5
"""Hits shown with an entity"""
ADDRESSES = ("email", "url")
"""Types of mentions that are no people or things"""


@dataclass(frozen=True, slots=True)
class EntityInfo:
    """A person or a thing in a list."""

    name: str
    type: str
    aliases: tuple[str, ...]
    """from facts and from the front matter of the note with its name"""
    facts: int
    """number of stated facts that hold now, with it as subject or object"""
    mentions: int
    """number of chunks that name it"""


class NamedNotes:
    """The notes whose front matter gives aliases, as entities."""

    def __init__(self, aliases: Iterable[NoteAlias]) -> None:
        self.by_name: dict[str, Entity] = {}
        """by folded name"""
        self._by_alias: dict[str, Entity] = {}
        for row in aliases:
            name = _entity_of(row)
            key = folded(name)
            entity = self.by_name.get(key, Entity(name))
            self.by_name[key] = _with_aliases(entity, (row.alias,))
        for entity in self.by_name.values():
            for alias in entity.aliases:
                self._by_alias.setdefault(folded(alias), entity)

    def find(self, name: str) -> Entity | None:
        """Returns the entity of a name or an alias."""
        key = folded(name)
        return self.by_name.get(key) or self._by_alias.get(key)


def _entity_of(alias: NoteAlias) -> str:
    """Returns the name of the person or thing that a note with an alias is about."""
    # USER.md is about the person, whose name is that of the scope.
    if alias.kind == "user":
        return alias.scope.partition(":")[2]
    return alias.note.rpartition("/")[2].rpartition(".")[0]


def _with_aliases(entity: Entity, aliases: Iterable[str]) -> Entity:
    """Returns an entity with more aliases, each once and none like its name."""
    by_key = {folded(alias): alias for alias in reversed((*entity.aliases, *aliases))}
    # Fault: a person may give a note its own name as an alias. The entity would be
    # listed beside itself.
    by_key.pop(folded(entity.name), None)
    return replace(entity, aliases=tuple(reversed(by_key.values())))


def _is_known(name: str, entities: Entities) -> bool:
    """Whether facts have a name as a subject or an alias."""
    key = folded(name)
    return key in entities.by_name or key in entities.by_alias


def _of_note(note: Entity, entities: Entities) -> Entity:
    """Returns the entity of facts that a note is about; without one, that of the note."""
    names = (note.name, *note.aliases)
    known_names = [name for name in names if _is_known(name, entities)]
    # Fault: a note called `mira-lund` with the alias `Mira` is about the Mira of the
    # facts. She must not be listed twice.
    if not known_names:
        return note
    return _with_aliases(entities.resolve(known_names[0]), names)


class EntityFinder:
    """The people and things of some scopes. The index is up to date."""

    def __init__(self, vault: OpenVault, searcher: SearchCalls, scopes: Sequence[str]) -> None:
        self._vault = vault
        self._searcher = searcher
        self._scopes = scopes
        with vault.lock:
            aliases = rows.note_aliases(self._index, self._scope_ids)
        self._notes = NamedNotes(aliases)

    @property
    def _index(self) -> Index:
        return self._vault.indexing.index()

    @property
    def _scope_ids(self) -> Sequence[int]:
        return self._index.scope_ids(self._scopes)

    def other_names(self, name: str) -> tuple[str, ...]:
        """Returns the name and the aliases of the note with a name or an alias."""
        note = self._notes.find(name)
        return (note.name, *note.aliases) if note else ()

    def about(self, name: str, facts: FactList, now: datetime | None) -> About:
        """Returns the answer about an entity; `facts` are those about it."""
        stated = [fact for fact in facts if fact.text]
        entity = self._resolve(name, Entities.of(stated))
        names = (entity.name, *entity.aliases)
        # Fault: a tag with the name of a person would make the person a concept. Facts
        # count first.
        hits = self._hits(names, now)
        if not stated:
            kind = self._type_by_mentions(name)
            if not kind and has_title(name, (hit.text for hit in hits)):
                kind = "person"
            entity = replace(entity, type=kind or entity.type)
        with self._vault.lock:
            mentions = self._count_mentions(names)
            together = self._together(entity.name, facts)
        answer = entity_info.about(entity, facts, mentions, hits, aware(now).date(), together)
        return replace(answer, unknown_scopes=facts.unknown_scopes)

    def list_all(self, day: date) -> list[EntityInfo]:
        """Returns all entities, sorted by name. The caller holds the lock of the vault."""
        found_rows = rows.all_facts(self._index, self._scope_ids)
        facts = [fact for _, fact in found_rows]
        current = entity_info.holding(facts, day, self._vault.config.facts.single)
        entities = Entities.of(current)
        names = _names_in(current, entities)
        for note in self._notes.by_name.values():
            entity = _of_note(note, entities)
            names.setdefault(folded(entity.name), entity.name)
        types: dict[str, str] = {}
        mentioned = rows.mentioned(self._index, self._scope_ids)
        for key, kind, _ in sorted(mentioned, key=lambda row: (row[2], row[1])):
            # Fault: each address in a note would be a thing of its own.
            if kind not in ADDRESSES:
                types[key] = kind
                entity = self._resolve(key, entities)
                names.setdefault(folded(entity.name), entity.name)
        counts = _count_facts(current)
        listed = [
            self._listed(self._resolve(name, entities), counts, types) for name in names.values()
        ]
        return sorted(listed, key=lambda entity: (folded(entity.name), entity.name))

    def _listed(self, entity: Entity, counts: dict[str, int], types: dict[str, str]) -> EntityInfo:
        key = folded(entity.name)
        fact_count = counts.get(key, 0)
        kind = entity.type
        if not fact_count:
            kind = types.get(key, kind)
        mentions = self._count_mentions((entity.name, *entity.aliases))
        return EntityInfo(entity.name, kind, entity.aliases, fact_count, mentions)

    def _resolve(self, name: str, entities: Entities) -> Entity:
        """Returns the entity of a name or an alias, from facts and from front matter."""
        plain = name.removeprefix("@")
        entity = entities.resolve(name)
        note = self._notes.find(entity.name) or self._notes.find(plain)
        if note is None:
            return entity
        if _is_known(plain, entities):
            return _with_aliases(entity, (note.name, *note.aliases))
        return _of_note(note, entities)

    def _type_by_mentions(self, name: str) -> str:
        """Returns the type that most mentions of a name have."""
        key = folded(name.removeprefix("@"))
        with self._vault.lock:
            counts = rows.mention_counts(self._index, self._scope_ids, key)
        return max(counts, key=lambda kind: (counts[kind], kind), default="")

    def _together(self, name: str, facts: Iterable[Fact]) -> dict[frozenset[str], Together]:
        """Counts the chunks that name both entities of a relationship."""
        own = folded(name)
        others = {
            folded(other): other
            for fact in facts
            for other in (fact.subject, fact.object)
            if fact.predicate in RELATIONSHIPS
        }
        others.pop(own, None)
        return {
            frozenset((own, key)): Together(
                *rows.naming_both(self._index, self._scope_ids, name, other)
            )
            # Fault: an entity with hundreds of relations would cost hundreds of searches.
            for key, other in sorted(others.items())[:MOST_RELATED]
        }

    def _count_mentions(self, names: Sequence[str]) -> int:
        return rows.count_naming(self._index, self._scope_ids, names)

    def _hits(self, names: Sequence[str], now: datetime | None) -> tuple[Hit, ...]:
        """Returns the best hits for the names of an entity."""
        options = SearchOptions(
            mode="keyword", limit=MOST_HITS, now=now, entity=names[0], refresh=False
        )
        return self._searcher.search(" ".join(names), self._scopes, options).hits


def _names_in(facts: Iterable[Fact], entities: Entities) -> dict[str, str]:
    """Returns the subjects of facts, and the objects to which they relate, by folded name."""
    names = {key: entity.name for key, group in entities.by_name.items() for entity in group}
    for fact in facts:
        if fact.predicate in RELATIONSHIPS:
            entity = entities.resolve(fact.object)
            names.setdefault(folded(entity.name), entity.name)
    return names


def _count_facts(facts: Sequence[Fact]) -> dict[str, int]:
    """Returns how many facts are about each entity, by folded name."""
    aliases = canonical(facts)
    counts: dict[str, int] = {}
    for fact in facts:
        keys = {folded(fact.subject), folded(fact.object)}
        # Fault: a fact about an entity and its own alias would count twice.
        for key in {aliases.get(key, key) for key in keys}:
            counts[key] = counts.get(key, 0) + 1
    return counts
