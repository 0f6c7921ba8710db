"""Lines that say the same are one hit, with the places of the others."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mcp.pipes import piped
from tests.scenarios.outside import Outside
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.rules.search.copies import BEGINNING, fingerprint, may_begin_with
from vault_memory.search.results import Hit

ANN = "user:ann"
NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
COFFEE = "I always drink my coffee black in the old harbour cafe"
FOLDER = "Users/ann/memories/"
HOME = "Users/ann/bot/config/"


def dated(day: int, *lines: str) -> dict[str, str]:
    text = "".join(f"- {line} (2026-05-{day:02})\n" for line in lines)
    return {f"{FOLDER}2026-05-{day:02}.md": f"# Day\n\n## Learned\n\n{text}"}


@contextmanager
def opened(folder: Path, notes: Mapping[str, str]) -> Iterator[VaultMemory]:
    for path, text in notes.items():
        file = folder / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    environment = {
        "VAULT_MEMORY_STATE": str(folder / "state"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
    }
    with VaultMemory.open(folder / "vault", environment=environment) as memory:
        memory.index()
        yield memory


def hits(memory: VaultMemory, query: str = "black coffee", **options: Any) -> list[Hit]:
    return list(memory.search(query, scopes=[ANN], now=NOW, **options).hits)


def test_ten_old_copies_are_one_hit(tmp_path: Path) -> None:
    notes: dict[str, str] = {}
    for day in range(1, 11):
        notes |= dated(day, f"[preference] {COFFEE}{'.' if day % 2 else ''}")
    notes |= dated(11, "Bought a black umbrella")

    with opened(tmp_path, notes) as memory:
        coffee, umbrella = hits(memory)
        all_hits = hits(memory, copies=True)

    assert (coffee.copies, coffee.date) == (10, "2026-05-10")
    assert [copy.date for copy in coffee.also][:2] == ["2026-05-09", "2026-05-08"]
    assert (umbrella.copies, umbrella.also) == (1, ())
    assert len(all_hits) == 10
    assert {hit.copies for hit in all_hits} == {1}


def test_copies_leave_room_for_other_hits(tmp_path: Path) -> None:
    notes: dict[str, str] = {}
    for day in range(1, 8):
        notes |= dated(day, COFFEE)
    notes |= dated(9, "Coffee is sold in the black shop", "A black cat likes coffee")

    with opened(tmp_path, notes) as memory:
        assert len(hits(memory, limit=3)) == 3


def test_a_note_stands_for_the_turn_it_comes_from(tmp_path: Path) -> None:
    with opened(tmp_path, dated(3, COFFEE)) as memory:
        for user in ("ann", "ben"):
            memory.record_turn(session=user, role="user", user=user, text=COFFEE, now=NOW)
        memory.index()

        [hit] = hits(memory)

    assert (hit.kind, hit.copies) == ("dated", 2)
    assert hit.also[0].note.startswith("Users/ann/transcripts/")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I ran past the black mill today", "I ran past the black mill today"),
        ("The black lamp has number 12", "The black lamp has number 13"),
        ("**bo**: has a black dog at home", "**cy**: has a black dog at home"),
    ],
    ids=["another day", "another number", "another speaker"],
)
def test_two_statements_stay_two_hits(tmp_path: Path, first: str, second: str) -> None:
    with opened(tmp_path, dated(1, first) | dated(2, second)) as memory:
        assert [hit.copies for hit in hits(memory, "black")] == [1, 1]


def test_facts_about_two_things_stay_two_hits(tmp_path: Path) -> None:
    facts = "## ann\n\n- owns: a small black boat\n\n## bo\n\n- owns: a small black boat\n"
    with opened(tmp_path, {HOME + "FACTS.md": facts}) as memory:
        assert len(hits(memory, "black boat")) == 2


def test_a_short_line_means_something_only_below_its_heading(tmp_path: Path) -> None:
    text = "## Boats\n\n- Black petrel\n\n## Birds\n\n- Black petrel\n"
    with opened(tmp_path, {FOLDER + "list.md": text}) as memory:
        assert len(hits(memory, "black petrel")) == 2


def test_a_line_of_the_block_is_not_recalled_again_from_a_copy(tmp_path: Path) -> None:
    notes = {HOME + "USER.md": f"# Ann\n\n## Likes\n\n- {COFFEE}\n"} | dated(1, COFFEE)
    with opened(tmp_path, notes) as memory:
        block = memory.context("where is black coffee", scopes=[ANN], now=NOW)
    assert block.text.count(COFFEE) == 1


def test_a_recalled_line_tells_how_many_copies_there_are(tmp_path: Path) -> None:
    with opened(tmp_path, dated(1, COFFEE) | dated(2, COFFEE)) as memory:
        block = memory.context("where is black coffee", scopes=[ANN], now=NOW)
    assert block.text.count(COFFEE) == 1
    assert "2 copies" in block.text


def test_each_face_gives_copies_and_their_places(outside: Outside) -> None:
    for day in range(1, 9):
        for path, text in dated(day, COFFEE).items():
            outside.write(path, text)
    outside.quick = True

    [hit] = outside.search("black coffee", "--user", "ann")["hits"]
    shown = outside.run("search", "black coffee", "--user", "ann").out
    everything = outside.search("black coffee", "--user", "ann", "--copies")["hits"]

    assert (hit["copies"], len(hit["also"])) == (8, 5)
    assert hit["also"][0] == {
        "note": f"{FOLDER}2026-05-07.md",
        "lines": [5, 5],
        "date": "2026-05-07",
    }
    assert "8 copies" in shown
    assert len(everything) == 8
    assert "copies" not in everything[0]
    with piped(outside, "--user", "ann") as pipe:
        of_tool = pipe.call("memory_search", query="black coffee")["structuredContent"]
        all_of_tool = pipe.call("memory_search", query="black coffee", copies=True)
    assert of_tool["hits"][0]["copies"] == 8
    assert of_tool["hits"][0]["also"] == hit["also"]
    assert len(all_of_tool["structuredContent"]["hits"]) == 8


PIECES = [
    "- ",
    "**ann**: ",
    "[plan] ",
    "the lamp",
    " is lit",
    "(x)",
    " (2026-05-25)",
    ' — "lit"',
    "Ｓ",
    "ß",
    ".",
    "\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join) | st.text())
def test_a_copy_is_not_passed_over_for_its_first_letters(chunk):
    beginning = fingerprint(chunk)[:BEGINNING]

    assert may_begin_with(chunk, frozenset({beginning}))
