"""Pictures of memory: what they show, in words and shapes, and that no name becomes markup."""

import datetime
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.addons.page.markup import Markup
from tests.effort import few
from vault_memory.addons.page.note_html.hidden_letters import HIDDEN
from vault_memory.addons.page.pictures.charts import (
    MOST_COLUMNS,
    SearchDay,
    Week,
    latency_svg,
    search_days,
    weeks,
    weeks_svg,
)
from vault_memory.addons.page.pictures.graph import (
    MOST_NEIGHBOURS,
    Edge,
    neighbours,
    neighbours_svg,
)

TAGS = set("svg title desc g line circle text rect polyline".split())
ATTRIBUTES = set(
    "class role aria-labelledby id viewbox width height x y x1 y1 x2 y2 cx cy r points fill"
    " stroke stroke-opacity stroke-width stroke-dasharray text-anchor font-size font-weight".split()
)
DAY = datetime.date(2026, 5, 3)
FAMILY = [Edge("Ann", "sister", "Bo", 0.5), Edge("Ann", "friend", "Alice", 0.9)]


def checked(svg: str) -> Markup:
    """The picture as a browser reads it, after it was checked for what it may contain."""
    page = Markup(svg)
    ElementTree.fromstring(svg)
    assert {element.tag for element in page.elements} <= TAGS
    assert {name for element in page.elements for name in element.attributes} <= ATTRIBUTES
    assert not HIDDEN.search(svg)
    assert page.elements[0].attributes["role"] == "img"
    named = page.elements[0].attributes["aria-labelledby"].split()
    assert named == page.values("id")
    assert not re.search(r"\b(nan|inf)\b", svg.split("</desc>")[1])
    return page


# --- Neighbours -------------------------------------------------------------------------------


def test_the_table_lists_neighbours_with_the_strongest_first() -> None:
    rows = neighbours("ann", [*FAMILY, Edge("Bo", "brother", "Ann", 0.4)])

    assert [row.name for row in rows] == ["Alice", "Bo"]
    assert rows[1].relations == ("Ann sister Bo", "Bo brother Ann")
    assert rows[1].strength == 0.5


def test_an_entity_is_no_neighbour_of_itself() -> None:
    assert neighbours("Ann", [Edge("Ann", "is", "ann")]) == []


def test_the_picture_is_described_for_people_who_do_not_see_it() -> None:
    page = checked(neighbours_svg("Ann", FAMILY))

    assert page.texts[:2] == [
        "Neighbours of Ann",
        "2 of 2 neighbours, the strongest first: Alice, Bo.",
    ]


def test_the_same_relationships_in_any_order_are_the_same_picture() -> None:
    assert neighbours_svg("Ann", FAMILY) == neighbours_svg("Ann", FAMILY[::-1])


def test_a_crowd_is_drawn_in_part_and_the_picture_says_so() -> None:
    crowd = [Edge("Ann", "knows", f"person {number:04}") for number in range(5000)]

    svg = neighbours_svg("Ann", crowd)

    page = checked(svg)
    assert len(list(page.all("circle"))) == MOST_NEIGHBOURS + 1
    assert "60 of 5000 neighbours" in page.text
    assert len(svg) < 40_000


def test_names_on_a_side_do_not_cover_one_another() -> None:
    for count in (2, 7, 12):
        crowd = [Edge("Ann", "knows", f"person {number}") for number in range(count)]
        page = checked(neighbours_svg("Ann", crowd))
        names = [text.attributes for text in page.all("text")][:-1]
        for side in ("start", "end"):
            heights = sorted(float(name["y"]) for name in names if name["text-anchor"] == side)
            steps = [low - high for high, low in pairwise(heights)]
            assert all(step >= 14 for step in steps)


def test_a_long_name_is_cut_and_can_be_read_in_full() -> None:
    name = "the keeper of the lighthouse at the end of the world"

    page = checked(neighbours_svg("Ann", [Edge("Ann", "knows", name)]))

    assert f"{name}: Ann knows {name}" in page.texts
    assert any(text.startswith("the keeper") and text.endswith("…") for text in page.texts)


names = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["</title><script>", '" onload="x', "&lt;b&gt;", "]]>", "<!--", "\u202eAnn", "\0", "\ud800"]
    ),
    st.text("x\n", min_size=500, max_size=600),
)
edges = st.builds(Edge, names, names, names, st.one_of(st.floats(), st.integers(-9, 9).map(float)))


@settings(max_examples=few(500))
@given(names, st.lists(edges, max_size=90), st.integers(-10, 10_000))
def test_no_name_becomes_markup_and_every_picture_is_bounded(
    entity: str, relationships: list[Edge], width: int
) -> None:
    svg = neighbours_svg(entity, relationships, width)

    page = checked(svg)
    assert len(list(page.all("circle"))) <= MOST_NEIGHBOURS + 1
    # A letter may be written as `&quot;`, and a hidden one as a mark.
    assert len(svg) < 61 * (600 + 10 * 400)


# --- Charts -----------------------------------------------------------------------------------


def test_a_week_without_notes_is_a_row_too() -> None:
    notes = [DAY, DAY, DAY - datetime.timedelta(days=15)]

    rows = weeks(notes, [DAY], DAY, count=3)

    assert rows == [Week("2026-W16", 1, 0), Week("2026-W17", 0, 0), Week("2026-W18", 2, 1)]


def test_weeks_are_counted_over_the_end_of_a_year() -> None:
    rows = weeks([], [], datetime.date(2027, 1, 5), count=3)

    assert [row.name for row in rows] == ["2026-W52", "2026-W53", "2027-W01"]


def test_each_bar_is_as_high_as_its_number() -> None:
    page = checked(weeks_svg([Week("2026-W01", 4, 2), Week("2026-W02", 0, 1)]))

    bars = [bar.attributes for bar in page.all("rect")][2:]
    heights = [float(bar["height"]) for bar in bars]
    assert heights == [160.0, 80.0, 40.0]
    assert [bar["fill"] for bar in bars] == ["currentColor", "none", "none"]
    assert "2026-W01: 4 notes, 2 facts" in page.texts


def test_search_times_are_the_median_and_the_slowest_twentieth_of_a_day() -> None:
    times = [(DAY, float(number)) for number in range(1, 101)]

    assert search_days([*times, (DAY, float("nan"))]) == [SearchDay("2026-05-03", 100, 50.0, 95.0)]


def test_one_search_is_enough_for_a_day() -> None:
    assert search_days([(DAY, 7.0)]) == [SearchDay("2026-05-03", 1, 7.0, 7.0)]


@pytest.mark.parametrize("svg", [weeks_svg([]), latency_svg([]), neighbours_svg("Ann", [])])
def test_an_empty_vault_has_pictures_too(svg: str) -> None:
    checked(svg)


def test_a_chart_of_zeros_is_a_chart() -> None:
    checked(weeks_svg([Week("2026-W01", 0, 0)]))
    checked(latency_svg([SearchDay("2026-05-03", 1, 0.0, 0.0)]))


counts = st.integers(0, 10**9)
times = st.floats(-1e9, 1e9)


@settings(max_examples=few(300))
@given(
    st.lists(st.builds(Week, names, counts, counts), max_size=200),
    st.lists(st.builds(SearchDay, names, counts, times, times), max_size=200),
    st.integers(-10, 10_000),
)
def test_every_chart_is_bounded_and_within_its_frame(
    weekly: list[Week], daily: list[SearchDay], width: int
) -> None:
    for svg in (weeks_svg(weekly, width), latency_svg(daily, width)):
        page = checked(svg)
        shapes = [element.attributes for element in page.elements]
        _, _, right, bottom = map(int, shapes[0]["viewbox"].split())
        for shape in shapes[3:]:
            x = float(shape.get("x", shape.get("cx", "0")))
            y = float(shape.get("y", shape.get("cy", "0")))
            assert 0 <= x <= right
            assert 0 <= y <= bottom
        assert len(list(page.all("rect"))) <= 2 * MOST_COLUMNS + 2
