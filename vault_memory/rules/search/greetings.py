"""Greetings and other words that ask nothing, so that a prompt of them starts no search."""

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
