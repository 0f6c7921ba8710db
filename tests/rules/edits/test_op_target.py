"""The items that an op names, found without reading each item of a long list in all its forms."""

import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.every import every
from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.note_items import items_of
from vault_memory.markdown.visible_text import SeenTexts, is_plain, visible
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.op_target import is_named, matching_items
from vault_memory.rules.edits.ops import Append, Archive, ItemOp, Op, Outcome, Remove, Replace

MOST_CALLS = 12
"""Calls of functions that one more item of a list may cost an op"""

PARTS = [
    "tea",
    "Tea",
    "**tea**",
    "*te",
    "a*",
    "~~tea~~",
    "[[Anna|tea]]",
    "te&#97;",
    "`a`",
    "- ",
    "3. ",
    "3.",
    "[x] ",
    "[ ] ",
    " ",
    "  ",
    "^id",
    "fit",
    "\\",
    "\ufb01t",
    "\uff34ea",
    "\u200b",
    "ß",
    "SS",
    "mi\u0301lk",
    "m\u00edlk",
    "(2026-01-02)",
]
words = st.lists(st.sampled_from(PARTS), max_size=6).map("".join)
markers = st.sampled_from(["- ", "3. ", "- [x] ", "- [ ] ", "- \n  "])
below = st.sampled_from(["", " ^id", "\n  a*", "\n\n  further tea", "\n  - nested tea"])


def op_of(kind: type[ItemOp], match: str, *, exact: bool) -> ItemOp:
    if kind is Replace:
        return Replace("A", match, "new", exact)
    return kind("A", match, exact)


@settings(max_examples=cases(2_000))
@given(markers, words, below, words, st.sampled_from([Remove, Replace, Archive]), st.booleans())
@example("3. ", "tea fit", "", "- 3. tea fit", Remove, True)
@example("- [x] ", "tea fit", " ^id", "- [X] Tea", Replace, False)
@example("- ", "*te", "\n  a*", "**x** *te", Replace, False)
def test_an_op_matches_an_item_that_it_names_in_any_form(
    marker: str, text: str, tail: str, match: str, kind: type[ItemOp], exact: bool
) -> None:
    items = items_of(parse(f"## A\n\n{marker}{text}{tail}\n".encode()))
    op = op_of(kind, match, exact=exact)

    for item in items:
        assert (matching_items(op, [item]) == [item]) == is_named(op, item)


@pytest.mark.sampled
@settings(max_examples=cases(2_000))
@given(words)
def test_a_plain_text_in_lower_case_is_what_a_reader_sees(text: str) -> None:
    if is_plain(text):
        assert visible(text) == " ".join(text.lower().split())


@every(
    ("written", "new"),
    [
        ("Buy  Milk", "buy milk"),
        ("buy milk", "**Buy** milk"),
        ("**Buy** milk", "buy milk"),
        ("[[Anna Keller|Anna]]", "anna"),
        ("anna", "[[Anna Keller|Anna]]"),
    ],
)
def test_a_text_is_seen_whether_or_not_it_has_markup(written: str, new: str) -> None:
    texts = SeenTexts()
    texts.add(" ".join(written.split()))

    assert new in texts
    assert f"{new} today" not in texts


def list_of(count: int) -> SectionedDoc:
    items = "".join(f"- buy {number} of these\n" for number in range(100, 100 + count))
    return parse(f"## A\n\n{items}".encode())


def calls_of(doc: SectionedDoc, op: Op) -> tuple[int, Outcome]:
    """The calls of functions in Python that an op needs."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        outcome = apply_ops(doc, [op])
    finally:
        sys.setprofile(before)
    return calls, outcome


@every(
    ("op", "outcome"),
    [
        (Append("A", "new"), "applied"),
        (Append("A", "Buy 150 of **these**"), "noop_dup"),
        (Replace("A", "buy 150", "new"), "applied"),
        (Replace("A", "- buy 150 of these", "[x] buy 150 of these"), "applied"),
        (Replace("A", "sell", "new"), "noop_no_match"),
        (Remove("A", "150 of"), "applied"),
        (Remove("A", "[x] buy 150"), "noop_no_match"),
        (Archive("A", "buy 150 of these"), "applied"),
    ],
    ids=repr,
)
def test_an_op_makes_few_calls_for_each_item_of_a_long_list(op: Op, outcome: str) -> None:
    calls_of(list_of(60), op)  # what is loaded on first use is loaded
    few, _ = calls_of(list_of(200), op)
    many, result = calls_of(list_of(400), op)

    assert [applied.outcome for applied in result.applied] == [outcome]
    assert (many - few) / 200 <= MOST_CALLS
