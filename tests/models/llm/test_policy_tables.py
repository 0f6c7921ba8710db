"""What the write policy keeps of what people say, in each language."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.every import every
from vault_memory.errors import ConfigError
from vault_memory.learning.learned_rules import spoken_rules
from vault_memory.models.llm.own_words import sentences
from vault_memory.models.llm.phrase_rules import extract
from vault_memory.models.llm.phrase_tables import FOLDER
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.places import PHRASES
from vault_memory.rules.learning.model_prompt import Excerpt
from vault_memory.rules.learning.policy.secret_signs import cue_tables
from vault_memory.rules.learning.policy_cues import LISTS, REASONS
from vault_memory.rules.learning.write_policy import Candidate, decide
from vault_memory.rules.sentences.sentence_splitter import split_sentences

CASES = Path(__file__).parent / "policy"
LANGUAGES = sorted(table.stem for table in FOLDER.glob("*.toml"))
CUE_REASONS = {*REASONS, "secret"}
EXPECTED = {"stable": ("commit_now", "stable"), "other": ("commit_at_session_end", "other")}


def cases(*reasons: str) -> list[tuple[str, str, str]]:
    rows = []
    for page in sorted(CASES.glob("*.md")):
        reason = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("## "):
                reason = line[3:]
            elif line.startswith("- ") and reason in reasons:
                rows.append((page.stem, reason, line[2:]))
    return rows


@every("language", LANGUAGES)
def test_every_language_defines_every_list(language: str) -> None:
    table = tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    lists = table["policy"] | cue_tables()[language]
    assert set(lists) == set(LISTS)
    assert all(lists.values())


def test_every_row_has_examples_in_every_language() -> None:
    rows = cases(*CUE_REASONS)
    is_miss = Counter(
        (language, reason, sentence.startswith("not: ")) for language, reason, sentence in rows
    )
    for language in LANGUAGES:
        for reason in CUE_REASONS:
            assert is_miss[language, reason, False] >= 3, (language, reason)
            assert is_miss[language, reason, True] >= 2, (language, reason)


@pytest.mark.sampled
@every("reason", sorted(CUE_REASONS))
@every("language", LANGUAGES)
def test_each_example_sentence_is_recognised_as_listed(language: str, reason: str) -> None:
    wrong = [
        sentence
        for page, _, sentence in cases(reason)
        if page == language
        and is_recognised(reason, sentence.removeprefix("not: ")) is sentence.startswith("not: ")
    ]
    assert wrong == []


def is_recognised(reason: str, text: str) -> bool:
    """Whether the policy sees a reason in one of the sentences of a turn."""
    cues = policy_cues()
    if reason == "explicit":
        return any(spoken_rules(text, cues, own_sentences).values())
    return any(reason in cues.reasons(sentence) for sentence in split_sentences(text))


def own_sentences(text: str) -> list[str]:
    return list(sentences(text))


@every(("language", "reason", "sentence"), cases("stable", "other"))
def test_each_example_sentence_gets_the_expected_decision(
    language: str, reason: str, sentence: str
) -> None:
    memory = extract((Excerpt("t1", sentence, "alice", own=True),)).memories[0]
    candidate = Candidate("memory", memory.text, turns=(sentence,), type=memory.type, who="alice")
    assert tuple_of(candidate) == EXPECTED[reason]


@every(("language", "reason", "pair"), cases("interpretive"))
def test_an_interpretation_waits_for_support_by_a_second_turn(
    language: str, reason: str, pair: str
) -> None:
    text, turn = pair.split(" ← ")
    candidate = Candidate("memory", text, turns=(turn,), type="preference")
    decision = decide(candidate, policy_cues())
    assert (decision.policy_class, decision.reason) == ("commit_at_session_end", "interpretive")
    assert decision.supports == 2


def tuple_of(candidate: Candidate) -> tuple[str, str]:
    decision = decide(candidate, policy_cues())
    return decision.policy_class, decision.reason


@pytest.mark.parametrize(
    "text",
    [
        "I was diagnosed with cancer, and my star sign is cancer too.",
        "I hurt myself playing football because I want to hurt myself.",
    ],
)
def test_an_exception_covers_only_its_own_words(text: str) -> None:
    assert policy_cues().reasons(text) & {"sensitive", "crisis"}


def test_a_phrase_with_brackets_in_brackets_is_found(tmp_path: Path) -> None:
    folder = tmp_path / PHRASES
    folder.mkdir()
    (folder / "en.toml").write_text(
        '[policy]\nsecret = ["gate word"]\nimplicit = ["(mind (the|your)|watch) gap"]\n'
    )
    cues = policy_cues(tmp_path)
    assert "implicit" in cues.reasons("Mind your gap.")
    assert "implicit" in cues.reasons("Watch gap.")


@pytest.mark.parametrize("phrase", ["~ness", "(a|) ,", "…", "!", "?^"])
def test_a_phrase_that_begins_with_no_word_is_refused(tmp_path: Path, phrase: str) -> None:
    folder = tmp_path / PHRASES
    folder.mkdir()
    (folder / "en.toml").write_text(f'[policy]\nimplicit = ["{phrase}"]\n')
    with pytest.raises(ConfigError):
        policy_cues(tmp_path)


def test_configured_phrases_are_added_to_the_packaged_ones(tmp_path: Path) -> None:
    folder = tmp_path / PHRASES
    folder.mkdir()
    (folder / "en.toml").write_text('[policy]\nturn_scoped = ["for this watch"]\n')
    cues = policy_cues(tmp_path)
    assert "turn_scoped" in cues.reasons("Call me skipper for this watch.")
    assert "crisis" in cues.reasons("I want to kill myself.")
    assert "turn_scoped" not in policy_cues().reasons("Call me skipper for this watch.")


@pytest.mark.parametrize(
    "text", ["[policy]\ncrises = ['x']\n", "[policy]\ncrisis = 'x'\n", "[policy"]
)
def test_an_invalid_table_of_configured_phrases_is_refused(tmp_path: Path, text: str) -> None:
    folder = tmp_path / PHRASES
    folder.mkdir()
    (folder / "own.toml").write_text(text)
    with pytest.raises(ConfigError):
        policy_cues(tmp_path)
