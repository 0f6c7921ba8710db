"""A configuration in JSON is changed where it must be, and every other byte of it stays: order, indents, comments.

The reader takes JSON5 too (comments, commas at the end, bare keys, single quotes), which some hosts write.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from vault_memory.errors import ConfigError

_SPACE = re.compile(r"(?:[\s\ufeff]+|//[^\n\r]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(
    r""""(?:[^"\\\n\r]|\\(?:\r\n|[\s\S]))*"|'(?:[^'\\\n\r]|\\(?:\r\n|[\s\S]))*'"""
)
_BARE = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|Infinity|NaN|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
)
_WORDS = {"true": True, "false": False, "null": None}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|[\s\S]))")
_SHORT = {
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "0": "\0",
    "\n": "",
    "\r": "",
    "\r\n": "",
}
DEEPEST = 100

Path = Sequence[str]


class NotJson(ConfigError):
    """The text is no JSON, or holds something else where a setting of ours would have to stand."""


@dataclass(slots=True)
class Node:
    """A value where it stands in the text."""

    start: int
    end: int = 0
    value: object = None
    """of what is neither object nor array"""
    opened: str = ""
    """``{``, ``[``, or empty"""
    children: list["Child"] = field(default_factory=list)

    def plain(self) -> object:
        """As Python has it; of a key that stands twice the last counts."""
        if self.opened == "{":
            return {child.key: child.node.plain() for child in self.children}
        return (
            [child.node.plain() for child in self.children]
            if self.opened
            else self.value
        )

    def child(self, key: str) -> "Child | None":
        return next(
            (child for child in reversed(self.children) if child.key == key), None
        )


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object, or an item of an array."""

    start: int
    key: str
    """empty in an array"""
    node: Node


def read(text: str) -> Node:
    """The value that a text tells. Raises NotJson with the line."""
    at = _skip(text, 0)
    node = _value(text, at, 0)
    rest = _skip(text, node.end)
    if rest != len(text):
        raise _wrong(text, rest, "nothing more")
    return node


def at(node: Node, path: Path) -> Node | None:
    """What stands there; None when nothing does. Raises NotJson when an object on the way is something else."""
    for number, key in enumerate(path):
        if node.opened != "{":
            raise _other(path[:number], "an object")
        child = node.child(key)
        if child is None:
            return None
        node = child.node
    return node


def put(text: str, path: Path, value: object) -> str:
    """The text with this value at the path; objects that are missing on the way are made."""
    node = read(text)
    for number, key in enumerate(path):
        if node.opened != "{":
            raise _other(path[:number], "an object")
        child = node.child(key)
        if child is None:
            for missing in reversed(path[number + 1 :]):
                value = {missing: value}
            return _insert(text, node, json.dumps(key, ensure_ascii=False), value)
        node = child.node
    indent = _indent(text, node.start)
    return (
        text[: node.start]
        + _written(text, value, indent, _inline(text))
        + text[node.end :]
    )


def append(text: str, path: Path, value: object) -> str:
    """The text with this value as the last item of the array at the path, which is made when it is missing."""
    node = at(read(text), path)
    if node is None:
        return put(text, path, [value])
    if node.opened != "[":
        raise _other(path, "a list")
    return _insert(text, node, "", value)


def take(text: str, path: Path, number: int | None = None) -> str:
    """The text without the member at the path; with `number`, without that item of the array there."""
    found = at(read(text), path if number is not None else path[:-1])
    if found is None:
        return text
    if number is not None:
        return _cut(text, found, number)
    child = found.child(path[-1]) if found.opened == "{" else None
    return text if child is None else _cut(text, found, found.children.index(child))


# ---- writing -------------------------------------------------------------------------------------------------------


def _insert(text: str, within: Node, key: str, value: object) -> str:
    """One more child after the last. What was there keeps its commas and the comments behind them."""
    close = within.end - 1
    if not within.children:
        return _insert_first(text, within, key, value)
    last = within.children[-1]
    comma = _comma(text, last.node.end, close)
    own_line = _begins_line(text, last.start)
    indent = _indent(text, last.start) if own_line else ""
    member = _member(text, key, value, indent, inline=not own_line)
    if not own_line:
        place = comma if comma is not None else last.node.end
        new = f" {member}," if comma is not None else f", {member}"
        return text[:place] + new + text[place:]
    place = _last_word(text, comma if comma is not None else last.node.end, close)
    new = _newline(text) + indent + member + ("," if comma is not None else "")
    before = (
        text[:place]
        if comma is not None
        else f"{text[: last.node.end]},{text[last.node.end : place]}"
    )
    return before + new + text[place:]


def _insert_first(text: str, within: Node, key: str, value: object) -> str:
    opened, close = within.start + 1, within.end - 1
    inline = _inline(text)
    outer = _indent(text, within.start)
    indent = outer + _unit(text)
    member = _member(text, key, value, indent, inline=inline)
    place = _last_word(text, opened, close)
    if inline and place == opened:
        return text[:opened] + member + text[close:]
    rest = text[place:close]
    if place == opened or "\n" not in rest:
        rest = _newline(text) + outer
    return text[:place] + _newline(text) + indent + member + rest + text[close:]


def _cut(text: str, within: Node, number: int) -> str:
    """Without one child, and the comma that it needed."""
    child, close = within.children[number], within.end - 1
    start, end = child.start, child.node.end
    bare = start - len(text[:start]) + len(text[:start].rstrip())
    after = _comma(text, end, close)
    if number + 1 < len(within.children):
        assert after is not None
        if _begins_line(text, start):
            return text[:bare] + text[after:]
        following = within.children[number + 1].start
        return text[:start] + (
            text[following:] if not text[after:following].strip() else text[after:]
        )
    if number:
        if after is not None:
            return text[:bare] + text[end : after - 1] + text[after:]
        previous = within.children[number - 1].node.end
        comma = _comma(text, previous, start)
        assert comma is not None
        kept = text[:bare]
        return kept[: comma - 1] + kept[comma:] + text[end:]
    rest = (
        text[end:close] if after is None else text[end : after - 1] + text[after:close]
    )
    inner = text[within.start + 1 : bare] + rest
    return text[: within.start + 1] + (inner if inner.strip() else "") + text[close:]


def _member(text: str, key: str, value: object, indent: str, *, inline: bool) -> str:
    written = _written(text, value, indent, inline)
    return f"{key}: {written}" if key else written


def _written(text: str, value: object, indent: str, inline: bool) -> str:
    if inline:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """One step of indentation: that of the first line that is indented."""
    found = re.search(r"[{\[][^\S\n]*\r?\n([ \t]+)\S", text)
    return found.group(1) if found else "  "


def _indent(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())].lstrip("\ufeff")


def _begins_line(text: str, place: int) -> bool:
    before = text[text.rfind("\n", 0, place) + 1 : place]
    return not before.strip() and "\n" in text[:place]


def _inline(text: str) -> bool:
    """Whether all is written in one line, and not because there is nothing yet."""
    return "\n" not in text.strip() and bool(re.search(r"[\w\"']", text))


# ---- places between values -----------------------------------------------------------------------------------------


def _comma(text: str, start: int, end: int) -> int | None:
    """The place behind the comma between two places; None when there is none."""
    found = _skip(text, start)
    return found + 1 if found < end and text[found] == "," else None


def _last_word(text: str, start: int, end: int) -> int:
    """The place behind the last comment between two places, or `start`."""
    return start + len(text[start:end].rstrip())


# ---- reading -------------------------------------------------------------------------------------------------------


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _value(text: str, place: int, depth: int) -> Node:
    if depth > DEEPEST:
        raise _wrong(text, place, "less depth")
    opened = text[place : place + 1]
    if opened and opened in "{[":
        node = Node(place, opened=opened)
        node.end = _children(text, place + 1, node, depth)
        return node
    if string := _STRING.match(text, place):
        return Node(place, string.end(), _string(string.group()))
    if number := _NUMBER.match(text, place):
        return Node(place, number.end(), _number(number.group()))
    word = _BARE.match(text, place)
    if word and word.group() in _WORDS:
        return Node(place, word.end(), _WORDS[word.group()])
    raise _wrong(text, place, "a value")


def _children(text: str, place: int, node: Node, depth: int) -> int:
    """Read up to the closing bracket; gives the place behind it."""
    close = "}" if node.opened == "{" else "]"
    place = _skip(text, place)
    while text[place : place + 1] != close:
        start, key = place, ""
        if node.opened == "{":
            place, key = _key(text, place)
        child = _value(text, place, depth + 1)
        node.children.append(Child(start, key, child))
        place = _skip(text, child.end)
        if text[place : place + 1] == ",":
            place = _skip(text, place + 1)
        elif text[place : place + 1] != close:
            raise _wrong(text, place, f"`,` or `{close}`")
    return place + 1


def _key(text: str, place: int) -> tuple[int, str]:
    string, bare = _STRING.match(text, place), _BARE.match(text, place)
    found = string or bare
    if found is None:
        raise _wrong(text, place, "a key")
    colon = _skip(text, found.end())
    if text[colon : colon + 1] != ":":
        raise _wrong(text, colon, "`:`")
    return _skip(text, colon + 1), _string(found.group()) if string else found.group()


def _string(raw: str) -> str:
    def plain(found: re.Match[str]) -> str:
        code = found.group(1) or found.group(2)
        return (
            chr(int(code, 16)) if code else _SHORT.get(found.group(3), found.group(3))
        )

    text = _ESCAPE.sub(plain, raw[1:-1])
    return (
        text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if "\\u" in raw
        else text
    )


def _number(raw: str) -> float:
    digits = raw.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        return -int(digits, 16) if raw[0] == "-" else int(digits, 16)
    return int(raw) if digits.isdecimal() else float(raw)


def _wrong(text: str, place: int, wanted: str) -> NotJson:
    line = text.count("\n", 0, place) + 1
    there = text[place : place + 12].split("\n")[0]
    return NotJson(
        f"line {line}: expected {wanted}, found {there!r}"
        if there
        else f"line {line}: expected {wanted}"
    )


def _other(path: Path, wanted: str) -> NotJson:
    return NotJson(f"`{'.'.join(path) or 'the whole'}` is not {wanted}")
