"""What one says again in nearly the same words is one statement, in six languages."""

from tests.every import every
from vault_memory.learning.learned_rules import new_rules
from vault_memory.markdown.document import parse
from vault_memory.rules.learning.twins import TwinIndex

REPEATS = [
    ("From now on answer in grams", "As I said, from now on answer in grams"),
    ("Answer in grams", "From now on answer in grams, please"),
    ("Always answer in grams", "Like I told you: always answer me in grams"),
    ("I own a red boat", "By the way, I own a red boat, too."),
    ("I own a red boat", "Again: I own a red boat these days"),
    ("Ab jetzt antworte in Gramm", "Wie gesagt, ab jetzt antworte in Gramm"),
    ("Ich habe ein rotes Boot", "Ich habe übrigens ein rotes Boot"),
    ("Ich habe ein rotes Boot", "Noch einmal: Ich habe ein rotes Boot"),
    ("Responde siempre en gramos", "Como ya te dije, responde siempre en gramos"),
    ("Tengo un barco rojo", "Repito, tengo un barco rojo, por favor"),
    ("Réponds toujours en grammes", "Comme je l'ai dit, réponds toujours en grammes"),
    ("J'ai un bateau rouge", "Pour rappel, j'ai un bateau rouge maintenant"),
    ("Отвечай всегда в граммах", "Как я уже говорил, отвечай всегда в граммах"),
    ("У меня красная лодка", "Ещё раз: у меня красная лодка сейчас"),
    ("请总是用克回答", "我再说一遍，请总是用克回答"),
    ("我有一条红色的船", "你也知道，我现在有一条红色的船"),
]
OTHERS = [
    ("I own a red boat", "I own a blue boat"),
    ("I own a red boat", "I own no red boat"),
    ("Answer in grams", "Answer in litres"),
    ("Ann likes Tom", "Tom likes Ann"),
    ("I am allergic to nuts", "I am not allergic to nuts"),
    ("Call me at 8", "Call me at 9"),
    ("I am in Rome right now (2026-05-01)", "I am in Rome right now (2026-09-01)"),
    ("I own a red boat", "My brother from Bath wrote that I own a red boat"),
]


@every(("first", "again"), REPEATS)
def test_fillers_and_few_more_words_make_no_other_statement(first: str, again: str):
    for known, new in ((first, again), (again, first)):
        found = TwinIndex([known]).find(new)

        assert found is not None
        assert found.is_duplicate


@every(("first", "again"), REPEATS)
def test_a_rule_that_is_said_again_is_no_new_rule(first: str, again: str):
    page = parse(f"## Asked for\n\n- {first} (2026-05-25, ref:a)\n".encode())

    assert new_rules(page, [f"{again} (2026-06-25, ref:b)"]) == []


@every(("first", "second"), OTHERS)
def test_another_thing_number_day_or_order_is_another_statement(first: str, second: str):
    found = TwinIndex([first]).find(second)

    assert found is None or not found.is_duplicate


def test_a_rule_that_asks_for_more_is_a_new_rule():
    page = parse(b"## Asked for\n\n- Answer in grams (2026-05-25, ref:a)\n")
    more = "Answer in grams and litres (2026-06-25, ref:b)"

    assert new_rules(page, [more]) == [more]


def test_a_filler_alone_stays_a_statement():
    found = TwinIndex(["By the way"]).find("As I said")

    assert found is None
