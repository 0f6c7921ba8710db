"""A statement, a question, a repetition of the query and an empty answer are told apart."""

import pytest

from tests.every import every
from vault_memory.rules.conversations import statements
from vault_memory.rules.search import tokens

EMPTY = """
I don't know the gate code.
I’m sorry, I do not know.
Sorry, I have no information about that.
You haven't told me the gate code yet.
I couldn't find anything about a gate code.
There is nothing in your notes about the gate.
Das weiß ich leider nicht.
Ich weiß es nicht.
Keine Ahnung.
Dazu habe ich keine Informationen.
Je ne sais pas.
Je n'ai aucune information à ce sujet.
No lo sé.
No tengo información sobre eso.
Não sei.
Non lo so.
Ik weet het niet.
Geen idee.
Jag vet inte.
Nie wiem.
Я не знаю.
Я не знаю цього.
Bilmiyorum.
Tôi không biết.
Saya tidak tahu.
Nu știu.
Δεν ξέρω.
لا أعرف.
मुझे नहीं पता।
我不知道。
对不起，我不知道大门的密码。
わかりません。
申し訳ありませんが、わかりません。
모르겠습니다.
ไม่ทราบ
""".strip().splitlines()

TELLING = """
The gate code is 4711.
I don't know the code by heart, but it is on the red card.
Nobody knows the lake as Ann does.
You told me that the gate code is 4711.
I know the code: 4711.
There is a note: 4711.
Ich weiß, dass das Tor klemmt.
Je sais que le code est 4711.
Я знаю код: 4711.
我知道密码是4711。
コードは4711です。
""".strip().splitlines()


@every("text", EMPTY)
def test_an_empty_answer_of_the_bot_is_recognised_in_each_language(text: str) -> None:
    assert statements.empty_part(text, "assistant") == 1.0


@every("text", TELLING)
def test_an_informative_answer_is_not_empty(text: str) -> None:
    assert statements.empty_part(text, "assistant") == 0.0


@pytest.mark.parametrize(
    "text",
    ["I don't know how to swim.", "Ann has no idea of boats.", "Ich weiß nicht, wo Bo wohnt."],
)
def test_a_statement_about_not_knowing_something_is_not_an_empty_answer(text: str) -> None:
    assert statements.empty_part(text, "ann") == 0.0


@every("text", ["I don't know.", "No idea", "Keine Ahnung!", "我不知道。"])
def test_a_person_who_only_says_that_they_do_not_know_gives_an_empty_answer(text: str) -> None:
    assert statements.empty_part(text, "ann") == 1.0


def test_the_emptiness_of_an_answer_is_measured_by_its_sentences() -> None:
    part = statements.empty_part("I don't know the code. The boat lies at the quay.", "assistant")

    assert 0.3 < part < 0.6


PROMISES = """
Let me look into that.
I'll check the gate code.
Sure! One moment.
Ich schaue kurz nach.
Lass mich das kurz prüfen.
Un instant.
Je vais vérifier.
Déjame ver.
Voy a comprobar el código.
Сейчас посмотрю.
让我查一下。
稍等。
""".strip().splitlines()


@every("text", PROMISES)
def test_a_promise_to_look_is_an_empty_answer_of_the_bot(text: str) -> None:
    assert statements.tells_nothing(f"**assistant**: {text}", "assistant") or (
        statements.empty_part(text, "assistant") > 0.5
    )


@pytest.mark.parametrize(
    "text",
    [
        "Let me check: the gate code is 4711.",
        "I looked at the timetable. The boat leaves at nine.",
        "The look of the gate is fine.",
    ],
)
def test_a_promise_with_an_answer_is_not_empty(text: str) -> None:
    assert statements.empty_part(text, "assistant") < 1.0


ORDERS = """
Show me the timetable of the boat
please find a plumber in Kiel
Tell me about the harbour. Write it as a list.
Check the weather for Oslo
Book a table for two
Zeig mir den Fahrplan
Bitte übersetz das ins Englische
Buche einen Tisch für zwei
Montre-moi les horaires
Traduis cette lettre
Muéstrame el horario
Dime cuándo sale el barco
Покажи расписание
Пожалуйста, переведи письмо
帮我找一家餐馆
告诉我时间表
""".strip().splitlines()


@every("text", ORDERS)
def test_an_order_of_a_person_tells_nothing_and_the_same_of_the_bot_is_advice(text: str) -> None:
    assert statements.tells_nothing(f"**ann**: {text}", "ann")
    assert not statements.tells_nothing(f"**assistant**: {text}", "assistant")


@every(
    "text",
    [
        "Remember that the spare key is under the pot",
        "Note that the boat leaves at nine",
        "Merk dir, dass das Boot um neun fährt",
        "Find me a plumber. Mine has moved to Kiel.",
        "Book club is on Monday",
        "Mira vive en Lund",
        "Help came late",
        "The check is in the mail",
        "记住船九点开",
        "Could you remember that the spare key is under the pot",
        "can you always use metric units",
        "Kannst du dir merken dass das Boot um neun fährt",
        "peux-tu noter que le bateau part à neuf heures",
        "puedes recordar que el barco sale a las nueve",
        "Do the bins on Thursday",
        "Did the shopping on Friday",
        "Have the spare key ready",
    ],
)
def test_a_statement_is_no_order(text: str) -> None:
    assert not statements.tells_nothing(f"**ann**: {text}", "ann")


QUERY = "What is the gate code of the cottage?"


@every(
    "turn",
    [
        "What is the gate code of the cottage?",
        "what's the gate code",
        "**ann**: What is the gate code?",
        "- **ann**: The cottage: what is the code?",
        "gate code?",
        "whats the gate code of the cottage",
        "Can we have the gate code",
        "is there a gate code",
    ],
)
def test_a_turn_with_the_same_question_repeats_the_query(turn: str) -> None:
    assert statements.repeats(turn, frozenset(tokens.words(QUERY)))


@every(
    "turn",
    [
        "The gate code of the cottage.",
        "the gate code is 4711",
        "What is the gate code of the boathouse? It was 4711.",
        "Where does Bo sleep?",
        "The gate has a code, is what I know",
        "Do not change the gate code",
        "Will has the gate code",
        "Have the gate code at the cottage",
        "did the gate code of the cottage",
        "Is the gate code 4711?",
        "",
    ],
)
def test_a_turn_with_other_content_does_not_repeat_the_query(turn: str) -> None:
    assert not statements.repeats(turn, frozenset(tokens.words(QUERY)))
