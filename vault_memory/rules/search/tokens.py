"""Tokens of search: the same for text that is indexed and for queries.

Chinese, Japanese, Korean, Thai and related scripts have no spaces, so a run of such letters is cut
into overlapping pairs: ``東京都`` becomes ``東京 京都 都``. The last letter is a token of its own, so
that every letter begins a token, and a query of one letter finds it as a prefix.

A name with signs is a word of its own: ``C#`` is neither ``C`` nor ``C++``. A word or a number that is
written in parts, such as ``re-index`` or ``0461 123 45 67``, is in the index in one piece, too.
"""

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from vault_memory.lazy import LazyModule
from vault_memory.markdown import letters
from vault_memory.rules.search import compounds, stopwords
from vault_memory.rules.sentences import sentence_splitter

if TYPE_CHECKING:
    import html

else:
    html = LazyModule("html")

MOST_SENTENCES = 8
"""The number of last sentences of a long prompt that are searched"""
MOST_TERMS = 48
"""The number of first different words of a sentence that are searched"""
LONGEST_TERM = 64
FEWEST_DIGITS = 7
"""Of a number in groups, such as one to call"""

# Han, kana, hangul, bopomofo, Thai, Lao, Myanmar, Khmer, Tibetan, Yi: letters without spaces between words.
_RUN = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0f40-\u0fbc\u1000-\u109f\u1780-\u17d3\u1100-\u11ff\u3005-\u3007"
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48c"
    "\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)
# Marks that belong to a word although Python does not count them as letters.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0900-\u0963\u0970-\u0dff\u0e31-\u0e4e\u135d-\u135f\u1dc0-\u1dff"
)
_POINTS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0640"

