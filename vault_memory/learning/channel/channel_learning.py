"""What a cycle learns in channels: of a channel for all its members, of a person for herself alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vault_memory.learning.unread_turns import Log, day_of
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.candidate import Extraction
from vault_memory.rules.learning.channel_memories import PERSONAL, of_channel, of_person
from vault_memory.rules.learning.grounding import OwnTurn

if TYPE_CHECKING:
    from vault_memory.conversations.calls import ConversationCalls
    from vault_memory.learning.cycle import LearningCycle
    from vault_memory.learning.vault_map import VaultMap
    from vault_memory.rules.learning.model_prompt import Excerpt
    from vault_memory.rules.paths.scope_notes import Places


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
