"""What is true of every merge, whatever the bytes."""

import re
from collections import Counter
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.markdown.merging.triples import triple
from tests.markdown.shapes import notes, ordinary_notes, random_note
from vault_memory.markdown.document import parse
from vault_memory.markdown.items import normalised
from vault_memory.markdown.merging.parsed_note import parse_note
from vault_memory.markdown.merging.three_way import Merged, merge

DATE = "2026-11-21"
MARK = re.compile(r" ?⚠ \(other device, 2026-11-21\)")

PIECES = [
    *[
        b"- a",
        b"- b",
        b"  - c",
        b"- [ ] a",
        b"- [x] a",
        b"1. a",
        b"2. b",
        b"* a",
        b"-",
        b"- ",
        b"\t- t",
        b"   - odd",
    ],
    *[
        b"## A",
        b"## B",
        b"### C",
        b"# T",
        b"A\n---",
        b"---",
        b"...",
        b"topic: x",
        b"topic: y",
        b"  - z",
        b"",
        b"",
        b"  ",
    ],
    *[
        b"```",
        b"~~~",
        b"<!--",
        b"-->",
        b"<div>",
        b"> q",
        b"text",
        b"more text",
        b"| a | b |",
        b"|---|---|",
        b"    code",
    ],
    *[b"\xff", b"\xef\xbb\xbf", b"\0", b"- \xe6\x97\xa5\xe6\x9c\xac", b"\x0c", b"\xe2\x80\xa8"],
]
shaped = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\r"])),
    max_size=9,
).map(lambda lines: b"".join(piece + end for piece, end in lines))
anything = st.one_of(
    st.binary(max_size=60),
    shaped,
    shaped.map(lambda raw: raw.rstrip(b"\r\n")),
    notes.map(str.encode),
)


@given(anything, anything, st.booleans())
@settings(max_examples=cases(300))
def test_a_change_on_only_one_side_is_taken_as_it_is(
    base: bytes, side: bytes, people: bool
) -> None:
    assert merge(base, base, base, between_people=people) == Merged(base)
    assert merge(base, side, base, between_people=people) == Merged(side)
    assert merge(base, base, side, between_people=people) == Merged(side)
    assert merge(base, side, side, between_people=people) == Merged(side)


@pytest.mark.sampled
@given(st.one_of(st.none(), anything), anything, anything, st.booleans())
@settings(max_examples=cases(1200))
@example(b"", b"- a\n", b"---\n", False)
def test_merging_any_bytes_terminates_and_loses_no_line(
    base: bytes | None, ours: bytes, theirs: bytes, people: bool
) -> None:
    merged = merge(base, ours, theirs, between_people=people, date=DATE)

    assert merged == merge(base, ours, theirs, between_people=people, date=DATE)
    if merged.result is not None:
        assert not lost_words(base or b"", ours, theirs, merged)
        assert size(merged.result) <= size(ours) + size(theirs) + sum(
            80 + len(c.other) for c in merged.conflicts
        )
        assert b"<<<<<<<" not in merged.result


@pytest.mark.sampled
def test_a_note_edited_line_by_line_on_both_sides_loses_nothing() -> None:
    random = Random(3)
    clean = 0
    for _ in range(4000):
        base = "\n".join(random_note(random) for _ in range(2)).split("\n")
        raw, ours, theirs = (
            "\n".join(lines).encode()
            for lines in (base, randomly_edited(base, random), randomly_edited(base, random))
        )
        merged = merge(raw, ours, theirs)
        clean += merged.result is not None
        if merged.result is not None:
            assert not lost_words(raw, ours, theirs, merged), (raw, ours, theirs)

    assert clean > 2000


def randomly_edited(lines: list[str], random: Random) -> list[str]:
    changed = list(lines)
    for _ in range(random.randint(0, 3)):
        place = random.randint(0, len(changed))
        if random.random() < 0.5:
            changed.insert(
                place,
                random.choice(["- new ", "text ", "## New ", "  - deep "])
                + str(random.randint(0, 99)),
            )
        elif place < len(changed):
            changed[place : place + 1] = [] if random.random() < 0.5 else [changed[place] + " more"]
    return changed


