"""What recall puts into a prompt: notes first, of the bot one answer with its question, and nothing else."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.context.test_context import opened
from tests.learning.turns.measuring import LANGUAGES, turns_of
from vault_memory import VaultMemory
from vault_memory.context.blocks import ContextBlock

NOW = datetime(2026, 5, 26, 12, tzinfo=UTC)
ANN = "user:ann"
SAMPLE = Path(__file__).parents[2] / "sample_vault"


def recalled(block: ContextBlock) -> list[str]:
    """The recalled lines of a block, each with its label."""
    quotations = block.text.split('<vault-memory kind="recalled">')[1:]
    quoted = [text.partition("</vault-memory>")[0] for text in quotations]
    lines = [line for text in quoted for line in text.splitlines()]
    return [line for line in lines if line.startswith("[")]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    notes = {
        "Users/ann/memories/harbour.md": "# Harbour\n\n"
        "- The harbour office closes at four on Fridays\n"
        "- The crane is painted yellow\n",
        "Users/ann/memories/dog.md": "# Dog\n\n- Rex sleeps in the boat shed\n",
    }
    with opened(tmp_path, notes) as vault:
        yield vault


def talk(memory: VaultMemory, number: int, *turns: str) -> None:
    """Records a conversation in which the person and the bot take turns."""
    at = NOW - timedelta(days=10 - number)
    for count, text in enumerate(turns):
        memory.record_turn(
            session=f"talk {number}",
            role="assistant" if count % 2 else "user",
            user="ann",
            text=text,
            now=at + timedelta(minutes=count),
        )


QUESTIONS = {
    "en": (
        "when does the harbour office close on Fridays?",
        "Let me look into that.",
        "Find out when the harbour office closes on Fridays",
        "I will check the harbour office for Fridays.",
        "tell me about the harbour office and Fridays",
        "One moment, the harbour office on Fridays.",
    ),
    "de": (
        "wann macht das harbour office am Fridays zu?",
        "Ich schaue beim harbour office für Fridays nach.",
        "Prüf das harbour office am Fridays",
        "Einen Moment, harbour office, Fridays.",
        "sag mir etwas zum harbour office an Fridays",
        "Lass mich das harbour office kurz prüfen.",
    ),
    "es": (
        "¿cuándo cierra el harbour office los Fridays?",
        "Voy a revisar el harbour office de los Fridays.",
        "Dime cuándo cierra el harbour office los Fridays",
        "Un momento, harbour office, Fridays.",
        "muéstrame el harbour office de Fridays",
        "Déjame ver el harbour office.",
    ),
    "fr": (
        "quand ferme le harbour office les Fridays ?",
        "Je vais vérifier le harbour office.",
        "Explique le harbour office des Fridays",
        "Un instant, harbour office, Fridays.",
        "montre-moi le harbour office des Fridays",
        "Laissez-moi regarder le harbour office.",
    ),
    "ru": (
        "когда закрывается harbour office, Fridays?",
        "Сейчас посмотрю harbour office, Fridays.",
        "Расскажи про harbour office, Fridays",
        "Минутку, harbour office.",
        "найди harbour office, Fridays",
        "Сейчас проверю harbour office.",
    ),
    "zh": (
        "harbour office Fridays 什么时候关门？",
        "让我查一下 harbour office。",
        "帮我查 harbour office Fridays",
        "稍等，harbour office。",
        "告诉我 harbour office Fridays",
        "我查一下 harbour office Fridays。",
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("language", sorted(QUESTIONS))
def test_the_eighth_question_on_a_topic_has_the_note_and_none_of_the_phrases(
    memory: VaultMemory, language: str
) -> None:
    for number in range(7):
        talk(memory, number, *QUESTIONS[language])

    block = memory.context(
        "what time does the harbour office close on Fridays?", scopes=[ANN], now=NOW, automatic=True
    )

    [line] = recalled(block)
    assert "closes at four" in line


@pytest.mark.parametrize(
    "question",
    [
        "whats the closing time of the harbour office on Fridays",
        "could you look up when the harbour office closes on Fridays",
        "is the harbour office closed on Fridays",
        "kannst du sagen wann das harbour office Fridays closes",
        "peux-tu me dire quand ferme le harbour office Fridays closes",
        "puedes decirme cuándo closes harbour office Fridays",
    ],
)
def test_the_eighth_question_without_a_mark_has_the_note(
    memory: VaultMemory, question: str
) -> None:
    for number in range(7):
        talk(memory, number, question, "Sorry, I do not know that.")

    block = memory.context(question, scopes=[ANN], now=NOW, automatic=True)

    [line] = recalled(block)
    assert "closes at four" in line


WISHES = {
    "en": (
        "I need the harbour office, Fridays",
        "gimme the harbour office for Fridays",
        "Show me the harbour office on Fridays",
        "please, I'd like the harbour office for Fridays",
        "looking for the harbour office on Fridays",
        "lemme see the harbour office on Fridays",
    ),
    "de": (
        "Ich brauche das harbour office am Fridays",
        "ich hätte gern das harbour office am Fridays",
        "bräuchte mal das harbour office, Fridays",
    ),
    "es": (
        "Necesito el harbour office de los Fridays",
        "quisiera el harbour office, Fridays",
        "me hace falta el harbour office de Fridays",
    ),
    "fr": (
        "je voudrais le harbour office des Fridays",
        "J'ai besoin du harbour office, Fridays",
        "il me faut le harbour office des Fridays",
    ),
    "ru": (
        "мне нужен harbour office, Fridays",
        "хочу узнать harbour office, Fridays",
        "Ищу harbour office Fridays",
    ),
    "zh": (
        "我需要harbour office Fridays",
        "我想知道 harbour office Fridays",
        "给我harbour office Fridays",
    ),
}
SERVICE = {
    "en": (
        "Great question about the harbour office on Fridays!",
        "I'd be happy to help with the harbour office.",
        "On it — checking the harbour office for Fridays.",
        "Done! I have updated the harbour office for Fridays.",
        "Sure, the harbour office. Anything else you need?",
        "Got it, the harbour office on Fridays.",
    ),
    "de": (
        "Gute Frage zum harbour office am Fridays!",
        "Gern helfe ich dir mit dem harbour office.",
        "Erledigt! Ich habe das harbour office am Fridays aktualisiert.",
        "Ich kümmere mich sofort um das harbour office.",
    ),
    "es": (
        "¡Buena pregunta sobre el harbour office de Fridays!",
        "Con mucho gusto te ayudo con el harbour office.",
        "¡Hecho! He actualizado el harbour office de Fridays.",
    ),
    "fr": (
        "Bonne question sur le harbour office des Fridays !",
        "Je serais ravi de vous aider avec le harbour office.",
        "C'est fait ! J'ai mis à jour le harbour office des Fridays.",
    ),
    "ru": (
        "Отличный вопрос про harbour office, Fridays!",
        "С удовольствием помогу с harbour office.",
        "Готово! Я обновил harbour office, Fridays.",
    ),
    "zh": (
        "关于harbour office Fridays，这是个好问题！",
        "我很乐意帮您处理harbour office。",
        "完成了！我已经更新了harbour office Fridays。",
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("language", sorted(WISHES))
def test_the_eighth_request_that_looks_like_a_statement_has_the_note(
    memory: VaultMemory, language: str
) -> None:
    for wish in WISHES[language]:
        for number in range(7):
            talk(memory, number, wish, SERVICE[language][number % 3])

        block = memory.context(wish, scopes=[ANN], now=NOW, automatic=True)

        [line] = recalled(block)
        assert "closes at four" in line


@pytest.mark.parametrize("language", sorted(SERVICE))
def test_no_phrase_of_service_is_recalled(memory: VaultMemory, language: str) -> None:
    question = QUESTIONS[language][0]
    for number, phrase in enumerate(SERVICE[language]):
        talk(memory, number, question, phrase)

    for prompt in (question, WISHES[language][0], "tell me of the harbour office"):
        block = memory.context(prompt, scopes=[ANN], now=NOW, automatic=True)

        assert all("harbour.md" in line for line in recalled(block)), prompt


def test_what_the_bot_answered_is_recalled_beside_a_phrase_of_service(memory: VaultMemory) -> None:
    talk(memory, 1, "Is the crane of Eutin safe?", "Yes, the crane of Eutin is safe.")
    talk(memory, 2, "Who has the lamp of Plön?", "Sure! The lamp of Plön has Ola.")
    talk(memory, 3, "Does Kiel have a sauna?", "Happy to help: Kiel has 3 of a sauna.")

    for prompt, answer in (
        ("is the crane of Eutin safe?", "Yes, the crane"),
        ("who has the lamp of Plön?", "has Ola"),
        ("does Kiel have a sauna?", "Kiel has 3"),
    ):
        lines = recalled(memory.context(prompt, scopes=[ANN], now=NOW))
        assert any(answer in line for line in lines), prompt


def test_what_a_person_needs_is_an_answer(memory: VaultMemory) -> None:
    talk(memory, 1, "I need insulin in the evening.")
    talk(memory, 2, "I want a red sauna.")

    needs = memory.context("what do I need in the evening?", scopes=[ANN], now=NOW)
    wants = memory.context("which sauna do I want?", scopes=[ANN], now=NOW)

    assert any("insulin" in line for line in recalled(needs))
    assert any("red sauna" in line for line in recalled(wants))


def test_notes_come_before_turns_however_often_those_have_the_words(memory: VaultMemory) -> None:
    for number in range(9):
        text = f"The harbour office closes, closes, closes on Fridays, Ola {number} said"
        talk(memory, number, text)

    block = memory.context(
        "when does the harbour office close on Fridays?", scopes=[ANN], now=NOW, automatic=True
    )

    lines = recalled(block)
    assert len(lines) == 5
    assert "closes at four" in lines[0]
    assert sum("Ola" in line for line in lines) == 4


def test_of_the_bot_one_answer_is_recalled_with_its_question_before_it(memory: VaultMemory) -> None:
    for number, place in enumerate(("Kiel", "Eutin", "Plön")):
        talk(
            memory,
            number,
            f"Where in {place} do they repair an accordion?",
            f"In {place} an accordion is repaired by the shop at the market.",
        )

    lines = recalled(memory.context("who can repair my accordion?", scopes=[ANN], now=NOW))

    assert len(lines) == 2
    assert "Where in" in lines[0]
    assert "ann (user)" in lines[0]
    assert "is repaired by the shop" in lines[1]


def test_an_answer_of_the_bot_without_a_word_of_the_prompt_is_left_out(memory: VaultMemory) -> None:
    talk(memory, 1, "Where do they repair an accordion?", "At the market, on the left.")

    block = memory.context("which shop can repair an old accordion?", scopes=[ANN], now=NOW)

    assert recalled(block) == []


def test_an_answer_of_a_person_is_recalled_although_the_question_has_the_words(
    memory: VaultMemory,
) -> None:
    talk(
        memory,
        1,
        "My accordion is broken, tell me what you need to know",
        "Which shop sold the accordion?",
        "Lind and Sons, beside the church.",
    )

    block = memory.context("which shop sold the accordion?", scopes=[ANN], now=NOW)

    assert any("Lind and Sons" in line for line in recalled(block))


def test_lines_beside_an_answer_are_left_out(memory: VaultMemory) -> None:
    block = memory.context("when does the harbour office close on Fridays?", scopes=[ANN], now=NOW)

    assert not any("crane" in line for line in recalled(block))


@pytest.mark.parametrize(
    "prompt",
    [
        "what should I cook tonight?",
        "I am tired tonight",
        "tonight",
        "was koche ich heute abend?",
        "qu'est-ce que je cuisine ce soir, aujourd'hui ?",
        "¿qué cocino hoy?",
        "что приготовить сегодня?",
        "今天做什么菜？",
    ],
)
def test_a_word_for_a_day_recalls_nothing_by_itself(memory: VaultMemory, prompt: str) -> None:
    talk(memory, 9, "tonight the parcel of Ola arrives at the pier")
    talk(memory, 10, "heute hoy aujourd'hui сегодня 今天 kommt Besuch aus Eutin")

    assert recalled(memory.context(prompt, scopes=[ANN], now=NOW)) == []


@pytest.mark.parametrize(
    "prompt",
    [
        "what happened on 2026-05-20?",
        "what did I do on 20 May?",
        "was ist am 20. Mai passiert?",
        "что случилось 20 мая?",
    ],
)
def test_a_question_for_all_of_a_day_recalls_that_day_alone(
    memory: VaultMemory, prompt: str
) -> None:
    talk(memory, 4, "the parcel of Ola arrived at the pier")
    talk(memory, 6, "the roof of the shed leaks")

    [line] = recalled(memory.context(prompt, scopes=[ANN], now=NOW))

    assert "parcel of Ola" in line


PROMPTS = {
    "when does the supply boat come?": ("boat", "supply", "thursday"),
    "where is the spare key of the lighthouse?": ("key", "lighthouse", "钥匙"),
    "what does Anneke do in June?": ("anneke",),
    "how much does the electricity cost?": ("electric", "power", "volt", "kilowatt"),
    "which lamps are on order?": ("lamp",),
    "is the slipway repaired?": ("slipway",),
    "what shall I cook for dinner?": ("cook", "dinner", "recipe", "meal"),
    "write a birthday card for my sister": ("birthday", "sister", "card"),
    "what do I pack for the mountains?": ("pack", "mountain"),
    "wo ist mein ersatzschlüssel?": ("schlüssel",),
    "welche nüsse vertrage ich nicht?": ("nüsse", "vertrage", "nuss", "allerg"),
    "¿dónde está la llave de repuesto?": ("llave", "repuesto"),
    "où est la clé de rechange ?": ("clé", "rechange"),
    "где запасной ключ?": ("ключ",),
    "备用钥匙在哪里？": ("钥匙", "备用"),
    "can you explain how a sextant works?": ("sextant",),
    "how do I get to the railway station?": ("railway", "station", "train"),
    "translate this letter into Swedish": ("letter", "swedish", "translat"),
}
"""Prompts, and words of which each line that has to do with them has one"""


@pytest.mark.sampled
def test_most_of_what_thirty_nights_recall_has_to_do_with_the_prompt(tmp_path: Path) -> None:
    notes = {
        note.relative_to(SAMPLE).as_posix(): note.read_text(encoding="utf-8")
        for note in SAMPLE.rglob("*.md")
    }
    turns = [turn for language in LANGUAGES for turn in turns_of(language)]
    with opened(tmp_path, notes) as memory:
        for night in range(30):
            at = NOW - timedelta(days=30 - night)
            for turn in turns[night::30]:
                for role, text in (("user", turn.text), ("assistant", "Of course!")):
                    memory.record_turn(
                        session=f"night {night}", role=role, user="mira", text=text, now=at
                    )
            memory.end_session(f"night {night}", user="mira", now=at)
        counts = {}
        for prompt, words in PROMPTS.items():
            block = memory.context(
                prompt, scopes=["user:mira", "group:main"], now=NOW, automatic=True
            )
            lines = [line.casefold() for line in recalled(block)]
            related = [line for line in lines if any(word in line for word in words)]
            counts[prompt] = (len(lines), len(lines) - len(related))

    total = sum(count for count, _ in counts.values())
    unrelated = sum(count for _, count in counts.values())
    assert total >= len(PROMPTS)
    assert unrelated <= 0.3 * total, counts
