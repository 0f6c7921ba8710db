"""What is kept is a whole clause of the turn: it ends where the sentence of the person ends."""

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.learning.quiet_vault import quiet_vault
from vault_memory.learning.enrichment.episode_notes import spoken
from vault_memory.learning.learned_rules import spoken_rules
from vault_memory.models.llm.labels import statement_of
from vault_memory.models.llm.own_words import sentences
from vault_memory.models.llm.phrase_rules import extract, requests_in
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.episodes import EpisodeRules
from vault_memory.rules.learning.model_prompt import Excerpt
from vault_memory.rules.sentences import abbreviations
from vault_memory.rules.sentences.sentence_splitter import without_end

NOW = datetime(2026, 5, 25, 8, tzinfo=UTC)
OPENINGS = {
    "en": ("Never ship", "Remember that we ship", "I live in", "I work at", "I love"),
    "de": ("Ab jetzt sende nichts", "Merk dir, dass wir", "Ich wohne in"),
    "fr": ("Désormais n'envoie rien", "Retiens que nous", "J'habite à"),
    "es": ("Nunca envíes nada", "Recuerda que vamos", "Vivo en"),
    "ru": ("Никогда не отправляй", "Запомни, что мы", "Я живу в"),
    "zh": ("从现在开始不要寄到", "记住我们去", "我住在"),
}
"""Words before an abbreviation: of a rule, a request and a statement"""
GOES_ON = {
    "en": "without a review",
    "de": "ohne eine Prüfung",
    "fr": "sans un contrôle",
    "es": "sin una revisión",
    "ru": "без проверки",
    "zh": "没有检查",
}
NEXT = {
    "en": "We paint the boat.",
    "de": "Wir streichen das Boot.",
    "fr": "Nous peignons le bateau.",
    "es": "Nosotros pintamos el barco.",
    "ru": "Мы красим лодку.",
    "zh": "我们给船刷漆。",
}
TABLES = tomllib.loads(
    Path(abbreviations.__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
SHORT = {
    language: f"{table['never']} {table['open']}".split() or ["inc", "dr", "u.s", "a.m"]
    for language, table in TABLES.items()
}
QUOTED = ("“Stop. Go on.”", "«Stop. Go on.»", "„Stop. Go on.“", "「Stop。Go on。」")


@st.composite
def turns(draw: st.DrawFn) -> tuple[str, str]:
    """A turn whose first sentence has a point inside, and that sentence."""
    language = draw(st.sampled_from(sorted(OPENINGS)))
    short = draw(st.sampled_from(SHORT[language]))
    written = draw(st.sampled_from((short, short.title(), short.upper())))
    middle = draw(
        st.one_of(
            st.just(f"{written}."),
            st.sampled_from(QUOTED),
            st.integers(1, 31).map("the {}.".format),
        )
    )
    opening = draw(st.sampled_from(OPENINGS[language]))
    end = draw(st.sampled_from(("", ".", "!")))
    sentence = f"{opening} {middle} {GOES_ON[language]}{end}"
    following = draw(st.sampled_from(("", f" {NEXT[language]}", f"\n{NEXT[language]}")))
    # A sentence ends with a sign or with its line.
    return sentence, sentence + (following if end else following.replace(" ", "\n", 1))


def kept_of(turn: str) -> list[str]:
    """What each reader of turns keeps word for word."""
    excerpt = Excerpt("t1", turn, "alice", own=True)
    said = Turn("t1", NOW.isoformat(), "tea", "user", "alice", "", turn)
    rules = spoken_rules(turn, policy_cues(), lambda text: list(sentences(text)))
    [episode] = spoken([said], UTC, EpisodeRules(policy_cues()))
    return [
        *map(without_end, rules),
        *requests_in(turn),
        *(memory.text for memory in extract((excerpt,)).memories),
        *sentences(turn),
        *episode.sentences,
    ]


@given(turns())
def test_what_is_kept_ends_where_the_sentence_ends(said: tuple[str, str]) -> None:
    sentence, turn = said

    for kept in kept_of(turn):
        assert kept in turn
        if kept in sentence:
            rest = sentence[sentence.index(kept) + len(kept) :]
            assert rest in ("", ".", "!"), kept


@given(turns())
def test_a_small_model_is_asked_about_whole_sentences(said: tuple[str, str]) -> None:
    sentence, turn = said

    statement = statement_of(Excerpt("t1", turn, "alice", own=True))

    # A sentence that quotes another person is left out, and never in part.
    assert sentence in statement or sentence[:6] not in statement


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("turn", "line"),
    [
        ("Never ship to the U.S. without a review", "Never ship to the U.S. without"),
        ("Remember that the deadline is 5. June at noon", "- the deadline is 5. June at noon"),
        ("Merk dir, dass ich Fan vom 1. FC Nürnberg bin", "Fan vom 1. FC Nürnberg bin"),
        ("Retiens que le 14. juillet est libre", "le 14. juillet est libre"),
        ("Nunca envíes nada a EE. UU. sin revisión", "a EE. UU. sin revisión"),
        ("Запомни, что мой дом на ул. Ленина", "мой дом на ул. Ленина"),
        ("从现在开始，请用Acme Inc. 的信纸", "请用Acme Inc. 的信纸"),
        ("I live in St. Gallen", "lives_in: St. Gallen"),
        ("Ich wohne in St. Gallen", "lives_in: St. Gallen"),
        ("Vivo en EE. UU. desde 2010", "lives_in: EE. UU."),
        ("Я живу в г. Омске", "lives_in: г. Омске"),
        ("我住在St. Gallen", "lives_in: St. Gallen"),
    ],
)
def test_a_night_keeps_the_sentence_whole(tmp_path: Path, turn: str, line: str) -> None:
    with quiet_vault(tmp_path) as memory:
        memory.record_turn(session="tea", role="user", user="alice", text=turn, now=NOW)
        memory.sleep(scopes=["user:alice"], now=NOW + timedelta(days=1))
    notes = (tmp_path / "vault/Users/alice").rglob("*.md")
    kept = "\n".join(
        note.read_text(encoding="utf-8") for note in notes if "transcripts" not in note.parts
    )

    assert line in kept
