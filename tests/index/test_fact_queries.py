"""What pages of facts say, as rows: nothing crosses a scope, and a prompt finds what it names."""

from collections.abc import Callable, Sequence
from datetime import date
from itertools import permutations

import pytest

from tests.every import every
from tests.search.library import NOW
from vault_memory.index import fact_queries, filters
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.markdown.chunking.chunker import chunk
from vault_memory.markdown.document import parse
from vault_memory.rules.facts.fact import read_facts
from vault_memory.rules.facts.relevance import PromptWords
from vault_memory.search.query import SearchQuery, search

SCOPES = ("user:alice", "user:alices", "user:Alice", "channel:alice", "group:main")


def put(index: Index, scope: str, page: str, path: str = "") -> None:
    raw = page.encode()
    held = IndexedFile(len(raw), 1, 1, 1, page, State.SETTLED)
    path = path or f"{scope}/FACTS.md"
    with index.transaction():
        index.put(
            IndexEntry(
                path,
                scope,
                "facts",
                None,
                len(raw),
                held,
                chunk(raw),
                facts=read_facts(parse(raw), scope),
            )
        )


def secret(scope: str) -> str:
    return f"secret{SCOPES.index(scope)}"


@pytest.fixture
def index():
    built = Index(":memory:")
    for scope in SCOPES:
        page = f"## alice\n- knows: Bob\n- likes: {secret(scope)}\n\n## bob\n- also_known_as: {secret(scope)}\n@bob\n"
        put(built, scope, page)
        note = f"- @bob is {secret(scope)} here\n".encode()
        held = IndexedFile(1, 1, 1, 1, scope, State.SETTLED)
        with built.transaction():
            built.put(IndexEntry(f"{scope}/note.md", scope, "note", None, 1, held, chunk(note)))
    yield built
    built.close()


def of(index: Index, asked: Sequence[str], call: Callable[..., object]) -> str:
    return str(call(index, index.scope_ids(asked)))


def everything(index: Index, asked: Sequence[str]) -> str:
    ids = index.scope_ids(asked)
    of_all = " ".join(map(secret, SCOPES))
    return str(
        [
            fact_queries.all_facts(index, ids),
            fact_queries.facts_about(index, ids, ["alice", "bob", *map(secret, SCOPES)]),
            [fact_queries.facts_with_id(index, ids, digit) for digit in "0123456789abcdef"],
            fact_queries.entities_in(index, ids, PromptWords(f"alice bob {of_all}")),
            fact_queries.aliases(index, ids),
            [
                fact_queries.resolve_entity(index, ids, secret(scope)) - {secret(scope)}
                for scope in SCOPES
            ],
            search(index, SearchQuery("where is Bob?", asked, now=NOW, limit=100)).hits,
            search(index, SearchQuery("here", asked, now=NOW, limit=100, entity="bob")).hits,
        ]
    )


def test_facts_and_entities_do_not_cross_scopes(index):
    for asked, other in permutations(SCOPES, 2):
        told = everything(index, [asked])

        assert secret(asked) in told
        assert secret(other) not in told
    assert "secret" not in everything(index, [])
    assert "secret" not in everything(index, ["user:ALICE", "user:%", ""])


def test_mentions_are_counted_within_their_scopes(index):
    for count in range(len(SCOPES) + 1):
        found = fact_queries.mention_counts(index, index.scope_ids(SCOPES[:count]), "bob")

        assert sum(found.values()) == 2 * count


def test_this_test_detects_a_query_that_does_not_compare_scopes(index, monkeypatch):
    monkeypatch.setattr(
        fact_queries, "marks", lambda values: f"{filters.marks(values)} IS NOT NULL"
    )

    assert secret(SCOPES[1]) in str(fact_queries.all_facts(index, index.scope_ids(SCOPES[:1])))


def test_the_scope_is_a_required_argument():
    for function in (
        fact_queries.all_facts,
        fact_queries.facts_about,
        fact_queries.facts_with_id,
        fact_queries.entities_in,
        fact_queries.resolve_entity,
        fact_queries.aliases,
        fact_queries.mention_counts,
    ):
        with pytest.raises(TypeError, match="scope_ids"):
            function(Index(":memory:"))


@every(
    ("prompt", "found"),
    [
        ("What about ACME CORP?", {"acme corp"}),
        ("what about acmes corporation", set()),
        ("and Acme's boss?", {"acme corp"}),
        ("Bobby", set()),
        ("我住在北京市吗", {"北京"}),
        ("где Ёлка?", {"ёлка"}),
        ("Zoé came", {"zoe\u0301"}),
    ],
)
def test_a_prompt_names_the_entities_it_contains_as_whole_words(prompt, found):
    index = Index(":memory:")
    page = "## acme corp\n- also_known_as: Acme\n- is_a: firm\n## Bob\n- lives_in: 北京\n- has: Ёлка\n- knows: Zoe\u0301\n"
    put(index, "user:alice", page)
    named = fact_queries.entities_in(index, index.scope_ids(["user:alice"]), PromptWords(prompt))

    assert {PromptWords(one).text for one in named} - {"acme"} == {
        PromptWords(one).text for one in found
    }


def test_a_fact_is_returned_together_with_the_fact_that_ended_it():
    index = Index(":memory:")
    put(
        index,
        "user:alice",
        "## bob\n- works_at: Acme (since 2020-01-01)\n- works_at: Globex (since 2021-01-01)\n",
    )

    found = fact_queries.facts_about(index, index.scope_ids(["user:alice"]), ["acme"])

    assert {fact.object for _, fact in found} == {"Acme", "Globex"}
    assert {fact.valid_from for _, fact in found} == {date(2020, 1, 1), date(2021, 1, 1)}


def test_a_search_by_name_also_finds_lines_with_an_alias():
    index = Index(":memory:")
    put(index, "user:alice", "## fog bell\n- also_known_as: Greta\n")
    note = b"- Greta was oiled by Ann\n- a lamp\n- the oars\n"
    with index.transaction():
        held = IndexedFile(1, 1, 1, 1, "x", State.SETTLED)
        index.put(IndexEntry("note.md", "user:alice", "note", None, len(note), held, chunk(note)))

    found = search(
        index, SearchQuery("the fog bell?", ["user:alice"], now=NOW, kinds=["note"], why=True)
    ).hits
    narrowed = search(index, SearchQuery("oiled", ["user:alice"], now=NOW, entity="Fog Bell")).hits

    assert found[0].text == "- Greta was oiled by Ann"
    assert found[0].why is not None
    assert found[0].why.arms["entity"] == 1
    assert [hit.text for hit in narrowed][:1] == ["- Greta was oiled by Ann"]


def test_search_results_do_not_change_without_aliases():
    plain, known = Index(":memory:"), Index(":memory:")
    for index in (plain, known):
        with index.transaction():
            for number in range(3):
                note = f"- the boat {number} of bob\n- tea\n".encode()
                held = IndexedFile(1, 1, 1, 1, str(number), State.SETTLED)
                index.put(
                    IndexEntry(
                        f"{number}.md", "user:alice", "note", None, len(note), held, chunk(note)
                    )
                )
    put(known, "user:bob", "## bob\n- also_known_as: tea\n")

    asked = [
        search(index, SearchQuery("where is bob's boat", ["user:alice"], now=NOW, limit=9)).hits
        for index in (plain, known)
    ]

    assert asked[0]
    assert [(hit.note, hit.lines) for hit in asked[0]] == [
        (hit.note, hit.lines) for hit in asked[1]
    ]
