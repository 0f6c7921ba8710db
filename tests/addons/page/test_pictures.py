"""The picture of neighbours: what it shows, in words and shapes, and that no name becomes markup."""

import re
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.addons.page.markup import Markup
from tests.effort import few
from vault_memory.addons.page.note_html.hidden_letters import HIDDEN
from vault_memory.addons.page.viewers.graph import MOST_NEIGHBOURS, Edge, neighbours, neighbours_svg

TAGS = set("svg title desc g line circle text rect polyline".split())
ATTRIBUTES = set(
    "class role aria-labelledby id viewbox width height x y x1 y1 x2 y2 cx cy r points fill"
    " stroke stroke-opacity stroke-width stroke-dasharray text-anchor font-size font-weight".split()
)
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


def test_nobody_without_neighbours_has_a_picture_too() -> None:
    checked(neighbours_svg("Ann", []))
