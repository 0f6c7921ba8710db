"""Leaves out the secrets in what was said, wherever a program or a model reads it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vault_memory.models.llm import policy_tables
from vault_memory.rules.learning.policy import secret_signs

if TYPE_CHECKING:
    from vault_memory.rules.learning.policy_cues import PolicyCues
    from vault_memory.search.open_vault import OpenVault

TRANSCRIPT = "transcript"
Answer = Mapping[str, Any]


def masked(vault: "OpenVault", text: str) -> str:
    """Return what was said without its secrets."""
    return secret_signs.masked(text, _cues(vault).is_secret)


def masked_lines(vault: "OpenVault", text: str) -> str:
    """Return lines of a transcript without the secrets in them."""
    return secret_signs.masked_lines(text, _cues(vault).is_secret)


def _cues(vault: "OpenVault") -> "PolicyCues":
    """Return the words of the vault's tables that tell a secret."""
    return policy_tables.policy_cues(vault.state.path)


def masked_hits(vault: "OpenVault", hits: Sequence[Answer]) -> list[Answer]:
    """Return the hits, with what was said without its secrets."""
    # Fault: a secret that no note may keep would be quoted from where it was said.
    return [
        {**hit, "text": masked(vault, hit["text"])} if hit["kind"] == TRANSCRIPT else hit
        for hit in hits
    ]


def masked_source(vault: "OpenVault", answer: Answer) -> dict[str, Any]:
    """Return the source of a line without the secrets in its turns."""
    text = answer["text"]
    if answer["kind"] == "turn":
        text = masked(vault, text)
    turns = [_masked_turn(vault, turn) for turn in answer["turns"]]
    return {**answer, "text": text, "turns": turns}


def _masked_turn(vault: "OpenVault", turn: Answer) -> dict[str, Any]:
    """Return a turn and its neighbours without the secrets in them."""

    def spoken(words: Answer) -> Any:
        return words and {**words, "text": masked(vault, words["text"])}

    return {
        **turn,
        "turn": spoken(turn["turn"]),
        "before": list(map(spoken, turn["before"])),
        "after": list(map(spoken, turn["after"])),
    }
