"""Fillers before a statement and tails behind it say nothing of it."""

from tests.every import every
from vault_memory.rules.sentences import fillers
from vault_memory.rules.sentences.fillers import Fillers

FILLERS = Fillers(str.casefold)


def listed(name: str, *, runs: bool) -> list[str]:
    phrases = [phrase for table in fillers.filler_tables().values() for phrase in table[name]]
    return [
        phrase.casefold()
        for phrase in phrases
        if fillers.OPEN not in phrase and fillers._is_run(phrase) is runs
    ]


@every("filler", listed("fillers", runs=False))
def test_a_filler_is_left_out_before_a_statement_and_is_one_alone(filler: str) -> None:
    assert FILLERS.without_fillers(f"{filler} bo sails") == "bo sails"
    assert FILLERS.without_fillers(f"{filler} {filler} bo sails") == "bo sails"
    assert FILLERS.without_fillers(filler) == filler


@every("tail", listed("tails", runs=False))
def test_a_tail_is_left_out_behind_a_statement_and_is_one_alone(tail: str) -> None:
    assert FILLERS.without_tails(f"bo xyz {tail}") == "bo xyz"
    assert FILLERS.without_tails(tail) == tail


@every("filler", listed("fillers", runs=True))
def test_a_filler_without_a_blank_is_left_out(filler: str) -> None:
    assert FILLERS.without_fillers(f"{filler}\u8239\u5728\u6d77") == "\u8239\u5728\u6d77"


def test_a_statement_without_them_stays_as_it_is() -> None:
    for text in ("bo sails", "", "\u8239\u5728\u6d77"):
        assert FILLERS.without_fillers(text) == text
        assert FILLERS.without_tails(text) == text


def test_phrases_of_one_word_are_known() -> None:
    assert FILLERS.words
    assert all(len(phrase.split()) == 1 for phrase in FILLERS.words)
    for phrase in listed("fillers", runs=False):
        assert (phrase in FILLERS.words) == (len(phrase.split()) == 1)
