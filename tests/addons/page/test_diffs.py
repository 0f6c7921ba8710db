"""Two versions of a note, as a person compares them."""

import random
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.addons.page.markup import Markup
from tests.effort import few
from vault_memory.addons.page.diffs import MOST_LINES, NO_LINE_END, DiffLine, lines
from vault_memory.addons.page.render import environment

SIGNS = {"added": "+", "removed": "-", "same": "", "place": "…"}
AT_ONCE = 2.0
"""CPU seconds"""


def plain(rows: list[DiffLine]) -> list[str]:
    """Each line as `sign text`, with changed words in brackets."""
    return [
        f"{SIGNS[row.word]} "
        + "".join(f"[{text}]" if changed else text for text, changed in row.parts)
        for row in rows
    ]


# --- Lines ------------------------------------------------------------------------------------


def test_equal_texts_have_no_diff() -> None:
    assert lines("a\n", "a\n") == []


def test_a_changed_line_shows_the_words_that_changed() -> None:
    rows = lines("- Bo lives in old Bergen\n", "- Bo lives in new Bergen\n")

    assert plain(rows) == ["- - Bo lives in [old] Bergen", "+ - Bo lives in [new] Bergen"]


def test_changed_letters_are_marked_where_words_have_no_blanks_between() -> None:
    rows = lines("我住在北京市。\n", "我住在上海市。\n")

    assert plain(rows) == ["- 我住在[北京]市。", "+ 我住在[上海]市。"]


def test_blanks_alone_are_a_change_too() -> None:
    assert plain(lines("a  b c\n", "a b d e\n")) == ["- a[  ]b [c]", "+ a[ ]b [d e]"]


def test_a_line_that_is_written_anew_has_no_marked_words() -> None:
    rows = lines("likes green tea\n", "moved to Oslo\n")

    assert plain(rows) == ["- likes green tea", "+ moved to Oslo"]


def test_a_changed_line_is_compared_with_its_own_version() -> None:
    rows = lines("gone\nBo is a baker\n", "Bo is a painter\n")

    assert plain(rows) == ["- gone", "- Bo is a [baker]", "+ Bo is a [painter]"]


def test_equal_lines_far_from_a_change_are_one_gap() -> None:
    old = [f"{number}\n" for number in range(1, 21)]
    new = [*old[:9], "ten\n", *old[10:]]

    rows = lines("".join(old), "".join(new), context=1)

    assert plain(rows) == ["… 8 equal lines", " 9", "- 10", "+ ten", " 11", "… 9 equal lines"]


def test_a_missing_line_end_is_shown() -> None:
    assert plain(lines("a", "a\n")) == [f"- a[{NO_LINE_END}]", "+ a"]


def test_line_ends_of_windows_are_shown_only_where_they_differ() -> None:
    assert plain(lines("a\r\nb\r\n", "a\r\nc\r\n")) == [" a", "- b", "+ c"]
    assert plain(lines("a b\r\n", "a b\n")) == ["- a b[\r]", "+ a b"]


texts = st.lists(st.sampled_from(["", "a", "b b", "c d e", "x y"]), max_size=30).map(
    lambda texts: "".join(f"{text}\n" for text in texts)
)


@settings(max_examples=few(1000))
@given(texts, texts)
def test_a_diff_has_every_line_of_both_versions_once(old: str, new: str) -> None:
    rows = lines(old, new, context=100)

    if old != new:
        removed = [row.text for row in rows if row.word != "added"]
        added = [row.text for row in rows if row.word != "removed"]
        assert removed == old.split("\n")[:-1]
        assert added == new.split("\n")[:-1]


@settings(max_examples=few(1000))
@given(texts, texts, texts, texts)
def test_lines_before_and_after_a_changed_place_stay_equal(
    head: str, old: str, new: str, tail: str
) -> None:
    rows = lines(head + old + tail, head + new + tail, context=100)

    if rows:
        equal = [row.text for row in rows if row.word == "same"]
        first, last = head.split("\n")[:-1], tail.split("\n")[:-1]
        assert equal[: len(first)] == first
        assert equal[len(equal) - len(last) :] == last


# --- Limits -----------------------------------------------------------------------------------

DICE = random.Random(7)
MANY = [f"line {number} {DICE.random()}\n" for number in range(20_000)]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (MANY, DICE.sample(MANY, len(MANY))),
        (MANY, MANY[::-1]),
        (MANY, [line.replace("line", "row") for line in MANY]),
        (DICE.choices(["a\n", "b\n"], k=20_000), DICE.choices(["a\n", "b\n"], k=20_000)),
        (["\n"] * 250_000, ["\n"] * 249_999),
        (["a "] * 130_000, ["b a "] * 65_000),
        (["a b " * 1000 + "\n"] * 60, ["b a " * 1000 + "\n"] * 60),
    ],
    ids=["shuffled", "reversed", "each changed", "a and b", "blank", "words", "long lines"],
)
def test_no_two_texts_keep_the_page_busy(old: list[str], new: list[str]) -> None:
    start = thread_time()

    rows = lines("".join(old), "".join(new))

    assert thread_time() - start < AT_ONCE
    assert 0 < len(rows) <= MOST_LINES + 1


def test_a_diff_that_is_cut_says_how_much_is_missing() -> None:
    rows = lines("", "".join(MANY))

    assert rows[-1].text == f"{len(MANY) - MOST_LINES} more changed lines are not shown"


# --- In a template ----------------------------------------------------------------------------


def shown(rows: list[DiffLine]) -> Markup:
    template = environment().from_string(
        '{% import "changed.html" as changes %}{{ changes.lines(rows) }}'
    )
    return Markup(template.render(rows=rows))


def test_a_change_is_shown_by_sign_and_word_and_not_by_colour_alone() -> None:
    page = shown(lines("a\nlikes tea\n", "a\nlikes coffee\n"))

    assert [element.tag for element in page.elements if element.tag in ("ins", "del")] == [
        "del",
        "ins",
    ]
    assert " ".join(" ".join(page.texts).split()) == (
        "a - removed: likes tea + added: likes coffee"
    )
    assert not page.values("style")


def test_the_text_of_a_line_is_shown_with_its_blanks_and_no_others() -> None:
    page = shown(lines("", "  - a  b\n"))

    assert "  - a  b" in page.texts


def test_a_hostile_line_stays_text_and_hides_nothing() -> None:
    page = shown(lines("a b c\n", "a b <script>\u202e\0\n"))

    assert not list(page.all("script"))
    assert "<script>⟨U+202E⟩⟨U+0000⟩" in page.text
