"""Law 6: nothing crosses a scope. Every query function, every pair of scopes, and the checks broken on purpose."""

from collections.abc import Callable, Iterable, Sequence
from itertools import permutations

import pytest

from tests.search.library import MODEL, NOW, embed, library, put
from vault_memory.errors import UsageError
from vault_memory.index import filters, fts_search, note_queries, vector_codes, vectors
from vault_memory.index.filters import Filters
from vault_memory.index.query_cache import forget
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.index.vectors import Likeness
from vault_memory.rules.conversations.turn import turn_chunks
from vault_memory.rules.search import scoring
from vault_memory.search.candidates import VectorArm
from vault_memory.search.query import SearchQuery, search
from vault_memory.search.results import MODES

SCOPES = (
    "user:alice",
    "user:alices",
    "user:Alice",
    "user:zo\u00eb",
    "user:zoe\u0308",
    "user:zoe",
    "channel:alice",
    "group:s1",
)


def secret(scope: str) -> str:
    return f"secret{SCOPES.index(scope)}"


@pytest.fixture(scope="module")
def index():
    built = library({}, embedded=False)
    for scope in SCOPES:
        body = f"# Alice\n\n- **Ann**: the shared apple is {secret(scope)}\n- another line\n"
        put(built, f"{SCOPES.index(scope)}/2024-06-14.md", scope, body, date="2024-06-14")
    from tests.search.library import embed_all

    embed_all(built)
    return built


def of_places(index: Index, places: Iterable[int]) -> set[str]:
    """The scopes in which these places are."""
    owners = dict(
        index.connection.execute("SELECT n.id, s.name FROM note n JOIN scope s ON s.id = n.scope")
    )
    return {owners[scoring.split(place)[0]] for place in places}


@pytest.fixture(autouse=True)
def nothing_kept(index):
    forget(index.connection)
    yield
    forget(index.connection)


def by_search(index: Index, asked: Sequence[str]) -> set[str]:
    found: set[str] = set()
    queries = ("apple", "secret0 secret1 secret2", "s1 scope", "yesterday", "alice", "who is Ann?")
    for mode in MODES:
        for query in queries:
            answer = search(
                index,
                SearchQuery(query, asked, now=NOW, mode=mode, limit=1000),
                vector_arm=VectorArm(embed, MODEL),
            )
            found |= {hit.scope for hit in answer.hits}
            found |= {scope for scope in SCOPES for hit in answer.hits if secret(scope) in hit.text}
    return found


def all_places(index: Index) -> list[int]:
    """Every place there is, as if somebody had guessed it."""
    rows = index.connection.execute("SELECT note, ordinal FROM chunk")
    return [scoring.place(note, ordinal) for note, ordinal in rows]


def by_vectors(index: Index, ids: Sequence[int], like: Callable[..., Likeness]) -> set[str]:
    model = vectors.find_model(index, MODEL)
    assert model is not None
    likeness = like(index, ids, model, embed("apple"))
    best = likeness.best(1000, None, scoring.WEIGHTS)
    return of_places(index, [*best, *likeness.at(all_places(index))])


