"""Words as search sees them: the same for the text that goes into the index and for the query that looks for it.

Chinese, Japanese, Korean, Thai and their neighbours write without spaces, so a run of such letters is cut into
overlapping pairs: ``東京都`` becomes ``東京 京都 都``. The last letter stands alone once more, so that every letter
of a run begins a piece, and a query of one letter finds it as the beginning of a piece.
"""

import re
import unicodedata
from functools import cache

from vault_memory.rules.search import stopwords

MOST_SENTENCES = 8
"""Of a long prompt, so many sentences are asked, the last ones"""
MOST_TERMS = 48
"""Of one sentence, so many different words are asked, the first ones"""
LONGEST_TERM = 64

# Han, kana, hangul, bopomofo, Thai, Lao, Myanmar, Khmer, Tibetan, Yi: letters that are not parted by spaces.
_RUN = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0f40-\u0fbc\u1000-\u109f\u1780-\u17d3\u1100-\u11ff\u3005-\u3007"
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48c"
    "\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)
# Marks that belong to a word although Python does not count them as letters.
_MARKS = "\u0300-\u036f\u0483-\u0487\u0900-\u0963\u0970-\u0dff\u0e31-\u0e4e\u135d-\u135f\u1dc0-\u1dff"
_POINTS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0640"

_plain_word = re.compile("[a-z0-9]+")
_accents = re.compile("[\u0300-\u036f]")
_FOLDED = str.maketrans({"ё": "е", "Ё": "Е", "ß": "ss", "ẞ": "SS", "\x00": " "})


# Compiled on first use: who records needs few of these, a question in plain letters no more, and they cost 6 ms.
@cache
def _end() -> re.Pattern[str]:
    return re.compile(r"(?<=[.!?;…؟।])\s+|(?<=[。！？｡])|[\r\n]+")


@cache
def _question() -> re.Pattern[str]:
    return re.compile(r"[?？؟\u037e]\W*$")


@cache
def _run() -> re.Pattern[str]:
    return re.compile(f"[{_RUN}]+")


@cache
def _points() -> re.Pattern[str]:
    return re.compile(f"[{_POINTS}]")


@cache
def _word() -> re.Pattern[str]:
    return re.compile(f"(?:[^\\W_]|[{_MARKS}{_RUN}])+")


def clean(text: str) -> str:
    """Any string as one that can be stored and asked for: lone surrogates become ``?``, NUL a blank."""
    whole = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    return whole.replace("\x00", " ")


def shortened(text: str, most: int) -> str:
    """A text of at most so many letters; one that is cut ends with a whole word, where it has any, and a mark."""
    if len(text) <= most:
        return text
    beginning, blank, _ = text[:most].rpartition(" ")
    return (
        beginning.rstrip()
        if blank and len(beginning) >= most // 2
        else text[: most - 1]
    ) + "…"


def normalise(text: str) -> str:
    """Text as it goes into the full text, and words as they are looked for."""
    if text.isascii():
        return text.replace("\x00", " ")
    text = unicodedata.normalize("NFC", clean(text)).translate(_FOLDED)
    return _run().sub(_pieces, _points().sub("", text))


def _pieces(run: re.Match[str]) -> str:
    letters = run[0]
    return " " + " ".join(pairs(letters)) + " "


def pairs(run: str) -> list[str]:
    """The overlapping pairs of a run of letters, and its last letter."""
    return [run[at : at + 2] for at in range(len(run))]


def words(text: str) -> list[str]:
    """The words of a text in its order, in small letters; a run of letters without spaces is its pairs."""
    found = (
        _plain_word.findall(text.lower())
        if text.isascii()
        else _word().findall(normalise(text).lower())
    )
    return [word[:LONGEST_TERM] for word in found]


def is_run(word: str) -> bool:
    """Whether the word is of a script that is cut into pairs."""
    return not word.isascii() and _run().match(word) is not None


def sentences(query: str) -> list[str]:
    """What of a prompt is asked: its questions, or without any its last two sentences."""
    parts = split_sentences(clean(query))
    questions = [part for part in parts if is_question(part)]
    return (
        _telling(questions, MOST_SENTENCES)  # not `what?`: nothing could be looked for
        or _telling(parts, 2)
        or (questions or parts[-2:])[-MOST_SENTENCES:]
    )


def _telling(parts: list[str], most: int) -> list[str]:
    """The last of these sentences that have a word which is no stop-word."""
    last: list[str] = []
    for part in reversed(parts):
        found = words(part)
        stop = stop_words(found)
        if any(word not in stop for word in found):
            last.append(part)
        if len(last) == most:
            break
    return last[::-1]


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, with their marks."""
    return [part.strip() for part in _end().split(text) if part.strip()]


def is_question(text: str) -> bool:
    """Whether the text ends in a question mark."""
    return _question().search(text[-8:]) is not None


def asking(text: str) -> float:
    """Which part of a text, by letters, is questions."""
    parts = _end().split(text.strip())
    return sum(len(part) for part in parts if is_question(part)) / (
        sum(map(len, parts)) or 1
    )


def terms(sentence: str) -> list[str]:
    """The words of a sentence that are looked for, each once: no stop-words, unless nothing else is left."""
    found = list(dict.fromkeys(without_last_letters(words(sentence))))
    stop = stop_words(found)
    kept = [word for word in found if word not in stop]
    return (kept or found)[:MOST_TERMS]


def without_last_letters(found: list[str]) -> list[str]:
    """A last letter after its pair says nothing new about a query; one that stands alone is all there is."""
    return [
        word
        for before, word in zip(["", *found], found, strict=False)
        if not (
            len(word) == 1 and len(before) == 2 and before[1] == word and is_run(word)
        )
    ]


def stop_words(found: list[str]) -> frozenset[str]:
    """The stop-words of the language that most of these words are stop-words of."""
    listed = _languages(all(map(str.isascii, found)))
    counts: dict[str, int] = {}
    for word in found:
        for language in listed.get(word, ()):
            counts[language] = counts.get(language, 0) + 1
    order = list(stopwords.STOP_WORDS)
    best = max(
        counts,
        key=lambda language: (counts[language], -order.index(language)),
        default="",
    )
    return frozenset(word for word in found if best in listed.get(word, ()))


@cache
def _languages(plain: bool) -> dict[str, tuple[str, ...]]:
    """The languages that each stop-word is one of; `plain`: only words in plain letters, which is quicker to tell."""
    found: dict[str, tuple[str, ...]] = {}
    for language, listed in stopwords.STOP_WORDS.items():
        for word in dict.fromkeys(
            filter(str.isascii, listed.split()) if plain else words(listed)
        ):
            found[word] = (*found.get(word, ()), language)
    return found


def folded(text: str) -> str:
    """The words of a text without accents, each between blanks."""
    plain = unicodedata.normalize("NFD", " ".join(words(text)))
    return " " + _accents.sub("", plain) + " "


def names(entity: str, *texts: str) -> bool:
    """Whether one of the texts names the entity, as whole words where its script has them."""
    wanted = unicodedata.normalize("NFC", entity)
    if is_run(wanted):
        return any(wanted in unicodedata.normalize("NFC", text) for text in texts)
    sought = folded(wanted)
    return sought.strip() != "" and any(sought in folded(text) for text in texts)
