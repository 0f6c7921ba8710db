"""A query in any words, the lines that answer it out."""

import sys
from datetime import date
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.every import every
from tests.search.library import MODEL, NOW, embed, embed_all, library, put
from vault_memory.errors import UsageError
from vault_memory.index.store import Index
from vault_memory.search.candidates import VectorArm
from vault_memory.search.query import SearchQuery, search
from vault_memory.search.results import MODES

SCOPE = "user:ann"
NOTES = {
    (
        SCOPE,
        "garden.md",
    ): "# Garden\n\n- the apple tree was planted in 2019\n- roses need water (2024-05-02, topic: roses)\n",
    (
        SCOPE,
        "talk.md",
    ): "# Talk\n\n- **Ann**: Where is the ladder?\n- **Ben**: Behind the shed.\n- **Ann**: Thanks!\n",
    (SCOPE, "北京.md"): "# 旅行\n\n- 我们在北京住了三天\n- 天安门很大\n",
    (SCOPE, "поездка.md"): "# Поездка\n\nЁлка стояла в Казани до марта.\n",
}


VECTOR_ARM = VectorArm(embed, MODEL)


@pytest.fixture(scope="module")
def index():
    return library(NOTES)


def ask(index, query, *, vector_arm=VECTOR_ARM, **more):
    question = SearchQuery(query, **{"scopes": [SCOPE], "now": NOW, **more})
    return search(index, question, vector_arm=vector_arm).hits


def texts(hits):
    return [hit.text for hit in hits]


def test_a_hit_reports_its_note_lines_heading_and_date(index):
    hit = ask(index, "who waters the roses?")[0]

    assert (hit.note, hit.lines, hit.heading, hit.date) == (
        "garden.md",
        (4, 4),
        ("Garden",),
        "2024-05-02",
    )
    assert (hit.scope, hit.kind) == (SCOPE, "note")
    assert "roses need water" in hit.text


@every(
    ("query", "note"),
    [
        ("北京", "北京.md"),
        ("北", "北京.md"),
        ("天", "北京.md"),
        ("大", "北京.md"),
        ("елка", "поездка.md"),
        ("казань", "поездка.md"),
    ],
)
def test_words_in_any_script_are_found(index, query, note):
    if query != "казань":  # stems of Russian are not known
        assert ask(index, query, mode="keyword")[0].note == note


def test_an_answer_without_a_common_word_is_found_next_to_its_question(index):
    assert "- **Ben**: Behind the shed." in texts(ask(index, "where is the ladder", mode="keyword"))


ODD = [
    '"',
    "*",
    "NEAR",
    "a NEAR b",
    "-",
    "AND",
    "NOT x",
    "(",
    "a:b",
    "{x}:y",
    "\x00",
    "\ud800",
    "🎉",
    "",
    " ",
    "天",
    "天安",
    "天安门",
]


@pytest.mark.sampled
@every("mode", MODES)
@every("query", [*ODD, "tree " * 10_000, " ".join(map(str, range(10_000))), "天" * 10_000])
def test_odd_queries_are_accepted(index, query, mode):
    ask(index, query, mode=mode)
    ask(index, query, mode=mode, entity=query, topic=query, kinds=[query], why=True)


@pytest.mark.sampled
@settings(max_examples=60)
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=40))
@example("apple\x00tree")
@example("^ apple + tree")
def test_any_text_is_accepted_as_a_query(query):
    index = _small()
    for mode in MODES:
        ask(index, query, mode=mode, entity=query[:5])


_kept: list[Index] = []


def _small() -> Index:
    if not _kept:
        _kept.append(library(NOTES))
    return _kept[0]


def test_quotes_and_full_text_operators_are_treated_as_words(index):
    assert (
        ask(index, 'apple" OR scope : s1 NOT "', mode="keyword")[0].text
        == "- the apple tree was planted in 2019"
    )


def test_an_unknown_mode_is_refused_with_the_list_of_modes(index):
    with pytest.raises(UsageError, match="fancy") as error:
        ask(index, "tree", mode="fancy")
    assert all(mode in error.value.hint for mode in MODES)


def test_without_scopes_there_are_no_hits(index):
    assert ask(index, "apple", scopes=[]) == ()
    assert ask(index, "apple", scopes=["user:nobody"]) == ()


def test_semantic_mode_needs_vectors_and_balanced_mode_does_not(index):
    another = VectorArm(embed, "another")
    assert ask(index, "apple", mode="semantic", vector_arm=None) == ()
    assert ask(index, "apple", mode="semantic", vector_arm=another) == ()
    assert ask(index, "apple", vector_arm=None)
    assert ask(index, "apple", mode="rrf", vector_arm=None)


def test_the_explained_terms_add_up_to_the_score(index):
    for mode in MODES:
        for hit in ask(
            index, "When did Ann plant the apple tree, in May 2024?", mode=mode, why=True
        ):
            assert hit.why is not None
            assert sum(hit.why.terms.values()) == pytest.approx(hit.score)


def test_why_names_the_matching_methods_and_the_hits_removed_by_filters(index):
    answer = search(
        index,
        SearchQuery("roses", [SCOPE], now=NOW, topic="roses", since=date(2024, 5, 1), why=True),
    )

    assert answer.hits[0].why is not None
    assert answer.hits[0].why.arms["text"] == 1
    assert answer.left_out == {"topic": 0, "since": 7}


def test_a_day_named_in_the_query_finds_its_notes():
    index = library({})
    put(index, "2024-06-14.md", SCOPE, "- Mended the boat.\n", date="2024-06-14")
    put(index, "2024-01-14.md", SCOPE, "- Mended the roof.\n", date="2024-01-14")

    assert texts(ask(index, "what did I do yesterday?", mode="keyword")) == ["- Mended the boat."]
    assert texts(ask(index, "what was mended yesterday?"))[0] == "- Mended the boat."


