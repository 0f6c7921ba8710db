"""What waits to be written is found at once, marked, in its scope alone, and gone from there when it is written."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.scenarios.index_dump import dump
from tests.scenarios.outside import Outside, until
from vault_memory.api import json_contract
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.search.results import Hit

ANN, BOB = "Users/ann/lantern/config/USER.md", "Users/bob/lantern/config/USER.md"
NOTE = "# Me\n\n## Tea\n\n- green with the harbour master\n- white\n"
READ_ONLY, WRITABLE = 0o444, 0o644


@pytest.fixture
def memory(outside: Outside) -> Iterator[VaultMemory]:
    for note in (ANN, BOB, "USER.md"):
        outside.write(note, NOTE)
    with VaultMemory.open(outside.vault, environment=outside.environment) as opened:
        opened.index()
        yield opened


def make_read_only(memory: VaultMemory, note: str = ANN) -> Path:
    path = memory.root / note
    path.chmod(READ_ONLY)
    return path


def pending_op(memory: VaultMemory, line: str, note: str = ANN, **op: str) -> str:
    """An op that has to wait; its id."""
    said = {"op": "append", "heading": "Tea", "line": line, **op}
    at = datetime.now(UTC) + timedelta(hours=1)
    [waiting] = memory.apply(note, [said], source="cli", now=at).pending
    return waiting.id


def find(memory: VaultMemory, query: str, *scopes: str, **options: object) -> tuple[Hit, ...]:
    return memory.search(query, scopes=scopes or ["user:ann"], **options).hits  # type: ignore[arg-type]


def test_a_pending_line_is_found_and_marked(memory: VaultMemory):
    make_read_only(memory)
    pending_op(memory, "smoky lapsang from Ottilie")

    [hit] = find(memory, "lapsang")

    assert (hit.note, hit.text, hit.heading) == (ANN, "- smoky lapsang from Ottilie", ("Me", "Tea"))
    assert hit.pending
    assert hit.scope == "user:ann"
    assert hit.lines == (7, 7)
    assert json_contract.of_hit(hit)["pending"] is True
    assert "lapsang" not in (memory.root / ANN).read_text()


def test_a_pending_line_is_ranked_among_the_other_hits(memory: VaultMemory):
    make_read_only(memory)
    pending_op(memory, "black, for the harbour")

    hits = find(memory, "green tea with the harbour master")
    assert [hit.pending for hit in hits] == [False, False, True]

    best = find(memory, "black harbour")[0]
    assert best.pending
    assert best.text == "- black, for the harbour"


def test_a_pending_line_is_no_longer_marked_once_it_is_written(memory: VaultMemory):
    path = make_read_only(memory)
    pending_op(memory, "smoky lapsang")
    assert [hit.pending for hit in find(memory, "lapsang")] == [True]

    path.chmod(WRITABLE)
    assert memory.edits.process_due(datetime.now(UTC) + timedelta(hours=1)) == 1

    hits = find(memory, "lapsang")
    assert hits[0].text == "- smoky lapsang"
    assert not any(hit.pending for hit in hits)


def test_a_pending_line_disappears_when_it_is_discarded(memory: VaultMemory):
    make_read_only(memory)
    waiting = pending_op(memory, "smoky lapsang")
    assert find(memory, "lapsang")

    memory.edits.editor.writer.discard(waiting)

    assert find(memory, "lapsang") == ()


def test_a_pending_line_a_person_also_wrote_is_found_once(memory: VaultMemory):
    path = make_read_only(memory)
    pending_op(memory, "smoky lapsang")
    path.chmod(WRITABLE)
    path.write_text(NOTE + "- smoky lapsang\n")

    assert [hit.pending for hit in find(memory, "lapsang") if "lapsang" in hit.text] == [False]


@pytest.mark.scenario("H124")
def test_a_pending_line_of_one_person_is_not_found_by_another(memory: VaultMemory):
    make_read_only(memory)
    pending_op(memory, "smoky lapsang")

    assert find(memory, "lapsang", "user:bob", "user:main", "user:an", "user:anna") == ()
    assert find(memory, "lapsang", "user:bob", mode="rrf") == ()
    assert find(memory, "lapsang", "user:bob", entity="lapsang") == ()
    assert find(memory, "lapsang", "user:bob", "user:ann")


@pytest.mark.scenario("H124")
@pytest.mark.parametrize(
    "pending", [False, True], ids=["written in their note", "pending for their note"]
)
def test_a_pending_line_is_found_although_another_person_has_the_same_text(
    memory: VaultMemory, pending: bool
):
    make_read_only(memory, BOB)
    pending_op(memory, "zqheron at the lake", note=BOB)
    queries = ["zqheron", "zqheron at the lake", "where is the zqheron", "green tea at the lake"]
    alone = {query: scored(memory, query, "user:bob") for query in queries}
    assert alone["zqheron"]

    if pending:
        make_read_only(memory)
        pending_op(memory, "zqheron at the lake")
    else:
        (memory.root / ANN).write_text(NOTE + "- zqheron at the lake\n- a lake with two zqherons\n")
        memory.index()

    assert {query: scored(memory, query, "user:bob") for query in queries} == alone


def test_a_pending_line_is_found_although_an_excluded_note_has_the_same_text(memory: VaultMemory):
    make_read_only(memory)
    pending_op(memory, "zqheron at the lake")
    dated = memory.root / "Users/ann/memories/2026-11-20.md"
    dated.parent.mkdir(parents=True)
    dated.write_text("- zqheron at the lake\n")
    memory.index()
    kinds = {hit.note: hit.kind for hit in find(memory, "zqheron", copies=True)}
    assert len(kinds) == 2

    [hit] = find(memory, "zqheron", kinds=[kinds[ANN]])

    assert hit.pending


def scored(memory: VaultMemory, query: str, scope: str) -> list[tuple[str, bool, float]]:
    return [(hit.text, hit.pending, hit.score) for hit in find(memory, query, scope)]


def test_pending_writes_to_several_notes_are_all_found(memory: VaultMemory):
    for note in (ANN, BOB):
        make_read_only(memory, note)
    pending_op(memory, "smoky lapsang")
    pending_op(memory, "roasted hojicha")
    pending_op(memory, "lapsang for Bob", note=BOB)

    assert {hit.text for hit in find(memory, "lapsang hojicha")} == {
        "- smoky lapsang",
        "- roasted hojicha",
    }
    assert {hit.note for hit in find(memory, "lapsang", "user:ann", "user:bob")} == {ANN, BOB}
    assert len(find(memory, "lapsang", "user:ann", "user:bob", limit=1)) == 1


def test_of_a_note_with_pending_writes_only_the_new_lines_are_marked(memory: VaultMemory):
    make_read_only(memory)
    pending_op(memory, "smoky lapsang")
    pending_op(memory, "white, with jasmine", op="replace", match="white")

    hits = find(memory, "green white jasmine lapsang")

    assert sorted(hit.text for hit in hits if hit.pending) == [
        "- smoky lapsang",
        "- white, with jasmine",
    ]
    assert sorted(hit.text for hit in hits if not hit.pending) == [
        "- green with the harbour master",
        "- white",
    ]


def test_filters_apply_to_pending_lines_too(memory: VaultMemory):
    make_read_only(memory)
    pending_op(memory, "smoky lapsang from Ottilie")

    assert find(memory, "lapsang", entity="Ottilie", kinds=["user"])
    assert find(memory, "lapsang", entity="Otto") == ()
    assert find(memory, "lapsang", kinds=["dated"]) == ()
    assert find(memory, "lapsang", mode="rrf")[0].pending
    assert find(memory, "lapsang", why=True)[0].why is not None


@pytest.mark.scenario("G117")
def test_the_index_does_not_contain_pending_lines(memory: VaultMemory, outside: Outside):
    make_read_only(memory)
    before = dump(outside.state)
    pending_op(memory, "smoky lapsang")
    find(memory, "lapsang")
    assert dump(outside.state) == before

    memory.index(rebuild=True)

    assert dump(outside.state) == before
    assert find(memory, "lapsang")[0].pending


def test_a_scope_with_only_pending_text_is_listed(memory: VaultMemory):
    folder = memory.root / "groups/crew"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("")
    (folder / "MEMORY.md").chmod(READ_ONLY)
    memory.apply(
        "groups/crew/MEMORY.md",
        [{"op": "add_heading", "heading": "Boats", "lines": ["Sula is red"]}],
    )

    assert "group:crew" in memory.scopes()
    assert find(memory, "Sula", "group:crew")[0].pending


@pytest.mark.parametrize("damage", ["gone", "no database", "empty"])
def test_an_unreadable_journal_does_not_break_search(
    memory: VaultMemory, outside: Outside, damage: str
):
    make_read_only(memory)
    pending_op(memory, "smoky lapsang")
    assert find(memory, "lapsang")
    memory.edits.editor.close()
    journal = outside.state / "journal.sqlite"
    for ending in ("-wal", "-shm"):
        Path(f"{journal}{ending}").unlink(missing_ok=True)
    os.unlink(journal)
    if damage != "gone":
        journal.write_bytes(
            b"no database at all, whatever it is called" * 100 if damage == "no database" else b""
        )

    assert find(memory, "lapsang") == ()
    assert find(memory, "harbour")


def test_a_daemon_finds_a_pending_line_and_the_command_marks_it(outside: Outside):
    path = outside.write("USER.md", NOTE)
    with outside.daemon() as running:
        path.chmod(READ_ONLY)
        done = outside.run("append", "USER.md", "Tea", "smoky lapsang", "--json")
        assert done.code == 75
        [hit] = running.search("lapsang")["hits"]
        assert hit["pending"] is True
        assert "waits to be written" in outside.run("search", "lapsang").out
        assert [one["note"] for one in running.ask("status")["pending"]] == ["USER.md"]

        path.chmod(WRITABLE)
        folded = ("- smoky lapsang", None)
        until(
            lambda: (
                [(hit["text"], hit.get("pending")) for hit in running.search("lapsang")["hits"]][:1]
                == [folded]
            )
        )
        assert "- smoky lapsang\n" in path.read_text()
