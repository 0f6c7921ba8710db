"""A note has a limited number of chunks, however it is written, and each still says where its lines stand."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.scenarios.test_hostile import HOSTILE
from vault_memory.markdown.blocks import outline as outline_module
from vault_memory.markdown.chunking import chunker as capping_module
from vault_memory.markdown.chunking import chunker as chunks_module
from vault_memory.markdown.chunking.chunk_text import Chunk
from vault_memory.markdown.chunking.chunker import chunk
from vault_memory.markdown.chunking.splitter import CAP

SMALL = 12
"""The limit in these tests, so that short notes are above it"""

lines = st.one_of(
    st.builds("- {}".format, st.text("ab é", max_size=8)),
    st.builds(
        "- **{}**: {}".format, st.sampled_from(["Ann", "Bo"]), st.text("ab", min_size=1, max_size=5)
    ),
    st.builds(
        "- {} (2026-01-0{})".format, st.text("ab", min_size=1, max_size=5), st.integers(1, 9)
    ),
    st.builds("{} {}".format, st.sampled_from(["#", "##", "###"]), st.text("hij", max_size=4)),
    st.builds("{}".format, st.text("ab. ", max_size=900)),
    st.just(""),
    st.just("```"),
)
notes = st.lists(lines, max_size=80).map("\n".join).map(str.encode)


@pytest.fixture(autouse=True)
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capping_module, "MOST_CHUNKS", SMALL)
    forget_notes()


def forget_notes() -> None:
    """Nothing that was read before helps to read the next note."""
    chunks_module._recent = ()
    outline_module._recent = ()


def without_spaces(text: str) -> str:
    return "".join(text.split())


def chunks_containing(part: Chunk, chunks: list[Chunk]) -> list[Chunk]:
    """Those of the joined chunks that have the lines and the text of a part."""
    return [
        one
        for one in chunks
        if one.first_line <= part.first_line
        and part.last_line <= one.last_line
        and without_spaces(part.text) in without_spaces(one.text)
    ]


@settings(max_examples=cases(300))
@given(notes)
def test_each_chunk_keeps_its_lines_after_small_chunks_are_joined(raw: bytes) -> None:
    parts, chunks = chunks_module._cut_note(raw), chunk(raw)

    assert all(len(one.text) <= CAP for one in chunks)
    assert [one.first_line for one in chunks] == sorted(one.first_line for one in chunks)
    for part in parts:
        found = chunks_containing(part, chunks)
        assert found, part
        assert any(one.heading == part.heading[: len(one.heading)] for one in found), (
            "no heading is invented"
        )
        assert any(one.who in ("", part.who) for one in found)
        assert any(one.date in (None, part.date) for one in found)
        assert any(
            set(part.heading[-1:]) <= {*one.heading, *one.text.split("\n")} or part.heading == ()
            for one in found
        )


@settings(max_examples=cases(300))
@given(notes)
def test_no_adjacent_chunks_remain_that_could_be_joined(raw: bytes) -> None:
    chunks = chunk(raw)
    if len(chunks) > SMALL:
        for left, right in pairwise(chunks):
            parts_of_a_word = right.first_line <= left.last_line and " " not in left.text
            assert len(left.text) + 1 + len(right.text) > CAP or parts_of_a_word


@given(notes)
def test_a_note_below_the_limit_is_left_unchanged(raw: bytes) -> None:
    parts = chunks_module._cut_note(raw)

    if len(parts) <= SMALL:
        assert chunk(raw) == parts


@pytest.mark.sampled
@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_a_note_edited_step_by_step_has_the_same_chunks_as_one_parsed_afresh(seed: int) -> None:
    draw = Random(seed)
    text = [
        f"- item {draw.randrange(99)}" if draw.random() < 0.9 else f"## h{place}"
        for place in range(450)
    ]
    for _ in range(12):
        place = draw.randrange(len(text))
        text[place : place + draw.randrange(3)] = [f"- new {draw.randrange(999)}"] * draw.randrange(
            3
        )
        raw = "\n".join(text).encode()
        step = chunk(raw)
        remembered = chunks_module._recent, outline_module._recent
        forget_notes()
        assert step == chunk(raw)
        chunks_module._recent, outline_module._recent = remembered


@pytest.mark.sampled
@pytest.mark.parametrize("name", [*HOSTILE, "one letter"])
def test_no_hostile_note_produces_many_chunks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    chunks = chunk(b"- b\n" * 262_000 if name == "one letter" else HOSTILE[name])

    assert len(chunks) <= 5500
