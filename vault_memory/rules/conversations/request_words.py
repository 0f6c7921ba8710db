"""Words with which a person requests and a bot serves: they state nothing of a topic. Pure."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cache

from vault_memory.rules.search import stopwords, tokens
from vault_memory.rules.search.stopwords import language_tables
from vault_memory.rules.sentences.sentence_splitter import split_sentences

LONGEST_WISH = 200
"""Letters of the longest request that looks like a statement"""
LEAST_ALIKE, MOST_ENDING = 4, 3
"""Letters that two forms of a word share at least, and those in which they differ at most"""


def wished_part(text: str, query: Collection[str]) -> str:
    """Returns what a sentence such as "I need the boiler pressure" asks for; else nothing.

    `query` has the words of the query.
    """
    if len(text) > LONGEST_WISH or len(split_sentences(text)) > 1:
        return ""
    plain = text.lstrip("，, ")
    run = next(filter(plain.startswith, _runs("wishes")), "")
    if run:
        return plain.removeprefix(run)
    words = tokens.words(plain)
    while words and words[0] in _polite_words():
        del words[0]
    wish = _wish_before(words)
    # Fault: "I need insulin" answers "what do I need", and repeats "I need insulin".
    is_asked = any(_is_of_wish(word) for word in wish if word in query)
    if is_asked and not _polite_words().union(words).issuperset(query):
        return ""
    return " ".join(words[len(wish) :]) if wish else ""


def _wish_before(words: Sequence[str]) -> Sequence[str]:
    """Returns the longest wish with which the words begin; nothing without one."""
    phrases = _wishes().get(words[0], ()) if words else ()
    return next((phrase for phrase in phrases if phrase == words[: len(phrase)]), ())


def without_service(text: str) -> list[str]:
    """Returns the content words of a text without those of a service, such as "happy to help"."""
    plain = text if text.isascii() else _service_in_runs().sub(" ", text)
    return [word for word in content_words(plain) if not serves(word)]


def without_wishes(words: Sequence[str]) -> list[str]:
    """Returns words without those of a wish, such as "need"; all of them when no other is left."""
    return [word for word in words if not _is_of_wish(word)] or list(words)


def serves(word: str) -> bool:
    """Returns whether a word is one of a service, such as "glad"."""
    return word in _words("service")


def content_words(text: str) -> list[str]:
    """Returns the words of a text without stop-words of any language; `yes` and `not` are content."""
    words = tokens.without_last_letters(tokens.words(text))
    return list(filter(_is_content, words))


def _is_content(word: str) -> bool:
    return word in _answers() or not tokens.is_stop_word(word)


def is_among(word: str, words: Collection[str]) -> bool:
    """Returns whether a word, or another form of it, is among these words."""
    return word in words or any(_is_form_of(word, form) for form in words)


def _is_form_of(word: str, form: str) -> bool:
    shorter, longer = sorted((word, form), key=len)
    stem = shorter[: max(LEAST_ALIKE, len(shorter) - 1)]
    if len(stem) < LEAST_ALIKE or not longer.startswith(stem):
        return False
    # A number has no endings.
    return len(longer) - len(stem) <= MOST_ENDING and longer.isalpha()


@cache
def _tables() -> dict[str, dict[str, str]]:
    return language_tables(__package__, "request_words.toml")


def _listed(name: str) -> Iterator[str]:
    for table in _tables().values():
        yield from map(str.strip, table[name].split(","))


@cache
def _wishes() -> dict[str, list[list[str]]]:
    """Returns the words of each wish by the first one, the longest wish first."""
    by_word: dict[str, list[list[str]]] = defaultdict(list)
    for phrase in sorted(_listed("wishes"), key=len, reverse=True):
        words = tokens.words(phrase)
        by_word[words[0]].append(words)
    return by_word


def _is_of_wish(word: str) -> bool:
    # A new process asks about few words: the expressions that divide a text into words, and the
    # stop-words of all languages, would take it longer.
    return word in _wish_letters() and word in _words("wishes") and _is_content(word)


@cache
def _wish_letters() -> str:
    """Returns a text of which each word of a wish is a part."""
    return " ".join(_listed("wishes")).casefold().replace("'", "")


@cache
def _words(name: str) -> frozenset[str]:
    """Returns the words of phrases, without those of scripts without spaces."""
    listed = (phrase for phrase in _listed(name) if not tokens.is_run(phrase))
    return frozenset(tokens.words(" ".join(listed)))


@cache
def _runs(name: str) -> tuple[str, ...]:
    """Returns the phrases of scripts without spaces, the longest first."""
    return tuple(sorted(filter(tokens.is_run, _listed(name)), key=len, reverse=True))


@cache
def _service_in_runs() -> re.Pattern[str]:
    return re.compile("|".join(_runs("service")))


@cache
def _answers() -> frozenset[str]:
    return frozenset(tokens.words(" ".join(_listed("answers"))))


@cache
def _polite_words() -> frozenset[str]:
    return frozenset(tokens.words(stopwords.POLITE))


WORDS = frozenset(
    """
    hello hi hey yo hiya howdy greetings welcome good morning afternoon evening night day bye goodbye cheers
    thanks thank thx ty please pls ok okay okey k yes yeah yep yup no nope nah sure fine great nice cool perfect awesome
    lol haha hm hmm hmmm oh ah well right alright go ahead continue next stop wait sorry test testing ping hallo moin
    servus guten tag morgen abend nacht tschüss danke bitte ja nein doch gut super weiter salut bonjour bonsoir merci
    oui non bien hola buenos buenas días dias tardes noches gracias favor vale sí si adiós adios ciao grazie prego
    buongiorno buonasera obrigado obrigada sim não nao hoi dank goedemorgen hej tack tak cześć czesc dziękuję dziekuje
    olá ola привет здравствуйте здравствуй спасибо пожалуйста да нет хорошо пока доброе добрый утро день вечер
    """.split()
)
RUNS = frozenset(
    """
    你好 您好 谢谢 謝謝 好的 早上 上好 晚上 再见 再見 こん んに にち ちは あり りが がと とう 안녕 녕하 하세 세요 감사
    """.split()
)
"""Pairs of letters of such words in scripts without spaces"""


def asks_nothing(words: list[str]) -> bool:
    """Returns whether none of these words is worth a search."""
    return all(map(_is_empty, words))


def _is_empty(word: str) -> bool:
    if word in WORDS or word in RUNS:
        return True
    return len(word) == 1 and word.isascii() and not word.isdigit()
