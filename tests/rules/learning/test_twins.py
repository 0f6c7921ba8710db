"""Which items say the same, and which only look alike."""

import random
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.rules.claims.equivalence import KEY_LENGTH, content_key
from vault_memory.rules.learning.twins import TwinIndex, compared, relation_of
from vault_memory.rules.search.copies import fingerprint

ALICE = "user:alice"

PIECES = st.sampled_from(
    [
        *("the team meets ann and bo in the old house near the river every week".split()),
        *("Ann Bo Bergen 5433 5434 Monday Friday May June not never today C# -5 5".split()),
        *("a@b.org /etc/hosts “tea” **bo**: , . ! 我住在上海 我住在北京 喜欢茶 чай не Ни".split()),
    ]
)
STATEMENTS = st.lists(PIECES, min_size=1, max_size=24).map(" ".join)
METADATA = st.sampled_from(
    [
        "",
        " (2026-05-01)",
        " (2026-05-02, ref:t1)",
        " (2026-05-03, until:2026-05-02)",
        " (2026-05-01, conf:0.3)",
        ' — "so be it" (2026-05-01)',
    ]
)
ITEMS = st.builds(str.__add__, STATEMENTS, METADATA)


# --- Keys -------------------------------------------------------------------------------------


@every(
    ("first", "second"),
    [
        ("I live in Bergen", "I live in Bergen."),
        ("I live in Bergen", "[identity] I live in **Bergen**! (2026-05-01, ref:t1)"),
        ("Likes tea", 'likes tea — "I like tea" (2026-05-01)'),
        ("Wi‑Fi ﬁnally works", "wi‑fi finally works"),
        ("I don't eat meat", "I don’t eat meat"),
        ("Я живу в Осло", "я живу в Осло!"),
        ("我住在上海，喜欢茶", "我住在上海,喜欢茶。"),
        ("Straße", "STRASSE"),
    ],
)
def test_differences_in_form_keep_the_key_of_a_statement(first: str, second: str) -> None:
    assert content_key(ALICE, first) == content_key(ALICE, second)


@every(
    ("first", "second"),
    [
        ("Likes C", "Likes C#"),
        ("Grew by 5", "Grew by 5%"),
        ("It was -5 degrees", "It was 5 degrees"),
        ("Version 1.5", "Version 15"),
        ("Meets at 18:30", "Meets at 1830"),
        ("!", "?"),
    ],
)
def test_a_meaningful_character_changes_the_key_of_a_statement(first: str, second: str) -> None:
    assert content_key(ALICE, first) != content_key(ALICE, second)


def test_the_same_text_has_different_keys_in_two_scopes() -> None:
    text = "Likes tea"
    assert content_key(ALICE, text) != content_key("channel:alice", text)


@given(st.text())
@example("\ud800")
def test_every_text_has_a_key(text: str) -> None:
    key = content_key(ALICE, text)
    assert len(key) == KEY_LENGTH
    assert set(key) <= set(string.hexdigits.lower())


# --- Relations --------------------------------------------------------------------------------

PORT = (
    "The staging database of the billing service listens on port {} of the host behind "
    "the old firewall and needs the VPN to be up"
)


@every(
    ("old", "new", "relation"),
    [
        # English
        ("I live in Bergen (2026-05-01)", "I live in Bergen.", "same"),
        (
            "Every morning before work I drink a cup of black coffee at the small kitchen table",
            "Every morning before work I drink a cup of black coffee at the kitchen table",
            "near",
        ),
        (PORT.format(5433), PORT.format(5434), "rival"),
        (PORT.format("5,433"), PORT.format(5433), "near"),
        # German
        (
            "Ich trinke jeden Morgen vor der Arbeit eine Tasse Kaffee ohne Zucker am Küchentisch",
            "Ich trinke jeden Morgen vor der Arbeit gern eine Tasse Kaffee ohne Zucker am Küchentisch",
            "near",
        ),
        # Russian
        (
            "Я живу в Москве и каждое утро перед работой пью чёрный чай с лимоном",
            "Я живу в Москве и каждое утро перед работой пью крепкий чёрный чай с лимоном",
            "near",
        ),
        (
            "Я каждое утро перед работой пью чёрный чай с лимоном и ем два яйца",
            "Я каждое утро перед работой пью чёрный чай с лимоном и ем три яйца",
            "rival",
        ),
        # Chinese
        ("我住在上海，喜欢喝绿茶", "我住在上海，喜欢喝绿茶。", "same"),
        (
            "我住在上海，周末常常和朋友们一起去公园散步，喜欢喝绿茶",
            "我住在上海，周末常常和朋友们一起去公园散步，也喜欢喝绿茶",
            "near",
        ),
        (
            "我住在上海，每周常常和朋友张伟一起去公园里散步，也喜欢喝绿茶和咖啡，喜欢看电影",
            "我住在上海，每周常常和朋友张芳一起去公园里散步，也喜欢喝绿茶和咖啡，喜欢看电影",
            "rival",
        ),
        # too short, or too different
        ("Likes green tea", "Likes black tea", None),
        ("Drinks tea", "Never drinks tea", None),
    ],
)
def test_similar_texts_in_several_scripts_have_the_expected_relation(
    old: str, new: str, relation: str | None
) -> None:
    match = TwinIndex([old]).find(new)
    assert (match.relation if match else None) == relation


