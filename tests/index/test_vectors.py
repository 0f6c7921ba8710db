"""Vectors: computed once for a text, kept by model, and the best by bits compared exactly."""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.search.library import DIMENSIONS, MODEL, embed, embed_all, library, put
from vault_memory.index import query_cache, vector_codes, vectors
from vault_memory.index.schema import STEPS
from vault_memory.index.store import Index, State
from vault_memory.ingest.embed_pending import embed_pending
from vault_memory.models.embedding.model_files import minilm_at
from vault_memory.models.embedding.onnx import OnnxEmbedder
from vault_memory.models.embedding.packaged import MINILM_WEIGHTS, installed
from vault_memory.rules.search import scoring

SCOPES = ("user:ann", "user:ben")
SAMPLE = Path(__file__).resolve().parents[2] / "sample_vault"


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

    for like in LIKE:
        assert likeness_to(index, short, like).best(10, None, scoring.WEIGHTS) == []


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


LIKE = (vectors.like, vector_codes.like)
"""By sqlite-vec, and by bits with NumPy"""


def likeness_to(index, vector, like=vector_codes.like, scopes=SCOPES):
    return like(index, index.scope_ids(scopes), model_of(index), vector)


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
        st.tuples(st.sampled_from("abc"), st.sampled_from(SCOPES), texts, st.booleans()),
        min_size=1,
        max_size=6,
    )
)
def test_bits_follow_every_change_and_equal_the_stored_vectors(edits):
    index = library({})
    for name, scope, lines, is_embedded in edits:
        put(index, f"{name}.md", scope, "".join(f"- {line}\n" for line in lines))
        if is_embedded:
            embed_all(index)
        for scopes in (SCOPES, SCOPES[:1]):
            by_bits, plain = (
                likeness_to(index, embed("tea oak"), like, scopes) for like in reversed(LIKE)
            )

            assert values(plain, index) == by_bits.at(values(plain, index))
            assert len(by_bits.best(100, None, scoring.WEIGHTS)) == len(
                plain.best(100, None, scoring.WEIGHTS)
            )


def test_a_set_of_candidates_restricts_the_best_hits():
    index = library({("user:ann", "a.md"): "- tea\n- milk\n- oak\n"})
    for like in LIKE:
        likeness = likeness_to(index, embed("tea"), like)
        every = likeness.best(10, None, scoring.WEIGHTS)

        assert likeness.best(10, {every[1]}, scoring.WEIGHTS) == [every[1]]
        assert likeness.best(10, set(), scoring.WEIGHTS) == []


ALONE = scoring.Weights(vector_beside=0)
NOTES = {
    (scope, f"{scope[5:]}.md"): "".join(f"- {scope} {at} and {at * 7}\n" for at in range(200))
    for scope in SCOPES
}


def compare_exactly(monkeypatch, most):
    """From now on, so many of the best by bits are compared exactly."""
    for name in ("MOST_EXACT", "RESCORED"):
        monkeypatch.setattr(vector_codes, name, most)


def every_cosine(index, vector):
    """The cosine of each chunk with a vector, by an exact scan."""
    rows = index.connection.execute(
        "SELECT note, ordinal, embedding FROM chunk JOIN vector USING (identity)"
    )
    query = np.frombuffer(vector, "<f4").astype(float)
    return {
        scoring.place(note, ordinal): float(np.frombuffer(embedding, "<f4") @ query)
        for note, ordinal, embedding in rows
    }


@pytest.mark.parametrize("has_codes", [True, False])
def test_what_is_compared_exactly_equals_an_exact_scan(has_codes, monkeypatch):
    index = library(NOTES)
    if not has_codes:
        index.connection.execute("DELETE FROM note_code")
    for query in ("user ann 5 and 35", "ben 1", "199"):
        vector = embed(query)
        exact = every_cosine(index, vector)
        in_order = sorted(exact, key=lambda place: (-exact[place], place))
        for most in (1, 100, 5_000):
            compare_exactly(monkeypatch, most)
            likeness = likeness_to(index, vector)
            by_bits = likeness.cosines(exact)

            assert by_bits.keys() == exact.keys()
            compared = [at for at in exact if abs(by_bits[at] - exact[at]) < 1e-6]
            assert len(compared) >= min(most, len(exact))
            highest = max(exact[place] for place in compared)
            assert max(by_bits.values()) == pytest.approx(highest, abs=1e-6)
        assert likeness.best(10, None, ALONE)[:10] == in_order[:10]


