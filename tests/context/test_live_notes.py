"""Lines as they stand in their files: every chunk is found where the index says, and every fact in its line."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from vault_memory.context.live_notes import Authors, LiveNotes
from vault_memory.markdown.chunking.chunker import chunk
from vault_memory.markdown.document import parse
from vault_memory.markdown.encodings import as_utf8
from vault_memory.rules.facts.fact import read_facts
from vault_memory.search.results import Hit
from vault_memory.vault.reader import Folder

SAMPLE = Path(__file__).parent.parent.parent / "sample_vault"
LINES = st.sampled_from(
    [
        "# Title",
        "## Part",
        "- item",
        "  - nested",
        "  more of it",
        "text " * 120 + ".",
        "A sentence. " * 60,
        "| a | b |",
        "|---|---|",
        "```",
        "## in a fence",
        "",
        "\ttab",
        "é ü 東京",
        "\u2028x",
        "\x0b",
        "a\x0cb",
        "---",
        "topic: x",
        "> quoted",
        "1. one",
    ]
)
RAW = st.tuples(
    st.lists(LINES, max_size=12),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\ufeff"]),
).map(lambda made: (made[2] + made[1].join(made[0])).encode())
NOTE = "memory/note.md"


def notes(root: Path) -> LiveNotes:
    folder = Folder(root)
    return LiveNotes(folder, Authors(folder))


def hits(path: str, raw: bytes) -> list[Hit]:
    return [
        Hit(
            path,
            (one.first_line, one.last_line),
            one.heading,
            None,
            "group:main",
            "note",
            one.text,
            1.0,
        )
        for one in chunk(as_utf8(raw))
    ]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(RAW)
@example(b"\xff\xfe broken \x80\r\n- x")
@example(b"- a\r- b\n\r\n- c")
def test_every_chunk_is_on_the_lines_the_index_gives(tmp_path, raw):
    (tmp_path / "memory").mkdir(exist_ok=True)
    (tmp_path / NOTE).write_bytes(raw)
    here = notes(tmp_path)

    for hit in hits(NOTE, raw):
        found = here.current_lines(hit)
        assert found is not None
        assert (found.first, found.last, found.text) == (*hit.lines, hit.text)


def test_every_chunk_of_the_sample_vault_is_on_the_lines_the_index_gives():
    here = notes(SAMPLE)
    for file in SAMPLE.rglob("*.md"):
        path = file.relative_to(SAMPLE).as_posix()
        for hit in hits(path, file.read_bytes()):
            found = here.current_lines(hit)
            assert found is not None
            assert (found.first, found.last) == hit.lines


def test_moved_lines_are_found_in_their_new_place_and_deleted_ones_are_not(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / NOTE).write_text("# New\n\n- other\n- tea\n  with milk\n")

    moved = notes(tmp_path).current_lines(
        Hit(NOTE, (1, 2), (), None, "group:main", "note", "- tea\n  with milk", 1.0)
    )
    assert moved is not None
    assert (moved.first, moved.last) == (4, 5)
    assert (
        notes(tmp_path).current_lines(
            Hit(NOTE, (3, 3), (), None, "group:main", "note", "- coffee", 1.0)
        )
        is None
    )
    assert (
        notes(tmp_path).current_lines(
            Hit("memory/gone.md", (1, 1), (), None, "group:main", "note", "- tea", 1.0)
        )
        is None
    )


FACTS = [
    "## alice\n\n- works_at: Acme (since 2026-01-28)\n* likes: tea\n1. likes: milk\n- [x] likes: jam\n",
    "\ufeff## alice\r\n- works_at: Acme\r\n\r\n## bob\r\n- works_at: Acme\r\n",
    "## alice\n- likes: tea\n  with honey\n  and milk\n## bob ##\n- likes: tea\n",
    "## alice\n```\n## bob\n```\n- likes: tea\n",
    "alice\n-----\n- likes: tea\n\nbob\n---\n- likes: tea\n- likes: jam\n",
    "  ## alice\n- ~~likes: tea~~ (2020 to 2021)\n- likes: tea\n",
]


@pytest.mark.parametrize(
    "page", [*FACTS, *(file.read_text() for file in sorted(SAMPLE.rglob("*FACTS.md")))]
)
def test_every_fact_is_found_on_its_line(tmp_path, page):
    (tmp_path / "FACTS.md").write_bytes(page.encode())
    here = notes(tmp_path)
    facts = read_facts(parse(page.encode()))

    assert facts
    lines = page.replace("\r\n", "\n").splitlines()
    for fact in facts:
        line = here.line_of("FACTS.md", fact.subject, fact.text)
        assert line
        assert fact.object.split()[0] in lines[line - 1]
    assert here.line_of("FACTS.md", "alice", "likes: nothing") == 0


def test_a_cached_audit_is_read_again_when_it_changes(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / NOTE).write_text("- tea\n")
    authors = Authors(Folder(tmp_path))
    hit = Hit(NOTE, (1, 1), (), None, "group:main", "note", "- tea", 1.0)

    def origin() -> str:
        found = LiveNotes(Folder(tmp_path), authors).current_lines(hit)
        assert found is not None
        return found.origin

    assert origin() == "person"
    done = '{"op": {"op": "append", "heading": "Tea", "line": "tea"}, "outcome": "applied"}'
    (tmp_path / (NOTE + ".audit.jsonl")).write_text(
        '{"id": "1", "source": "nightly", "applied": [' + done + "]}\n"
    )
    assert origin() == "bot"
    (tmp_path / (NOTE + ".audit.other.jsonl")).write_text(
        '{"id": "2", "source": "cli", "applied": [' + done + "]}\n"
    )
    assert origin() == "person"
