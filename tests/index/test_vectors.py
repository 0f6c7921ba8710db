"""Vectors: computed once for a text, kept by model, and the same answer from memory as from the file."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.search.library import DIMENSIONS, MODEL, embed, embed_all, library, put
from vault_memory.index import vectors
from vault_memory.index.store import State
from vault_memory.index.vector_cache import Matrices
from vault_memory.ingest.embed_pending import embed_pending
from vault_memory.rules.search import scoring

SCOPES = ("user:ann", "user:ben")


def model_of(index, name=MODEL):
    with index.transaction():
        return vectors.model_id(index, name, name, DIMENSIONS)


def vector_count(index):
    return index.connection.execute("SELECT count(*) FROM vector").fetchone()[0]


def test_the_same_text_in_two_notes_has_one_vector():
    index = library({("user:ann", "a.md"): "- tea\n- milk\n", ("user:ben", "b.md"): "- tea\n"})

    assert vector_count(index) == 2


def test_a_text_that_returns_needs_no_new_vector():
    index = library({("user:ann", "a.md"): "- tea\n- milk\n"})
    model = model_of(index)
    put(index, "a.md", "user:ann", "- milk\n")
    put(index, "a.md", "user:ann", "- tea\n- milk\n")
    put(index, "renamed.md", "user:ann", "- milk\n- tea\n")

    assert vectors.missing_count(index, model) == 0
    assert vectors.pending(index, model, 10) == []


def test_only_settled_notes_are_pending_with_the_newest_first():
    index = library({("user:ann", f"{name}.md"): f"- {name}\n" for name in "abc"}, embedded=False)
    model = model_of(index)
    index.set_state("b.md", State.HOT)

    assert [text for _, text in vectors.pending(index, model, 10)] == ["c", "a"]
    assert [text for _, text in vectors.pending(index, model, 1)] == ["c"]
    assert vectors.missing_count(index, model) == 2


def test_vectors_of_two_models_are_never_mixed():
    index = library({("user:ann", "a.md"): "- tea\n"})
    other = model_of(index, "other")

    likeness = vectors.like(index, index.scope_ids(SCOPES), other, embed("tea"))

    assert likeness.best(10, None, scoring.WEIGHTS) == []
    assert vectors.missing_count(index, other) == 1


def test_vectors_of_another_dimension_are_ignored():
    index = library({("user:ann", "a.md"): "- tea\n"})
    short = np.ones(4, dtype="<f4").tobytes()

    for matrices in (None, Matrices()):
        assert likeness_to(index, short, matrices).best(10, None, scoring.WEIGHTS) == []


def test_a_limited_number_of_unused_vectors_is_kept():
    index = library({("user:ann", "a.md"): "".join(f"- line {at}\n" for at in range(10))})
    model = model_of(index)
    put(index, "a.md", "user:ann", "- line 0\n")

    with index.transaction():
        assert vectors.prune(index, model, most=20) == 0
        assert vectors.prune(index, model, most=4) == 5
    assert vector_count(index) == 5


def test_vectors_of_an_old_model_are_dropped_once_the_new_one_is_complete():
    index = library({("user:ann", "a.md"): "- tea\n- milk\n"})
    new = model_of(index, "new")

    with index.transaction():
        assert vectors.prune(index, new) == 0
        for key, text in vectors.pending(index, new, 10):
            vectors.put(index, new, [(key, embed(text))])
        assert vectors.prune(index, new) == 2
    assert vectors.missing_count(index, new) == 0


def test_an_embedding_run_ends_by_dropping_unused_vectors():
    index = library({("user:ann", "a.md"): "- tea\n- milk\n"})
    assert vector_count(index) == 2

    assert embed_pending(index, Toy()) == 2

    assert vector_count(index) == 2
    put(index, "a.md", "user:ann", "- milk\n")
    put(index, "a.md", "user:ann", "- tea\n- milk\n- more\n")
    assert embed_pending(index, Toy()) == 1


class Toy:
    name, fingerprint, dimensions = "toy", "another", DIMENSIONS

    def embed(self, texts, *, query=False):
        return [embed(text) for text in texts]


def likeness_to(index, vector, matrices=None, scopes=SCOPES):
    model, ids = model_of(index), index.scope_ids(scopes)
    if matrices:
        return matrices.like(index, ids, model, vector)
    return vectors.like(index, ids, model, vector)


def values(likeness, index):
    places = [
        scoring.place(note, ordinal)
        for note, ordinal in index.connection.execute("SELECT note, ordinal FROM chunk")
    ]
    return {place: pytest.approx(pair, abs=1e-5) for place, pair in likeness.at(places).items()}


texts = st.lists(
    st.lists(st.sampled_from("tea milk oak elm ash".split()), min_size=1).map(" ".join), max_size=5
)


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(SCOPES), texts), min_size=1, max_size=6
    ),
    st.booleans(),
)
def test_vectors_in_memory_follow_every_change_and_equal_the_stored_ones(edits, embed_each_time):
    index, matrices = library({}), Matrices()
    for name, scope, lines in edits:
        put(index, f"{name}.md", scope, "".join(f"- {line}\n" for line in lines))
        if embed_each_time:
            embed_all(index)
        for scopes in (SCOPES, SCOPES[:1]):
            resident, plain = (
                likeness_to(index, embed("tea oak"), matrices, scopes),
                likeness_to(index, embed("tea oak"), None, scopes),
            )

            assert values(plain, index) == resident.at(values(plain, index))
            assert len(resident.best(100, None, scoring.WEIGHTS)) == len(
                plain.best(100, None, scoring.WEIGHTS)
            )


def test_a_set_of_candidates_restricts_the_best_hits():
    index = library({("user:ann", "a.md"): "- tea\n- milk\n- oak\n"})
    for matrices in (None, Matrices()):
        likeness = likeness_to(index, embed("tea"), matrices)
        every = likeness.best(10, None, scoring.WEIGHTS)

        assert likeness.best(10, {every[1]}, scoring.WEIGHTS) == [every[1]]
        assert likeness.best(10, set(), scoring.WEIGHTS) == []


def test_a_very_large_scope_is_stored_as_bits_with_exact_best_hits():
    index = library(
        {("user:ann", "a.md"): "".join(f"- word{at} and word{at * 7}\n" for at in range(400))}
    )
    exact = likeness_to(index, embed("word5 and word35"))
    bits = likeness_to(index, embed("word5 and word35"), Matrices(most_floats=100, rescored=100))

    wanted, found = (one.best(10, None, scoring.Weights(vector_beside=0)) for one in (exact, bits))
    assert found[0] == wanted[0]
    assert len(set(found) & set(wanted)) >= 7
    assert bits.cosines(found[:1]) == {
        found[0]: pytest.approx(exact.cosines(found[:1])[found[0]], abs=1e-5)
    }
    assert (
        len(
            likeness_to(index, embed("x"), Matrices(most_floats=100, rescored=5_000)).best(
                500, None, scoring.WEIGHTS
            )
        )
        == 400
    )


def test_among_many_chunks_the_best_and_the_keyword_hits_are_exact():
    notes = {
        (scope, f"{scope[5:]}.md"): "".join(f"- {scope} {at} and {at * 7}\n" for at in range(200))
        for scope in SCOPES
    }
    index = library(notes)
    query = embed("user ann 5 and 35")
    exact = likeness_to(index, query)
    every = exact.best(400, None, scoring.WEIGHTS)
    matrices = Matrices(most_exact=100, rescored=100)
    model = vectors.find_model(index, MODEL)

    some = matrices.like(index, index.scope_ids(SCOPES), model, query, every[-3:])

    assert some.best(1, None, scoring.Weights(vector_beside=0)) == exact.best(
        1, None, scoring.Weights(vector_beside=0)
    )
    assert some.cosines(every[-3:]) == pytest.approx(exact.cosines(every[-3:]), abs=1e-5)
    put(index, "new.md", SCOPES[0], "- a new line\n")
    embed_all(index)
    assert (
        len(
            matrices.like(index, index.scope_ids(SCOPES), model, query).best(
                500, None, scoring.WEIGHTS
            )
        )
        == 401
    )


def test_the_first_model_gives_the_chunks_their_identities():
    notes = {("user:ann", "a.md"): "# Tea\n\n## Cups\n- **Ann**: milk\n- x\x00y\n\nTea\n"}
    stepwise = library(notes, embedded=False)
    select = "SELECT text, identity FROM chunk ORDER BY ordinal"
    assert {identity for _, identity in stepwise.connection.execute(select)} == {b""}
    afresh = library({}, embedded=False)

    model_of(stepwise)
    model_of(afresh)
    put(afresh, "a.md", "user:ann", *notes.values())

    identities = dict(stepwise.connection.execute(select))
    assert len(set(identities.values())) == 3
    assert identities == dict(afresh.connection.execute(select))
