"""Diffs that look only around what changed are those that look at all lines."""

import difflib
from collections.abc import Sequence

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from vault_memory.rules.edits.unified_diff import CONTEXT, lines_of, taken_back, unified

lines = st.lists(st.sampled_from([b"", b"a", b"b", b"aa"]), max_size=24)
edits = st.lists(
    st.tuples(st.integers(0, 24), st.integers(0, 3), lines.map(lambda few: few[:3])), max_size=3
)
ends = st.sampled_from([b"", b"\n"])


def shared(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    return next(
        (at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs),
        1 << 30,
    )


def window(before: bytes, after: bytes) -> tuple[int, list[bytes], list[bytes]]:
    """The lines to compare, found line by line."""
    old, new = lines_of(before), lines_of(after)
    most = min(len(old), len(new))
    skip = min(shared(old, new), most)
    keep = min(shared(old[skip:][::-1], new[skip:][::-1]), most - skip)
    start, tail = max(skip - CONTEXT, 0), max(keep - CONTEXT, 0)
    return start, old[start : len(old) - tail], new[start : len(new) - tail]


def by_all_lines(before: bytes, after: bytes) -> list[bytes]:
    """The heads of the hunks: of the older and the newer text the first line and how many."""
    start, old, new = window(before, after)
    found = []
    for group in difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT):
        numbers = []
        for first, last in ((group[0][1], group[-1][2]), (group[0][3], group[-1][4])):
            numbers += [first + start + (last > first), last - first]
        found.append(b"@@ -%d,%d +%d,%d @@" % tuple(numbers))
    return found


@settings(max_examples=cases(400))
@given(lines, edits, ends, ends)
@example([b"a", b"a"], [(0, 0, [b"a"])], b"", b"\n")
@example([b"a"], [(1, 0, [b""])], b"\n", b"")
def test_a_diff_has_the_same_hunks_as_a_full_comparison_and_can_be_reversed(
    text: list[bytes], changes: list[tuple[int, int, list[bytes]]], old_end: bytes, new_end: bytes
) -> None:
    edited = list(text)
    for at, gone, more in changes:
        edited[at : at + gone] = more
    before, after = b"\n".join(text) + old_end, b"\n".join(edited) + new_end

    diff = unified(before, after, "a.md")

    assert taken_back(after, diff) == before or before == after
    heads = [line for line in diff.split(b"\n") if line.startswith(b"@@")]
    assert heads == ([] if before == after else by_all_lines(before, after))
