"""Draws one entity and its neighbours, on rings around it."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from vault_memory.addons.page.note_html.hidden_letters import visible

LONGEST_TITLE = 300
"""Letters of a text that appears when a shape is pointed at"""
LETTER_WIDTH = 7.0
"""Average width of a letter, in units of the picture"""

Attributes = Mapping[str, str | int | float]


def element(tag: str, attributes: Attributes, content: str = "") -> str:
    """Return an element. `content` is SVG, all else is text."""
    pairs = [f' {name}="{_value(value)}"' for name, value in attributes.items()]
    return f"<{tag}{''.join(pairs)}>{content}</{tag}>"


def plain(text: str) -> str:
    """Return a text as SVG. Hidden letters become visible."""
    return escape(visible(text))


def title(text: str) -> str:
    """Return what appears when a shape is pointed at."""
    return element("title", {}, plain(cut(text, LONGEST_TITLE)))


def cut(text: str, letters: int) -> str:
    """Return the start of a long text, with an ellipsis."""
    # Fault: a name of ten thousand letters would be all of the picture.
    single_line = " ".join(text.split())
    if len(single_line) <= letters:
        return single_line
    return f"{single_line[: max(letters - 1, 1)]}…"


def _value(value: str | int | float) -> str:
    # The same picture has the same bytes on each machine.
    if isinstance(value, float):
        return f"{value:.1f}"
    return plain(str(value))


class Picture:
    """A picture as it grows."""

    def __init__(self, name: str, width: int, height: int) -> None:
        self._name = name
        """Its class, and the start of its ids: a page has one picture of a name"""
        self._width = width
        self._height = height
        self._shapes: list[str] = []

    def add(self, tag: str, attributes: Attributes, content: str = "") -> None:
        """Add a shape."""
        shape = element(tag, attributes, content)
        self._shapes.append(shape)

    def label(self, x: float, y: float, text: str, anchor: str = "start") -> None:
        """Add a text. `anchor` says which end of the text is at x: start, middle or end."""
        attributes = label_attributes(x, y, anchor)
        self.add("text", attributes, plain(text))

    def svg(self, heading: str, description: str) -> str:
        """Return the picture, with a name and a description for people who do not see it."""
        heading_id = f"{self._name}-title"
        description_id = f"{self._name}-desc"
        attributes: Attributes = {
            "class": f"picture {self._name}",
            "role": "img",
            "aria-labelledby": f"{heading_id} {description_id}",
            "viewBox": f"0 0 {self._width} {self._height}",
            "width": self._width,
            "height": self._height,
        }
        named = element("title", {"id": heading_id}, plain(heading))
        described = element("desc", {"id": description_id}, plain(description))
        shapes = "\n".join(self._shapes)
        return element("svg", attributes, f"{named}{described}\n{shapes}\n")


def label_attributes(x: float, y: float, anchor: str) -> dict[str, str | int | float]:
    """Return the attributes of a text."""
    return {"x": x, "y": y, "text-anchor": anchor, "font-size": 12, "fill": "currentColor"}


MOST_NEIGHBOURS = 60
"""Neighbours in a picture; the table beside it has all"""
RING_SIZES = (12, 20, 28)
"""Neighbours on each ring, the innermost first"""
WIDTH = 720

_RING_HEIGHT = 110
_EDGE = 30
_LEAST_WIDTH = 240
_MOST_WIDTH = 4000


class Edge(NamedTuple):
    """A relationship, as an entity's answer has it."""

    subject: str
    predicate: str
    object: str
    strength: float = 1.0


class Neighbour(NamedTuple):
    """An entity that has relationships with the one in the middle: a row of the table."""

    name: str
    relations: tuple[str, ...]
    """Each as a sentence: `Ann sister Bo`"""
    strength: float
    """Of the strongest relationship, from 0 to 1"""


class _Place(NamedTuple):
    """Where a neighbour is drawn."""

    x: float
    y: float
    is_right: bool
    """Whether its name is to the right of it"""
    letters: int
    """How long its name may be"""


def neighbours(entity: str, edges: Iterable[Edge]) -> list[Neighbour]:
    """Return all neighbours of an entity, the strongest first."""
    by_name: defaultdict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        name = _other_end(entity, edge)
        # A wrong fact can relate an entity to itself.
        if not _are_same(name, entity):
            by_name[name].append(edge)
    rows = [_neighbour(name, group) for name, group in by_name.items()]
    return sorted(rows, key=lambda row: (-row.strength, row.name))


def _other_end(entity: str, edge: Edge) -> str:
    if _are_same(edge.object, entity):
        return edge.subject
    return edge.object


