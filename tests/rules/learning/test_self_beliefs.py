"""A hard judgement about oneself waits for a second conversation, in six languages."""

from tests.every import every
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.learning.write_policy import REPETITION, Candidate, decide

JUDGEMENTS = {
    "en": (
        "one mistake means I'm incompetent",
        "A single error means I am a bad engineer",
        "i'm just so utterly incompetent",
        "They finally saw that I'm a fraud",
        "It proves me a failure once again",
        "The exam made me feel stupid",
        "I have always been a disappointment",
        "I think of myself as a loser",
        "Honestly, it's all my fault",
        "I always let everyone down",
        "I should never have been a mother",
        "I'm too stupid for this job",
    ),
    "de": (
        "Ein Fehler heißt, dass ich unfähig bin",
        "Ich bin wohl einfach inkompetent",
        "Da sieht man, dass ich eine Versagerin bin",
        "Ich halte mich für ziemlich dumm",
        "Der Test macht mich zum Versager",
        "Ich bin eben eine schlechte Chefin",
        "Ich komme mir so überflüssig vor",
        "Ich war schon immer eine Enttäuschung",
        "Das ist alles meine Schuld",
        "Ich bin zu dumm dafür",
    ),
    "es": (
        "Un error significa que soy incompetente",
        "Siempre he sido una decepción",
        "Me siento completamente incapaz",
        "Me considero un fracaso",
        "Eso me convierte en una mala jefa",
        "Me hace sentir tan tonta",
        "Todo es culpa mía",
        "Siempre decepciono a todos",
    ),
    "fr": (
        "Une erreur veut dire que je suis incompétente",
        "Je ne suis qu'une incapable",
        "J'ai toujours été une déception",
        "Je me considère comme un imposteur",
        "Je suis simplement trop bête pour ça",
        "Je suis une mauvaise cheffe",
        "Tout est de ma faute",
        "Je déçois toujours tout le monde",
    ),
    "ru": (
        "Одна ошибка значит, что я некомпетентна",
        "Я просто ни на что не годна",
        "Я — полная неудачница",
        "Чувствую себя совсем бездарной",
        "Считаю себя глупым",
        "Я плохой начальник",
        "Я всегда всех подвожу",
        "Это всё моя вина",
    ),
    "zh": (
        "一个错误就说明我无能",
        "我真的很没用",
        "我觉得自己一无是处",
        "这让我觉得自己很差劲",
        "我就是个糟糕的老师",
        "都是我的错",
        "我总是让大家失望",
    ),
}
PLAIN = (
    "I'm not incompetent",
    "I don't think I'm stupid",
    "I'm married to an idiot savant on stage",
    "I'm afraid the old kettle is useless",
    "I'm useless at names",
    "My boss is incompetent",
    "I was told a bad joke",
    "I'm on a bad line right now",
    "I have a bad knee",
    "I work in failure analysis",
    "I am an engineer at Lantern",
    "I'm the last one in the office on Fridays",
    "Ich bin keine schlechte Lehrerin",
    "Ich bin nicht dumm",
    "Mein Kollege ist unfähig",
    "Ich bin der Letzte im Büro",
    "No soy tonta",
    "No creo que sea incompetente",
    "Soy ingeniera en Bath",
    "Je ne suis pas incompétente",
    "Je suis nulle en maths",
    "Je suis incapable de dormir sans thé",
    "Я не глупая",
    "Я лишний раз проверю билеты",
    "Мой начальник некомпетентен",
    "我不笨",
    "我妈妈是老师",
    "我老板很无能",
)


@every("kind", ["memory", "fact", "remember", "rule"])
@every("language", sorted(JUDGEMENTS))
def test_a_hard_judgement_about_oneself_needs_a_second_conversation(
    language: str, kind: str
) -> None:
    at_once = [
        text for text in JUDGEMENTS[language] if _decided(text, kind) != (REPETITION, "self_belief")
    ]

    assert at_once == []


@every("text", PLAIN)
def test_what_denies_it_or_is_about_others_is_none(text: str) -> None:
    assert "self_belief" not in policy_cues().reasons(text)


def _decided(text: str, kind: str) -> tuple[str, str]:
    is_asked = kind in ("remember", "rule")
    triple = ("mira", "is_a", "x") if kind == "fact" else None
    candidate = Candidate(kind, text, triple, turns=(text,), is_asked=is_asked)  # type: ignore[arg-type]
    decision = decide(candidate, policy_cues())
    return decision.policy_class, decision.reason
