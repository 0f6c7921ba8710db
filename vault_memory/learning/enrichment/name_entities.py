"""The step that writes which people and things are named, as far as a model says it.

Without a model nothing is guessed.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from vault_memory.edits.commands import ChangeFacts
from vault_memory.edits.plans import fact_edits
from vault_memory.errors import VaultMemoryError
from vault_memory.learning.known_items import items_in, memory_notes
from vault_memory.learning.outcomes import EditCause
from vault_memory.markdown.items import parse_item, parse_text
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.facts.entities import Entities, extract
from vault_memory.rules.facts.fact import ALIAS, TYPE, Fact, folded, read_facts
from vault_memory.rules.facts.found_entities import FoundEntity, read_entities
from vault_memory.rules.learning.answer_schema import ENTITY_TYPES
from vault_memory.rules.learning.model_prompt import Prompt, filled, with_short_ids
from vault_memory.rules.learning.write_policy import NOW, SESSION_END, Candidate, decide

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

MOST_ITEMS = 50
"""Items of a night in which a model looks for names"""
MOST_NAMED = 2
"""Known entities in an item; one that names more has nothing new for a model"""
CONFIDENCE = 0.7
"""Of a fact that a model found about an entity"""
ID_LENGTH = 6
"""Hex digits of an item's id in a question"""
BY_RULES = "rules"
WHY = "a model found it named"


def entities(cycle: "LearningCycle") -> None:
    """States the types and aliases of entities that a model found in turns and items."""
    if cycle.outcome.state == "failed" or cycle.kind == "channel":
        return
    in_items, ids = _in_items(cycle)
    entities = [*_in_turns(cycle), *in_items]
    page = read_facts(cycle.doc(cycle.places.facts), cycle.scope)
    wishes = [
        fact_edits.wish_of("add", cycle.scope, cycle.deps.fact_rules(cycle.night), fact=fact)
        for fact in _new_facts(entities, page, cycle.scope)
    ]
    action = ChangeFacts(tuple(wishes))
    cycle.edit("entities", cycle.places.facts, action=action, cause=EditCause(why=WHY))
    # A night that is killed asks again, and uses the answer that it saved.
    cycle.keep_asked("entities", ids)


def _new_facts(entities: Iterable[FoundEntity], page: Iterable[Fact], scope: str) -> Iterator[Fact]:
    """Yields a fact for each type and alias that the page does not say.

    What the page says of an entity counts more than what a model says.
    """
    stated = {(folded(fact.subject), fact.predicate, folded(fact.object)) for fact in page}
    typed = {subject for subject, predicate, _ in stated if predicate == TYPE}
    names = {subject for subject, _, _ in stated}
    for entity in entities:
        key = folded(entity.name)
        # Fault: a model that changes its mind would give an entity a second type.
        if entity.type != "other" and key not in typed:
            typed.add(key)
            yield _fact(entity, TYPE, entity.type, scope)
        for alias in entity.aliases:
            triple = (key, ALIAS, folded(alias))
            # An alias with facts of its own would merge two entities.
            if triple not in stated and folded(alias) not in names:
                stated.add(triple)
                yield _fact(entity, ALIAS, alias, scope)


def _fact(entity: FoundEntity, predicate: str, value: str, scope: str) -> Fact:
    return Fact(
        "", entity.name, predicate, value, confidence=CONFIDENCE, ref=entity.evidence, scope=scope
    )


def _may_be_learned(cycle: "LearningCycle", text: str) -> bool:
    """Returns whether the write policy lets a turn or an item teach anything at once."""
    policy = cycle.deps.policy
    if policy is None:
        return True
    candidate = Candidate("memory", text, turns=(text,))
    decision = decide(candidate, policy.cues())
    return decision.policy_class in (NOW, SESSION_END)


# --- Turns ------------------------------------------------------------------------------------


def _in_turns(cycle: "LearningCycle") -> list[FoundEntity]:
    """Returns the entities of the answer about facts; each cites its turn."""
    answer = cycle.checkpoint.answers.get("facts")
    # Fault: the rules name no entities, so their answer has none.
    if not answer or answer["rung"] == BY_RULES:
        return []
    _, turn_ids = with_short_ids(cycle.gathered.excerpts)
    texts = {
        short_id: turn.text
        for short_id, turn_id in turn_ids.items()
        if (turn := cycle.gathered.evidence.get(turn_id)) is not None
    }
    texts = {id_: text for id_, text in texts.items() if _may_be_learned(cycle, text)}
    entities = read_entities(str(answer["text"]), texts, key="turn")
    return [_citing(entity, turn_ids[entity.evidence]) for entity in entities]


def _citing(entity: FoundEntity, turn: str) -> FoundEntity:
    return FoundEntity(entity.name, entity.type, entity.aliases, turn)


# --- Items ------------------------------------------------------------------------------------


def _in_items(cycle: "LearningCycle") -> tuple[list[FoundEntity], list[str]]:
    """Asks a model about items that no model has seen, in one question.

    Returns the entities, and the keys of the items that a model has seen now.
    """
    if not cycle.may_ask:
        return [], []
    read = _items_of_read_turns(cycle)
    items = dict(_unseen(cycle, read))
    if not items:
        return [], sorted(read)
    by_id = {key[:ID_LENGTH]: text for key, text in items.items()}
    lines = "\n".join(f"[{id_}] {parse_text(text).text}" for id_, text in by_id.items())
    try:
        template = cycle.deps.instructions("entities")
        system = filled(template, {"types": ", ".join(ENTITY_TYPES)})
        prompt = Prompt("entities", system, (("items", lines),))
        answer = cycle.ask("entities", prompt.fitted(cycle.request.room))
    except VaultMemoryError as error:
        cycle.outcome.reason = cycle.outcome.reason or error.message
        return [], sorted(read)
    if cycle.checkpoint.answers["entities"]["rung"] == BY_RULES:
        return [], sorted(read)
    entities = read_entities(answer, by_id, key="item")
    cited = [_citing(entity, parse_item(by_id[entity.evidence]).ref) for entity in entities]
    return cited, [*read, *items]


def _items_of_read_turns(cycle: "LearningCycle") -> set[str]:
    """Returns the keys of the items whose turns a model has just read."""
    answer = cycle.checkpoint.answers.get("facts")
    if not answer or answer["rung"] == BY_RULES:
        return set()
    return {
        content_key(cycle.scope, item.text)
        for note in memory_notes(cycle.places)
        for item in items_in(note, cycle.doc(note))
        if parse_item(item.text).ref in cycle.gathered.evidence
    }


def _unseen(cycle: "LearningCycle", read: set[str]) -> Iterator[tuple[str, str]]:
    """Yields the newest items that name few known entities, by key."""
    seen = cycle.deps.store.keys(cycle.scope, "entities") | read
    entities = Entities.of(read_facts(cycle.doc(cycle.places.facts), cycle.scope))
    left = MOST_ITEMS
    for note in reversed(list(memory_notes(cycle.places))):
        for item in items_in(note, cycle.doc(note)):
            key = content_key(cycle.scope, item.text)
            # Fault: a model must not learn from an item what the policy holds back.
            if key in seen or not _may_be_learned(cycle, item.text):
                continue
            if len(extract(item.text, entities)) > MOST_NAMED:
                continue
            yield key, item.text
            # Fault: a large vault would be sent to the model in one night.
            left -= 1
            if not left:
                return
