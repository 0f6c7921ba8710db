"""An item or a section goes out of a note and comes back, all of it or nothing, and nothing else changes."""

import pytest

from tests.every import every
from vault_memory.markdown.document import SectionedDoc, parse, render
from vault_memory.markdown.note_items import section_named
from vault_memory.rules.edits import reinsert
from vault_memory.rules.edits.unified_diff import unified

NOTE = b"# Me\n\n## Tea\n\n- green\n- white\n  - with milk\n- black\n\n## Boats\n\n- a kayak\n"


def out_of(raw: bytes, block: bytes, heading: str = "Tea") -> bytes | None:
    """The note without the item; None where no such item can be removed."""
    doc = parse(raw)
    item = reinsert.exact_item(doc, heading, block)
    step = reinsert.drop_item(doc, item) if item else None
    if step is None:
        return None
    assert step.removed
    return render(step.doc)


def back_into(raw: bytes, block: bytes, diff: bytes = b"", heading: str = "Tea") -> bytes | None:
    doc = parse(raw)
    index = section_named(doc, heading)
    assert index is not None
    step = reinsert.put_item(doc, index, block, diff)
    if step is None:
        return None
    assert step.added.strip() == block.strip() or step.added
    return render(step.doc)


@every("block", [b"- green\n", b"- white\n  - with milk\n", b"  - with milk\n", b"- black\n"])
def test_an_item_that_was_removed_comes_back_to_its_place(block: bytes) -> None:
    without = out_of(NOTE, block)

    assert without == NOTE.replace(block, b"")
    diff = unified(NOTE, without, "USER.md")
    assert back_into(without, block, diff) == NOTE


@every(
    ("raw", "block", "left"),
    [
        (b"## Tea\n- a\n- a\n", b"- a", b"## Tea\n- a\n"),
        (b"## Tea\n* a\n", b"- a", b"## Tea\n"),
        (b"## Tea\n- [x] a\n- [ ] a\n", b"- [x] a", b"## Tea\n- [ ] a\n"),
        (b"## Tea\n- [x] a\n", b"- a", b"## Tea\n"),
        (b"## Drinks\n- a\n", b"- a", b"## Drinks\n"),
        (b"## Tea\n- a\n  - b\n", b"- a", None),
        (b"## Drinks\n- a\n## More\n- a\n", b"- a", None),
        (b"## Tea\n- b\n## More\n- a\n", b"- a", None),
    ],
)
def test_an_item_is_found_by_its_bytes_or_its_text_in_its_section(
    raw: bytes, block: bytes, left: bytes | None
) -> None:
    assert out_of(raw, block) == left


@every(
    ("change", "result"),
    [
        ((b"- white\n", b"- new\n- white\n"), b"- green\n- new\n- white\n"),
        ((b"- white\n", b""), b"  - with milk\n- green\n- black\n"),
        ((b"## Tea\n\n", b"## Tea\n\n- first\n"), b"## Tea\n\n- green\n- first\n"),
    ],
)
def test_an_item_comes_back_beside_a_neighbour_that_is_left(
    change: tuple[bytes, bytes], result: bytes
) -> None:
    without = NOTE.replace(b"- green\n", b"")
    diff = unified(NOTE, without, "USER.md")
    newer = without.replace(*change)

    found = back_into(newer, b"- green\n", diff)

    assert found is not None
    assert found.replace(b"- green\n", b"", 1) == newer
    assert result in found


@every(
    ("raw", "result"),
    [
        (b"## Tea\n\n- a\n\n## B\n", b"## Tea\n\n- a\n- new\n\n## B\n"),
        (b"## Tea\n\n- a\n\n- b\n", b"## Tea\n\n- a\n\n- b\n\n- new\n"),
        (b"## Tea\n\nWords.\n", b"## Tea\n\nWords.\n\n- new\n"),
        (b"## Tea\n", b"## Tea\n- new\n"),
        (b"## Tea", b"## Tea\n- new"),
        (b"## Tea\n- a", b"## Tea\n- a\n- new"),
        (b"## Tea\r\n- a\r\n", b"## Tea\r\n- a\r\n- new\r\n"),
        (b"## Tea\n- new\n", None),
        (b"## Tea\n- **New**\n", b"## Tea\n- **New**\n- new\n"),
    ],
)
def test_without_a_neighbour_an_item_goes_to_the_end_of_the_list(
    raw: bytes, result: bytes | None
) -> None:
    assert back_into(raw, b"  - new\n") == result