def test_with_a_real_model_the_best_by_bits_hold_the_best_of_an_exact_scan(monkeypatch):
    weights = installed(MINILM_WEIGHTS)
    if weights is None:
        pytest.skip("the packaged model is not installed")
    notes = {
        ("user:ann", path.stem): path.read_text("utf-8")
        for path in sorted(SAMPLE.glob("memory/*.md"))
    }
    index = library(notes, embedded=False)
    model = OnnxEmbedder(minilm_at(weights))
    count = embed_pending(index, model)
    assert count > 40
    compare_exactly(monkeypatch, count // 2)
    for query in ("what does she like to drink?", "travel plans", "work"):
        [vector] = model.embed([query], query=True)
        exact = every_cosine(index, vector)

        likeness = vector_codes.like(index, index.scope_ids(SCOPES), 1, vector)

        best = sorted(exact, key=lambda place: (-exact[place], place))[:5]
        assert likeness.best(5, None, ALONE)[:5] == best
        assert likeness.cosines(best) == pytest.approx(
            {place: exact[place] for place in best}, abs=1e-6
        )


def test_words_make_chunks_and_their_neighbours_compared_exactly(monkeypatch):
    index = library(NOTES)
    vector = embed("user ann 5 and 35")
    exact = every_cosine(index, vector)
    worst = min(exact, key=exact.__getitem__)
    compare_exactly(monkeypatch, 1)

    model = vectors.find_model(index, MODEL)
    likeness = vector_codes.like(index, index.scope_ids(SCOPES), model, vector, [worst])

    nearby = exact.keys() & {worst - 1, worst, worst + 1}
    assert likeness.cosines(nearby) == pytest.approx(
        {place: exact[place] for place in nearby}, abs=1e-6
    )


def test_no_more_bits_and_vectors_stay_in_memory_than_allowed(monkeypatch):
    monkeypatch.setattr(vector_codes, "MOST_CODES", 300)
    monkeypatch.setattr(vector_codes, "MOST_FLOATS", 250)
    index = library(NOTES)
    expected = likeness_to(index, embed("5")).cosines(every_cosine(index, embed("5")))
    for scopes in (SCOPES[:1], SCOPES[1:], SCOPES):
        likeness_to(index, embed("7"), scopes=scopes)

    cache = query_cache.cached(index, vector_codes.Codes)
    assert sum(len(codes.places) for codes in cache._scopes.values()) <= 300 + 400
    assert len(cache._floats) <= 250 + 400
    assert likeness_to(index, embed("5")).cosines(expected) == expected


# --- Codes ---


def coded(index):
    """The notes that have codes, by path."""
    rows = index.connection.execute(
        "SELECT path FROM note_code JOIN note ON note.id = note_code.note ORDER BY path"
    )
    return [path for (path,) in rows]


def test_a_changed_note_loses_its_codes_until_all_its_chunks_have_vectors():
    index = library({("user:ann", f"{name}.md"): f"- {name}\n" for name in "abc"})
    model = model_of(index)
    assert coded(index) == ["a.md", "b.md", "c.md"]

    put(index, "a.md", "user:ann", "- a\n- tea\n")
    with index.transaction():
        index.remove("b.md")

    assert (vector_codes.put(index, model), coded(index)) == (0, ["c.md"])
    embed_all(index)
    assert coded(index) == ["a.md", "c.md"]


def test_a_note_that_may_still_change_gets_no_codes():
    index = library({("user:ann", "a.md"): "- tea\n"}, embedded=False)
    index.set_state("a.md", State.HOT)
    embed_all(index)
    assert coded(index) == []

    index.set_state("a.md", State.SETTLED)
    embed_all(index)
    assert coded(index) == ["a.md"]
    # A file that is absent for a while does not change the text.
    index.set_state("a.md", State.MISSING)
    assert coded(index) == ["a.md"]


def test_a_note_with_a_damaged_vector_gets_no_codes_and_its_other_chunks_are_found():
    index = library({("user:ann", "a.md"): "- tea\n- milk\n"}, embedded=False)
    model = model_of(index)
    [milk, tea] = vectors.pending(index, model, 2)
    vectors.put(index, model, [(tea[0], embed("tea")), (milk[0], b"damaged!")])

    assert vector_codes.put(index, model) == 0
    assert len(likeness_to(index, embed("tea")).best(9, None, scoring.WEIGHTS)) == 1


def test_the_codes_of_an_old_model_are_dropped_with_its_vectors():
    index = library({("user:ann", "a.md"): "- tea\n"})
    old, new = model_of(index), model_of(index, "new")

    with index.transaction():
        vectors.put(
            index, new, [(key, embed(text)) for key, text in vectors.pending(index, new, 9)]
        )
        vectors.prune(index, new)

    assert (coded(index), vectors.missing_count(index, old)) == ([], 1)
    assert likeness_to(index, embed("tea")).best(9, None, scoring.WEIGHTS) == []
    assert vector_codes.put(index, new) == 1


def steps(index, work):
    """How many instructions of SQLite some work takes."""
    counts = itertools.count()
    index.connection.set_progress_handler(lambda: bool(next(counts) < 0), 1)
    work()
    index.connection.set_progress_handler(None)
    return next(counts)


def test_notes_with_codes_are_not_looked_through_for_missing_vectors():
    index = library(NOTES | {("user:ann", "new.md"): "- oak\n"})
    model = model_of(index)
    put(index, "new.md", "user:ann", "- oak\n- elm\n")

    def look():
        assert [text for _, text in vectors.pending(index, model, 9)] == ["elm"]
        assert vectors.missing_count(index, model) == 1

    with_codes = steps(index, look)
    index.connection.execute("DELETE FROM note_code")
    assert steps(index, look) > 10 * with_codes


def test_an_index_of_an_older_version_gets_its_codes_with_the_next_embedding(tmp_path):
    file = tmp_path / "index.sqlite"
    index = Index(file)
    put(index, "a.md", "user:ann", "- tea\n- milk\n")
    embed_all(index)
    before = likeness_to(index, embed("tea"))
    places = before.best(9, None, scoring.WEIGHTS)
    index.connection.execute("DROP TABLE note_code")
    for name in ("note_code_changed", "note_code_removed"):
        index.connection.execute(f"DROP TRIGGER {name}")
    index.connection.pragma("user_version", len(STEPS) - 1)
    index.close()

    index = Index(file)

    assert coded(index) == []
    assert likeness_to(index, embed("tea")).at(places) == before.at(places)
    toy = Toy()
    toy.fingerprint = MODEL
    assert embed_pending(index, toy) == 0
    assert coded(index) == ["a.md"]
    assert likeness_to(index, embed("tea")).at(places) == before.at(places)
    index.close()


WRITER = """
import sys
from vault_memory.index import vector_codes
from vault_memory.index.store import Index
vector_codes.BATCH = 3
index = Index(sys.argv[1])
print("ready", flush=True)
while True:
    while vector_codes.put(index, 1):
        pass
    index.connection.execute("DELETE FROM note_code WHERE note % 2")
"""


def test_codes_are_whole_after_a_kill(tmp_path):
    file = tmp_path / "index.sqlite"
    index = Index(file)
    for number in range(40):
        put(index, f"{number}.md", "user:ann", f"- tea {number}\n- oak {number}\n")
    embed_all(index)
    expected = list(index.connection.execute("SELECT * FROM note_code ORDER BY note"))
    for seed in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(file)], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout.readline() == b"ready\n"
            counter = index.change_counter
            changes = 0
            while changes <= seed:
                changes += counter != index.change_counter
                counter = index.change_counter
            writer.kill()

        rows = set(index.connection.execute("SELECT * FROM note_code"))
        assert rows <= set(expected)
        while vector_codes.put(index, 1):
            pass
        assert list(index.connection.execute("SELECT * FROM note_code ORDER BY note")) == expected
    index.close()


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


def test_a_run_with_nothing_to_drop_does_not_look_through_the_vectors():
    index = library(NOTES)
    model = model_of(index)

    with index.transaction():
        cheap = steps(index, lambda: vectors.prune(index, model))
        assert steps(index, lambda: vectors.prune(index, model, most=-1)) > 3 * cheap
