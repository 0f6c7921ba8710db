"""A story about the past moves nobody, the last move of a sentence holds, and of several things all are kept."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests.every import every
from tests.learning.quiet_vault import quiet_vault
from vault_memory.models.llm.phrase_rules import extract
from vault_memory.rules.learning.attribute_values import first_day, split_begin
from vault_memory.rules.learning.candidate import Extraction, FoundFact
from vault_memory.rules.learning.grounding import OwnTurn, OwnTurns, grounded
from vault_memory.rules.learning.model_prompt import Excerpt

NOW = datetime(2026, 5, 25, 8, tzinfo=UTC)
SUBJECT = "alice"


def facts_of(said: str) -> list[tuple[str, str]]:
    """Predicates and objects that a turn states."""
    found = extract((Excerpt("t1", said, SUBJECT, own=True),)).facts
    return [(fact.predicate, fact.object) for fact in found]


def page_after(tmp_path: Path, turns: Iterable[str]) -> str:
    """FACTS.md after a night for each turn."""
    with quiet_vault(tmp_path) as memory:
        for number, text in enumerate(turns):
            day = NOW + timedelta(days=2 * number)
            memory.record_turn(session=f"s{number}", role="user", user=SUBJECT, text=text, now=day)
            memory.sleep(scopes=[f"user:{SUBJECT}"], now=day + timedelta(days=1))
    [page] = (tmp_path / "vault/Users").rglob("FACTS.md")
    return page.read_text(encoding="utf-8")


def current_homes(page: str) -> list[str]:
    lines = [line for line in page.splitlines() if "lives_in:" in line]
    return [
        line.split("lives_in: ")[1].split(" (")[0] for line in lines if not line.startswith("- ~~")
    ]


STORIES = [
    ("I moved to Flensburg", "We moved to Lübeck in March, the flat was lovely"),
    ("I moved to Flensburg", "We moved to Lübeck, the flat was lovely"),
    ("I moved to Flensburg", "I moved to Lübeck in 2010 and stayed three years"),
    ("I live in Flensburg", "We moved to Lübeck two years ago"),
    ("I live in Flensburg", "Back then we moved to Lübeck"),
    ("Ich wohne in Flensburg", "Wir sind nach Lübeck im März gezogen, schön war es"),
    ("Ich wohne in Flensburg", "Wir sind nach Lübeck gezogen, die Wohnung war schön"),
    ("J'habite à Flensburg", "Nous avons déménagé à Lübeck en mars, c'était beau"),
    ("J'habite à Flensburg", "J'ai déménagé à Lübeck, l'appartement était beau"),
    ("Vivo en Flensburg", "Nos mudamos a Lübeck en marzo, el piso era bonito"),
    ("Vivo en Flensburg", "Me mudé a Lübeck cuando era joven"),
    ("Я живу в Flensburg", "Мы переехали в Lübeck в марте, квартира была чудесная"),
    ("Я живу в Flensburg", "Мы переехали в Lübeck, квартира была чудесная"),
    ("我住在Flensburg", "我们搬到了Lübeck，那时很开心"),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("home", "story"), STORIES)
def test_a_story_about_the_past_does_not_move_the_person(
    tmp_path: Path, home: str, story: str
) -> None:
    page = page_after(tmp_path, [home, story])

    assert current_homes(page) == ["Flensburg"]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("home", "move"),
    [
        ("I live in Lübeck", "I moved to Flensburg"),
        ("I live in Lübeck", "I moved to Flensburg because the rent was low"),
        ("I moved to Lübeck in March", "I moved to Flensburg in May"),
        ("Ich wohne in Lübeck", "Ich bin nach Flensburg gezogen"),
        ("J'habite à Lübeck", "J'ai déménagé à Flensburg"),
        ("Vivo en Lübeck", "Me mudé a Flensburg"),
        ("Я живу в Lübeck", "Я переехал в Flensburg"),
        ("我住在Lübeck", "我搬到了Flensburg"),
    ],
)
def test_a_move_moves_the_person(tmp_path: Path, home: str, move: str) -> None:
    page = page_after(tmp_path, [home, move])

    assert current_homes(page) == ["Flensburg"]


def test_the_date_of_a_value_becomes_its_first_day(tmp_path: Path) -> None:
    page = page_after(tmp_path, ["I moved to Porto in March 2019"])

    assert "- lives_in: Porto (since 2019-03-01, ref:" in page


@every(
    ("said", "value", "begin"),
    [
        ("Lübeck in March", "Lübeck", date(2026, 3, 1)),
        ("Porto in June", "Porto", date(2025, 6, 1)),
        ("Porto since 2019", "Porto", date(2019, 1, 1)),
        ("Porto on 3 March 2020", "Porto", date(2020, 3, 3)),
        ("Lübeck im März 2019", "Lübeck", date(2019, 3, 1)),
        ("Lyon au mois de mars", "Lyon", date(2026, 3, 1)),
        ("Cádiz en marzo de 2019", "Cádiz", date(2019, 3, 1)),
        ("Любек в 2019 году", "Любек", date(2019, 1, 1)),
        ("Любек в марте", "Любек", date(2026, 3, 1)),
        ("Porto 2024", "Porto", date(2024, 1, 1)),
    ],
)
def test_words_at_the_end_of_a_value_say_since_when(said: str, value: str, begin: date) -> None:
    found, since = split_begin(said)

    assert found == value
    assert first_day(since, NOW.date()) == begin


@every("value", ["Theresa May", "May", "Highway 66", "Area 51", "March", "Studio 54"])
def test_a_name_is_no_date(value: str) -> None:
    assert split_begin(value) == (value, "")


def test_the_value_of_a_model_loses_its_date_too() -> None:
    turn = OwnTurn("We moved to Lübeck in March", SUBJECT, NOW.date())
    fact = FoundFact(SUBJECT, "lives_in", "Lübeck in March", evidence=("t1",))

    [found] = grounded(Extraction((), (fact,)), OwnTurns({"t1": turn})).facts

    assert (found.object, found.valid_from) == ("Lübeck", "2026-03-01")


@every(
    ("said", "home"),
    [
        ("I moved to Porto in 2019, then to Bern, and then to Oslo.", "Oslo"),
        ("I moved to Porto and later to Oslo", "Oslo"),
        ("I moved to Porto, and in May 2026 to Oslo", "Oslo"),
        ("I moved to Bern in 2019 and to Oslo in 2021", "Oslo"),
        ("I moved to Bern and last year we moved to Oslo", "Oslo"),
        ("Ich bin nach Bern gezogen und dann nach Oslo gezogen", "Oslo"),
        ("J'ai déménagé à Lyon, puis à Oslo", "Oslo"),
        ("Me mudé a Cádiz y luego a Oslo", "Oslo"),
        ("Я переехал в Омск, потом в Oslo", "Oslo"),
        ("我搬到了上海，后来搬到Oslo", "Oslo"),
    ],
)
def test_of_several_moves_the_last_one_holds(said: str, home: str) -> None:
    assert facts_of(said) == [("lives_in", home)]


LISTS = {
    "allergic_to": [
        ("I am allergic to penicillin, latex and cats", "penicillin latex cats"),
        ("I'm allergic to penicillin and to latex", "penicillin latex"),
        ("Ich bin allergisch gegen Penicillin, Latex und Katzen", "Penicillin Latex Katzen"),
        ("Je suis allergique à la pénicilline, au latex et aux chats", "pénicilline latex chats"),
        ("Soy alérgico a la penicilina, al látex y a los gatos", "penicilina látex gatos"),
        ("У меня аллергия на пенициллин, латекс и кошек", "пенициллин латекс кошек"),
        ("我对青霉素、乳胶和猫过敏", "青霉素 乳胶 猫"),
    ],
    "speaks": [
        ("I speak German, English and French", "German English French"),
        ("Ich spreche Deutsch und Englisch", "Deutsch Englisch"),
        ("Je parle anglais, allemand et russe", "anglais allemand russe"),
        ("Hablo inglés, alemán y ruso", "inglés alemán ruso"),
        ("Я говорю по-русски, по-английски и по-немецки", "по-русски по-английски по-немецки"),
        ("我会说中文、英语和法语", "中文 英语 法语"),
    ],
    "likes": [
        ("I love tea, dogs and rain", "tea dogs rain"),
        ("Ich mag Tee, Hunde und Regen", "Tee Hunde Regen"),
        ("J'adore Bach, Mozart et Satie", "Bach Mozart Satie"),
        ("Me gustan Bach, Mozart y Satie", "Bach Mozart Satie"),
        ("Я люблю чай, собак и дождь", "чай собак дождь"),
        ("我喜欢茶、狗和雨", "茶 狗 雨"),
    ],
    "works_with": [
        ("I work with Ann, Ben and Cy", "Ann Ben Cy"),
        ("Ich arbeite mit Ann, Ben und Cy", "Ann Ben Cy"),
        ("Je travaille avec Ann, Ben et Cy", "Ann Ben Cy"),
        ("Trabajo con Ann, Ben y Cy", "Ann Ben Cy"),
        ("Я работаю с Анной, Беном и Саем", "Анной Беном Саем"),
        ("我和小安、小本一起工作", "小安 小本"),
    ],
    "has_pet": [
        ("My dogs are called Rex and Bello", "Rex Bello"),
        ("I have two dogs named Rex and Bello", "Rex Bello"),
        ("Meine Hunde heißen Rex und Bello", "Rex Bello"),
        ("Mes chiens s'appellent Rex et Bello", "Rex Bello"),
        ("Mis perros se llaman Rex y Bello", "Rex Bello"),
        ("Моих собак зовут Рекс и Белло", "Рекс Белло"),
        ("我养了狗、猫和鸟", "狗 猫 鸟"),
    ],
}


@every(
    ("predicate", "said", "objects"),
    [(predicate, *case) for predicate, cases in LISTS.items() for case in cases],
)
def test_of_several_things_all_are_kept(predicate: str, said: str, objects: str) -> None:
    assert facts_of(said) == [(predicate, value) for value in objects.split()]


@every(
    ("said", "value"),
    [
        ("me encanta el café con leche de avena", "el café con leche de avena"),
        ("I love coffee with oat milk", "coffee with oat milk"),
        ("I love fish and chips", "fish and chips"),
        ("Ich mag Kaffee mit Hafermilch", "Kaffee mit Hafermilch"),
        ("J'adore le café avec du lait d'avoine", "le café avec du lait d'avoine"),
        ("Я люблю кофе с овсяным молоком", "кофе с овсяным молоком"),
    ],
)
def test_a_thing_that_is_liked_is_kept_whole(said: str, value: str) -> None:
    assert facts_of(said) == [("likes", value)]


@every(
    ("said", "fact"),
    [
        ("I love tea, it warms me", ("likes", "tea")),
        ("I'm allergic to cats and get hives", ("allergic_to", "cats")),
        ("I'm allergic to nuts, sorry", ("allergic_to", "nuts")),
        ("I speak Spanish with my mother", ("speaks", "Spanish")),
        ("I am allergic to nuts and I live in Porto", ("allergic_to", "nuts")),
        ("Ich mag Tee, aber Kaffee trinke ich auch", ("likes", "Tee")),
        ("J'adore le thé, c'est bon", ("likes", "le thé")),
        ("I live in Porto with my sister", ("lives_in", "Porto")),
    ],
)
def test_a_clause_is_no_thing_of_a_list(said: str, fact: tuple[str, str]) -> None:
    assert facts_of(said) == [fact]


def test_each_thing_of_a_list_is_a_fact_and_the_sentence_no_memory(tmp_path: Path) -> None:
    page = page_after(tmp_path, ["I am allergic to penicillin, latex and cats"])

    for value in ("penicillin", "latex", "cats"):
        assert f"- allergic_to: {value} (ref:" in page
    notes = (tmp_path / "vault/Users").rglob("*.md")
    kept = [note.stem for note in notes if "latex" in note.read_text(encoding="utf-8")]
    # The dated note of memories has no line that repeats the facts.
    assert not [name for name in kept if name.startswith("2026-05")]
