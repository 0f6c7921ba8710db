"""Full text: what goes in is what is found, in any script, and only what is there."""

import gc
import weakref

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.every import every
from tests.search.library import library, put
from vault_memory.index import fts_search, query_cache, schema, term_volumes
from vault_memory.index.filters import Filters
from vault_memory.index.query_cache import MOST, cached
from vault_memory.rules.search import tokens

SCOPE = "user:ann"
NONE = Filters()


def find(index, *asked, filters=NONE, most=100):
    """The texts that have any of the words."""
    found = fts_search.find(index, index.scope_ids([SCOPE]), asked, filters, most=most).rows
    rows = dict(index.connection.execute("SELECT id, text FROM chunk"))
    return sorted(rows[row[1]] for row in found.values())


@pytest.fixture(scope="module")
def index():
    return library(
        {
            (SCOPE, "a.md"): "# Boats\n\n- the red boat (topic: sea)\n- **Ann**: rowing is fun\n",
            (
                SCOPE,
                "b.md",
            ): "- 東京に行った\n- प्रयागराज में हिन्दी\n- กรุงเทพมหานคร\n- Ёлка и café\n- x\x00y\n",
        },
        embedded=False,
    )


@every(
    ("asked", "found"),
    [
        ("red", "- the red boat (topic: sea)"),
        ("row", "- **Ann**: rowing is fun"),
        ("東", "- 東京に行った"),
        ("た", "- 東京に行った"),
        ("東京", "- 東京に行った"),
        ("हिन्दी", "- प्रयागराज में हिन्दी"),
        ("กร", "- กรุงเทพมหานคร"),
        ("елка", "- Ёлка и café"),
        ("cafe", "- Ёлка и café"),
        ("y", "- x\x00y"),
    ],
)
def test_a_word_is_found_in_any_script(index, asked, found):
    assert find(index, asked) == [found]


def test_a_vowel_sign_is_part_of_its_word(index):
    assert find(index, "हिन्दि") == []


def test_a_heading_matches_all_lines_below_it(index):
    assert find(index, "boats") == ["- **Ann**: rowing is fun", "- the red boat (topic: sea)"]


def test_the_name_of_a_scope_is_not_a_searchable_word(index):
    (scope,) = index.scope_ids([SCOPE])

    assert find(index, f"s{scope}", "scope") == []


def test_filters_narrow_the_hits(index):
    assert find(index, "boats", filters=Filters(topic="SEA")) == find(index, "boats")
    assert find(index, "boats", filters=Filters(topic="land")) == ["- **Ann**: rowing is fun"]
    assert find(index, "boats", filters=Filters(kinds=frozenset({"dated"}))) == []


def test_only_the_best_hits_up_to_the_limit_are_returned(index):
    assert find(index, "boats", "red", most=1) == ["- the red boat (topic: sea)"]


def test_very_frequent_words_are_ignored_while_rarer_ones_remain(monkeypatch):
    monkeypatch.setattr(fts_search, "MOST_ROWS", 10)
    index = library(
        {(SCOPE, "a.md"): "".join(f"- common {'rare' if at == 5 else at}\n" for at in range(50))}
    )

    assert find(index, "common", "rare") == ["- common rare"]
    assert len(find(index, "common")) == 50


@pytest.mark.sampled
@settings(max_examples=40)
@given(st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20))
@example("東京 tower")
@example("\u0300")
@example("a\u0600b")
def test_an_indexed_line_is_found_by_its_own_words(line):
    index = library({(SCOPE, "a.md"): f"- {line}\n"}, embedded=False)
    asked = [word for word in tokens.words(line) if any(letter.isalnum() for letter in word)]

    if asked and all(letter.isascii() or letter.isalpha() for letter in line):
        assert find(index, *asked)


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from(["oak", "elm", "ash"]), max_size=4), max_size=4))
def test_text_removed_from_a_note_is_removed_from_the_full_text_index(versions):
    index = library({}, embedded=False)
    for version in versions:
        put(index, "a.md", SCOPE, "".join(f"- {word}\n" for word in version))

        for word in ("oak", "elm", "ash"):
            assert find(index, word) == sorted(f"- {one}" for one in version if one == word)