def size(raw: bytes) -> int:
    return sum(map(len, raw.splitlines()))


def words(raw: bytes) -> Counter[str]:
    """The lines of a note as the words that they say."""
    lines = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    return Counter(
        normalised(line)
        for line in re.split(r"\r\n|\r|\n", MARK.sub("", lines))
        if normalised(line)
    )


def lost_words(base: bytes, ours: bytes, theirs: bytes, merged: Merged) -> list[str]:
    """What either added and what both left as it was, and is nowhere."""
    assert merged.result is not None
    b, o, t = words(base), words(ours), words(theirs)
    there = words(merged.result)
    for conflict in merged.conflicts:
        there += words(conflict.other)
    there |= Counter(line.removeprefix("# ") for line in there)
    written = [
        line
        for line in {*o, *t}
        if o[line] > b[line] or t[line] > b[line] or o[line] == b[line] == t[line]
    ]
    return [line for line in written if not there[line]]


def by_people(base: bytes, ours: bytes, theirs: bytes) -> Merged:
    return merge(base, ours, theirs, between_people=True, date=DATE)


@pytest.mark.sampled
@pytest.mark.parametrize("first", range(0, 1500, 500))
def test_a_merge_between_people_does_not_depend_on_the_side(first: int) -> None:
    for seed in range(first, first + 500):
        base, ours, theirs = triple(seed).raws()
        one, other = by_people(base, ours, theirs), by_people(base, theirs, ours)

        assert (one.result is None) == (other.result is None), seed
        assert all_words(one) == all_words(other), seed


def all_words(merged: Merged) -> set[str]:
    return set(
        words(
            (merged.result or b"")
            + b"".join(b"\n" + conflict.other for conflict in merged.conflicts)
        )
    )


@pytest.mark.sampled
def test_a_merge_without_base_neither_loses_nor_duplicates_items() -> None:
    for seed in range(1000):
        _, ours, theirs = triple(seed).raws()
        merged = merge(None, ours, theirs)

        assert merged.result is not None, seed
        assert not merged.conflicts, seed
        assert set(words(merged.result)) == set(words(ours)) | set(words(theirs)), seed
        mine, yours, all_items = items(ours), items(theirs), items(merged.result)
        assert not [
            item for item, count in all_items.items() if count > max(mine[item], yours[item], 1)
        ], seed


def items(raw: bytes) -> Counter[bytes]:
    """The items of a generated note, each with what is below it, and without the lines in fences."""
    return Counter(
        re.findall(rb"^[-*] (?!.*no item$).*(?:\n  .*)*", raw.replace(b"\r", b""), re.MULTILINE)
    )


@pytest.mark.sampled
def test_merging_a_result_with_its_inputs_changes_nothing() -> None:
    """A second pass finds nothing to do: the remote has the result, this side still its own version."""
    for seed in range(500):
        base, ours, theirs = triple(seed).raws()
        result = merge(base, ours, theirs).result

        assert result is not None, seed
        assert merge(theirs, result, theirs).result == result
        assert merge(base, result, result).result == result


@given(ordinary_notes)
@settings(max_examples=cases(150))
def test_a_parsed_page_has_the_sections_of_its_note(text: str) -> None:
    page = parse_note(text.encode())

    if page is None:
        assert re.match("\ufeff?---\n", text), "only front matter may be broken here"
        return
    names = [heading.name.decode() for heading in page.sections if heading.level]
    assert names == list(parse(text.encode()).headings)


def test_the_units_of_a_parsed_page_cover_all_its_lines() -> None:
    random = Random(5)
    for _ in range(3000):
        raw = random_note(random).encode()
        page = parse_note(raw)
        if page is None:
            continue
        lines = list(page.lines[: page.body])
        for number, unit in enumerate(page.units):
            lines += [*page.gap(number), *page.lines[unit.first : unit.end]]
        lines += page.gap(len(page.units))
        assert b"".join(lines) == raw
        assert not any(
            line.strip(b" \t\r\n")
            for number in range(len(page.units) + 1)
            for line in page.gap(number)
        )