_plain_word = re.compile("[a-z0-9]+")
_inner_sign = re.compile(r"['-](?<=[^\W_].)(?=[^\W_])")
"""What a divided word has. The sign is first: a search for it is quick"""
# Most texts have no sign or letter that is normalised. A list has its marker first.
_ordinary = re.compile(r"(?:- )?+(?![.(])[ !\"$%(),./:-~\n\t]*+").fullmatch
# The signs are first: a search for them is quick.
_sign_of_name = re.compile(r"[#+*]|\.(?:(?<![^ ]\.)|(?<=\A\(\.))").search
_accents = re.compile("[\u0300-\u036f]")
_entity = re.compile("&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
# A reader sees one word in `**un**likely`.
_emphasised_part = re.compile(r"(?<![\w*])(\w*)(\*{1,2})(\w+)\2(\w*)(?![\w*])")
# Letters that Unicode does not take apart, and those that two keyboards type for one.
_PLAIN_LETTERS = """
    ё=е Ё=Е ß=ss ẞ=SS ς=σ ı=i ł=l Ł=L ø=o Ø=O đ=d Đ=D ð=d Ð=D ħ=h Ħ=H ŧ=t Ŧ=T þ=th Þ=TH æ=ae Æ=AE
    œ=oe Œ=OE ǿ=o Ǿ=O ǽ=ae Ǽ=AE ǣ=ae Ǣ=AE ǥ=g Ǥ=G ƶ=z Ƶ=Z ɨ=i Ɨ=I ƚ=l Ƚ=L ƀ=b Ƀ=B ŋ=n Ŋ=N
    ɓ=b Ɓ=B ɖ=d Ɖ=D ɗ=d Ɗ=D ƙ=k Ƙ=K ƴ=y Ƴ=Y ك=ک ي=ی ى=ی
"""
_LATIN = range(0x80, 0x180)
_PUNCTUATION = range(0x2000, 0x2070)
_FOLDED = str.maketrans({"\x00": " ", **dict(pair.split("=") for pair in _PLAIN_LETTERS.split())})
_PICTURE = "emoji"
"""Begins the word for a picture. FTS5 does not take pictures for letters"""
_SIGN = "sign"
"""Stands in the word for a name such as `C#`, before the numbers of its signs"""


# Compiled on first use: recording and plain ASCII need few of these, and they cost 6 ms.
_QUESTION = r"[?？؟\u037e]\W*$"
_RUNS = f"[{_RUN}]+"
_POINT = f"[{_POINTS}]"
# Joiners depend on the letters around them.
_LATIN_TEXT = "[\x00-\u017f\u2000-\u200b\u200e-\u206f]*"
# Two letters make a flag. A colour of skin is no picture of its own.
_PICTURES = f"[\U0001f1e6-\U0001f1ff]{{1,2}}|(?P<skin>[\U0001f3fb-\U0001f3ff])|[{letters.PICTURES}]"
_NAME_WITH_SIGNS = (
    # Asterisks around words are emphasis.
    r"(?<![\w*\\])\*++(?=[^\s*])[^*\n]*+\*++"
    r"|(?<![A-Za-z0-9_])(?:"
    r"(?P<word>[A-Za-z][A-Za-z0-9]{0,11})(?P<plus>\\?\+\\?\+)(?![A-Za-z_+])"
    r"|(?P<letter>[A-Za-z]{1,2})(?P<sign>\\?\#(?![A-Za-z_#])|\\?\*(?![\w*])))"
    r"|(?<![\w.])\.(?P<extension>[A-Za-z]{2,12})(?![\w.])"
)
# `C'est` and `J. Smith` have no letter that is a name.
_CAPITAL = r"(?<![\w'’.])[B-DF-HJ-NP-TV-XZ](?![\w'’]|\.\s*\w)"
_JOINED_WORD = "(?<!\\w)\\w++(?:\u200c\\w++)++"
_WORD = f"(?:[^\\W_]|[{_MARKS}{_RUN}])+"


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Returns an expression, which is compiled at its first use."""
    return re.compile(pattern)


def clean(text: str) -> str:
    """Returns a string that can be stored: lone surrogates become ``?``, NUL a blank."""
    # Names of files and damaged JSON bring lone surrogates, which SQLite refuses.
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    # Functions of SQLite end a text at NUL.
    return text.replace("\x00", " ")


def shortened(text: str, most: int) -> str:
    """Returns at most `most` letters of a text; a cut text ends with a complete word and ``…``."""
    if len(text) <= most:
        return text
    beginning, blank, _ = text[:most].rpartition(" ")
    # Without a blank in the second half, the cut goes through a word.
    if not blank or len(beginning) < most // 2:
        return text[: most - 1] + "…"
    return beginning.rstrip() + "…"


def normalise(text: str, *, divided: bool = False) -> str:
    """Returns text in the form of the full-text index.

    `divided` adds its divided words and numbers in one piece.
    """
    if _ordinary(text) and " ." not in text:
        return text
    if "*" in text:
        text = _emphasised_part.sub(r"\1\3\4", text)
    if "&" in text:
        text = _entity.sub(lambda entity: html.unescape(entity[0]), text)
    if text.isascii():
        text = text.replace("\x00", " ")
    elif compiled(_LATIN_TEXT).fullmatch(text):
        text = text.translate(_latin_forms())
    else:
        text = _normal_form(clean(text))
    if _sign_of_name(text):
        text = compiled(_NAME_WITH_SIGNS).sub(_name_word, text)
    if divided and (in_one_piece := compounds_of(text)):
        text = " ".join([text, *in_one_piece])
    return text


def compounds_of(text: str) -> dict[str, tuple[str, ...]]:
    """Returns the divided words and numbers of a text in one piece, each with its components."""
    # Most texts have none. A marker of a list is at the beginning.
    may_be_divided = text.find("-", 1) > 0 or "'" in text
    if not (may_be_divided and _inner_sign.search(text)):
        raw = text.encode(errors="replace")
        if len(raw) - len(raw.translate(None, b"0123456789")) < FEWEST_DIGITS:
            return {}
    return compounds.of(text)


def _name_word(name: re.Match[str]) -> str:
    """Returns the word for a name with signs, and the plain word unless that is another name."""
    if extension := name["extension"]:
        # `.NET` is a name, and `.env` is a file that people call env.
        plain = "" if extension.isupper() else extension
        return f" {_SIGN}46{extension.lower()} {plain} "
    word = name["word"] or name["letter"]
    # What matched are words between asterisks, which have no further asterisk.
    if not word:
        return compiled(_NAME_WITH_SIGNS).sub(_name_word, name[0].strip("*"))
    signs = (name["plus"] or name["sign"]).replace("\\", "")
    numbers = "".join(str(ord(sign)) for sign in signs)
    # A letter alone is another name: `C` is not `C#`.
    plain = word if len(word) > 1 else ""
    return f" {word.lower()}{_SIGN}{numbers} {plain} "


def _normal_form(text: str) -> str:
    if "\u200c" in text:
        text = compiled(_JOINED_WORD).sub(_whole_and_parts, text)
    compatible = unicodedata.normalize("NFKC", letters.one_form(text))
    folded_letters = compatible.translate(_FOLDED)
    without_points = compiled(_POINT).sub("", folded_letters)
    with_pictures = compiled(_PICTURES).sub(_picture_word, without_points)
    return compiled(_RUNS).sub(_spaced_pairs, with_pictures)


@cache
def _latin_forms() -> dict[int, str]:
    """Returns the forms of the letters of Latin texts, which are those of most notes: it is quick."""
    forms = {sign: _normal_form(sign) for sign in map(chr, (*_LATIN, *_PUNCTUATION))}
    changed = {ord(sign): form for sign, form in forms.items() if form != sign}
    return {0: " ", **changed}


def _whole_and_parts(word: re.Match[str]) -> str:
    """Returns a word with inner joiners, which people also write as one word or as several."""
    divided = word[0].replace("\u200c", " ")
    return f"{word[0]} {divided}"


def _picture_word(picture: re.Match[str]) -> str:
    if picture["skin"]:
        return ""
    # Digits only: the stemmer of FTS5 cuts endings of letters.
    number = "".join(str(ord(sign)) for sign in picture[0])
    return f" {_PICTURE}{number} "


def _spaced_pairs(run: re.Match[str]) -> str:
    spaced = " ".join(pairs(run[0]))
    return f" {spaced} "


def pairs(run: str) -> list[str]:
    """Returns the overlapping pairs of a run of letters, and its last letter."""
    return [run[start : start + 2] for start in range(len(run))]


def words(text: str) -> list[str]:
    """Returns the words of a text in lower case; letters without spaces are cut into pairs."""
    text = normalise(text)
    if text.isascii():
        matches = _plain_word.findall(text.lower())
    else:
        matches = compiled(_WORD).findall(text.casefold())
    return [word[:LONGEST_TERM] for word in matches]


def is_name_with_signs(word: str) -> bool:
    """Returns whether a word stands for a name such as `C#`."""
    return word.partition(_SIGN)[2][:1].isdigit()


def is_run(word: str) -> bool:
    """Returns whether a word begins in a script without spaces."""
    return not word.isascii() and compiled(_RUNS).match(word) is not None


def sentences(query: str) -> list[str]:
    """Returns the sentences of a prompt to search: its questions, else its last two sentences."""
    return list(_searched_sentences(query))


# A search asks for the words and for the names in a prompt.
@lru_cache(4)
def _searched_sentences(query: str) -> tuple[str, ...]:
    all_sentences = sentence_splitter.split_sentences(clean(query))
    questions = [sentence for sentence in all_sentences if is_question(sentence)]
    # `what?` has nothing to search, so the sentences before it are searched.
    searched = _last_with_content(questions, MOST_SENTENCES)
    if not searched:
        searched = _last_with_content(all_sentences, 2)
    # A prompt of stop-words alone is searched as it is.
    return tuple(searched or questions[-MOST_SENTENCES:] or all_sentences[-2:])


def _last_with_content(candidates: list[str], most: int) -> list[str]:
    """Returns the last sentences that have another word than stop-words."""
    last: list[str] = []
    for sentence in reversed(candidates):
        if len(last) == most:
            break
        sentence_words = words(sentence)
        if not stop_words(sentence_words).issuperset(sentence_words):
            last.append(sentence)
    return last[::-1]


def is_question(text: str) -> bool:
    """Returns whether the text ends with a question mark."""
    return compiled(_QUESTION).search(text[-8:]) is not None


def asking(text: str) -> float:
    """Returns the share of a text, by letters, that is questions."""
    all_sentences = sentence_splitter.split_sentences(text)
    questions = filter(is_question, all_sentences)
    total = sum(map(len, all_sentences)) or 1
    return sum(map(len, questions)) / total


def terms(sentence: str) -> list[str]:
    """Returns the different words of a sentence to search, without stop-words if others are left."""
    all_words = list(dict.fromkeys(without_last_letters(words(sentence))))
    # Fault: `C` and `R` are names, although some language has them as a word.
    names = map(str.lower, compiled(_CAPITAL).findall(sentence))
    stop = stop_words(all_words).difference(names)
    content_words = [word for word in all_words if word not in stop]
    return (content_words or all_words)[:MOST_TERMS]


def without_last_letters(tokens: list[str]) -> list[str]:
    """Returns tokens without single last letters of runs, which add nothing to a query."""
    return [
        token
        for previous, token in zip(["", *tokens], tokens, strict=False)
        if not _ends_pair(previous, token)
    ]


def _ends_pair(previous: str, token: str) -> bool:
    """Returns whether a token is the last letter of a run, and the pair before it ends so."""
    if len(token) != 1 or len(previous) != 2:
        return False
    return previous[1] == token and is_run(token)


def stop_words(sentence_words: list[str]) -> frozenset[str]:
    """Returns the stop-words among these words, in the language that has most of them.

    Pictures are stop-words: who ends a question with 😊 does not ask for other lines with it.
    """
    pictures = {word for word in sentence_words if word.startswith(_PICTURE)}
    languages = _languages(all(map(str.isascii, sentence_words)))
    # Most words are no stop-words: only the others are counted.
    frequent = [word for word in sentence_words if word in languages]
    if not frequent:
        return frozenset(pictures)
    best = language_of(frequent)
    return frozenset({*pictures, *(word for word in frequent if best in languages[word])})


def is_stop_word(word: str) -> bool:
    """Returns whether a word is a stop-word of any language."""
    return word in _languages(word.isascii())


def language_of(sentence_words: list[str]) -> str:
    """Returns the language that has most of these words as stop-words; empty without any."""
    languages = _languages(all(map(str.isascii, sentence_words)))
    counts: dict[str, int] = {}
    for word in sentence_words:
        for language in languages.get(word, ()):
            counts[language] = counts.get(language, 0) + 1
    return _most_frequent(counts) if counts else ""


def _most_frequent(counts: dict[str, int]) -> str:
    """Returns the language with most stop-words; of equal ones the first in the table."""
    most = max(counts.values())
    best = (language for language in stopwords.STOP_WORDS if counts.get(language) == most)
    return next(best)


@cache
def _languages(plain: bool) -> dict[str, tuple[str, ...]]:
    """Returns the languages of each stop-word; `plain` reads only words in ASCII, which is quick."""
    languages: dict[str, tuple[str, ...]] = {}
    for language, text in stopwords.STOP_WORDS.items():
        listed = filter(str.isascii, text.split()) if plain else words(text)
        for word in dict.fromkeys(listed):
            languages[word] = (*languages.get(word, ()), language)
    return languages


def folded(text: str) -> str:
    """Returns the words of a text without accents, each between blanks."""
    decomposed = unicodedata.normalize("NFD", " ".join(words(text)))
    plain = _accents.sub("", decomposed)
    return f" {plain} "


def names(entity: str, *texts: str) -> bool:
    """Returns whether a text contains the name, as complete words where its script has words."""
    name = unicodedata.normalize("NFC", entity)
    if is_run(name):
        return any(name in unicodedata.normalize("NFC", text) for text in texts)
    name_words = folded(name)
    # A name of signs alone has no words, and would be in every text.
    if not name_words.strip():
        return False
    return any(name_words in folded(text) for text in texts)