LONG = "In the summer house by the lake {} and we cook a big fish soup for all of the neighbours"


@every(
    ("first", "second"),
    [
        ("we meet 12 guests", "we meet 13 guests"),
        ("we meet two guests", "we meet three guests"),
        ("we meet from 9 to 5", "we meet from 5 to 9"),
        ("we meet on 2026-05-01", "we meet on 2026-05-02"),
        ("we meet on Friday", "we meet on Sunday"),
        ("we meet in June", "we meet in July"),
        ("we meet with Ann", "we meet with Bo"),
        ("Ann calls Bo", "Bo calls Ann"),
        ("we do smoke", "we do not smoke"),
        ("we smoke", "we don't smoke"),
        ("we meet before noon", "we meet after noon"),
        ("we write to ann@example.org", "we write to bo@example.org"),
        ("we read /etc/hosts", "we read /etc/passwd"),
        ('we sing "hello"', 'we sing "goodbye"'),
        ("we write C", "we write C#"),
        ("we lose -5 points", "we lose 5 points"),
    ],
)
def test_a_text_that_differs_in_one_detail_is_a_rival_not_a_duplicate(
    first: str, second: str
) -> None:
    match = TwinIndex([LONG.format(second)]).find(LONG.format(first))
    assert match is not None
    assert match.relation == "rival"
    assert not match.is_duplicate


def test_a_text_with_more_detail_replaces_the_old_one() -> None:
    old = LONG.format("we meet with Ann")
    new = LONG.format("we meet with Ann and Bo")

    replacing, shorter = TwinIndex([old]).find(new), TwinIndex([new]).find(old)

    assert replacing is not None
    assert replacing.replaces
    assert shorter is not None
    assert not shorter.replaces


def test_the_same_event_on_another_day_is_not_a_duplicate() -> None:
    match = TwinIndex(["I ran today (2026-05-01)"]).find("I ran today (2026-05-02)")
    assert match is not None
    assert match.relation == "rival"


def test_a_statement_that_ended_can_be_made_again() -> None:
    assert (
        TwinIndex(["I live in Oslo (until:2026-05-01)"]).find("I live in Oslo (2026-05-03)") is None
    )
    assert TwinIndex(["I live in Oslo (conf:0.3)"]).find("I live in Oslo") is None


@every(
    ("cosine", "new", "relation"),
    [
        (0.96, "Her home is Bergen", "close"),
        (0.9, "Her home is Bergen", None),
        (0.9, "She lives in Bergen", "close"),
        (0.9, "She lives in Bergen now close to the sea", "larger"),
        (0.8, "She lives in Bergen now close to the sea", None),
        (0.96, "Her home is Oslo", "rival"),
    ],
)
def test_vectors_recognise_a_rewording(cosine: float, new: str, relation: str | None) -> None:
    index = TwinIndex(["She lives in Bergen now"])
    match = index.find(new, {0: cosine})
    assert (match.relation if match else None) == relation


# --- Laws -------------------------------------------------------------------------------------


COSINES = st.sampled_from([None, 0.5, 0.85, 0.9, 0.95, 1.0])


@given(ITEMS, ITEMS, COSINES)
def test_same_and_rival_do_not_depend_on_the_order_of_the_texts(
    first: str, second: str, cosine: float | None
) -> None:
    there = relation_of(compared(first), compared(second), cosine=cosine)
    back = relation_of(compared(second), compared(first), cosine=cosine)
    for relation in ("same", "rival"):
        assert (there == relation) == (back == relation)


CALM = "boat lamp harbour kettle window garden ladder copper ribbon bucket anchor cellar".split()
EDITS = {
    "another number": lambda words: [*words[:-1], "port", "5434"],
    "no number": lambda words: [*words[:-1], "lighthouse"],
    "another name": lambda words: [*words[:-1], "with", "Tomas"],
    "a negation": lambda words: ["not", *words],
    "a word more": lambda words: [*words, "today"],
    "a word less": lambda words: words[1:],
    "nothing": lambda words: words,
}


@given(st.permutations(CALM), st.sampled_from([*EDITS]), st.sampled_from([*EDITS]))
@example(CALM, "another number", "a negation")
@example(CALM, "a negation", "a word less")
@example(CALM, "nothing", "no number")
@example(CALM, "a negation", "a word more")
def test_near_texts_are_rivals_in_either_order(
    words: list[str], first_edit: str, second_edit: str
) -> None:
    ending = ["port", "5433"]
    first = " ".join(EDITS[first_edit]([*words, *ending]))
    second = " ".join(EDITS[second_edit]([*words, *ending]))

    there = relation_of(compared(first), compared(second))

    assert there == relation_of(compared(second), compared(first)) or {
        there,
        relation_of(compared(second), compared(first)),
    }.isdisjoint({"same", "rival"})
    if {first_edit, second_edit} == {"a negation", "nothing"}:
        assert there == "rival"


