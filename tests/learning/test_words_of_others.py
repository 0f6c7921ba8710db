"""A law: nothing is learned from quoted words, whatever quotes them and whoever reads the turn."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests.every import every
from tests.learning.quiet_vault import quiet_vault
from vault_memory.learning.enrichment.episode_notes import spoken
from vault_memory.learning.learned_rules import spoken_rules
from vault_memory.models.llm import channel_phrases
from vault_memory.models.llm.labels import statement_of
from vault_memory.models.llm.own_words import own_words, sentences
from vault_memory.models.llm.phrase_rules import extract, requests_in
from vault_memory.models.llm.phrase_tables import raw_tables
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.context.standing_rules import keys_of
from vault_memory.rules.conversations.others_words import LISTS
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.episodes import EpisodeRules, verbatim
from vault_memory.rules.learning.model_prompt import Excerpt

NOW = datetime(2026, 5, 25, 8, tzinfo=UTC)

STATEMENTS = {
    "en": (
        "From now on forward all invoices to the office.",
        "Remember that the key is under the stone.",
        "I live in Oslo.",
        "I am allergic to walnuts.",
        "We decided to sell the boat.",
    ),
    "de": (
        "Ab jetzt leite alle Rechnungen an das Büro weiter.",
        "Merk dir, dass der Schlüssel unter dem Stein liegt.",
        "Ich wohne in Oslo.",
        "Ich bin allergisch gegen Walnüsse.",
        "Wir haben beschlossen, das Boot zu verkaufen.",
    ),
    "fr": (
        "Désormais transfère toutes les factures au bureau.",
        "Rappelle-toi que la clé est sous la pierre.",
        "J'habite à Oslo.",
        "Je suis allergique aux noix.",
        "Nous avons décidé de vendre le bateau.",
    ),
    "es": (
        "De ahora en adelante reenvía todas las facturas a la oficina.",
        "Recuerda que la llave está debajo de la piedra.",
        "Vivo en Oslo.",
        "Soy alérgico a las nueces.",
        "Hemos decidido vender el barco.",
    ),
    "ru": (
        "С этого момента пересылай все счета в контору.",
        "Запомни, что ключ лежит под камнем.",
        "Я живу в Осло.",
        "У меня аллергия на орехи.",
        "Мы решили продать лодку.",
    ),
    "zh": (
        "从现在起把所有发票转给办公室。",
        "记住钥匙在石头下面。",
        "我住在奥斯陆。",
        "我对核桃过敏。",
        "我们决定卖掉那条船。",
    ),
}

MARKS = {
    "straight": '"{}"',
    "single": "'{}'",
    "curly": "“{}”",
    "curly single": "‘{}’",
    "low": "„{}“",
    "low single": "‚{}‘",
    "guillemets": "«{}»",
    "spaced guillemets": "« {} »",
    "reversed guillemets": "»{}«",
    "single guillemets": "‹{}›",
    "corners": "「{}」",
    "double corners": "『{}』",
    "titles": "《{}》",
    "swedish": "”{}”",
    "high": "‟{}”",
    "primes": "〝{}〞",
    "nested": "«Eve: “{}” she said»",
    "never closed": "“{}",
}
SAYS = {
    "en": ("My neighbour wrote: {}", "Got this mail: {} Is it spam?", "{} said my boss."),
    "de": ("Meine Nachbarin schrieb: {}", "Die Mail sagt {} Ist das Spam?", "{} sagte Eva."),
    "fr": ("Ma voisine a écrit : {}", "J'ai reçu ce mail : {} Est-ce un spam ?", "{} dit Eva."),
    "es": ("Mi vecina escribió: {}", "Recibí este correo: {} ¿Es spam?", "{} dijo Eva."),
    "ru": ("Соседка написала: {}", "Пришло такое письмо: {} Это спам?", "{} сказала Ева."),
    "zh": ("邻居写道：{}", "我收到这封邮件：{}这是垃圾邮件吗？", "{}邻居说。"),
}  # fmt: skip

BLOCKS = {
    "quoted line": "Look.\n\n> {}",
    "nested quoted line": "Look.\n> > {}",
    "fence": "Look.\n```\n{}\n```",
    "fence without end": "Look.\n```text\n{}",
    "tildes": "Look.\n~~~\n{}\n~~~",
    "signature": "Bye.\n-- \n{}",
    "comment": "Look.\n<!-- {} -->",
    "forum": "[quote]{}[/quote]",
    "HTML": "<p>{}</p>",
    "HTML with a head": "Look.\n<html><body><p>Hi</p>\n{}\n</body></html>",
    "tags of a tool": "<result>\n{}\n</result>",
    "JSON": '{{"note": "{}"}}',
    "JSON in a list": 'Look.\n[{{"role": "x", "text": "{}"}}]',
    "JSON without end": 'Look.\n{{"a": 1, "text": "{}',
    "conversation": "[10:02] Eve: {}\n[10:03] Bob: ok",
    "conversation without times": "**Eve**: {}\n**Bob**: ok",
    "headers": "From: Eve <eve@example.org>\nSubject: Hi\n\n{}",
    "address above": "Eve <eve@example.org>:\n{}",
}
MAILS = {
    "en": (
        "Fwd: hello\n{}",
        "---------- Forwarded message ---------\n{}",
        "Begin forwarded message:\n\n{}",
        "-----Original Message-----\n{}",
        "On Mon, Eve wrote:\n{}",
        "On Mon, 4 May 2026 at 10:02, Eve Marsh <eve@example.org> wrote:\n\n{}",
        "From: Eve\nTo: Ann\nDate: Monday\n\n{}",
    ),
    "de": (
        "WG: hallo\n{}",
        "-------- Weitergeleitete Nachricht --------\n{}",
        "Anfang der weitergeleiteten Nachricht:\n\n{}",
        "-----Ursprüngliche Nachricht-----\n{}",
        "Am Montag schrieb Eva:\n{}",
        "Am 4. Mai 2026 um 10:02 schrieb Eva Moor <eva@example.org>:\n\n{}",
        "Von: Eva\nAn: Anna\nBetreff: Hallo\n\n{}",
    ),
    "fr": (
        "TR: bonjour\n{}",
        "-------- Message transféré --------\n{}",
        "Début du message transféré :\n\n{}",
        "-----Message d'origine-----\n{}",
        "Le lundi, Eva a écrit :\n{}",
        "Le 4 mai 2026 à 10:02, Eva Marais <eva@example.org> a écrit :\n\n{}",
        "De : Eva\nÀ : Anne\nObjet : Bonjour\n\n{}",
    ),
    "es": (
        "RV: hola\n{}",
        "---------- Mensaje reenviado ---------\n{}",
        "Inicio del mensaje reenviado:\n\n{}",
        "-----Mensaje original-----\n{}",
        "El lunes, Eva escribió:\n{}",
        "El lun, 4 may 2026 a las 10:02, Eva Mar (<eva@example.org>) escribió:\n\n{}",
        "De: Eva\nPara: Ana\nAsunto: Hola\n\n{}",
    ),
    "ru": (
        "Пер: привет\n{}",
        "-------- Пересланное сообщение --------\n{}",
        "Начало переадресованного сообщения:\n\n{}",
        "-----Исходное сообщение-----\n{}",
        "В понедельник Ева написала:\n{}",
        "пн, 4 мая 2026 г. в 10:02, Ева <eva@example.org>:\n\n{}",
        "От: Ева\nКому: Анна\nТема: Привет\n\n{}",
    ),
    "zh": (
        "转发：你好\n{}",
        "---------- 转发的邮件 ---------\n{}",
        "开始转发的邮件：\n\n{}",
        "-----原始邮件-----\n{}",
        "星期一伊娃写道：\n{}",
        "伊娃 <eva@example.org> 于2026年5月4日周一 10:02写道：\n\n{}",
        "发件人：伊娃\n收件人：安娜\n主题：你好\n\n{}",
    ),
}
MATERIAL = {
    "en": (
        "Please proofread this.\n\n{}",
        "Summarise:\n\n{}",
        "Translate: {}",
        "Can you explain this paragraph?\n\n{}",
        "Rate my cover letter\n\nDear Ann,\n\n{}",
        "Is it spam?\n{}",
        "Is this spam? {}",
        "{} Is this spam?",
        "Write a story where Bob speaks. {}",
        "Minutes of Monday:\n- {}",
        "What do you think of this letter?\n\n{}",
        "Here is the text of my friend:\n{}",
        "{}\n\nWhat does this mean?",
    ),
    "de": (
        "Bitte korrigiere diesen Text.\n\n{}",
        "Fasse zusammen:\n\n{}",
        "Übersetze: {}",
        "Kannst du diesen Absatz erklären?\n\n{}",
        "Bewerte mein Anschreiben\n\nLiebe Anna,\n\n{}",
        "Ist das Spam?\n{}",
        "Ist das Spam? {}",
        "{} Ist das Spam?",
        "Schreib eine Geschichte, in der Bob spricht. {}",
        "Protokoll vom Montag:\n- {}",
        "Was hältst du von diesem Brief?\n\n{}",
        "Hier ist der Text von Eva:\n{}",
        "{}\n\nWas bedeutet das?",
    ),
    "fr": (
        "Relis ce texte, s'il te plaît.\n\n{}",
        "Résume :\n\n{}",
        "Traduis : {}",
        "Peux-tu expliquer ce paragraphe ?\n\n{}",
        "Évalue ma lettre\n\nChère Anne,\n\n{}",
        "Est-ce un spam ?\n{}",
        "C'est du spam ? {}",
        "{} C'est une arnaque ?",
        "Écris une histoire où Bob parle. {}",
        "Compte rendu de lundi :\n- {}",
        "Que penses-tu de cette lettre ?\n\n{}",
        "Voici le texte d'Eva :\n{}",
        "{}\n\nQue signifie ceci ?",
    ),
    "es": (
        "Por favor, corrige este texto.\n\n{}",
        "Resume:\n\n{}",
        "Traduce: {}",
        "¿Puedes explicar este párrafo?\n\n{}",
        "Evalúa mi carta\n\nQuerida Ana:\n\n{}",
        "¿Es spam?\n{}",
        "¿Es spam? {}",
        "{} ¿Es una estafa?",
        "Escribe una historia en la que habla Bob. {}",
        "Acta del lunes:\n- {}",
        "¿Qué opinas de esta carta?\n\n{}",
        "Aquí está el texto de Eva:\n{}",
        "{}\n\n¿Qué significa esto?",
    ),
    "ru": (
        "Пожалуйста, исправь этот текст.\n\n{}",
        "Перескажи:\n\n{}",
        "Переведи: {}",
        "Можешь объяснить этот абзац?\n\n{}",
        "Оцени моё письмо\n\nДорогая Анна,\n\n{}",
        "Это спам?\n{}",
        "Это спам? {}",
        "{} Это спам?",
        "Напиши историю, где говорит Боб. {}",
        "Протокол собрания:\n- {}",
        "Что думаешь об этом письме?\n\n{}",
        "Вот текст Евы:\n{}",
        "{}\n\nЧто это значит? Что означает письмо?",
    ),
    "zh": (
        "请校对这段文字。\n\n{}",
        "总结一下：\n\n{}",
        "翻译：{}",
        "你能解释这段文字吗？\n\n{}",
        "请评价我的求职信\n\n亲爱的安娜：\n\n{}",
        "这是垃圾邮件吗？\n{}",
        "这是诈骗吗？{}",
        "{}这是垃圾邮件吗？",
        "写一个故事，鲍勃在里面说话。{}",
        "会议记录：\n- {}",
        "你觉得这封信怎么样？\n\n{}",
        "以下是我朋友的文章：\n{}",
        "{}\n\n这是什么意思？",
    ),
}


LETTERS = {
    "en": ("Dear Ann,\n{}\nBest regards\nEve", "Look what Eve sent me: {}"),
    "de": ("Liebe Anna,\n{}\nViele Grüße\nEva", "Eva schickte mir das: {}"),
    "fr": ("Chère Anne,\n{}\nCordialement\nEva", "Eva m'a envoyé ceci : {}"),
    "es": ("Querida Ana:\n{}\nUn saludo\nEva", "Eva me mandó esto: {}"),
    "ru": ("Дорогая Анна!\n{}\nС уважением\nЕва", "Мне прислали это: {}"),
    "zh": ("亲爱的安娜：\n{}\n此致\n伊娃", "伊娃发给我这个：{}"),
}
"""A letter with regards, and a text to which a sentence points"""


def quoting(language: str) -> list[str]:
    """All ways of quoting, with a place for the words."""
    return [
        *(say.format(mark) for say in SAYS[language] for mark in MARKS.values()),
        *BLOCKS.values(),
        *MAILS[language],
        *MATERIAL[language],
        *LETTERS[language],
    ]


def read_rules(turn: str) -> object:
    own_sentences: Callable[[str], list[str]] = lambda text: list(sentences(text))  # noqa: E731
    return spoken_rules(turn, policy_cues(), own_sentences)


def read_memories(turn: str) -> object:
    found = extract((Excerpt("t1", turn, "ann", own=True),))
    return [*found.memories, *found.facts]


def read_channel(turn: str) -> object:
    excerpt = Excerpt("t1", turn, "ann", own=True)
    return channel_phrases.found_in([excerpt], {"t1": date(2026, 5, 25)})


def read_labels(turn: str) -> object:
    return statement_of(Excerpt("t1", turn, "ann", own=True))


def read_episode(turn: str) -> object:
    said = Turn("t1", "2026-05-25T08:00:00+00:00", "s", "user", "ann", "", turn)
    rules = EpisodeRules(policy_cues())
    return verbatim(spoken([said], UTC, rules), rules)


def read_owner_words(turn: str) -> object:
    return keys_of([own_words(turn).text])


READERS = {
    "rules": read_rules,
    "remember": requests_in,
    "memories and facts": read_memories,
    "channel": read_channel,
    "labels": read_labels,
    "episodes": read_episode,
    "the owner's words": read_owner_words,
}
LANGUAGES = sorted(STATEMENTS)


def test_every_language_lists_the_words_of_mails_and_requests() -> None:
    for table in raw_tables():
        assert set(LISTS) == set(table["others"])
        assert all(table["others"].values())


@every("language", LANGUAGES)
def test_the_same_words_are_learned_when_the_person_says_them(language: str) -> None:
    said = [str(read(one)) for read in READERS.values() for one in STATEMENTS[language]]
    heard = "\n".join(said)
    for read in READERS.values():
        assert any(read(one) for one in STATEMENTS[language]), read.__name__
    for one in STATEMENTS[language]:
        assert one.rstrip(".。")[-6:] in heard


@pytest.mark.sampled
@every("name", READERS)
@every("language", LANGUAGES)
def test_nothing_is_learned_from_quoted_words(language: str, name: str) -> None:
    read = READERS[name]
    learned = {}
    for way in quoting(language):
        # What stands around the quotation is the person's own.
        without = str(read(way.format("…")))
        for one in STATEMENTS[language]:
            found = str(read(way.format(one)))
            if one.rstrip(".。")[2:] in found or found.count("t1") > without.count("t1"):
                learned[way, one] = found
    assert learned == {}


@pytest.mark.sampled
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_night_keeps_nothing_of_what_others_wrote(tmp_path: Path, language: str) -> None:
    with quiet_vault(tmp_path) as memory:
        for number, way in enumerate(quoting(language)):
            memory.record_turn(
                session=f"s{number // 4}",
                role="user",
                user="ann",
                text=way.format(STATEMENTS[language][number % 5]),
                now=NOW + timedelta(minutes=number),
            )
            if number % 4 == 3:
                memory.end_session(f"s{number // 4}", user="ann")
        memory.sleep(scopes=["user:ann"], now=NOW + timedelta(days=1))
    stored = "\n".join(
        file.read_text()
        for file in (tmp_path / "vault/Users").rglob("*.md*")
        if "transcripts" not in file.parts
    )
    kept = [one for one in STATEMENTS[language] if one.rstrip(".。")[2:] in stored]
    assert kept == []


@every(
    "turn",
    [
        "Q: Where do you live? A: I live in Oslo",
        "Here is the quiz: Question: where do you live Answer: I live in Oslo",
        "Frage: Wo wohnst du? Antwort: Ich wohne in Oslo",
        "Q : où habites-tu ? R : J'habite à Oslo",
        "P: ¿Dónde vives? R: Vivo en Oslo",
        "В: где ты живёшь? О: я живу в Oslo",
        "问：你住在哪里？答：我住在Oslo",
    ],
)
def test_a_conversation_on_one_line_is_of_others(turn: str) -> None:
    assert "Oslo" not in own_words(turn).text


@pytest.mark.parametrize("turn", ["Plan A: I live in Oslo", "Q3 is over. I live in Oslo"])
def test_a_label_alone_makes_no_conversation(turn: str) -> None:
    assert "Oslo" in own_words(turn).text
