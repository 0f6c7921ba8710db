"""Words that by themselves ask nothing: who says hello is not told where that word stands in the notes."""

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
"""The same in scripts that are cut into pairs of letters"""


def asks_nothing(words: list[str]) -> bool:
    """Whether nothing is left of these words that could be looked for."""
    return all(
        word in WORDS
        or word in RUNS
        or (len(word) == 1 and not word.isdigit() and word.isascii())
        for word in words
    )
