"""Whether statements say the same: keys of statements, and what makes similar ones distinct. Pure.

Texts that differ only in form have one key. Type, quote, metadata, case, punctuation, forms of
letters and smileys at an edge do not count. Signs that change a meaning do: ``C#``, ``100%``,
``-5``, ``1.5`` and ``a@example.org`` stay as they are.

A distinction is a piece of a text, such as ``("number", "5433")``. Two similar texts are rivals
when each has a distinction that the other lacks, when the order of the common ones differs, or when
only one text is negated. A text that only adds a number or a name says more of the same.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache
from hashlib import sha256

from vault_memory.markdown.items import parse_text
from vault_memory.rules.claims.word_tables import (
    chinese_weeks,
    count_negations,
    number_words,
    relative_days,
    turning_words,
    weekday_pattern,
    weekdays,
)
from vault_memory.rules.search import stopwords
from vault_memory.rules.search.tokens import stop_words, words

KEY_LENGTH = 16
"""Hex digits of a key"""

_PLAIN = re.compile(r"[a-z0-9 ]*")
_SMILEY = r"[\s\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff]+"
_SMILEYS = re.compile(rf"^{_SMILEY}|{_SMILEY}$")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_SIGNS = re.compile(
    # Within 1.5, 18:30, 1,000 and example.org a sign belongs to the word.
    r"(?<=[a-z0-9])[.:_-](?=[a-z0-9])|(?<=\d),(?=\d)|(?<!\S)-(?=\d)"
    r"|(?P<outer>[^\w\s#%&@+/\\]|_)"
)


def content_key(scope: str, text: str) -> str:
    """Returns the key of an item's text; it never equals a key of another scope."""
    content = f"{scope}\n{bare_statement(parse_text(text).text)}"
    return sha256(content.encode("utf-8", "replace")).hexdigest()[:KEY_LENGTH]


def bare_statement(statement: str) -> str:
    """Returns a text without case and punctuation; texts that are the same have the same.

    `statement` has no type, quote or metadata. A text of punctuation alone keeps it.
    """
    bare = folded = statement.casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFKC", folded).casefold()
        # Folding the case can give letters that are not composed.
        folded = unicodedata.normalize("NFKC", folded)
        # Fault: "we won 🎉" would be another statement than "we won". A smiley alone stays.
        bare = folded = _SMILEYS.sub("", folded) or folded
    if not _PLAIN.fullmatch(folded):
        bare = _SIGNS.sub(_without_punctuation, _APOSTROPHE.sub("", folded))
    return " ".join(bare.split()) or " ".join(folded.split())


def _without_punctuation(match: re.Match[str]) -> str:
    """Returns a blank for punctuation. Signs within a word and symbols such as € stay."""
    sign = match[0]
    is_punctuation = unicodedata.category(sign).startswith("P")
    return " " if match["outer"] and is_punctuation else sign


Distinction = tuple[str, str]
"""A class and a value, e.g. ``("number", "5433")``"""

