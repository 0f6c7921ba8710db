"""Leaves out the secrets in what was said, wherever a program or a model reads it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vault_memory.models.llm import policy_tables
from vault_memory.rules.learning.policy import secret_signs

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.rules.learning.policy_cues import PolicyCues

TRANSCRIPT = "transcript"
Answer = Mapping[str, Any]


def masked(memory: "VaultMemory", text: str) -> str:
    """Return what was said without its secrets."""
    return secret_signs.masked(text, _cues(memory).is_secret)


def masked_lines(memory: "VaultMemory", text: str) -> str:
    """Return lines of a transcript without the secrets in them."""
    return secret_signs.masked_lines(text, _cues(memory).is_secret)


def _cues(memory: "VaultMemory") -> "PolicyCues":
    """Return the words of the vault's tables that tell a secret."""
    return policy_tables.policy_cues(memory.vault.state.path)


def masked_hits(memory: "VaultMemory", hits: Sequence[Answer]) -> list[Answer]:
    """Return the hits, with what was said without its secrets."""
    # Fault: a secret that no note may keep would be quoted from where it was said.
    return [
        {**hit, "text": masked(memory, hit["text"])} if hit["kind"] == TRANSCRIPT else hit
        for hit in hits
    ]


def masked_source(memory: "VaultMemory", answer: Answer) -> dict[str, Any]:
    """Return the source of a line without the secrets in its turns."""
    text = answer["text"]
    if answer["kind"] == "turn":
        text = masked(memory, text)
    turns = [_masked_turn(memory, turn) for turn in answer["turns"]]
    return {**answer, "text": text, "turns": turns}


def _masked_turn(memory: "VaultMemory", turn: Answer) -> dict[str, Any]:
    """Return a turn and its neighbours without the secrets in them."""

    def spoken(words: Answer) -> Any:
        return words and {**words, "text": masked(memory, words["text"])}

    return {
        **turn,
        "turn": spoken(turn["turn"]),
        "before": list(map(spoken, turn["before"])),
        "after": list(map(spoken, turn["after"])),
    }
