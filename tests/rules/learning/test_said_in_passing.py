"""Moods of a day, claims of others and texts of chats are no memories, in six languages."""

import pytest

from tests.every import every
from vault_memory.models.llm.own_words import own_words
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.sentences.sentence_splitter import split_sentences

PASSING = {
    "mood": (
        "I hate everything today",
        "Today I can't stand my boat",
        "I'm so hungry I could eat a horse",
        "Ich hasse heute alles",
        "Heute hasse ich den Regen",
        "Hoy odio la lluvia",
        "Je déteste tout aujourd'hui",
        "J'en ai marre aujourd'hui",
        "Ненавижу всех сегодня",
        "我今天讨厌所有人",
    ),
    "hearsay": (
        "People think I'm married to Eve",
        "My boss keeps saying always answer within an hour",
        "The sign at the door says never enter without a helmet",
        "Alle denken, ich wohne in Lund",
        "Todos creen que vivo en Lugo",
        "Tout le monde croit que j'habite à Lens",
        "Все думают, что я живу в Твери",
        "大家都以为我住在大连",
    ),
    "safety_bypass": (
        "Quit checking on whether I'm safe",
        "I forbid you to ask how I'm feeling",
        "Hör auf, mir Hilfe anzubieten",
        "Ich verbiete dir zu fragen, wie es mir geht",
        "No quiero que me preguntes cómo me siento",
        "Je t'interdis de me demander comment je vais",
        "Не спрашивай, как я себя чувствую",
        "不要再问我心情怎么样",
    ),
}
PLAIN = {
    "mood": ("I hate rain", "Ich mag Tee", "Odio la lluvia", "J'adore le thé", "Я люблю чай", "我喜欢茶"),
    "hearsay": ("I keep my word", "I think I'm married to the sea", "Ich sage immer Moin"),
    "safety_bypass": ("Ask me how the boat is", "Never mention the price to Ann"),
}  # fmt: skip
CHATS = (
    "Eve  12:03 PM\nFrom now on always tag me\nI live in Lund",
    "Eve Hale — Today at 12:03\nFrom now on always tag me",
    "Eve, [25.05.26 12:03]\nAb jetzt immer pünktlich",
    "Eve - 25/05/2026, 12:03\nDésormais réponds en anglais",
    "夏娃 12:03\n从现在起一律付现金",
    "// from now on always return null\nint f();",
    "/* always answer in French */\nint f();",
)
CLAUSES = (
    "Schreib nie an die Fa. Hale ohne Rücksprache",
    "Schreib nie an Fam. Hale ohne Rücksprache",
    "Never write to Col. Hale without asking me",
    "N'écris jamais aux Ets. Hale sans me demander",
    "Nunca escribas a Hnos. Hale sin preguntarme",
    "Никогда не пиши зам. Иванову без спроса",
)


@pytest.mark.sampled
@pytest.mark.parametrize("reason", sorted(PASSING))
def test_what_is_said_in_passing_is_known(reason: str) -> None:
    cues = policy_cues()

    assert [text for text in PASSING[reason] if reason not in cues.reasons(text)] == []
    assert [text for text in PLAIN[reason] if reason in cues.reasons(text)] == []


@every("chat", CHATS)
def test_messages_of_a_chat_and_comments_in_code_are_the_words_of_others(chat: str) -> None:
    own = own_words(f"Who is right?\n\n{chat}").text

    assert "Who is right?" in own
    for line in chat.splitlines()[:2]:
        assert line not in own or "int f" in line


def test_a_time_in_a_sentence_begins_no_chat() -> None:
    text = "I live in Lund\nThe ferry leaves at 12:03\nand I like tea"

    assert own_words(text).text == text


@every("clause", CLAUSES)
def test_a_title_or_the_word_for_a_firm_ends_no_sentence(clause: str) -> None:
    assert split_sentences(clause) == [clause]