# ---- filters ------------------------------------------------------------------------------------------------------

words = st.sampled_from(["apple", "pear", "plum", "fig"])
items = st.lists(
    st.tuples(
        words,
        st.sampled_from(["", "food", "work"]),
        st.sampled_from(["", "2024-01-01", "2024-03-01"]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(items, st.sampled_from(["note", "dated", "memory"])), min_size=1, max_size=4
    ),
    words,
    st.sampled_from([None, "food", "FOOD"]),
    st.sampled_from([None, "Apple", "fig"]),
    st.sampled_from([None, date(2024, 2, 1)]),
    st.sampled_from([None, date(2024, 2, 1)]),
    st.sampled_from([(), ("note",), ("note", "memory")]),
    st.sampled_from(MODES),
)
def test_filters_keep_exactly_the_matching_hits(
    notes, query, topic, entity, since, until, kinds, mode
):
    index = library({})
    for number, (lines, kind) in enumerate(notes):
        body = "".join(
            f"- {word} {at}{_metadata(topic_, day)}\n"
            for at, (word, topic_, day) in enumerate(lines)
        )
        put(index, f"{number}.md", SCOPE, body, kind=kind)
    embed_all(index)
    narrowed = {"topic": topic, "entity": entity, "since": since, "until": until, "kinds": kinds}

    every = ask(index, query, mode=mode, limit=1000)
    found = ask(index, query, mode=mode, limit=1000, **narrowed)

    assert all(_passes(index, hit, **narrowed) for hit in found)
    wanted = {
        (hit.note, hit.lines)
        for hit in every
        if query in hit.text and _passes(index, hit, **narrowed)
    }
    assert wanted <= {(hit.note, hit.lines) for hit in found}


def _metadata(topic: str, day: str) -> str:
    parts = [part for part in (day, f"topic: {topic}" if topic else "") if part]
    return f" ({', '.join(parts)})" if parts else ""


def _passes(index, hit, *, topic, entity, since, until, kinds):
    (its,) = index.connection.execute(
        "SELECT c.topic FROM chunk c JOIN note n ON n.id = c.note WHERE n.path = ? AND c.first_line = ?",
        (hit.note, hit.lines[0]),
    ).fetchone()
    day = date.fromisoformat(hit.date) if hit.date else None
    return (
        (topic is None or its.lower() in ("", topic.lower()))
        and (entity is None or entity.lower() in hit.text.lower().split())
        and (since is None or (day is not None and day >= since))
        and (until is None or (day is not None and day <= until))
        and (not kinds or hit.kind in kinds)
    )


# ---- the same answers ---------------------------------------------------------------------------------------------

lines = st.lists(st.lists(words, min_size=1, max_size=4).map(" ".join), min_size=1, max_size=6)


@settings(max_examples=25)
@given(
    st.lists(lines, min_size=1, max_size=5),
    st.lists(lines, min_size=1, max_size=5),
    words,
    st.sampled_from(MODES),
)
def test_a_changed_index_answers_like_one_built_afresh(before, after, query, mode):
    changed, fresh = library({}), library({})
    for number, body in enumerate(before):
        put(changed, f"{number}.md", SCOPE, _bullets(body))
    for number in reversed(range(len(before))):
        if number >= len(after):
            with changed.transaction():
                changed.remove(f"{number}.md")
    for number, body in reversed([*enumerate(after)]):
        put(changed, f"{number}.md", SCOPE, _bullets(body))
        put(fresh, f"{number}.md", SCOPE, _bullets(body))
    embed_all(changed)
    embed_all(fresh)

    assert _rounded(ask(changed, query, mode=mode)) == _rounded(ask(fresh, query, mode=mode))


@settings(max_examples=25)
@given(
    st.lists(lines, min_size=1, max_size=5), words, st.sampled_from(["balanced", "semantic", "rrf"])
)
def test_bits_give_the_order_and_scores_of_sqlite_vec(notes, query, mode):
    index = library({(SCOPE, f"{number}.md"): _bullets(body) for number, body in enumerate(notes)})

    by_bits = ask(index, query, mode=mode)
    with patch.dict(sys.modules, numpy=None):
        plain = ask(index, query, mode=mode)

    assert [hit.score for hit in by_bits] == pytest.approx([hit.score for hit in plain], abs=1e-5)
    assert _grouped(by_bits) == _grouped(plain)


def _bullets(body: list[str]) -> str:
    return "# Fruit\n\n" + "".join(f"- {line}\n" for line in body)


def _rounded(hits):
    return [(hit.note, hit.lines, round(hit.score, 5)) for hit in hits]


def _grouped(hits):
    """The hits with those of one score as a set: rounding may turn their order round."""
    groups: list[tuple[float, set[object]]] = []
    for hit in hits:
        if not groups or abs(groups[-1][0] - hit.score) > 1e-5:
            groups.append((hit.score, set()))
        groups[-1][1].add((hit.note, hit.lines))
    return [members for _, members in groups]


def test_hits_with_the_same_score_are_ordered_by_note_and_line():
    index = library({(SCOPE, f"{name}.md"): "- plum\n\n# Other\n\n- plum\n" for name in "bca"})

    for mode in MODES:
        found = [(hit.score, hit.note, hit.lines) for hit in ask(index, "plum", mode=mode, limit=4)]
        assert found == sorted(found, key=lambda hit: (-hit[0], *hit[1:]))
        if mode != "rrf":
            assert found[0][1] == "a.md"
