"""What a channel decided, agreed on and plans, apart from what is about a single person. Pure.

A channel's notes are for all its members. So a person's attributes go into her own FACTS.md alone,
from her own turns.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from vault_memory.markdown.items import day as parse_day
from vault_memory.markdown.letters import folded_line
from vault_memory.rules.learning.attribute_values import ATTRIBUTES
from vault_memory.rules.learning.candidate import ACTIONS, Doubt, Extraction, FoundFact, Memory
from vault_memory.rules.learning.grounding import OwnTurn, says_as_much
from vault_memory.rules.learning.relative_days import resolve_days, with_named_days
from vault_memory.rules.search.tokens import words

if TYPE_CHECKING:
    from vault_memory.rules.learning.model_prompt import Excerpt


PERSONAL = "personal"
"""Why an attribute of a person is not in the notes of a channel"""
NOT_SHOWN = "…"
"""In the audit, in place of what is about a single person"""
_NUMBER = re.compile(r"\d+")

ChannelRules = Callable[
    [Sequence["Excerpt"], Mapping[str, date], frozenset[str]], tuple[Memory, ...]
]
"""Takes turns, their local days by id, and the names of people who may own a task"""


def of_channel(
    extraction: Extraction, turns: Mapping[str, OwnTurn], people: Collection[str]
) -> tuple[Extraction, tuple[str, ...]]:
    """Separates what is for a channel from the attributes of its members.

    `turns` are the own turns by id. `people` are the persons of the vault; speakers count, too.
    Memories with a section come first: another memory that says the same is superfluous.
    """
    speakers = (turn.who for turn in turns.values())
    members = {folded_line(name): name for name in (*people, *speakers)}
    settled = [_settled(memory, turns, members) for memory in extraction.memories]
    sectioned = _unique(memory for memory in settled if memory.section)
    others = [
        memory for memory in settled if not memory.section and not _says_one(sectioned, memory)
    ]
    facts = [fact for fact in extraction.facts if folded_line(fact.subject) not in members]
    about_members = [fact for fact in extraction.facts if fact not in facts]
    # A small model types "I am allergic to wool" as news of the channel.
    attributes = [
        memory for memory in others if _is_attribute(memory) or _states_one(about_members, memory)
    ]
    memories = [*sectioned, *(memory for memory in others if memory not in attributes)]
    personal: list[Memory | FoundFact] = [*attributes, *about_members]
    left_out = dict.fromkeys(turn for item in personal for turn in item.evidence)
    of_all = replace(extraction, memories=tuple(memories), facts=tuple(facts))
    return _without_doubts_about(members, of_all), tuple(left_out)


def of_person(extraction: Extraction, channel_turns: Collection[str], name: str) -> Extraction:
    """Returns the extraction with nothing but facts about the person from her turns in channels."""

    def is_from_channel(candidate: Memory | FoundFact) -> bool:
        return not set(candidate.evidence).isdisjoint(channel_turns)

    memories = tuple(memory for memory in extraction.memories if not is_from_channel(memory))
    facts = tuple(
        fact
        for fact in extraction.facts
        if not is_from_channel(fact) or folded_line(fact.subject) == folded_line(name)
    )
    return replace(extraction, memories=memories, facts=facts)


def _without_doubts_about(members: Collection[str], extraction: Extraction) -> Extraction:
    """Returns the extraction without proposals that begin with the folded name of a member."""
    # Fault: INBOX of the channel would ask all its members about a single one.
    beginnings = tuple(f"{name} " for name in members)
    doubts = [
        doubt
        for doubt in extraction.proposals
        if not folded_line(doubt.text).startswith(beginnings)
    ]
    removed = len(extraction.proposals) - len(doubts)
    dropped = (*extraction.dropped, *[Doubt(NOT_SHOWN, PERSONAL)] * removed)
    return replace(extraction, proposals=tuple(doubts), dropped=dropped)


def _is_attribute(memory: Memory) -> bool:
    return memory.type in ATTRIBUTES


def _states_one(facts: Iterable[FoundFact], memory: Memory) -> bool:
    """Returns whether a memory says what a fact of the same turn says."""
    text = f" {' '.join(words(memory.text))} "
    return any(
        not set(fact.evidence).isdisjoint(memory.evidence)
        and f" {' '.join(words(fact.object))} " in text
        for fact in facts
    )


def _unique(memories: Iterable[Memory]) -> list[Memory]:
    """Returns the memories without those that repeat an earlier one of their section."""
    unique: list[Memory] = []
    # Of two action items that say the same, the one with an owner and a day says more.
    for memory in sorted(memories, key=lambda memory: -len(memory.owner + memory.due)):
        same_section = [item for item in unique if item.section == memory.section]
        if not _says_one(same_section, memory):
            unique.append(memory)
    return unique


def _says_one(memories: Iterable[Memory], wanted: Memory) -> bool:
    """Returns whether a memory of the same turn says as much."""
    return any(
        not set(wanted.evidence).isdisjoint(memory.evidence)
        and (says_as_much(memory.text, wanted.text) or says_as_much(wanted.text, memory.text))
        for memory in memories
    )


def _settled(memory: Memory, turns: Mapping[str, OwnTurn], members: Mapping[str, str]) -> Memory:
    """Returns a memory whose owner is a member, and whose day is one that its turn names."""
    turn = turns.get(next(iter(memory.evidence), ""))
    if turn is None or memory.section != ACTIONS:
        return replace(memory, owner="", due="")
    return replace(memory, owner=_owner(memory.owner, turn, members), due=_due(memory.due, turn))


def _owner(name: str, turn: OwnTurn, members: Mapping[str, str]) -> str:
    """Returns the member of this name if the turn is hers or names her; else nothing."""
    member = members.get(folded_line(name.lstrip("@")), "")
    if not member:
        return ""
    is_speaker = folded_line(member) == folded_line(turn.who)
    is_named = f" {' '.join(words(name))} " in f" {' '.join(words(turn.text))} "
    return member if is_speaker or is_named else ""


def _due(text: str, turn: OwnTurn) -> str:
    """Returns the day as ``2026-06-01`` if the turn names it; else nothing."""
    resolved = resolve_days(text, turn.day).text.strip()
    said = resolve_days(turn.text, turn.day)
    named = with_named_days(turn.text, turn.day)
    numbers = frozenset(_NUMBER.findall(f"{turn.text} {named}")) | said.numbers
    is_said = numbers.issuperset(_NUMBER.findall(resolved))
    return resolved if parse_day(resolved) and is_said else ""
