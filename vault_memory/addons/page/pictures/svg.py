"""Writes one SVG picture: shapes in the colour of the text, and no style or script.

The policy of the page allows no `style`. Classes and attributes say how a shape looks, so the
picture can be read in light and in dark.
"""

from collections.abc import Mapping
from html import escape

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
