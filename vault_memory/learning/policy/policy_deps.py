"""Connects the write policy with the sessions, the phrases and the ledgers of a vault."""

from datetime import datetime

from vault_memory.conversations.sessions import SESSION_IDLE, Sessions
from vault_memory.learning import ledgers
from vault_memory.learning.policy.judged import PolicyDeps
from vault_memory.models.llm import phrase_rules
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.models.llm.sentence_filter import sentences
from vault_memory.search.open_vault import OpenVault


def of_vault(vault: OpenVault, now: datetime) -> PolicyDeps:
    """Returns what the policy needs from a vault."""
    sessions = Sessions(vault.state.path)

    def is_open(session: str, last: datetime) -> bool:
        matches = sessions.find(session)
        # A session of another device is known by its turns alone.
        if matches and not any(match.is_open for match in matches):
            return False
        # Fault: the file of the session may miss turns of another device. The later time counts.
        newest = max([last, *(match.last for match in matches)])
        return now - newest < SESSION_IDLE

    def kind_of(note: str) -> str:
        place = vault.layout.place(note)
        return place.kind if place else ""

    return PolicyDeps(
        cues=lambda: policy_cues(vault.state.path),
        sentences=sentences,
        requests=phrase_rules.requests_in,
        has_long_request=phrase_rules.has_long_request,
        is_open=is_open,
        kind_of=kind_of,
        ledgers=ledgers.of_vault(vault),
    )
