"""What the steps of a night need of a vault: its sessions, phrases, reads, ledgers and settings."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.conversations.sessions import SESSION_IDLE, Sessions
from vault_memory.learning.ledgers import Ledgers
from vault_memory.learning.ledgers import of_vault as ledgers_of
from vault_memory.models.llm import phrase_rules
from vault_memory.models.llm.own_words import sentences
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.learning.episodes import EpisodeRules
from vault_memory.search.item_reads import ItemReads

if TYPE_CHECKING:
    from vault_memory.config.sections import LifecycleSettings
    from vault_memory.rules.learning.policy_cues import PolicyCues
    from vault_memory.search.open_vault import OpenVault


@dataclass(frozen=True, slots=True)
class PolicyDeps:
    """The dependencies of the write policy."""

    cues: "Callable[[], PolicyCues]"
    """reads the phrases; raises ConfigError for a table that cannot be read"""
    sentences: Callable[[str], tuple[str, ...]]
    """returns the speaker's own statements in a turn, without questions and quotations"""
    requests: Callable[[str], list[str]]
    """returns what a turn asks to remember"""
    has_long_request: Callable[[str], bool]
    """whether a turn asks to remember more than a line can have"""
    is_open: Callable[[str, datetime], bool]
    """whether a session goes on, with the time of a turn in it"""
    kind_of: Callable[[str], str]
    """returns the kind of a note"""
    ledgers: Ledgers


class LifecycleDeps(NamedTuple):
    """What the steps for fading need."""

    reads: ItemReads
    ledgers: Ledgers
    settings: "LifecycleSettings"

    @classmethod
    def of_vault(cls, vault: "OpenVault") -> "LifecycleDeps":
        """Returns what the steps need of an open vault."""
        return cls(ItemReads(vault.state.path), ledgers_of(vault), vault.config.lifecycle)


@dataclass(frozen=True, slots=True)
class EpisodeDeps:
    """What the step that sums conversations up needs beside the notes."""

    rules: Callable[[], EpisodeRules]
    """loads the phrases; called only when there is a conversation to sum up"""
    lock: Callable[[], AbstractContextManager[None]]
    """keeps other processes from writing episodes meanwhile"""


def policy_deps(vault: "OpenVault", now: datetime) -> PolicyDeps:
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
        ledgers=ledgers_of(vault),
    )
