"""Notes made to be slow: merging them takes time in proportion to their size."""

from collections.abc import Callable

import pytest

from vault_memory.markdown.merging.three_way import merge

COUNT = 2_000
BETWEEN = b"\n\n"
"""A line end and a blank line between what never stood together"""


def lines(make: Callable[[int], str], count: int = COUNT) -> bytes:
    return "".join(make(number) + "\n" for number in range(count)).encode()


def nested(count: int) -> str:
    return "".join("  " * number + f"- n{number}\n" for number in range(count))


SHAPES: dict[str, tuple[bytes, bytes, bytes]] = {
    "nothing in common": (
        lines(lambda n: f"- a{n} b{n} c{n}"),
        lines(lambda n: f"- d{n} e{n} f{n}"),
        lines(lambda n: f"- g{n} h{n} i{n}"),
    ),
    "all edited": (
        lines(lambda n: f"- common words here in all {n}"),
        lines(lambda n: f"- common word here in all {n}"),
        lines(lambda n: f"- common words there in all {n}"),
    ),
    "all alike": (
        lines(lambda n: f"- common words here in all {n}"),
        lines(lambda n: f"- common words here in all {n + COUNT}"),
        lines(lambda n: f"- common words here in all {n + 2 * COUNT}"),
    ),
    "twins": (
        lines(lambda n: "- a"),
        lines(lambda n: "- a", COUNT + 1),
        lines(lambda n: "- a" if n else "- b"),
    ),
    "sections renamed": (
        lines(lambda n: f"## A{n}\n- item {n}"),
        lines(lambda n: f"## B{n}\n- item {n}"),
        lines(lambda n: f"## C{n}\n- item {n}"),
    ),
    "sections taken away": (
        lines(lambda n: f"## A{n}\n- item {n}"),
        lines(lambda n: f"- item {n}\n- more {n}"),
        lines(lambda n: f"## A{n}\n- item {n}\n- new {n}"),
    ),
    "sections of one name": (
        lines(lambda n: "## A\n- a"),
        lines(lambda n: "## A\n- b", COUNT + 1),
        lines(lambda n: "## A\n- c", COUNT - 1),
    ),
    "nested": (
        nested(400).encode(),
        nested(400).replace("n300\n", "n300 x\n").encode(),
        nested(400).replace("n200\n", "n200 y\n").encode(),
    ),
    "fences in fences": (
        b"````\n" + b"```\n" * COUNT,
        b"````\n" + b"```\n" * (COUNT + 1),
        b"- a\n````\n" + b"```\n" * COUNT,
    ),
    "comments": (
        b"<!-- a\n" * COUNT,
        b"<!-- a\n" * COUNT + b"- a\n",
        b"- b\n" + b"<!-- a\n" * COUNT,
    ),
    "rules": (b"* " * 50_000, b"* " * 50_000 + b"\n- a", b"- b\n" + b"* " * 50_000),
    "brackets": (b"- [" * 50_000, b"- [" * 50_001, b"x" + b"- [" * 50_000),
    "front matter": (
        b"---\n" + lines(lambda n: f"k{n}: a") + b"---\n",
        b"---\n" + lines(lambda n: f"k{n}: b") + b"---\n",
        b"---\n" + lines(lambda n: f"k{n}: c") + b"---\n",
    ),
}


@pytest.mark.sampled
@pytest.mark.timeout(60)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_hostile_note_is_merged_within_the_time_limit(shape: str) -> None:
    base, ours, theirs = SHAPES[shape]

    merged = merge(base, ours, theirs)
    union = merge(None, ours, theirs)

    for result in (merged.result, union.result):
        assert result is None or len(result) <= len(ours) + len(theirs) + len(BETWEEN)
