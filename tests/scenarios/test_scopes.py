"""Law 6 from outside: whoever names scopes gets theirs and nothing else, with a daemon and without."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.every import every
from tests.scenarios.outside import Outside, Running, at, until
from vault_memory.api.daemon_client import DaemonRefused
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.markdown.chunking.chunker import chunk

SCOPES = {
    "user:alice": "Users/alice/memories/a.md",
    "user:alices": "Users/alices/memories/a.md",
    "user:Alice": "Users/Alice/memories/a.md",
    "user:álice": "Users/álice/memories/a.md",
    "user:ali": "Users/ali/memories/a.md",
    "channel:alice": "Channels/alice/memories/2026-01-02.md",
    "group:alice": "groups/alice/memory/a.md",
    "group:main": "memory/a.md",
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    outside = at(tmp_path_factory.mktemp("scopes"))
    for scope, note in SCOPES.items():
        outside.write(note, f"# Alice\n\n- the secret of {scope} is a stork\n")
    with outside.daemon() as daemon:
        yield daemon


def named(scope: str) -> tuple[str, str]:
    kind, _, name = scope.partition(":")
    return f"--{kind}", name


@pytest.mark.scenario("H124")
@every("scope", SCOPES)
def test_a_search_in_one_scope_returns_only_its_notes(running: Running, scope: str):
    outside = running.outside
    assert {
        hit["scope"] for hit in running.search("stork", scopes=[scope], mode="semantic")["hits"]
    } <= {scope}
    for mode in ("balanced", "keyword", "rrf"):
        hits = running.search("the secret of alice, a stork", scopes=[scope], mode=mode)["hits"]
        assert {hit["scope"] for hit in hits} == {scope}
        assert {hit["note"] for hit in hits} == {SCOPES[scope]}

    listed = outside.here("notes", "--json", *named(scope)).json["notes"]
    assert {note["note"] for note in listed} == {SCOPES[scope]}
    found = outside.here("search", "secret stork", "--json", *named(scope)).json["hits"]
    assert {hit["scope"] for hit in found} == {scope}


def test_without_a_daemon_a_search_in_one_scope_returns_only_its_notes(tmp_path: Path):
    outside = at(tmp_path)
    for scope, note in SCOPES.items():
        outside.write(note, f"- the secret of {scope} is a stork\n")
    for scope in SCOPES:
        found = outside.here("search", "secret stork", "--json", *named(scope)).json["hits"]
        assert {hit["note"] for hit in found} == {SCOPES[scope]}


def test_a_search_in_several_scopes_returns_exactly_their_notes(running: Running):
    found = running.outside.here(
        "search", "stork", "--json", "--user", "alice", "--user", "ali", "--group", "main"
    ).json["hits"]

    assert {hit["scope"] for hit in found} == {"user:alice", "user:ali", "group:main"}


def test_no_scope_on_the_command_line_means_the_entire_vault(running: Running):
    found = running.outside.here("search", "stork", "--json", "--limit", "50").json["hits"]

    assert {hit["scope"] for hit in found} == set(SCOPES)


def test_an_empty_list_of_scopes_returns_nothing(running: Running):
    assert running.search("stork", scopes=[])["hits"] == []


@every(
    "scope",
    [
        "user:nobody",
        "user:ALICE",
        "user:alice ",
        "user:alice:",
        "user:*",
        "user:alice OR user:alices",
    ],
)
def test_a_scope_without_notes_returns_nothing(running: Running, scope: str):
    assert running.search("stork", scopes=[scope])["hits"] == []


@every("text", ["alice", "user:", ":alice", "*", "s1", "1", '" OR 1 --', ""])
def test_an_invalid_scope_is_refused(running: Running, text: str):
    with pytest.raises(DaemonRefused, match="is not a scope"):
        running.search("stork", scopes=[text])


def test_explanations_count_only_hits_in_the_requested_scopes(running: Running):
    answer = running.search("stork", scopes=["user:alice"], since="2030-01-01", why=True)

    assert answer["hits"] == []
    assert all(count <= 1 for count in answer.get("left_out", {}).values())


@pytest.mark.scenario("H124")
def test_a_note_moved_to_another_person_is_found_only_by_them(outside: Outside):
    note = outside.write("Users/alice/memories/a.md", "- a stork\n")
    outside.write("Users/bob/memories/b.md", "- a crane\n")
    with outside.daemon() as daemon:
        note.rename(outside.vault / "Users" / "bob" / "memories" / "a.md")

        until(
            lambda: daemon.search("stork", scopes=["user:bob"])["hits"],
            says="not found where it went",
        )
        until(
            lambda: not daemon.search("stork", scopes=["user:alice"])["hits"],
            says="still found where it was",
        )


def test_the_id_of_a_scope_from_a_failed_write_is_never_reused_wrongly(tmp_path: Path):
    """A scope's id is remembered; when the write that made it is undone, so must be what was remembered."""
    index = Index(tmp_path / "index.sqlite")

    def put(path: str, scope: str, *, fails: bool = False) -> None:
        held = IndexedFile(1, 1, 1, 1, "0" * 64, State.SETTLED)
        with index.transaction():
            index.put(IndexEntry(path, scope, "note", None, 1, held, chunk(b"- a stork\n")))
            if fails:
                raise KeyError

    with pytest.raises(KeyError):
        put("a.md", "user:alice", fails=True)
    put("b.md", "user:bob")
    put("a.md", "user:alice")

    assert sorted(
        index.connection.execute(
            "SELECT path, scope.name FROM note JOIN scope ON scope.id = note.scope"
        )
    ) == [("a.md", "user:alice"), ("b.md", "user:bob")]
    index.close()
