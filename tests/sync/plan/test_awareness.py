"""What somebody takes out counts only if that somebody had read it: the rule, on pretended histories of one note."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.sync.plan.awareness import (
    SentText,
    common_text,
    first_unread,
    is_superseded,
    items_of,
    join_records,
    last_read,
    without_torn,
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[set[bytes]], int, set[bytes]]:
    """Texts that this device uploads one after the other; which of them a program reads; what it makes of that."""
    numbers = iter(range(1000))
    texts = [{b"first"}]
    for _ in range(draw(st.integers(1, 6))):
        gone = draw(st.sets(st.sampled_from(sorted(texts[-1])))) if texts[-1] else set()
        added = {b"line%d" % next(numbers) for _ in range(draw(st.integers(0, 2)))}
        past = sorted(set[bytes]().union(*texts) - texts[-1])
        joined = draw(st.sets(st.sampled_from(past), max_size=2)) if past else set()
        texts.append((texts[-1] - gone) | added | joined)
    at = draw(st.integers(0, len(texts) - 1))
    gone = draw(st.sets(st.sampled_from(sorted(texts[at])))) if texts[at] else set()
    return texts, at, (texts[at] - gone) | {b"its own"}


def note(lines: set[bytes]) -> bytes:
    return b"## Tea\n" + b"".join(line + b"\n" for line in sorted(lines))


def uploads_of(texts: list[set[bytes]]) -> list[SentText]:
    """Each text as an upload over the one before it, the newest first."""
    uploads = [
        SentText(note(text), note(before), frozenset[bytes]().union(*texts[: number + 1]))
        for number, (before, text) in enumerate(pairwise(texts))
    ]
    return uploads[::-1]


@pytest.mark.sampled
@given(histories())
def test_a_line_counts_as_removed_only_if_its_remover_had_read_it(
    history: tuple[list[set[bytes]], int, set[bytes]],
):
    texts, at, its = history

    if first_unread(note(its), uploads_of(texts)) is None:
        assert texts[-1] - its <= texts[at]


@given(histories())
def test_a_writer_that_keeps_the_newest_line_has_read_all_lines(
    history: tuple[list[set[bytes]], int, set[bytes]],
):
    texts, _, its = history
    newest = b"the newest"
    uploads = uploads_of([*texts, texts[-1] | {newest}])

    assert first_unread(note(its | {newest}), uploads) is None


def test_a_reader_must_have_all_lines_of_an_upload_that_came_in_parts():
    upload = SentText(b"- one\n- two\n- three\n", b"- one\n", at_once=False)

    assert first_unread(b"- one\n- two\n", [upload]) == upload
    assert first_unread(b"- one\n- two\n- three\n- four\n", [upload]) is None


def test_a_line_merged_from_another_device_does_not_prove_a_reading():
    upload = SentText(b"- one\n- its\n", b"- one\n", frozenset({b"- its"}))

    assert first_unread(b"- its\n", [upload]) == upload


def test_a_text_is_compared_with_the_earliest_of_the_uploads_that_its_author_had_not_read():
    first = SentText(b"- one\n- two\n", b"- one\n")
    second = SentText(b"- one\n- two\n- three\n", b"- one\n- two\n")

    assert first_unread(b"- one\n- its\n", [second, first]) == first
    assert first_unread(b"- one\n- two\n- its\n", [second, first]) == second
    assert first_unread(b"- one\n- three\n- its\n", [second, first]) is None


def test_an_upload_that_adds_nothing_proves_no_reading_of_the_lines_that_it_keeps():
    upload = SentText(b"- theirs\n- one\n", b"- one\n- theirs\n")

    assert first_unread(b"- one\n- its\n", [upload]) == upload
    assert first_unread(b"- one\n- theirs\n- its\n", [upload]) is None
    assert first_unread(b"- one\n", [replace(upload, before_was_read=True)]) is None


def test_a_text_with_all_lines_of_an_unanswered_upload_is_based_on_it():
    first = SentText(b"- one\n- two\n", b"- one\n")
    second = SentText(b"- one\n- two\n- three\n", first.raw, at_once=False)

    assert last_read(b"- one\n- two\n- three\n- its\n", [second, first]) == second.raw
    assert last_read(b"- one\n- two\n- its\n", [second, first]) is None
    assert last_read(b"- its\n", []) is None


def test_a_text_that_has_a_removed_line_is_not_based_on_the_unanswered_removal():
    upload = SentText(b"- one\n", b"- one\n- two\n", at_once=False)

    assert last_read(b"- one\n- two\n- its\n", [upload]) is None
    assert last_read(b"- one\n- its\n", [upload]) == upload.raw


GROWN = {
    "words at the end": (b"- buy milk\n", b"- buy milk and eggs\n"),
    "the rest of a word": (b"- buy mi\n", b"- buy milk\n"),
    "a word in the middle": (b"- buy milk\n", b"- buy oat milk\n"),
    "a word twice": (b"- eggs for Tea\n", b"- for Ben eggs for Tea\n"),
    "a ticked box": (b"- [ ] buy milk\n", b"- [x] buy milk\n"),
    "Japanese": ("- 牛乳\n".encode(), "- 牛乳を買う\n".encode()),
}


@every("kind", list(GROWN))
def test_a_longer_form_of_our_line_proves_that_its_author_had_read_ours(kind: str):
    ours, theirs = GROWN[kind]

    assert first_unread(theirs, [SentText(ours, b"")]) is None


@every("theirs", [b"- call Ben on Monday\n", b"- call Anna\n", b"- swim\n", b""])
def test_a_line_that_lacks_a_word_of_ours_proves_nothing(theirs: bytes):
    upload = SentText(b"- call Anna on Monday\n", b"")

    assert first_unread(theirs, [upload]) == upload


def test_a_removed_line_that_stands_again_shows_an_author_who_had_not_read_the_removal():
    upload = SentText(b"- one\n", b"- one\n- two\n")

    assert first_unread(b"- one\n- two\n- its\n", [upload]) == upload
    assert first_unread(b"- one\n- its\n", [upload]) is None


def test_the_common_text_has_what_both_sides_have_and_what_one_of_them_edited():
    upload = SentText(b"- tea\n- milk\n- mine\n", b"- tea\n- milk\n- old\n")

    def common(theirs: bytes) -> set[bytes]:
        return items_of(common_text(upload, theirs, ""))

    assert common(b"- tea\n- its\n") == {b"- tea"}
    assert common(b"- tea\n- milk and eggs\n") == {b"- tea", b"- milk"}
    assert common(b"- tea\n- old\n- its\n") == {b"- tea", b"- old"}
    assert common(b"- tea\n- mine too\n") == {b"- tea", b"- mine"}


def test_a_text_that_everybody_has_read_is_common():
    upload = SentText(b"- tea\n- mine\n", b"- tea\n", before_was_read=True)
    in_part = replace(upload, at_once=False)

    assert items_of(common_text(upload, b"- its\n", "")) == {b"- tea"}
    assert items_of(common_text(in_part, b"- its\n", "")) == set()


def test_a_text_is_superseded_by_one_that_goes_on_with_all_its_lines():
    base, first = b"- tea\n", b"- tea\n- buy milk\n"

    assert is_superseded(first, b"- tea\n- buy milk and eggs\n", base)
    assert is_superseded(first, b"- buy milk\n- its\n", base)
    assert not is_superseded(first, b"- tea\n- its\n", base)


def test_headings_are_not_counted_as_items():
    assert items_of(b"# Tea\n\n## Green\n- one\n") == {b"- one"}


def test_a_truncated_line_is_dropped_when_the_complete_line_exists():
    whole = b"- tea\n- green and black\n"

    assert without_torn(b"- tea\n- green an\n- its\n", whole, [b"- tea\n"]) == b"- tea\n- its\n"
    assert without_torn(b"- green\n", whole, [b"- green\n"]) == b"- green\n"


def test_a_truncated_record_is_dropped_when_the_complete_record_exists():
    joined = join_records(
        [b'{"id": "1"}\n{"id": "22"}\n', b'{"id": "1"}\n{"id": "2\n{"id": "3"}\n']
    )

    assert sorted(joined.splitlines()) == [b'{"id": "1"}', b'{"id": "22"}', b'{"id": "3"}']


def test_a_text_is_not_superseded_by_one_whose_author_had_not_read_it():
    base = b"- buy milk\n"
    edited = b"- buy milk and eggs\n"
    stale = b"- theirs\n- buy milk\n"

    assert not is_superseded(edited, stale, base)
    assert is_superseded(edited, b"- buy milk and eggs today\n", base)


def test_a_part_of_an_upload_is_superseded_by_the_whole_one():
    base = b"- tea\n- buy milk and eggs\n"
    whole = b"- mine\n- buy milk and eggs\n- tea\n"

    assert is_superseded(b"- mine\n- buy mi", whole, base)
    assert not is_superseded(b"- mine\n- buy tea", whole, base)
