"""What a person plainly says is in the block of the next conversation, however it is worded."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.context.test_context import opened

NOW = datetime(2026, 5, 26, 12, tzinfo=UTC)
ANN = "user:ann"
FACTS = "Users/ann/FACTS.md"

SAID = {
    "en": {
        "No aspirin please: I am allergic to penicillin and latex": "penicillin",
        "Careful, I'm deathly allergic to walnuts": "walnuts",
        "I've got a peanut allergy": "peanut",
        "We've just moved to Tromsø!": "lives_in: Tromsø",
        "I have only just moved to Tromsø": "lives_in: Tromsø",
        "I'm moving to Aarhus next month": "moving to Aarhus",
        "Note to self: the boat key hangs behind the clock": "behind the clock",
        "For future reference, the boat key hangs behind the clock": "the clock",
        "Reminder: the boat key hangs behind the clock": "behind the clock",
        "A quick reminder: I am allergic to walnuts": "walnuts",
        "FYI: the boat key hangs behind the clock": "behind the clock",
        "Always use metric units, ok?": "metric units",
        "Never use emoji, all right?": "Never use emoji",
        "Can you always use metric units please?": "metric units",
        "Could you please never use emoji": "never use emoji",
    },
    "de": {
        "Kein Aspirin bitte: ich bin gegen Penicillin allergisch": "Penicillin",
        "Ich habe eine Erdnussallergie": "Erdnussallergie",
        "Wir sind gerade erst nach Husum gezogen": "lives_in: Husum",
        "Wir ziehen nächsten Monat nach Husum": "nach Husum",
        "Notiz an mich: der Bootsschlüssel hängt hinter der Uhr": "hinter der Uhr",
        "Für die Zukunft: der Bootsschlüssel hängt hinter der Uhr": "der Uhr",
        "Erinnerung: der Bootsschlüssel hängt hinter der Uhr": "der Uhr",
        "Zur Erinnerung: der Bootsschlüssel hängt hinter der Uhr": "der Uhr",
        "Zur Info: der Bootsschlüssel hängt hinter der Uhr": "der Uhr",
        "Nie Emojis verwenden, klar?": "Nie Emojis",
        "Benutze immer metrische Einheiten, ok?": "metrische Einheiten",
        "Kannst du bitte immer metrische Einheiten verwenden?": "metrische Einheiten",
    },
    "es": {
        "Sin aspirina, por favor: soy alérgica a la penicilina": "penicilina",
        "Acabamos de mudarnos a Vigo": "lives_in: Vigo",
        "Me mudo a Vigo el mes que viene": "Me mudo a Vigo",
        "Nota para mí: la llave del barco está detrás del reloj": "detrás del reloj",
        "Recordatorio: la llave del barco está detrás del reloj": "detrás del reloj",
        "Para tu información, la llave del barco está detrás del reloj": "del reloj",
        "Usa siempre unidades métricas, ¿vale?": "unidades métricas",
        "¿Puedes usar siempre unidades métricas?": "unidades métricas",
    },
    "fr": {
        "Pas d'aspirine : je suis allergique à la pénicilline": "pénicilline",
        "On vient d'emménager à Brest": "lives_in: Brest",
        "J'habite aux Sables": "lives_in: Sables",
        "Nous venons de déménager à Brest": "lives_in: Brest",
        "Je déménage à Lyon le mois prochain": "déménage à Lyon",
        "N'utilise jamais d'emoji": "jamais d'emoji",
        "Note à moi-même : la clé du bateau est derrière l'horloge": "l'horloge",
        "Rappel : la clé du bateau est derrière l'horloge": "l'horloge",
        "Pour rappel, la clé du bateau est derrière l'horloge": "l'horloge",
        "Pour info : la clé du bateau est derrière l'horloge": "l'horloge",
        "Utilise toujours le système métrique, d'accord ?": "système métrique",
        "Peux-tu toujours utiliser le système métrique ?": "système métrique",
    },
    "ru": {
        "Без аспирина, пожалуйста: у меня аллергия на пенициллин": "пенициллин",
        "Мы только что переехали в Тверь": "lives_in: Тверь",
        "Мы переезжаем в Казань в следующем месяце": "в Казань",
        "Заметка для себя: ключ от лодки за часами": "ключ от лодки",
        "Напоминание: ключ от лодки за часами": "ключ от лодки",
        "Напоминаю, что ключ от лодки за часами": "ключ от лодки",
        "К сведению: ключ от лодки за часами": "ключ от лодки",
        "Всегда используй метрические единицы, хорошо?": "метрические единицы",
        "Можешь всегда использовать метрические единицы?": "метрические единицы",
    },
    "zh": {
        "不要阿司匹林：我对青霉素过敏": "青霉素",
        "我们刚搬到大连": "lives_in: 大连",
        "我下个月搬到大连": "大连",
        "备忘：船的钥匙在钟后面": "钟后面",
        "提醒：船的钥匙在钟后面": "钟后面",
        "供参考：船的钥匙在钟后面": "钟后面",
        "请一直用公制单位，好吗？": "公制单位",
        "你能一直用公制单位吗？": "公制单位",
    },
}
NOT_MEANT = (
    "Reminder emails are annoying",
    "The reminder: what does it say?",
    "Can you always see the sea from there?",
    "We live in Bern, right?",
    "Do you always use metric units?",
    "Would you always trust him?",
    "No idea, ask Bo: he lives in Rome",
    "My sister: I am allergic to nuts",
    "I might be moving to Aarhus next month",
    "If I get the job I'm moving to Aarhus next month",
    "Note this text: I live in Oslo",
    "Wir wohnen in Bern, richtig?",
    "Kannst du immer das Meer sehen?",
    "你住在北京吗？",
)
MOVING = {
    "I'm moving to Aarhus next month": "I live in Oslo",
    "Wir ziehen nächsten Monat nach Husum": "Wir wohnen in Oslo",
    "Je déménage à Lyon le mois prochain": "J'habite à Oslo",
    "Me mudo a Vigo el mes que viene": "Vivo en Oslo",
    "Мы переезжаем в Казань в следующем месяце": "Я живу в Oslo",
    "我下个月搬到大连": "我住在Oslo",
}
"""A plan to move, and where the person lives until then"""


def block_after(root: Path, *turns: str) -> str:
    """The block of the conversation after one that was killed."""
    root.mkdir()
    with opened(root, {"Notes/boat.md": "# Boat\n"}) as memory:
        for number, text in enumerate(turns):
            memory.record_turn(
                session="first",
                role="user",
                user="ann",
                text=text,
                now=NOW + timedelta(minutes=number),
            )
        later = NOW + timedelta(minutes=30)
        block = memory.context("hello", scopes=[ANN], session="next", now=later)
        return block.text


@pytest.mark.sampled
@pytest.mark.parametrize("language", sorted(SAID))
def test_the_next_conversation_knows_what_was_plainly_said(tmp_path: Path, language: str) -> None:
    missing = [
        text
        for number, (text, words) in enumerate(SAID[language].items())
        if words not in block_after(tmp_path / str(number), text)
    ]

    assert missing == []


@pytest.mark.sampled
def test_what_nobody_asked_for_is_in_no_block(tmp_path: Path) -> None:
    kept = [
        text
        for number, text in enumerate(NOT_MEANT)
        if 'kind="' in block_after(tmp_path / str(number), text)
    ]

    assert kept == []


@pytest.mark.sampled
def test_a_plan_to_move_does_not_end_the_home_before_its_time(tmp_path: Path) -> None:
    for number, (plan, home) in enumerate(MOVING.items()):
        block = block_after(tmp_path / str(number), home, plan)

        assert "lives_in: Oslo" in block, plan
        assert "until" not in block, plan
