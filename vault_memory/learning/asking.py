"""The step that asks the brain: what do the turns say that is worth remembering?

The phrase rules always answer, too. What the brain claims is looked up in the turns. Of a channel
all its members learn; what a person said there about herself is learned for her alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from vault_memory.errors import VaultMemoryError
from vault_memory.learning import prompts
from vault_memory.learning.note_lines import with_topics
from vault_memory.learning.unread_turns import Log, day_of
from vault_memory.models.llm.own_words import spoken
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.candidate import Extraction, FoundFact, Memory
from vault_memory.rules.learning.channel_memories import PERSONAL, of_channel, of_person
from vault_memory.rules.learning.extraction import read_answer
from vault_memory.rules.learning.grounding import (
    OwnTurn,
    OwnTurns,
    combined,
    grounded,
    says_as_much,
)
from vault_memory.rules.learning.model_prompt import Excerpt, with_short_ids

if TYPE_CHECKING:
    from vault_memory.conversations.calls import ConversationCalls
    from vault_memory.learning.cycle import LearningCycle
    from vault_memory.learning.vault_map import VaultMap
    from vault_memory.rules.learning.model_prompt import Excerpt
    from vault_memory.rules.paths.scope_notes import Places


BY_RULES = "rules"
"""The rung of an answer by phrase rules alone"""


def ask_the_brain(cycle: "LearningCycle") -> None:
    """Asks for memories and facts. Each answer is saved before it is used."""
    if not cycle.gathered.evidence:
        return
    excerpts, turn_ids = with_short_ids(cycle.gathered.excerpts)
    outcome = cycle.outcome
    role: Literal["extraction", "channel"] = "extraction"
    if cycle.kind == "channel":
        role = "channel"
    try:
        extraction = _ask(cycle, role, excerpts)
        answer = cycle.checkpoint.answers[role]
        asks_for_facts = role == "extraction" and answer["rung"] != BY_RULES
        # Where a model finds nothing to remember, a second question costs more than it finds.
        if asks_for_facts and extraction.has_candidates:
            facts = _ask(cycle, "facts", excerpts)
            extraction = _with_facts(extraction, facts)
    except VaultMemoryError as error:
        outcome.state = "failed"
        outcome.reason = error.message
        return
    outcome.rung = answer["rung"]
    outcome.model = answer["model"]
    outcome.reason = answer["reason"]
    own_turns = _own_turns(cycle, turn_ids)
    # What phrases quote is never invented: a doubt about it is no question for a person.
    quoted = with_channel_items(cycle, cycle.deps.rules(excerpts), excerpts, turn_ids)
    by_rules = grounded(quoted, own_turns, are_quotations=True)
    candidates = replace(by_rules, proposals=())
    # Where the rules answered, their answer holds nothing but these quotes.
    if outcome.rung != BY_RULES:
        by_model = grounded(extraction, own_turns, _automated_turns(cycle))
        candidates = combined(by_model, candidates)
    cycle.extraction = with_topics(_with_turn_ids(candidates, turn_ids))
    keep_to_scope(cycle)


def _automated_turns(cycle: "LearningCycle") -> list[OwnTurn]:
    return [
        OwnTurn(turn.text, turn.user, day_of(turn, cycle.zone))
        for turn in cycle.gathered.turns
        if turn.is_automated
    ]


def _ask(
    cycle: "LearningCycle",
    role: Literal["extraction", "facts", "channel"],
    excerpts: tuple[Excerpt, ...],
) -> Extraction:
    places = cycle.places
    prompt = prompts.turns_prompt(
        role,
        cycle.question(role, cycle.name),
        excerpts,
        profile=cycle.text(places.profile),
        facts=cycle.text(places.facts),
    )
    text = cycle.ask(role, prompt)
    rung = cycle.checkpoint.answers[role]["rung"]
    others = {excerpt.id for excerpt in excerpts if not excerpt.own}
    return read_answer(text, prompt.turn_ids, other_turns=others & cycle.gathered.others, rung=rung)


def _with_facts(extraction: Extraction, facts: Extraction) -> Extraction:
    """Returns the extraction with the facts of the second question."""
    labelled = (_labelled(fact, extraction.memories) for fact in facts.facts)
    return replace(
        extraction,
        facts=(*extraction.facts, *labelled),
        uncited=(*extraction.uncited, *filter(_is_fact, facts.uncited)),
        proposals=(*extraction.proposals, *facts.proposals),
        dropped=(*extraction.dropped, *facts.dropped),
    )


def _labelled(fact: FoundFact, memories: Iterable[Memory]) -> FoundFact:
    """Returns a fact with the labels of the memories that say the same of its turn."""
    labels = fact.labels
    for memory in memories:
        # Fault: the question about facts has no labels. A memory that is held back as sensitive
        # would be written as a fact.
        is_same_turn = not set(fact.evidence).isdisjoint(memory.evidence)
        if is_same_turn and says_as_much(memory.text, fact.object):
            labels = labels.tightened(memory.labels)
    return replace(fact, labels=labels)


def _is_fact(candidate: Memory | FoundFact) -> bool:
    return isinstance(candidate, FoundFact)


def _own_turns(cycle: "LearningCycle", turn_ids: Mapping[str, str]) -> OwnTurns:
    """Returns the own turns by their short ids."""
    evidence = cycle.gathered.evidence
    return OwnTurns(
        {
            # Fault: what the person quotes would prove what a model says of the person.
            short_id: OwnTurn(spoken(turn.text), turn.user, day_of(turn, cycle.zone))
            for short_id, turn_id in turn_ids.items()
            if (turn := evidence.get(turn_id)) is not None
        }
    )


def _with_turn_ids(extraction: Extraction, turn_ids: Mapping[str, str]) -> Extraction:
    """Returns the extraction with the ids of the transcript in place of the short ones."""

    def cited(candidate: Memory | FoundFact) -> tuple[str, ...]:
        return tuple(turn_ids[short_id] for short_id in candidate.evidence)

    return replace(
        extraction,
        memories=tuple(replace(memory, evidence=cited(memory)) for memory in extraction.memories),
        facts=tuple(replace(fact, evidence=cited(fact)) for fact in extraction.facts),
        episodes=tuple(
            replace(episode, evidence=cited(episode)) for episode in extraction.episodes
        ),
        topics={
            turn_ids.get(short_id, short_id): topic for short_id, topic in extraction.topics.items()
        },
    )


def with_channel_items(
    cycle: "LearningCycle",
    extraction: Extraction,
    excerpts: "Sequence[Excerpt]",
    turn_ids: Mapping[str, str],
) -> Extraction:
    """Returns what phrases found, in a channel with its decisions, agreements and action items."""
    # Fault: the night of a person must not write the decisions of a channel into private notes.
    if cycle.kind != "channel":
        return extraction
    evidence = cycle.gathered.evidence
    days = {
        short_id: day_of(evidence[turn_id], cycle.zone) for short_id, turn_id in turn_ids.items()
    }
    items = cycle.deps.channel_rules(excerpts, days, cycle.deps.people())
    return replace(extraction, memories=(*items, *extraction.memories))


def keep_to_scope(cycle: "LearningCycle") -> None:
    """Leaves out of the extraction what belongs to another scope."""
    evidence = cycle.gathered.evidence
    if cycle.kind == "channel":
        turns = {
            turn.id: OwnTurn(turn.text, turn.user, day_of(turn, cycle.zone))
            for turn in evidence.values()
        }
        cycle.extraction, personal = of_channel(cycle.extraction, turns, cycle.deps.people())
        cycle.personal = [{"ref": turn, "reason": PERSONAL} for turn in personal]
        return
    # Fault: a person's words in a channel are about the channel's matters, too.
    channel_turns = {turn.id for turn in evidence.values() if turn.channel}
    if channel_turns:
        cycle.extraction = of_person(cycle.extraction, channel_turns, cycle.name)


def logs_of(
    conversations: "ConversationCalls",
    places: "Places",
    known: Mapping[str, str],
    vault_map: "VaultMap",
) -> dict[str, Log]:
    """Returns the transcripts of a scope by path, except those with the `known` signatures.

    A person also has her own turns in channels.
    """
    entries = vault_map.entries_of(places.scope)
    found = _as_logs(conversations.transcripts.logs(places.scope, known, entries))
    if places.scope.startswith("user:"):
        name = places.scope.partition(":")[2]
        for channel in sorted(vault_map.names_of("channel")):
            scope = f"channel:{channel}"
            entries = vault_map.entries_of(scope)
            read = conversations.transcripts.logs(scope, known, entries)
            found |= _own_turns_in(_as_logs(read), name)
    return found


def _as_logs(transcripts: Mapping[str, tuple[str, tuple[Turn, ...] | None]]) -> dict[str, Log]:
    return {path: Log(signature, turns) for path, (signature, turns) in transcripts.items()}


def _own_turns_in(logs: Mapping[str, Log], name: str) -> dict[str, Log]:
    """Returns the transcripts of channels with the turns of one speaker alone."""
    return {path: Log(log.signature, _spoken_by(log, name)) for path, log in logs.items()}


def _spoken_by(log: Log, name: str) -> tuple[Turn, ...] | None:
    if log.turns is None:
        return None
    # Fault: the words of other members must not count as the person's own.
    return tuple(turn for turn in log.turns if turn.role == "user" and turn.user == name)