def test_cached_searches_are_invalidated_by_the_next_change():
    index = library({(SCOPE, "a.md"): "- red boat\n- red car\n"}, embedded=False)
    other = library({(SCOPE, "a.md"): "- red bike\n"}, embedded=False)
    ids = index.scope_ids([SCOPE])
    for _ in range(2):
        assert find(index, "red", "car") == ["- red boat", "- red car"]
        assert find(other, "red") == ["- red bike"]

    put(index, "a.md", SCOPE, "- red car\n- a line\n")

    assert find(index, "red", "car") == ["- red car"]
    places = list(fts_search.find(index, ids, ["red"], NONE, most=9).rows)
    assert set(fts_search.beside(index, ids, [places[0] + 1, places[0] + 2], NONE)) == {
        places[0] + 1
    }
    assert fts_search.beside(index, [], places, NONE) == {}


def test_the_search_cache_is_bounded():
    index = library({(SCOPE, "a.md"): "- word there\n"}, embedded=False)
    for number in range(3 * MOST):
        assert cached(index, lambda _, value: value, number) == number

    assert len(query_cache._caches[index.connection][1]) <= MOST + 1
    assert find(index, "word") == ["- word there"]


def test_a_cache_keeps_no_connection_open():
    index = library({(SCOPE, "a.md"): "- word there\n"}, embedded=False)
    assert find(index, "word") == ["- word there"]
    connection = weakref.ref(index.connection)

    del index
    gc.collect()

    assert connection() is None


WORDS = ("oak", "oaks", "elm", "\u6797", "\u6797\u6a39", "a_b", "b", "12", "who", "s1")
LINES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), min_size=1, max_size=9)


@given(LINES, st.sampled_from(WORDS))
def test_the_list_of_a_word_counts_like_a_search_for_it(lines, word):
    text = "".join(
        f"## {' '.join(line)}\n\n- **{line[0]}**: {' '.join(reversed(line))}\n" for line in lines
    )
    index = library({(SCOPE, "a.md"): text, (SCOPE, "b.md"): "- oak oak\n"}, embedded=False)
    put(index, "b.md", SCOPE, "- elm\n")
    query = fts_search._WordQuery(index, term_volumes.Volume(1, 1), "", fts_search.NO_CHUNKS)
    within = query._replace(within=" AND scope : s1")

    assert fts_search._frequencies(query, word) == fts_search._frequencies(within, word)


@given(st.lists(st.lists(st.integers(0, 40), max_size=30), max_size=12))
def test_each_chunk_has_the_length_that_the_full_text_has(versions):
    index = library({}, embedded=False)
    for number, version in enumerate(versions):
        text = "".join(f"- {'word ' * length}end\n" for length in version)
        put(index, f"{number % 3}.md", SCOPE, text)

        sizes = dict(index.connection.execute("SELECT id, sz FROM chunk_fts_docsize"))
        lengths = term_volumes.Lengths(index).of(index.connection, sizes)

        assert lengths == [term_volumes.words_of(size) for size in sizes.values()]


def test_an_index_of_an_earlier_version_ranks_alike_until_it_is_built_again():
    notes = {
        (SCOPE, "a.md"): "# Red boats\n\n- red, red\n- **Red**: a boat\n",
        (SCOPE, "b.md"): "- x\n",
    }
    new, old = library(notes, embedded=False), library({}, embedded=False)
    old.connection.execute(
        "DROP TABLE chunk_fts; CREATE VIRTUAL TABLE chunk_fts"
        " USING fts5(scope, heading, who, body, content='', contentless_delete=1,"
        f' tokenize="{" ".join(map(repr, schema.TOKENIZER))}")'
    )
    for (scope, path), text in notes.items():
        put(old, path, scope, text)

    def scores(index):
        scopes = index.scope_ids([SCOPE])
        return fts_search.find(index, scopes, ["red", "boat"], NONE, most=9).by_word

    assert scores(old) == scores(new)
    assert len(set(scores(new)["red"].values())) == 2
