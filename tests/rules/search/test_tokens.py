"""Words as search sees them."""

from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.rules.search import tokens


def test_text_without_spaces_is_split_into_pairs_and_its_last_letter():
    assert tokens.words("東京都 tower") == ["東京", "京都", "都", "tower"]


def test_a_single_letter_of_such_a_script_is_kept():
    assert tokens.words("a 東 b") == ["a", "東", "b"]


def test_text_in_mixed_scripts_is_split_between_them():
    assert tokens.words("NFL联盟2024") == ["nfl", "联盟", "盟", "2024"]


@every(
    ("written", "typed"),
    [
        ("ёлка", "елка"),
        ("Straße", "STRASSE"),
        ("Ёлка", "ЕЛКА"),
        ("cafe\u0301", "café"),
        ("כַּלְבּ", "כלב"),
        ("مُحَمَّد", "محمد"),
        ("كيف", "کیف"),
        ("so\u00adft zero\u200bwidth", "soft zerowidth"),
        ("ﬁnal ﬂower", "final flower"),
        ("ＦＵＬＬ　ｗｉｄｔｈ", "full width"),
        ("Ørsted Đurđa Ħal Þor Ærø Œuvre ısı", "orsted durda hal thor aero oeuvre isi"),
        ("25 m²", "25 m2"),
        ("ΟΔΟΣ Σίσυφος", "οδος ΣΊΣΥΦΟΣ"),
        ("**un**likely &uuml;ber", "unlikely über"),
        ("👍🏽", "👍"),
        ("☀️", "☀"),
        ("1️⃣", "1"),
    ],
)
def test_spelling_variants_give_the_same_words(written, typed):
    assert tokens.words(written) == tokens.words(typed)


def test_each_picture_is_a_word_of_its_own():
    assert len(set(tokens.words("🎉🎂party🎉 🇩🇪 🇫🇷"))) == 5
    assert set(tokens.words("👩")) < set(tokens.words("👩‍💻"))


def test_a_picture_is_searched_only_when_it_is_all_that_is_asked():
    assert tokens.terms("tea with Anna 😊") == ["tea", "anna"]
    assert tokens.terms("😊") == tokens.words("😊")


def test_a_word_with_an_inner_joiner_is_found_in_one_and_by_its_parts():
    found = tokens.words("می‌خواهم")
    assert set(tokens.words("میخواهم")) < set(found)
    assert set(tokens.words("می خواهم")) < set(found)


def test_words_of_hindi_are_not_split_at_their_vowel_signs():
    assert tokens.words("हिन्दी भाषा।") == ["हिन्दी", "भाषा"]


@every(
    ("sentence", "kept"),
    [
        ("When did Caroline go to the support group?", ["caroline", "support", "group"]),
        ("Wann hat die Gruppe das Haus verkauft?", ["gruppe", "haus", "verkauft"]),
        ("Где была построена башня?", ["построена", "башня"]),
        ("who is it?", ["who", "is", "it"]),
        ("东京塔什么时候", ["东京", "京塔", "塔什", "么时", "候"]),
    ],
)
def test_stop_words_are_removed_unless_nothing_else_is_left(sentence, kept):
    found = tokens.terms(sentence)

    assert set(found) >= set(kept) - {"候"}
    assert not {"the", "die", "das", "где"} & set(found) or sentence == "who is it?"


def test_a_stop_word_of_one_language_is_kept_in_another():
    assert "die" in tokens.terms("how did the dog die?")
    assert "die" not in tokens.terms("wo ist die Katze und der Hund?")


def test_of_a_long_prompt_only_the_questions_are_searched():
    prompt = "I had a long day. My boss called. Where did I leave the keys? It rained. And who has the car?"

    assert tokens.sentences(prompt) == ["Where did I leave the keys?", "And who has the car?"]


def test_of_a_prompt_without_a_question_the_last_two_sentences_are_searched():
    assert tokens.sentences("One. Two. Three.") == ["Two.", "Three."]
    assert tokens.sentences("我在北京。他在上海。他们在哪里？") == ["他们在哪里？"]


def test_the_number_of_terms_is_limited():
    assert (
        len(tokens.terms(" ".join(f"word{number}" for number in range(10_000))))
        == tokens.MOST_TERMS
    )
    assert len(tokens.sentences("what? " * 10_000)) == tokens.MOST_SENTENCES


@given(st.text(alphabet=st.characters(exclude_categories=())))
@example("\ud800 lone")
@example("\x00")
@example("ก\u0e33")
@example("İ")
def test_any_text_gives_words_that_can_be_stored(text):
    for found in (
        tokens.words(text),
        tokens.terms(text),
        tokens.sentences(text),
        [tokens.normalise(text)],
    ):
        for word in found:
            word.encode("utf-8")
            assert "\x00" not in word


@given(
    st.text(
        st.sampled_from(
            [*"aZ 1&*-\0\n", *map(chr, range(0x80, 0x180)), *map(chr, range(0x2000, 0x2070))]
        )
    )
)
def test_the_quick_way_for_latin_texts_gives_the_same(text):
    assert tokens.normalise(f"{text}\n東") == f"{tokens.normalise(text)}\n 東 "


@given(st.text())
def test_normalising_words_twice_changes_nothing(text):
    single = [word for word in tokens.words(text) if not tokens.is_run(word)]

    assert tokens.words(" ".join(single)) == single or any(not word.isascii() for word in single)


@every(
    ("entity", "text", "named"),
    [
        ("Ann", "- **Ann**: hi", True),
        ("Ann", "Anna was here", False),
        ("will", "Wills was here", False),
        ("Zoe", "with Zoë at the sea", True),
        ("New York", "in new york, again", True),
        ("New York", "a new day in York", False),
        ("李明", "昨天李明来了", True),
        ("李", "昨天李明来了", True),
        ("", "anything", False),
    ],
)
def test_an_entity_name_matches_whole_words(entity, text, named):
    assert tokens.names(entity, text) is named
