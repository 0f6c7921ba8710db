"""What a person takes back is found, and nothing else."""

from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.policy.held_candidates import is_withdrawn, withdrawn_sentences

CUES = policy_cues()


def turn(id_: str, text: str, session: str = "s1") -> Turn:
    return Turn(id_, "2026-05-25T18:00:00+00:00", session, "user", "alice", "", text)


def test_a_withdrawal_takes_back_the_turn_before() -> None:
    turns = [
        turn("t1", "I live in Porto."),
        turn("t2", "I like tea."),
        turn("t3", "Scratch that, I prefer coffee."),
    ]
    withdrawn = withdrawn_sentences(turns, CUES)
    assert set(withdrawn) == {"t2"}
    assert is_withdrawn("likes tea", turns[1], withdrawn)
    assert not is_withdrawn("prefers coffee", turns[2], withdrawn)


def test_a_withdrawal_in_a_turn_takes_back_what_comes_before_it() -> None:
    turns = [turn("t1", "I live in Porto."), turn("t2", "I hate tea. Just kidding.")]
    withdrawn = withdrawn_sentences(turns, CUES)
    assert withdrawn == {"t2": frozenset({"I hate tea."})}


def test_a_withdrawal_does_not_reach_into_another_session() -> None:
    turns = [turn("t1", "I like tea."), turn("t2", "Scratch that.", "s2")]
    assert withdrawn_sentences(turns, CUES) == {}


def test_what_was_not_taken_back_stays() -> None:
    turns = [turn("t1", "I like tea."), turn("t2", "I'm not kidding.")]
    assert withdrawn_sentences(turns, CUES) == {}
