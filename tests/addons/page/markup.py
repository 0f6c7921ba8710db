"""Reads HTML and SVG as strictly as a test needs: every tag closed, every attribute seen."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import NamedTuple

VOID = {"br", "hr"}


class Element(NamedTuple):
    """A start tag."""

    tag: str
    attributes: dict[str, str]


class Markup(HTMLParser):
    """The elements and the text of a piece of HTML; fails on anything that is not well-formed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice: {names}"
        # A browser ends a paragraph and a link where another one begins.
        assert tag not in ("p", "a") or tag not in self._open
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def all(self, tag: str) -> Iterator[Element]:
        return (element for element in self.elements if element.tag == tag)

    def values(self, attribute: str) -> list[str]:
        return [
            element.attributes[attribute]
            for element in self.elements
            if attribute in element.attributes
        ]
