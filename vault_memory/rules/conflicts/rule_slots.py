"""Finds what two rules both settle: the language, the form of address, the length, the units. Pure."""

import re
from functools import lru_cache
from typing import NamedTuple

from vault_memory.rules.claims.contrasts import skeleton

MOST_RULES = 2_048
"""Rules whose slots are cached"""


class Slot(NamedTuple):
    """A choice that holds for all answers, and the value that a rule gives it."""

    name: str
    value: str


_LANGUAGES = {
    "en": "english englisch anglais inglés ingles английск\\w* по-английски 英语 英文",
    "de": "german deutsch allemand alemán aleman немецк\\w* по-немецки 德语 德文",
    "es": "spanish spanisch espagnol español espanol испанск\\w* по-испански 西班牙语",
    "fr": "french französisch franzosisch français francais francés французск\\w* по-французски 法语 法文",
    "it": "italian italienisch italien italiano итальянск\\w* 意大利语",
    "pt": "portuguese portugiesisch portugais portugués португальск\\w* 葡萄牙语",
    "ru": "russian russisch russe ruso русск\\w* по-русски 俄语 俄文",
    "zh": "chinese chinesisch chinois chino китайск\\w* по-китайски 中文 汉语",
    "nl": "dutch niederländisch néerlandais holandés 荷兰语",
    "no": "norwegian norwegisch norvégien noruego норвежск\\w* 挪威语",
    "ja": "japanese japanisch japonais japonés японск\\w* 日语 日文",
}
_LENGTHS = {
    "short": "short shorter brief briefly concise concisely terse kurz kürzer knapp court courts courte courtes bref brève concis corto corta breve breves concisas кратко коротк\\w* 简短 简洁 简明",
    "long": "long longer detailed ausführlich ausführliche detailliert lang détaillé détaillées longues largo largas detallado detalladas подробн\\w* длинн\\w* 详细 详尽",
}
_UNITS = {
    "metric": "metric metrisch métrique métrico celsius kilometres kilometers kilometer kilomètres kilómetros метрическ\\w* километр\\w* 公制 摄氏度 公里",
    "imperial": "imperial imperiale impériales imperiales fahrenheit miles meilen имперск\\w* мил\\w* 英制 华氏度 英里",
}
_SPEAKING = re.compile(
    r"answer|repl|respon|writ|speak|talk|antwort|schreib|sprich|sprech|répon|écri|parle|"
    r"respond|respuesta|escrib|habl|отвеча|ответ|пиши|писать|говори|回答|回复|说|写|用"
)
_ADDRESS = re.compile(
    r"\b(?:call|address) me (?:as |by )?(?!at\b|on\b|in\b|back\b|later\b|about\b|a\b|the\b)([^\s,.;!]+)|\bnenn(?:e|t)? mich ([^\s,.;!]+)|"
    r"\bappelle[- ]moi ([^\s,.;!]+)|\bll[aá]mame ([^\s,.;!]+)|(?:叫|称呼)我([^\s，。！]+)"
)
_FORMAL = (
    (re.compile(r"\b(?:duz\w*|tutoi\w*|tutéame|tutea\w*|на ты)\b|\bper du\b"), "familiar"),
    (re.compile(r"\b(?:siez\w*|vouvoi\w*|на вы)\b|\bper sie\b|\bde usted\b"), "formal"),
)
_CONDITION = re.compile(
    r"\b(?:when|if|whenever|unless|except|only|with|for|to|wenn|falls|außer|nur|bei|für|mit|quand|si|sauf|"
    r"avec|pour|cuando|excepto|con|para|когда|если|кроме|для|с)\b|当|如果|除非|对"
)


def fill_one_slot(first: str, second: str) -> bool:
    """Returns whether two rules give one slot two values. The order does not matter."""
    ours, theirs = slots_of(first), slots_of(second)
    return any(ours[name] != theirs[name] for name in ours.keys() & theirs.keys())


@lru_cache(maxsize=MOST_RULES)
def slots_of(rule: str) -> dict[str, str]:
    """Returns the value of each slot that a rule fills for all answers.

    A rule with a condition, and a rule that forbids something, fill none.
    """
    text = rule.casefold()
    if _CONDITION.search(_without_cue(text)) or skeleton(rule).is_negated:
        return {}
    return dict(filter(None, _slots_in(text)))


def _slots_in(text: str) -> list[Slot | None]:
    speaks = _SPEAKING.search(text) is not None
    return [
        _choice("language", _LANGUAGES, text) if speaks else None,
        _choice("length", _LENGTHS, text) if speaks else None,
        _choice("units", _UNITS, text),
        _address(text),
        _form_of_address(text),
    ]


def _choice(name: str, choices: dict[str, str], text: str) -> Slot | None:
    """Returns the only choice that a text names."""
    values = [value for value, names in choices.items() if _names(names).search(text)]
    return Slot(name, values[0]) if len(values) == 1 else None


@lru_cache(maxsize=64)
def _names(names: str) -> re.Pattern[str]:
    patterns = [
        name if "\u4e00" <= name[0] <= "\u9fff" else rf"\b{name}\b" for name in names.split()
    ]
    return re.compile("|".join(patterns))


def _address(text: str) -> Slot | None:
    match = _ADDRESS.search(text)
    if not match:
        return None
    return Slot("name", next(filter(None, match.groups())))


def _form_of_address(text: str) -> Slot | None:
    values = [value for pattern, value in _FORMAL if pattern.search(text)]
    return Slot("address", values[0]) if len(values) == 1 else None


def _without_cue(text: str) -> str:
    """Returns a rule without `from now on` and the like, whose words may seem conditions."""
    return _CUE.sub(" ", text)


_CUE = re.compile(
    r"from (?:now|today|this day) on|going forward|in (?:the )?future|à partir de maintenant|"
    r"(?:de|a partir de) ahora(?: en adelante)?|с этого момента|с сегодняшнего дня|answer to me|to me\b|"
    r"(?:reply|talk|write|respond|speak) (?:to|with) me"
)
