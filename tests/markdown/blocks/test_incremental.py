"""A long text that was changed a little is read in part, and that says what reading all of it says."""

from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.markdown.shapes import lines as shaped_lines
from tests.markdown.shapes import random_note
from vault_memory.markdown.blocks.incremental import reread
from vault_memory.markdown.blocks.outline import LONG, _read_all, decode, front_matter_end, outline
from vault_memory.markdown.chunking.chunk_text import Chunk
from vault_memory.markdown.chunking.chunker import _Chunker, chunk, chunk_again
from vault_memory.markdown.document import parse, render
from vault_memory.markdown.editable_region import top_region

ANCHORS = [
    *[
        "## x",
        "- a",
        "# y",
        "- b\n- c",
        "1. x\n2. y",
        "- p\n  q",
        "## ",
        "### z\n\n---\n",
        "```\n- no\n## no\n```",
    ],
    *["- **Ann**: hi (2026-01-02)", f"- {'long ' * 90}\n  - kid (2026-01-02)\n  - {'kid ' * 120}"],
]
ordinary = st.sampled_from(ANCHORS)
texts = st.lists(st.one_of(ordinary, ordinary, shaped_lines), max_size=16).map("\n".join)
places = st.floats(0, 1)
edits = st.lists(
    st.tuples(places, st.integers(0, 3), st.lists(st.one_of(ordinary, shaped_lines), max_size=2)),
    max_size=2,
)
Edits = list[tuple[float, int, list[str]]]


def edited(text: str, changes: Edits) -> str:
    lines = text.split("\n")
    for place, gone, fresh in changes:
        at = round(place * len(lines))
        lines[at : at + gone] = fresh
    return "\n".join(lines)


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def difference(before: str, after: str) -> tuple[object, object] | None:
    """What is read in part, and what should be; None when they are the same, or all is read."""
    old, new = decode(as_bytes(before)), decode(as_bytes(after))
    start = front_matter_end(new)
    if start == front_matter_end(old):
        blocks = reread(old, _read_all(old, start), new, start)
        if blocks is not None and blocks != (whole := _read_all(new, start)):
            return blocks, whole
    was, now = outline(as_bytes(before)), outline(as_bytes(after))
    chunks = chunk_again(was, _Chunker(was).run(), now)
    if chunks is not None and chunks != (cut := _Chunker(now).run()):
        return chunks, cut
    return None


@settings(max_examples=cases(400))
@given(texts, edits)
@example("text\n- a\n- b\n- c", [(0.0, 2, ["text"])])
@example("- a\n2. b\n3. c\n4. d", [(0.0, 1, ["text"])])
@example("## a\n- a\n## b\n- b\n- c", [(0.4, 0, ["```"])])
@example("# a\n- a\n- b\n- c\n- d", [(0.0, 1, ["# b"])])
@example("---\ntopic: a\n---\n- a\n- b\n- c\n- d", [(0.15, 1, ["topic: b"])])
@example("## a\n---\n## b\n- c\n- d", [(0.6, 1, ["### c"])])
def test_incremental_parsing_gives_the_same_blocks_as_full_parsing(
    before: str, changes: Edits
) -> None:
    assert difference(before, edited(before, changes)) is None


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(2))
def test_thousands_of_random_notes_parse_incrementally_to_the_same_blocks(seed: int) -> None:
    random = Random(seed)

    for _ in range(cases(1500)):
        parts = [
            random.choice([random_note(random), random.choice(ANCHORS)])
            for _ in range(random.randrange(2, 12))
        ]
        before = "\n".join(parts)
        change = random.choice([random_note(random), random.choice(ANCHORS), ""]).split("\n")
        after = edited(before, [(random.random(), random.randrange(3), change)])
        assert difference(before, after) is None, (before, after)


def test_an_insertion_into_a_list_is_parsed_incrementally() -> None:
    before = "\n".join(f"- item {number}" for number in range(50))
    old = decode(before.encode())
    new = [*old[:20], "- fresh", "  goes on", *old[20:]]

    blocks = reread(old, _read_all(old, 0), new, 0)

    assert blocks == _read_all(new, 0)


@pytest.mark.sampled
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_a_long_note_parses_correctly_after_each_of_many_changes(line_end: bytes) -> None:
    random = Random(7)
    lines = [line for number in range(LONG) for line in (b"", b"## s%d" % number, b"- a", b"- b")]
    for number in range(60):
        at = random.randrange(len(lines))
        fresh = random.choice(
            [b"- new %d" % number, b"## new %d" % number, b"", b"  text", b"# top", b"---"]
        )
        lines[at : at + random.randrange(2)] = [fresh]
        raw = line_end.join(lines)
        found: list[Chunk] = chunk(raw)
        doc = parse(raw)

        note = outline(raw)
        assert note.blocks == _read_all(note.lines, 0)
        assert found == _Chunker(note).run()
        assert render(doc) == raw
        assert list(doc.headings) == [
            block.name for block in note.blocks if block.kind == "heading"
        ]
    body = b"\n".join(b"- item %d" % number for number in range(2 * LONG))
    for more in (b"", b"\n- one", b"\n- one\n  - two\n\ntext"):
        region = top_region(body + more)
        assert len(region.items) == 2 * LONG + more.count(b"- ")
        assert region.text_end == len(body + more)
