"""Finding what to remember by phrases: what is found in each language, and that nothing is ever invented."""

import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.config.sections import BrainSettings
from vault_memory.models.llm.factory import load_brain
from vault_memory.models.llm.own_words import sentences
from vault_memory.models.llm.phrase_rules import RulesBrain, extract
from vault_memory.models.llm.phrase_tables import FOLDER
from vault_memory.rules.learning.extraction import read_answer
from vault_memory.rules.learning.model_prompt import Excerpt, Prompt

CASES = Path(__file__).parent / "phrases"


def cases() -> list[tuple[str, str, str]]:
    return [
        (page.stem, *line.removeprefix("- ").split(" → "))  # type: ignore[misc]
        for page in sorted(CASES.glob("*.md"))
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("- ")
    ]


def extracted(said: str) -> str:
    """What is found in a turn, as the pages of cases write it."""
    found = extract((Excerpt("t1", said, "alice", own=True),))
    memories = [f"{one.text} · {one.type}" for one in found.memories]
    facts = [
        f"{'' if one.subject == 'alice' else one.subject + ' '}{one.predicate} {one.object}"
        for one in found.facts
    ]
    return " · ".join([*memories, *facts]) or "nothing"


def test_every_language_has_a_page_of_cases() -> None:
    assert {page.stem for page in CASES.glob("*.md")} == {
        table.stem for table in FOLDER.glob("*.toml")
    }
    assert {page.stem for page in CASES.glob("*.md")} >= {"de", "en", "es", "fr", "ru", "zh"}


@every(("language", "said", "expected"), cases())
def test_lasting_statements_are_extracted_and_passing_ones_ignored(
    language: str, said: str, expected: str
) -> None:
    assert extracted(said) == expected


def test_only_the_persons_own_turns_are_used() -> None:
    heard = Excerpt("b1", "I live in Rome.", "assistant", own=False)
    said = Excerpt("t1", "I live in Porto.", "alice", own=True)

    found = extract((heard, said))

    assert [(one.text, one.evidence) for one in found.memories] == [("I live in Porto", ("t1",))]
    assert [(one.subject, one.object, one.evidence) for one in found.facts] == [
        ("alice", "Porto", ("t1",))
    ]


def test_pasted_text_does_not_count_as_the_persons_own() -> None:
    pasted = (
        "I live in Porto.\n\nLook at this mail:\nI live in Rome.\nI love cats.\n\nI live in Kiel.\n"
        "```\nI work at Acme.\n```\n> I prefer tea.\nOn 3 May 2026, Bob Gray wrote:\nI work at Initech.\n"
    )

    assert [one.text for one in extract((Excerpt("t1", pasted, "alice", own=True),)).memories] == [
        "I live in Porto"
    ]


def test_a_sentence_cut_in_an_excerpt_is_ignored() -> None:
    cut = "I work at Acme. I live in […] town. I love tea."

    assert [one.text for one in extract((Excerpt("t1", cut, "alice", own=True),)).memories] == [
        "I work at Acme",
        "I love tea",
    ]


def test_a_repeated_statement_is_one_memory_with_two_turns_as_evidence() -> None:
    prompt = Prompt(
        "extraction",
        "",
        (),
        tuple(Excerpt(f"t{n}", "I live in Porto.", "a", own=True) for n in (1, 2)),
    )

    answer = RulesBrain().answer(prompt)

    assert answer.rung == "rules"
    [memory] = read_answer(answer.text, prompt.turn_ids).memories
    assert memory.evidence == ("t1", "t2")


def test_the_rules_need_no_configuration_and_suggest_no_edits() -> None:
    brain = load_brain(BrainSettings(), "curation")

    assert brain.name == "rules"
    assert (
        read_answer(brain.answer(Prompt("curation", "", (("note", "## Tea\n"),))).text, ()).ops
        == ()
    )


PIECES = st.sampled_from(
    [said for _, said, _ in cases()]
    + [
        '"',
        "“",
        "»",
        "\n",
        "\n\n",
        "```\n",
        "> ",
        ": ",
        ":\n",
        "[…]",
        "…",
        " ",
        "\t",
        "- ",
        "?",
        "Dr.",
        "\u2028",
        "，",
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=8).map("".join))
@example("I live in \x1cPorto\x85.")
@example("Remember that […")
@example("I live in Porto […] Remember that tea is good.")
def test_every_memory_is_part_of_one_of_the_persons_own_turns(said: str) -> None:
    found = extract((Excerpt("t1", said, "alice", own=True),))

    for one in found.memories:
        assert one.text in said
        assert one.evidence == ("t1",)
    for fact in found.facts:
        assert fact.object in said
        assert fact.subject == "alice" or fact.subject in said
    assert all(sentence in said for sentence in sentences(said))


@given(st.text(max_size=60))
def test_no_question_is_ever_remembered(said: str) -> None:
    question = "Remember that " + "".join(c for c in said if c not in "\r\n.!?…。！？｡") + "?"

    assert extract((Excerpt("t1", question, "alice", own=True),)).memories == ()


@pytest.mark.sampled
@every(
    "piece",
    [
        "I live in ",
        '"',
        "[…]",
        "[…]. ",
        "a. ",
        "b.",
        "my favourite ",
        "- ",
        "wrote:\n",
        "> x\n",
        "(",
        "我",
    ],
)
def test_long_turns_are_processed_quickly(piece: str) -> None:
    turn = Excerpt("t1", (piece * 60_000)[:50_000], "alice", own=True)
    extract((turn,))
    started = time.process_time()

    extract((turn,))

    assert time.process_time() - started < 3