NONE = Filters()
FUNCTIONS: dict[str, Callable[[Index, Sequence[str]], set[str]]] = {
    "text.find": lambda index, asked: of_places(
        index, fts_search.find(index, index.scope_ids(asked), ["apple"], NONE, most=1000).rows
    ),
    "text.find, narrowed": lambda index, asked: of_places(
        index,
        fts_search.find(
            index, index.scope_ids(asked), ["apple"], Filters(kinds=frozenset({"note"})), most=9
        ).rows,
    ),
    "text.beside": lambda index, asked: of_places(
        index, fts_search.beside(index, index.scope_ids(asked), all_places(index), NONE)
    ),
    "text.dated": lambda index, asked: of_places(
        index,
        fts_search.dated(
            index, index.scope_ids(asked), [("2024-01-01", "2024-12-31")], NONE, most=1000
        ),
    ),
    "text.passing": lambda index, asked: of_places(
        index, fts_search.passing(index, index.scope_ids(asked), Filters(topic="any"))
    ),
    "vectors.like": lambda index, asked: by_vectors(index, index.scope_ids(asked), vectors.like),
    "vector_codes.like": lambda index, asked: by_vectors(
        index, index.scope_ids(asked), vector_codes.like
    ),
    "search": by_search,
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_search_function_crosses_scopes(index, name):
    for asked, other in permutations(SCOPES, 2):
        found = FUNCTIONS[name](index, [asked])

        assert found == {asked}, f"{other} or another shows in {asked}"


@pytest.mark.sampled
@pytest.mark.parametrize("name", FUNCTIONS)
def test_several_scopes_return_exactly_their_notes(index, name):
    assert FUNCTIONS[name](index, SCOPES[1:4]) == set(SCOPES[1:4])
    assert FUNCTIONS[name](index, []) == set()
    assert FUNCTIONS[name](index, ["user:ali", "user:%", "*", "", "user:ALICE"]) == set()


def break_match(monkeypatch):
    monkeypatch.setattr(fts_search, "within_scopes", lambda connection, scope_ids: "")


def break_rows(monkeypatch):
    monkeypatch.setattr(filters, "listed", lambda numbers: "(SELECT id FROM scope)")
    monkeypatch.setattr(
        note_queries, "marks", lambda values: f"{filters.marks(values)} IS NOT NULL"
    )


@pytest.mark.sampled
@pytest.mark.parametrize("name", FUNCTIONS)
def test_this_test_detects_a_leak_if_both_checks_are_broken(index, name, monkeypatch):
    break_match(monkeypatch)
    break_rows(monkeypatch)

    assert FUNCTIONS[name](index, [SCOPES[0]]) > {SCOPES[0]}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_are_compared_even_if_the_full_text_match_leaks_a_scope(index, name, monkeypatch):
    break_match(monkeypatch)

    assert FUNCTIONS[name](index, [SCOPES[0]]) == {SCOPES[0]}


def test_the_full_text_match_excludes_other_scopes_even_without_the_row_check(index, monkeypatch):
    break_rows(monkeypatch)

    assert FUNCTIONS["text.find"](index, [SCOPES[0]]) == {SCOPES[0]}


def test_scope_is_a_required_argument_of_the_lowest_functions(index):
    for function in (
        fts_search.find,
        fts_search.fetch,
        fts_search.beside,
        fts_search.dated,
        fts_search.passing,
        fts_search.count,
        vectors.like,
        vector_codes.like,
    ):
        with pytest.raises(TypeError, match="scope_ids"):
            function(index)
    with pytest.raises(TypeError, match="scopes"):
        SearchQuery("apple", now=NOW)


def test_a_refusal_reveals_nothing_about_existing_notes(index):
    with pytest.raises(UsageError) as error:
        search(index, SearchQuery("secret1", ["user:alice"], now=NOW, mode="alice"))

    assert not any(secret(scope) in str(error.value.as_json()) for scope in SCOPES)
    assert not any(scope in str(error.value.as_json()) for scope in SCOPES)


def test_hits_removed_by_filters_are_counted_within_the_scopes_only(index):
    answer = search(
        index, SearchQuery("apple", ["user:alice"], now=NOW, entity="secret1", why=True)
    )

    assert answer.hits == ()
    assert answer.left_out == {"entity": 2}


def test_without_filters_no_chunks_are_counted(index):
    statements: list[str] = []

    def trace(cursor: object, statement: str, bindings: object) -> bool:
        statements.append(statement)
        return True

    index.connection.exec_trace = trace
    answer = search(index, SearchQuery("apple", ["user:alice"], now=NOW, why=True))
    index.connection.exec_trace = None

    assert answer.hits
    assert answer.left_out == {}
    # Fault: to count them reads each chunk of the scopes, which costs 50 searches.
    assert not any("CROSS JOIN chunk c ON c.note = n.id" in each for each in statements)


def test_a_note_moved_to_another_scope_is_found_only_there():
    index = library({("user:a", "n.md"): "- apple\n", ("user:b", "m.md"): "- pear\n"})
    assert by_search_of(index, ["user:a"]) == {"n.md"}

    put(index, "n.md", "user:b", "- apple\n")

    assert by_search_of(index, ["user:a"]) == set()
    assert by_search_of(index, ["user:b"]) == {"n.md", "m.md"}


SAID = b"""\
{"id": "1", "ts": "2024-06-14T10:00:00+00:00", "session": "s", "role": "user", "user": "alice", "text": "apple pie"}
{"id": "2", "ts": "2024-06-14T10:01:00+00:00", "session": "s", "role": "assistant", "user": "alice", "text": "apple!"}
{"id": "3", "ts": "2024-06-14T10:02:00+00:00", "session": "s", "role": "user", "user": "bob", "text": "apple tart"}
"""
CHANNEL = "Channels/kitchen/transcripts/2024-06-14.jsonl"


def put_turns(index: Index) -> None:
    said = turn_chunks(SAID, "channel:kitchen")
    held = IndexedFile(len(SAID), 1, 1, 1, "0" * 64, State.SETTLED)
    chunks, also = [part.chunk for part in said], [part.also for part in said]
    with index.transaction():
        index.put(
            IndexEntry(
                CHANNEL,
                "channel:kitchen",
                "transcript",
                "2024-06-14",
                len(SAID),
                held,
                chunks,
                also,
            )
        )


@pytest.mark.sampled
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        (["channel:kitchen"], {1, 2, 3}),
        (["user:alice"], {1}),
        (["user:bob"], {3}),
        (["user:bob", "user:alice"], {1, 3}),
        (["user:alice", "channel:kitchen"], {1, 2, 3}),
        (["user:carol"], set()),
    ],
)
def test_a_turn_in_a_channel_is_found_there_and_by_its_speaker(mode, asked, lines):
    index = library(
        {("user:carol", "c.md"): "- apple\n", ("user:alice", "a.md"): "- pear\n"}, embedded=False
    )
    put_turns(index)
    from tests.search.library import embed_all

    embed_all(index)

    for query in ("apple", "yesterday", "who is bob?"):
        answer = search(
            index,
            SearchQuery(query, asked, now=NOW, mode=mode, limit=50),
            vector_arm=VectorArm(embed, MODEL),
        )
        found = [hit.lines[0] for hit in answer.hits if hit.note == CHANNEL]
        assert len(found) == len(set(found))
        assert set(found) <= lines
        assert query != "apple" or set(found) == lines
        assert {hit.scope for hit in answer.hits} <= set(asked)


def by_search_of(index, asked):
    found = set()
    for mode in MODES:
        answer = search(
            index,
            SearchQuery("apple pear", asked, now=NOW, mode=mode),
            vector_arm=VectorArm(embed, MODEL),
        )
        found |= {hit.note for hit in answer.hits}
    return found
