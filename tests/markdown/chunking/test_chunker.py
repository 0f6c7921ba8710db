"""Chunks: every line of a note is found once, under its heading, in pieces that fit."""

import re
from collections.abc import Callable
from datetime import date
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.every import every
from tests.markdown.shapes import line_ends, notes, ordinary_notes, random_note
from vault_memory.markdown.blocks import outline as outline_module
from vault_memory.markdown.blocks.outline import outline
from vault_memory.markdown.chunking import chunker as chunks_module
from vault_memory.markdown.chunking.chunk_text import MARKER, Chunk, embed_text, identity
from vault_memory.markdown.chunking.chunker import chunk
from vault_memory.markdown.chunking.hidden_blocks import is_navigation
from vault_memory.markdown.chunking.splitter import CAP, cut, without_long_runs
from vault_memory.markdown.document import parse, render

long_texts = st.text(st.sampled_from("ab é日。.!? \n\t-\u200d\u0301"), max_size=3000)
long_notes = st.lists(st.one_of(notes, long_texts, ordinary_notes), max_size=3).map("\n\n".join)


def lines_with_text(raw: bytes) -> list[int]:
    """The lines that say something.

    Blank lines, headings, rules, the edges of front matter and bare markers say nothing, nor do
    links to other notes without a word beside them.
    """
    note = outline(raw)
    silent = {0, note.body - 1} if note.body else set()
    for block in note.blocks:
        links = is_navigation("\n".join(note.lines[block.first : block.end]))
        if links or block.kind in ("heading", "rule"):
            silent.update(range(block.first, block.end))
    return [
        number
        for number, line in enumerate(note.lines)
        if line.strip()
        and number not in silent
        and not (is_navigation(line) or MARKER.fullmatch(line.rstrip()))
    ]


def violation(raw: bytes) -> str:
    """How the chunks of a note break the law, or nothing."""
    raw = without_long_runs(raw)
    lines, chunks = outline(raw).lines, chunk(raw)
    headings = {
        number
        for block in outline(raw).blocks
        if block.kind == "heading"
        for number in range(*block[1:3])
    }
    found: dict[int, int] = {}
    for one in chunks:
        if len(one.text) > CAP or not one.text.strip():
            return f"a chunk of {len(one.text)} characters"
        for number in range(one.first_line - 1, one.last_line):
            found[number] = found.get(number, 0) + 1
    body = outline(raw).body
    front = set(range(body))
    if missing := [n for n in lines_with_text(raw) if n not in found and n not in front]:
        return f"lines {missing} are in no chunk"
    texts = [one for one in chunks if one.first_line - 1 not in headings]
    said = "".join("".join(one.text.split()) for one in texts)
    covered = sorted(
        {number for one in texts for number in range(one.first_line - 1, one.last_line)}
    )
    stands = "".join("".join(lines[number].split()) for number in covered)
    bare = re.compile(r"[-*+]|\d{1,9}[.)]|\[[ xX-]\]")
    if said != stands and bare.sub("", said) != bare.sub("", stands):
        return "chunks do not say what their lines say"
    places = [(one.first_line, one.last_line) for one in chunks]
    return "" if places == sorted(places) else "chunks are out of order"


@settings(max_examples=cases(150))
@given(long_notes, line_ends)
@example("- a\n- " + "b. " * 300 + "\n  - c\n\n  d\n- e", "\n")
@example("- " + "あ" * 500 + "\n  - - y", "\n")
@example("---\ntitle: a\n---\n# T\n\n## Empty\n", "\r\n")
@example("日本語。" * 400, "\n")
@example("- [x](y)", "\n")
@example("- tea\n- [x](y)\n  [[z]]", "\n")
def test_every_line_is_in_one_chunk_or_split_across_its_pieces(note: str, line_end: str) -> None:
    assert violation(note.replace("\n", line_end).encode()) == ""


@settings(max_examples=cases(300))
@given(st.binary(max_size=300))
@example(b"\xef\xbb\xbf\xff\0\r")
@example(b"a\n" + b"\x0b" * 900 + b"\nb")
def test_chunking_accepts_any_bytes(raw: bytes) -> None:
    assert violation(raw) == ""


@pytest.mark.sampled
@settings(max_examples=50)
@given(ordinary_notes.filter(lambda note: not note.startswith(("---", "\ufeff"))))
def test_a_line_at_the_top_changes_no_other_chunk(note: str) -> None:
    before, after = chunk(note.encode()), chunk(("A new line.\n\n" + note).encode())

    assert [key(one) for one in after[1:]] == [key(one) for one in before]
    assert [one.first_line for one in after[1:]] == [one.first_line + 2 for one in before]


def key(one: Chunk) -> bytes:
    return identity(embed_text(one.heading, one.who, one.text))


def test_the_same_text_under_the_same_heading_has_the_same_chunk_key() -> None:
    first, second = chunk(b"# A\n\n- tea\n"), chunk(b"# A\ntext\n\n* tea ^id-1\r\n")

    assert key(first[0]) == key(second[1]) != key(chunk(b"# B\n\n- tea\n")[0])
    assert len(key(first[0])) == 32


NOTE = """\
---
title: Tea
topic: drinks
---
# Notes

Hello there,
world.

## Talk

- **Ann**: hi Bob ^b-1
  how are you
  - fine
- **Bob:** well (2026-01-28, ref:12, topic:health)
+ plain

1. one
2. two

```sh
## no heading
- no item
```

---

### Bare
"""