def _are_same(first: str, second: str) -> bool:
    return first.casefold() == second.casefold()


def _neighbour(name: str, edges: Sequence[Edge]) -> Neighbour:
    sentences = [f"{edge.subject} {edge.predicate} {edge.object}" for edge in edges]
    relations = tuple(dict.fromkeys(sentences))
    strength = max(_share(edge.strength) for edge in edges)
    return Neighbour(name, relations, strength)


def _share(number: float) -> float:
    # A strength that is no number is not drawn as one.
    if not number > 0:
        return 0.0
    return min(float(number), 1.0)


def neighbours_svg(entity: str, edges: Iterable[Edge], width: int = WIDTH) -> str:
    """Return the picture of an entity with its strongest neighbours. The table has them all."""
    rows = neighbours(entity, edges)
    # Fault: an entity of a hostile note has ten thousand neighbours.
    drawn = rows[:MOST_NEIGHBOURS]
    width = min(max(width, _LEAST_WIDTH), _MOST_WIDTH)
    rings = _rings(len(drawn))
    height = 2 * (_RING_HEIGHT * len(rings) + _EDGE)
    picture = Picture("neighbours", width, height)
    places = _places(rings, width, height)
    for row, place in zip(drawn, places, strict=True):
        _draw(picture, row, place, (width / 2, height / 2))
    _draw_middle(picture, entity, width / 2, height / 2)
    return picture.svg(f"Neighbours of {cut(entity, 80)}", _description(rows, drawn))


def _description(rows: Sequence[Neighbour], drawn: Sequence[Neighbour]) -> str:
    if not rows:
        return "No relationship is recorded."
    names = ", ".join(cut(row.name, 40) for row in drawn[:5])
    return f"{len(drawn)} of {len(rows)} neighbours, the strongest first: {names}."


# --- Places -----------------------------------------------------------------------------------


def _rings(count: int) -> list[int]:
    """Return how many neighbours are on each ring."""
    rings: list[int] = []
    for size in RING_SIZES:
        on_ring = min(size, count)
        if on_ring:
            rings.append(on_ring)
        count -= on_ring
    return rings or [0]


def _places(rings: Sequence[int], width: int, height: int) -> Iterator[_Place]:
    """Yield the places ring by ring: on each side from the top, at equal steps of height."""
    margin = min(140.0, width / 4)
    step = (width / 2 - margin) / len(rings)
    for number, count in enumerate(rings, 1):
        is_outermost = number == len(rings)
        room = margin if is_outermost else step
        letters = int(room / LETTER_WIDTH) - 2
        on_right = math.ceil(count / 2)
        for index in range(count):
            is_right = index < on_right
            on_side = on_right if is_right else count - on_right
            row = index if is_right else index - on_right
            # From -1 at the top to 1 at the bottom.
            level = (2 * row + 1) / on_side - 1
            reach = step * number * math.sqrt(1 - level * level / 2)
            x = width / 2 + (reach if is_right else -reach)
            y = height / 2 + level * _RING_HEIGHT * number
            yield _Place(x, y, is_right, letters)


# --- Shapes -----------------------------------------------------------------------------------


def _draw(picture: Picture, row: Neighbour, place: _Place, middle: tuple[float, float]) -> None:
    line: Attributes = {
        "class": "edge",
        "x1": middle[0],
        "y1": middle[1],
        "x2": place.x,
        "y2": place.y,
        "stroke": "currentColor",
        "stroke-opacity": "0.4",
        "stroke-width": 1 + 3 * row.strength,
    }
    dot: Attributes = {"cx": place.x, "cy": place.y, "r": 5, "fill": "currentColor"}
    shapes = [
        title(f"{row.name}: {'; '.join(row.relations)}"),
        element("line", line),
        element("circle", dot),
        _name(row.name, place),
    ]
    picture.add("g", {"class": "neighbour"}, "".join(shapes))


def _name(name: str, place: _Place) -> str:
    anchor = "start" if place.is_right else "end"
    x = place.x + (9 if place.is_right else -9)
    attributes = label_attributes(x, place.y + 4, anchor)
    return element("text", attributes, plain(cut(name, place.letters)))


def _draw_middle(picture: Picture, entity: str, x: float, y: float) -> None:
    dot: Attributes = {"cx": x, "cy": y, "r": 9, "fill": "currentColor"}
    attributes = label_attributes(x, y - 14, "middle")
    attributes["font-weight"] = "bold"
    name = element("text", attributes, plain(cut(entity, 30)))
    picture.add("g", {"class": "entity"}, title(entity) + element("circle", dot) + name)