def test_the_words_of_an_item_are_replaced_and_what_is_below_them_stays() -> None:
    doc = parse(b"## Tea\n- white\n  - with milk\n- black ^id\n")
    first = reinsert.exact_item(doc, "Tea", b"- white\n  - with milk")
    assert first is not None

    step = reinsert.swap_item(doc, first, b"- red")
    assert step is not None
    assert render(step.doc) == b"## Tea\n- red\n  - with milk\n- black ^id\n"
    assert (step.removed.strip(), step.added.strip()) == (b"- white", b"- red")
    for wrong in (b"- red\n- blue", b"# red", b"words"):
        assert reinsert.swap_item(doc, first, wrong) is None, wrong


@every(
    ("raw", "block", "left"),
    [
        (NOTE, b"## Boats\n\n- a kayak\n", NOTE.replace(b"\n## Boats\n\n- a kayak\n", b"")),
        (
            b"## A\n- 1\n\n## Boats\n- 2\n\n## C\n- 3\n",
            b"## Boats\n- 2\n",
            b"## A\n- 1\n\n## C\n- 3\n",
        ),
        (b"## Boats\n- 2\n- mine\n", b"## Boats\n- 2\n- 1\n", b"## Boats\n- mine\n"),
        (b"## Boats\n- 2\n### Deep\n- mine\n", b"## Boats\n- 2\n", b"## Boats\n### Deep\n- mine\n"),
        (b"## Boats\n- mine\n", b"## Boats\n- 2\n", None),
        (b"## Else\n- 2\n", b"## Boats\n- 2\n", None),
    ],
)
def test_a_section_goes_whole_or_loses_the_items_that_it_came_with(
    raw: bytes, block: bytes, left: bytes | None
) -> None:
    step = reinsert.drop_section(parse(raw), "Boats", block)

    assert (step and render(step.doc)) == left
    if step:
        assert step.removed.startswith(b"## Boats\n")


@every(
    ("raw", "result"),
    [
        (b"", b"## Boats\n- 1\n- 2\n"),
        (b"## A\n- x\n", b"## A\n- x\n\n## Boats\n- 1\n- 2\n"),
        (b"## A\n- x\n\n", b"## A\n- x\n\n## Boats\n- 1\n- 2\n"),
        (b"## A\n- x", b"## A\n- x\n\n## Boats\n- 1\n- 2\n"),
        (b"## A\r\n- x\r\n", b"## A\r\n- x\r\n\r\n## Boats\n- 1\n- 2\n"),
        (b"## Boats\n- 2\n", b"## Boats\n- 2\n- 1\n"),
        (b"## Boats\n- 1\n- 2\n", None),
        (b"```\nopen fence\n", None),
    ],
)
def test_a_section_comes_back_at_the_end_or_into_one_of_its_name(
    raw: bytes, result: bytes | None
) -> None:
    step = reinsert.put_section(parse(raw), "Boats", b"## Boats\n- 1\n- 2\n")

    assert (step and render(step.doc)) == result


def test_items_that_are_nested_come_back_with_their_outer_item() -> None:
    block = b"## Boats\n- 1\n  - a\n- 2\n"
    step = reinsert.put_section(parse(b"## Boats\n- 2\n"), "Boats", block)

    assert step is not None
    assert render(step.doc) == b"## Boats\n- 2\n- 1\n  - a\n"
    assert reinsert.put_section(parse(b"## Boats\n"), "Boats", b"- no heading\n") is None


@every("number", [1, 2, 3])
def test_a_section_is_removed_alone_with_its_bytes(number: int) -> None:
    doc = parse(NOTE)

    step = reinsert.without_section(doc, number)

    assert step is not None
    assert step.removed == doc.sections[number].heading + doc.sections[number].body
    assert [section.name for section in step.doc.sections] == [
        section.name for index, section in enumerate(doc.sections) if index != number
    ]


def test_a_section_whose_removal_would_change_others_stays() -> None:
    def read_otherwise(raw: bytes) -> SectionedDoc:
        return parse(b"## Another\n" + raw)

    assert reinsert.without_section(parse(NOTE), 2, read_otherwise) is None


@pytest.mark.parametrize("place", [b"- green", b"All"])
def test_an_item_that_fits_nowhere_is_not_put(place: bytes) -> None:
    fenced = b"## Tea\n\n```\n" + place + b"\n"

    assert back_into(fenced, b"- new\n") is None
