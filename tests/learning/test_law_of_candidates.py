"""Nothing is lost silently: each candidate ends committed, held, duplicate, proposed or named as dropped."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.learning.quiet_vault import quiet_vault
from tests.models.llm.test_policy_tables import CUE_REASONS, cases
from vault_memory.learning.learned_rules import spoken_rules
from vault_memory.models.llm.own_words import sentences
from vault_memory.models.llm.phrase_rules import extract, requests_in
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.learning.model_prompt import Excerpt
from vault_memory.rules.learning.policy_cues import REASONS

NOW = datetime(2026, 5, 25, 8, tzinfo=UTC)
SENTENCES = [
    sentence.removeprefix("not: ") for _, _, sentence in cases(*CUE_REASONS, "stable", "other")[::4]
] + ["I like 7.", "My name is Will.", "From now on, answer in French."]
TURNS = 8
"""In a conversation"""

REPEATED = SENTENCES[::3]
"""What comes again, in another conversation of the day"""


def is_candidate(text: str) -> bool:
    """Whether the phrases find something to keep in a turn."""
    extraction = extract((Excerpt("t1", text, "alice", own=True),))
    rules = spoken_rules(text, policy_cues(), lambda turn: list(sentences(turn)))
    return bool(extraction.memories or requests_in(text) or rules)


@pytest.mark.sampled
def test_each_candidate_ends_somewhere(tmp_path: Path) -> None:
    turns: dict[str, str] = {}
    with quiet_vault(tmp_path) as memory:
        for number, text in enumerate([*SENTENCES, *REPEATED]):
            said = memory.record_turn(
                session=f"s{number // TURNS}",
                role="user",
                user="alice",
                text=text,
                now=NOW + timedelta(minutes=number),
            )
            turns[str(said.id)] = text
        slept = memory.sleep(scopes=["user:alice"], now=NOW + timedelta(days=1))
    [night] = slept.scopes
    assert night["state"] == "done"
    named = {drop["ref"] for drop in night["dropped"]}
    stored = "\n".join(
        file.read_text()
        for file in (tmp_path / "vault/Users").rglob("*.*")
        if "transcripts" not in file.parts
    )
    lost = [
        text
        for id_, text in turns.items()
        if is_candidate(text) and id_ not in named and id_ not in stored
    ]
    assert sum(map(is_candidate, turns.values())) > 40
    assert lost == []
    reasons = {drop["reason"] for drop in night["dropped"]}
    assert reasons <= {*REASONS, "said_before", "secret", "withdrawn"}


def test_a_repetition_in_the_first_night_of_a_person_is_recorded(tmp_path: Path) -> None:
    with quiet_vault(tmp_path) as memory:
        turns = [
            memory.record_turn(
                session=f"s{number}",
                role="user",
                user="alice",
                text="My exam is on Friday.",
                now=NOW + timedelta(minutes=number),
            )
            for number in range(2)
        ]
        memory.sleep(scopes=["user:alice"], now=NOW + timedelta(days=1))
    [audit] = (tmp_path / "vault/Users").rglob("*.audit.jsonl")
    assert f'"turn":"{turns[1].id}"' in audit.read_text()