def test_a_sample_note_is_split_into_the_expected_chunks() -> None:
    talk = ("Notes", "Talk")

    assert chunk(NOTE.encode()) == [
        Chunk("title: Tea", (), "", 2, 2, None, "drinks"),
        Chunk("Hello there,\nworld.", ("Notes",), "", 7, 8, None, "drinks"),
        Chunk(
            "- **Ann**: hi Bob ^b-1\n  how are you\n  - fine", talk, "Ann", 12, 14, None, "drinks"
        ),
        Chunk(
            "- **Bob:** well (2026-01-28, ref:12, topic:health)",
            talk,
            "Bob",
            15,
            15,
            date(2026, 1, 28),
            "health",
        ),
        Chunk("+ plain", talk, "", 16, 16, None, "drinks"),
        Chunk("1. one", talk, "", 18, 18, None, "drinks"),
        Chunk("2. two", talk, "", 19, 19, None, "drinks"),
        Chunk("```sh\n## no heading\n- no item\n```", talk, "", 21, 24, None, "drinks"),
        Chunk("### Bare", talk, "", 28, 28, None, "drinks"),
    ]


def test_the_embedded_text_has_heading_and_speaker_but_no_markup() -> None:
    texts = [embed_text(one.heading, one.who, one.text) for one in chunk(NOTE.encode())]

    assert texts[2] == "Notes › Talk\nAnn: hi Bob\nhow are you\nfine"
    assert texts[3] == "Notes › Talk\nBob: well (2026-01-28, ref:12, topic:health)"
    assert texts[8] == "Notes › Talk\nBare"


def test_a_long_item_is_split_from_its_children() -> None:
    child = "  - " + "child words " * 20
    chunks = chunk(
        f"- **Ann**: parent (2026-02-03)\n{child}\n{child}\n\n  after\n- next\n".encode()
    )

    assert [(one.first_line, one.last_line) for one in chunks] == [
        (1, 1),
        (2, 2),
        (3, 3),
        (5, 5),
        (6, 6),
    ]
    assert {(one.who, one.date) for one in chunks[:4]} == {("Ann", date(2026, 2, 3))}
    assert (chunks[4].who, chunks[4].date) == ("", None)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("This is a sentence of some words. " * 30, "."),
        ("これは短い文です。" * 90, "。"),
        ("यह एक वाक्य है। " * 60, "।"),
    ],
)
def test_a_long_paragraph_is_split_between_sentences(text: str, ends: str) -> None:
    pieces = [one.text for one in chunk(text.encode())]

    assert len(pieces) > 1
    assert all(piece.endswith(ends) and CAP // 4 < len(piece) <= CAP for piece in pieces)


def test_words_are_not_split_where_there_are_spaces() -> None:
    words = [f"word{number}" for number in range(400)]

    assert " ".join(one.text for one in chunk(" ".join(words).encode())).split() == words


def test_fenced_code_and_tables_are_split_between_lines() -> None:
    rows = [f"| row {number} | {'x' * 30} |" for number in range(40)]
    note = "\n".join(["| a | b |", "|---|---|", *rows])

    for text in (note, "```\n" + note + "\n```"):
        chunks = chunk(text.encode())
        assert "\n".join(one.text for one in chunks) == text
        assert [one.first_line for one in chunks[1:]] == [one.last_line + 1 for one in chunks[:-1]]


def test_a_letter_is_not_split_from_its_combining_marks() -> None:
    assert all(piece.text[0] != "\u0301" for piece in cut("e\u0301" * 1000, by_line=False))


@pytest.mark.sampled
@pytest.mark.scenario("H122")
@every(
    "raw",
    [
        *[b">" * 50_000, b"> " * 300 + b"a", (b"> " * 40 + b"a\n") * 300, b"> x\ny\n\n" * 2000],
        *[b"[" * 50_000, b"[a\n" * 5000, b"[a" + b"\nb" * 5000, b"*a_ " * 20_000, b"x" * 1_000_000],
        *[b"- " * 5000 + b"x", b"+ " * 20_000, b"- a\n" * 20_000, b"- a\n" + b"  - b\n" * 20_000],
        *[
            b"".join(b"  " * depth + b"- a\n" for depth in range(300)),
            b"- ```\n" * 3000,
            b"-\n" * 20_000,
        ],
        *[
            b"\0" * 100_000,
            b"\r" * 100_000,
            b"<!--\n" * 5000,
            b"# " * 50_000,
            b"a" + b" " * 300_000 + b"b",
        ],
    ],
    ids=lambda raw: f"{raw[:6]!r}-{len(raw)}",
)
def test_hostile_notes_are_chunked_too(raw: bytes) -> None:
    assert render(parse(raw)) == raw
    assert violation(raw) == ""


def lose_the_last_line(raw: bytes) -> outline_module.Outline:
    note = outline(raw)
    return note._replace(
        blocks=[block._replace(end=max(block.end - 1, block.first + 1)) for block in note.blocks]
    )


def lose_front_matter(raw: bytes) -> outline_module.Outline:
    return outline(raw)._replace(blocks=outline(raw).blocks[:-1])


def count_lines_from_zero(raw: bytes) -> outline_module.Outline:
    note = outline(raw)
    return note._replace(
        blocks=[block._replace(first=max(block.first - 1, 0)) for block in note.blocks]
    )


def see_headings_in_fences(raw: bytes) -> outline_module.Outline:
    return outline(raw.replace(b"```", b"").replace(b"~~~", b""))


@pytest.mark.parametrize(
    "broken", [lose_the_last_line, lose_front_matter, count_lines_from_zero, see_headings_in_fences]
)
def test_broken_chunks_are_detected(
    broken: Callable[[bytes], outline_module.Outline], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks_module, "outline", broken)
    random = Random(0)

    assert any(violation(random_note(random).encode()) for _ in range(500))
