"""What somebody takes out counts only if that somebody had read it: the rule, on pretended histories of one note."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from vault_memory.sync.plan.awareness import (
    Step,
    has_read,
    items_of,
    join_records,
    torn_end,
    without_line,
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


def steps_of(texts: list[set[bytes]]) -> list[Step]:
    steps = [
        Step(
            note(text),
            note(before),
            frozenset[bytes]().union(*texts[: at + 1]),
            at_once=True,
        )
        for at, (before, text) in enumerate(pairwise(texts))
    ]
    return steps[::-1]


@given(histories())
def test_a_line_counts_as_removed_only_if_its_remover_had_read_it(
    history: tuple[list[set[bytes]], int, set[bytes]],
):
    texts, at, its = history

    if has_read(note(its), steps_of(texts)):
        assert texts[-1] - its <= texts[at]


@given(histories())
def test_a_writer_that_keeps_the_newest_line_has_read_all_lines(
    history: tuple[list[set[bytes]], int, set[bytes]],
):
    texts, _, its = history
    newest = b"the newest"

    assert has_read(note(its | {newest}), steps_of([*texts, texts[-1] | {newest}]))


def test_a_reader_must_have_all_new_lines_of_a_text_written_elsewhere():
    step = Step(
        b"- one\n- two\n- three\n", b"- one\n", frozenset({b"- one"}), at_once=False
    )

    assert not has_read(b"- one\n- two\n", [step])
    assert has_read(b"- two\n- three\n", [step])


def test_a_line_merged_from_another_device_does_not_prove_a_reading():
    step = Step(
        b"- one\n- its\n", b"- one\n", frozenset({b"- one", b"- its"}), at_once=True
    )

    assert not has_read(b"- its\n", [step])


def test_headings_are_not_counted_as_items():
    assert items_of(b"# Tea\n\n## Green\n- one\n") == {b"- one"}


def test_a_truncated_line_is_dropped_when_the_complete_line_exists():
    whole = b"- tea\n- green and black\n"

    assert (
        without_torn(b"- tea\n- green an\n- its\n", whole, [b"- tea\n"])
        == b"- tea\n- its\n"
    )
    assert without_torn(b"- green\n", whole, [b"- green\n"]) == b"- green\n"


def test_a_truncated_record_is_dropped_when_the_complete_record_exists():
    joined = join_records(
        [b'{"id": "1"}\n{"id": "22"}\n', b'{"id": "1"}\n{"id": "2\n{"id": "3"}\n']
    )

    assert sorted(joined.splitlines()) == [
        b'{"id": "1"}',
        b'{"id": "22"}',
        b'{"id": "3"}',
    ]


@given(st.lists(st.integers(0, 10**6), min_size=1, unique=True), st.data())
def test_a_truncated_upload_contains_only_lines_of_the_complete_upload(
    numbers: list[int], data
):
    whole = b"".join(b"- line%dx\n" % number for number in numbers)
    half = whole[: data.draw(st.integers(0, len(whole)))]

    rest = without_line(half, torn_end(half, whole))

    assert items_of(rest) <= items_of(whole)
    assert whole.startswith(rest)


def test_a_last_line_is_kept_unless_a_later_text_continues_it():
    assert torn_end(b"- tea\n- gre", b"- tea\n- black\n") == b""
    assert torn_end(b"- tea\n- gre\n", b"- tea\n- green\n") == b""
    assert torn_end(b"- tea\n- gre", b"- gre\n- green\n") == b""
    assert without_line(b"- tea\n- gre", b"") == b"- tea\n- gre"
