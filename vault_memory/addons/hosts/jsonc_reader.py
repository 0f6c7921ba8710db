"""Reads JSON into nodes that know where they are in the text.

Comments, trailing commas, bare keys and single quotes (JSON5) are read too: some hosts write them.
"""

import re
from dataclasses import dataclass, field

from vault_memory.errors import ConfigError

DEEPEST = 100

_SPACE = re.compile(r"(?:[\s\ufeff]+|//[^\n\r]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r""""(?:[^"\\\n\r]|\\(?:\r\n|[\s\S]))*"|'(?:[^'\\\n\r]|\\(?:\r\n|[\s\S]))*'""")
_BARE_KEY = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|Infinity|NaN|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
)
_LITERALS = {"true": True, "false": False, "null": None}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|[\s\S]))")
_ESCAPED = {
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


class NotJson(ConfigError):
    """The text is no JSON, or has something else where one of our settings belongs."""


@dataclass(slots=True)
class Node:
    """A value and its place in the text."""

    start: int
    end: int = 0
    value: object = None
    """Of what is neither object nor list"""
    bracket: str = ""
    """``{``, ``[``, or empty"""
    children: list["Child"] = field(default_factory=list)

    @property
    def is_object(self) -> bool:
        return self.bracket == "{"

    @property
    def is_list(self) -> bool:
        return self.bracket == "["

    @property
    def inside(self) -> tuple[int, int]:
        """The positions behind the opening bracket and of the closing bracket."""
        return self.start + 1, self.end - 1

    def plain(self) -> object:
        """Return the value as Python has it. Of a key that occurs twice the last counts."""
        if self.is_object:
            return {child.key: child.node.plain() for child in self.children}
        if self.is_list:
            return [child.node.plain() for child in self.children]
        return self.value

    def child(self, key: str) -> "Child | None":
        for child in reversed(self.children):
            if child.key == key:
                return child
        return None


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object, or an item of a list."""

    start: int
    """Of the key, or of the item"""
    key: str
    """Empty in a list"""
    node: Node


def read(text: str) -> Node:
    """Return the value in a text. Raises NotJson with the line."""
    node = _read_value(text, skip_space(text, 0), 0)
    end = skip_space(text, node.end)
    if end != len(text):
        raise _wrong(text, end, "nothing more")
    return node


def skip_space(text: str, position: int) -> int:
    """Return the position of the next character that is neither space nor comment."""
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _read_value(text: str, position: int, depth: int) -> Node:
    # Fault: deeper nesting would end in a RecursionError somewhere else.
    if depth > DEEPEST:
        raise _wrong(text, position, "less depth")
    if text[position : position + 1] in ("{", "["):
        return _read_container(text, position, depth)
    if string := _STRING.match(text, position):
        return Node(position, string.end(), _unescape(string.group()))
    if number := _NUMBER.match(text, position):
        return Node(position, number.end(), _parse_number(number.group()))
    word = _BARE_KEY.match(text, position)
    if word and word.group() in _LITERALS:
        return Node(position, word.end(), _LITERALS[word.group()])
    raise _wrong(text, position, "a value")


def _read_container(text: str, position: int, depth: int) -> Node:
    """Read an object or a list up to its closing bracket."""
    node = Node(position, bracket=text[position])
    closing = "}" if node.is_object else "]"
    position = skip_space(text, position + 1)
    while text[position : position + 1] != closing:
        start, key = position, ""
        if node.is_object:
            position, key = _read_key(text, position)
        value = _read_value(text, position, depth + 1)
        node.children.append(Child(start, key, value))
        position = skip_space(text, value.end)
        if text[position : position + 1] == ",":
            position = skip_space(text, position + 1)
        elif text[position : position + 1] != closing:
            raise _wrong(text, position, f"`,` or `{closing}`")
    node.end = position + 1
    return node


def _read_key(text: str, position: int) -> tuple[int, str]:
    """Return where the value of a key begins, and the key."""
    if string := _STRING.match(text, position):
        end, key = string.end(), _unescape(string.group())
    elif bare := _BARE_KEY.match(text, position):
        end, key = bare.end(), bare.group()
    else:
        raise _wrong(text, position, "a key")
    colon = skip_space(text, end)
    if text[colon : colon + 1] != ":":
        raise _wrong(text, colon, "`:`")
    return skip_space(text, colon + 1), key


def _unescape(quoted: str) -> str:
    def character(escape: re.Match[str]) -> str:
        code = escape.group(1) or escape.group(2)
        if code:
            return chr(int(code, 16))
        return _ESCAPED.get(escape.group(3), escape.group(3))

    text = _ESCAPE.sub(character, quoted[1:-1])
    # Two escapes are one rare character; a half that stands alone is replaced.
    if "\\u" in quoted:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _parse_number(text: str) -> float:
    digits = text.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        magnitude = int(digits, 16)
        return -magnitude if text.startswith("-") else magnitude
    return int(text) if digits.isdecimal() else float(text)


def _wrong(text: str, position: int, expected: str) -> NotJson:
    line = text.count("\n", 0, position) + 1
    excerpt = text[position : position + 12].split("\n")[0]
    problem = f"line {line}: expected {expected}"
    if excerpt:
        problem += f", found {excerpt!r}"
    return NotJson(problem)
