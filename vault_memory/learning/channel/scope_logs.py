"""Reads the transcripts that the cycles of a scope learn from."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vault_memory.learning.channel.channel_learning import own_turns_in
from vault_memory.learning.unread_turns import Log
from vault_memory.learning.vault_map import VaultMap

if TYPE_CHECKING:
    from vault_memory.conversations.calls import ConversationCalls
    from vault_memory.rules.conversations.turn import Turn
    from vault_memory.rules.paths.scope_notes import Places


def logs_of(
    conversations: "ConversationCalls",
    places: "Places",
    known: Mapping[str, str],
    vault_map: "VaultMap",
) -> "dict[str, Log]":
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
            found |= own_turns_in(_as_logs(read), name)
    return found


def _as_logs(transcripts: "Mapping[str, tuple[str, tuple[Turn, ...] | None]]") -> "dict[str, Log]":
    return {path: Log(signature, turns) for path, (signature, turns) in transcripts.items()}