MANY_WORDS = CALM + "lantern barrel pillow saddle thimble basket shovel whistle".split()
RIVALS = {
    "number": ("port 5433", "port 5434"),
    "name": ("with Tomas", "with Greta"),
    "weekday": ("on Monday", "on Friday"),
    "month": ("in May", "in June"),
    "address": ("at a@b.org", "at b@b.org"),
    "negation": ("then", "not then"),
}
WORD_MORE = st.sampled_from(["", "later", "again"])


@given(st.permutations(MANY_WORDS), st.sampled_from([*RIVALS]), WORD_MORE, st.booleans())
@example(MANY_WORDS, "number", "later", True)
@example(MANY_WORDS, "number", "later", False)
def test_rivals_of_unequal_length_are_rivals_in_either_order(
    words: list[str], difference: str, word_more: str, is_first_longer: bool
) -> None:
    first, second = RIVALS[difference]
    longer, shorter = (first, second) if is_first_longer else (second, first)
    texts = [" ".join([*words, word_more, longer]), " ".join([*words, shorter])]

    relations = [
        relation_of(compared(new), compared(item)) for new, item in (texts, reversed(texts))
    ]

    assert relations == ["rival", "rival"]


@given(STATEMENTS, st.sampled_from([" (2026-05-01)", " (2026-05-01, ref:t1)"]))
def test_the_same_statement_is_the_same_in_either_order(text: str, mark: str) -> None:
    other = f"[preference] {text.upper()}{mark}"
    pair = compared(f"{text} (2026-05-01)"), compared(other)
    assert relation_of(*pair) == relation_of(*reversed(pair)) == "same"


RELATED = st.builds(
    lambda words, more, rival: " ".join([*words, more, rival]),
    st.sampled_from([MANY_WORDS, MANY_WORDS[1:], MANY_WORDS[:-1], MANY_WORDS[:3]]),
    WORD_MORE,
    st.sampled_from([text for pair in RIVALS.values() for text in pair]),
)


@given(st.lists(ITEMS | RELATED, max_size=10))
@example([f"{' '.join(MANY_WORDS)} port {number}" for number in (5433, 5434)])
def test_adding_everything_twice_equals_adding_it_once(items: list[str]) -> None:
    index = TwinIndex()

    def add_all() -> None:
        for item in items:
            match = index.find(item)
            if match is None or not match.is_duplicate:
                index.add(item)

    add_all()
    count = len(index)
    add_all()
    assert len(index) == count


VOCABULARY = [f"word{number:02}" for number in range(30)]
VARIANTS = st.lists(
    st.sets(st.integers(0, 29), min_size=4, max_size=30).map(
        lambda numbers: " ".join(VOCABULARY[number] for number in sorted(numbers))
    ),
    min_size=1,
    max_size=12,
)


@given(VARIANTS, st.integers(0, 25), st.integers(1, 3))
@example(["word00 word01 word02 word03 word04 word05 word06"], 0, 1)
def test_the_index_finds_each_near_item(items: list[str], start: int, left_out: int) -> None:
    kept = items[0].split()
    del kept[start % len(kept) : start % len(kept) + left_out]
    new = " ".join(kept)
    near = [relation_of(compared(new), compared(item)) for item in items]
    match = TwinIndex(items).find(new)
    assert (match is not None) == any(near)


@given(st.lists(ITEMS, max_size=20), ITEMS)
def test_the_index_gives_the_same_match_as_comparing_all_items(items: list[str], new: str) -> None:
    relations = {relation_of(compared(new), compared(item)) for item in items}
    order = [name for name in ("same", "near", "rival") if name in relations]
    match = TwinIndex(items).find(new)
    assert (match.relation if match else None) == (order[0] if order else None)


def test_a_new_text_is_compared_with_only_a_few_of_many_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = random.Random(7)
    vocabulary = [f"w{number}" for number in range(2000)]
    items = [" ".join(chance.sample(vocabulary, 10)) for _ in range(2000)]
    index = TwinIndex(items)
    compared_pairs: list[object] = []
    monkeypatch.setattr(
        "vault_memory.rules.learning.twins.relation_of",
        lambda *args, **options: compared_pairs.append(args),
    )

    for item in items[:100]:
        index.find(item)

    assert 100 <= len(compared_pairs) < 100 * 20


@pytest.mark.parametrize(
    ("statement", "other"),
    [
        ("We booked a cabin near Faro! 🎉", "we booked a cabin near Faro."),
        ("❤️ I love the ferry", "I love the ferry"),
        ("我住在卑尔根😊", "我住在卑尔根。"),
    ],
)
def test_smileys_around_a_statement_do_not_make_it_another_one(statement: str, other: str) -> None:
    assert content_key("user:ann", statement) == content_key("user:ann", other)
    assert fingerprint(statement) == fingerprint(other)


def test_a_smiley_alone_is_a_statement() -> None:
    assert content_key("user:ann", "🎉") != content_key("user:ann", "😊")
