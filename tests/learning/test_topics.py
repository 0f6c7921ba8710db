"""Each memory has a topic, by which a search can ask for it."""

import json

from tests.every import every
from tests.models.scripted import Asked, ScriptedModel, Sent, completion, learned
from vault_memory.models.llm.phrase_rules import topic_of

NOTE = "Users/mira/memories/2026-05-25.md"
SAID = {
    "work": (
        "My boss moved the meeting to Friday",
        "Mein Chef hat die Besprechung verschoben",
        "Mi jefa movió la reunión al viernes",
        "Mon chef a déplacé la réunion",
        "Начальник перенёс совещание на пятницу",
        "老板把会议改到周五",
    ),
    "tech": (
        "The database runs on a linux server",
        "Die Datenbank läuft auf einem Linux-Server",
        "El servidor linux tiene el código",
        "Le serveur linux a le code",
        "Сервер работает на linux",
        "数据库在服务器上",
    ),
    "personal": (
        "My daughter's birthday is in May",
        "Meine Tochter hat im Mai Geburtstag",
        "El cumpleaños de mi hija es en mayo",
        "L'anniversaire de ma fille est en mai",
        "День рождения дочери в мае",
        "女儿的生日在五月",
    ),
    "finance": (
        "I pay the mortgage and the taxes in June",
        "Die Hypothek und die Steuern bezahle ich im Juni",
        "La hipoteca y los impuestos son en junio",
        "L'hypothèque et les impôts sont en juin",
        "Ипотека и налоги в июне",
        "六月要付房租和保险",
    ),
    "admin": (
        "The passport application has to be renewed",
        "Der Antrag für den Reisepass muss verlängert werden",
        "La solicitud del pasaporte hay que renovarla",
        "Le formulaire du passeport est à renouveler",
        "Заявление на паспорт надо подать",
        "护照申请要交表格",
    ),
    "learning": (
        "The exam of my course is in June",
        "Die Prüfung im Kurs ist im Juni",
        "El examen del curso es en junio",
        "L'examen à l'université est en juin",
        "Экзамен в университете в июне",
        "六月有课程考试",
    ),
    "meta": (
        "The assistant's answers should be bullets",
        "Der Assistent soll Antworten in Stichpunkten geben",
        "El asistente da un resumen con viñetas",
        "L'assistant écrit ses réponses sans emoji",
        "Ассистент пишет ответы без эмодзи",
        "助手的回答不要表情",
    ),
}


@every("topic", SAID)
def test_words_of_six_languages_tell_the_topic(topic: str) -> None:
    assert [topic_of(text) for text in SAID[topic]] == [topic] * 6


@every("text", ["", "The key is under the pot", "钥匙", "42"])
def test_words_of_no_list_have_no_topic(text: str) -> None:
    assert topic_of(text) == ""


def topics(bedroom) -> list[str]:
    lines = bedroom.text(NOTE).splitlines()
    return [
        line.rpartition("topic:")[2].rstrip(")") if "topic:" in line else ""
        for line in lines
        if line.startswith("- ")
    ]


def test_phrases_give_a_memory_the_topic_of_its_words(bedroom):
    bedroom.say("I have an appointment with the council on 3 June.")
    bedroom.say("Ich habe am 4. Juni eine Prüfung im Kurs.", at="18:01")

    bedroom.sleep()

    assert "topic:admin" in bedroom.text(NOTE)


def answered(bedroom, named: dict[str, str]) -> None:
    """A night in which a model names a topic for the turns that have a word."""

    def answers(asked: Asked) -> Sent:
        said = learned(asked)
        for memory in said.get("memories", ()):
            words = memory["text"].split()
            memory["topic"] = next((named[word] for word in words if word in named), "")
        return Sent(200, completion(json.dumps(said)))

    with ScriptedModel(answers) as model:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small")
        bedroom.sleep()
    assert "`topic`: one of work, tech, personal" in model.asked[0].system


def test_a_model_names_the_topic_and_others_get_the_most_frequent(bedroom):
    bedroom.seen.write(NOTE, "## Learned\n\n- The mast is stepped (topic:learning)\n")
    bedroom.say("The keel is laid.")
    bedroom.say("The mast is varnished.", at="18:01")
    bedroom.say("The rudder is hung.", at="18:02")
    bedroom.say("The hull is caulked.", at="18:03")

    answered(bedroom, {"keel": "work", "mast": "learning"})

    assert topics(bedroom) == ["learning", "work", "learning", "learning", "learning"]


def test_a_search_finds_lines_by_their_topic(bedroom):
    bedroom.say("I have an appointment with the council on 3 June.")
    bedroom.sleep()

    ask = ("search", "council", "--archived", "--user", "mira", "--topic")
    found = bedroom.seen.ok(*ask, "admin")
    other = bedroom.seen.ok(*ask, "tech")

    assert NOTE in [hit["note"] for hit in found["hits"]]
    assert NOTE not in [hit["note"] for hit in other["hits"]]