_NUMBER = re.compile(r"(?:(?<!\S)-)?\d+(?:[.,:/-]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_DECIMAL = re.compile(r"(-?\d{1,4})\.(\d+)")
_CHINESE_NUMBER = re.compile("[〇零一二两兩三四五六七八九十百千万]+")
_SIGNED_WORD = re.compile(r"[^\W_]{1,64}[+#%]+")
_ADDRESS = re.compile(
    r"\S{1,320}@\S+|\w{1,64}://\S+|@\w+|\w{1,64}(?:\.\w+)+\S*|(?:~|\.{1,2})?/\w\S*"
)
_QUOTATION = re.compile(r"[\"“”„«]([^\"“”„«»]+)[\"“”»]")
_TOKEN = re.compile(r"[^\W\d_][\w'’-]*")
_SPEAKER = re.compile(r"\*\*([^*]+)\*\*:")


def are_rivals(first: str, second: str) -> bool:
    """Returns whether two similar texts are two statements. The order does not matter."""
    if _polarity(first) != _polarity(second):
        return True
    ours, theirs = distinctions(first), distinctions(second)
    we_lack = _lacked_by(first, ours, theirs)
    they_lack = _lacked_by(second, theirs, ours)
    if we_lack and they_lack:
        return True
    if _order(ours, theirs) != _order(theirs, ours):
        return True
    return _replaces_letters(first, second)


def is_relative(text: str) -> bool:
    """Returns whether the day on which a text was said is a part of what it says."""
    folded = text.casefold()
    if _relative_phrase().search(folded):
        return True
    return not relative_days().isdisjoint(words(folded))


def distinctions(text: str) -> tuple[Distinction, ...]:
    """Returns the distinctions of a text except negations, each once, in the order of the text."""
    text = unicodedata.normalize("NFKC", text)
    placed = [*_patterns_in(text), *_words_in(text), *_pieces_in(text)]
    return tuple(dict.fromkeys(_counted(distinction for _, distinction in sorted(placed))))


def _counted(distinctions: Iterable[Distinction]) -> Iterator[Distinction]:
    """Yields the distinctions; a number that comes again is another one.

    "Guest 0 0" and "guest 0 1" have the same numbers only when each counts.
    """
    counts: Counter[Distinction] = Counter()
    for class_, value in distinctions:
        counts[class_, value] += 1
        is_repeated = class_ == "number" and counts[class_, value] > 1
        yield class_, f"{value} ({counts[class_, value]})" if is_repeated else value


def _lacked_by(text: str, own: Iterable[Distinction], others: Iterable[Distinction]) -> bool:
    """Returns whether a text lacks one of another text's distinctions."""
    missing = set(others).difference(own)
    own_words = set(words(text))
    # A name may be written in lower case.
    return any(
        class_ != "name" or not own_words.issuperset(words(value)) for class_, value in missing
    )


def _order(own: Iterable[Distinction], others: Iterable[Distinction]) -> list[Distinction]:
    """Returns the distinctions that both texts have, in the order of the first."""
    common = set(others)
    return [distinction for distinction in own if distinction in common]


def _patterns_in(text: str) -> Iterator[tuple[int, Distinction]]:
    for match in _NUMBER.finditer(text):
        yield match.start(), ("number", _value(match[0]))
    for match in _CHINESE_NUMBER.finditer(text):
        yield match.start(), ("number", _number_value(match[0]))
    for match in _ADDRESS.finditer(text):
        yield match.start(), ("address", match[0].strip(".,;:!?()"))
    for match in _QUOTATION.finditer(text):
        yield match.start(), ("quotation", match[1].casefold())
    for match in _SPEAKER.finditer(text):
        yield match.start(), ("name", match[1].casefold())


def _number_value(word: str) -> str:
    """Returns the digits of a number word up to twelve, and any other number unchanged."""
    return str(number_words().get(word, word))


def _value(number: str) -> str:
    """Returns one form for numbers of one value: ``5,433`` and ``5433``, ``1.50`` and ``1.5``."""
    if _THOUSANDS.fullmatch(number):
        return number.replace(",", "")
    decimal = _DECIMAL.fullmatch(number)
    if decimal:
        return f"{int(decimal[1])}.{decimal[2].rstrip('0')}".rstrip(".")
    return number.lstrip("0") or "0"


def _words_in(text: str) -> Iterator[tuple[int, Distinction]]:
    """Yields listed words, number words, and words with a capital letter.

    A stop-word with a capital letter begins a sentence and is not a name.
    """
    tables = _tables()
    common = stop_words(words(text))
    for match in _TOKEN.finditer(text):
        word = match[0]
        folded = word.casefold()
        if folded in tables:
            yield match.start(), tables[folded]
        elif word != word.lower() and not common.issuperset(words(word)):
            yield match.start(), ("name", folded)


def _pieces_in(text: str) -> Iterator[tuple[int, Distinction]]:
    """Yields listed words of scripts without spaces."""
    if text.isascii():
        return
    for piece in _pieces():
        position = text.find(piece)
        if position >= 0:
            yield position, _tables().get(piece, ("time", piece))


def _polarity(text: str) -> tuple[int, frozenset[str]]:
    """Returns what two texts of one meaning share: negations, and words such as C# and 5%."""
    signed_words = map(str.casefold, _SIGNED_WORD.findall(text))
    return count_negations(text), frozenset(signed_words)


def _replaces_letters(first: str, second: str) -> bool:
    """Returns whether the texts differ by a replaced word of a script without capital letters.

    Such a word may be a name. A word that was only added says more of the same.
    """
    if first.isascii() or second.isascii():
        return False
    # The order decides what the matcher finds, and must not decide whether two are rivals.
    shorter, longer = sorted(map(_letters_without_case, (first, second)))
    if not shorter or not longer:
        return False
    matcher = SequenceMatcher(None, shorter, longer, autojunk=False)
    return any(tag == "replace" for tag, *_ in matcher.get_opcodes())


def _letters_without_case(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    return "".join(
        letter for letter in text if letter.isalpha() and letter.upper() == letter.lower()
    )


@cache
def _tables() -> dict[str, Distinction]:
    """Returns the distinction that each listed word is."""
    tables: dict[str, Distinction] = {}
    for word in stopwords.TIME_WORDS.split():
        tables[word] = ("time", word)
    for word in turning_words():
        tables[word] = ("opposite", word)
    for name, number in stopwords.MONTH_NUMBERS.items():
        tables[name] = ("month", str(number))
    for name, number in weekdays().items():
        tables[name] = ("weekday", str(number))
    for word, number in number_words().items():
        tables[word] = ("number", str(number))
    return tables


@cache
def _pieces() -> tuple[str, ...]:
    """Returns listed words of scripts without spaces."""
    chinese = (name for name in weekdays() if name.startswith(chinese_weeks()))
    return (*stopwords.TIME_PIECES.split(), *chinese)


@cache
def _relative_phrase() -> re.Pattern[str]:
    """Returns what names a day by that on which it is said."""
    en_day = weekday_pattern("en")
    de_day = rf"(?:woche|monat|jahr|wochenende|{weekday_pattern('de')})"
    fr_day = rf"(?:semaine|mois|année|{weekday_pattern('fr')})"
    es_day = rf"(?:semana|mes|año|{weekday_pattern('es')})"
    return re.compile(
        r"\b(?:this|next|last|past|coming) (?:week|month|year|weekend|morning|evening|night|"
        rf"{en_day})\b|\b(?:ago|just now|right now)\b|"
        # "Jeden Morgen" and "por la mañana" are times of every day.
        rf"(?<!jeden )(?<!am )\bmorgen\b|\b(?:nächste|letzte|diese)[nmrs]? {de_day}\b|"
        rf"\bhier (?:soir|matin)\b|\b{fr_day} (?:prochaine?|dernière?)\b|"
        rf"(?<!la )\bmañana\b|\b(?:próxim[oa]|pasad[oa]|est[ea]) {es_day}\b|"
        rf"\b{es_day} (?:que viene|pasad[oa]|próxim[oa])\b|"
        r"\b(?:следующ|прошл|эт)\w+ (?:недел|месяц|год)\w*|"
        r"今天|明天|昨天|后天|後天|前天|今晚|昨晚|[上下这這]个?(?:周|週|月|星期)|[今明去]年"
    )
