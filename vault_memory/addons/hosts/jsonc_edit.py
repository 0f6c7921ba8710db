"""Changes single values of a configuration in JSON; order, comments and indents stay.

A path is the sequence of keys from the outermost object.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vault_memory.addons.hosts.jsonc_reader import Node, NotJson, read, skip_space

_CONTENT = re.compile(r"[\w\"']")
_FIRST_INDENT = re.compile(r"[{\[][^\S\n]*\r?\n([ \t]+)\S")


def node_at(text: str, path: Sequence[str]) -> Node | None:
    """Return the value at a path, or None without such a value.

    Raises NotJson, also for something else than an object on the way.
    """
    node, missing = _follow(text, path)
    return None if missing else node


def plain_in(file: Path) -> Mapping[str, Any]:
    """Return what a file says; nothing for a missing file, or one that cannot be read."""
    try:
        value = read(file.read_text(encoding="utf-8")).plain()
    except (OSError, ValueError, NotJson):
        return {}
    return value if isinstance(value, dict) else {}


def put(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with this value at the path; missing objects on the way are created."""
    node, missing = _follow(text, path)
    if missing:
        key, *deeper_keys = missing
        for deeper_key in reversed(deeper_keys):
            value = {deeper_key: value}
        return _insert(text, node, value, key)
    indent = _indent_of(text, node.start)
    written = _Style.of(text).write(value, indent)
    return _splice(text, node.start, node.end, written)


def append(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with this value as the last item of the list, which is created if missing."""
    node = node_at(text, path)
    if node is None:
        return put(text, path, [value])
    if not node.is_list:
        raise _unexpected(path, "a list")
    return _insert(text, node, value)


def remove(text: str, path: Sequence[str]) -> str:
    """Return the text without the member at the path."""
    container = node_at(text, path[:-1])
    if container is None or not container.is_object:
        return text
    child = container.child(path[-1])
    if child is None:
        return text
    return _cut(text, container, container.children.index(child))


def remove_item(text: str, path: Sequence[str], index: int) -> str:
    """Return the text without this item of the list at the path."""
    container = node_at(text, path)
    return text if container is None else _cut(text, container, index)


def _follow(text: str, path: Sequence[str]) -> tuple[Node, Sequence[str]]:
    """Return the deepest value on a path, and the keys after it that are missing."""
    node = read(text)
    for depth, key in enumerate(path):
        if not node.is_object:
            raise _unexpected(path[:depth], "an object")
        child = node.child(key)
        if child is None:
            return node, path[depth:]
        node = child.node
    return node, ()


# --- Style ---


@dataclass(frozen=True, slots=True)
class _Style:
    """How the file is formatted, so that additions look the same."""

    newline: str
    indent: str
    """One step, as in the first indented line"""
    is_one_line: bool

    @classmethod
    def of(cls, text: str) -> "_Style":
        newline = "\r\n" if "\r\n" in text else "\n"
        first_indent = _FIRST_INDENT.search(text)
        indent = first_indent.group(1) if first_indent else "  "
        # An empty object, such as `{}`, says nothing about the style.
        has_content = bool(_CONTENT.search(text))
        is_one_line = has_content and "\n" not in text.strip()
        return cls(newline, indent, is_one_line)

    def write(self, value: object, indent: str) -> str:
        """Return the value as JSON; its lines after the first begin with `indent`."""
        if self.is_one_line:
            return _dump(value)
        written = json.dumps(value, ensure_ascii=False, indent=self.indent)
        return written.replace("\n", self.newline + indent)


def _dump(value: object) -> str:
    """Return the value as JSON in one line."""
    return json.dumps(value, ensure_ascii=False)


def _member(key: str | None, written: str) -> str:
    """Return the text of a member, or of a list item, which has no key."""
    if key is None:
        return written
    return f"{_dump(key)}: {written}"


# --- Insert ---


def _insert(text: str, container: Node, value: object, key: str | None = None) -> str:
    """Add a child behind the last one."""
    if not container.children:
        return _insert_first(text, container, value, key)
    last = container.children[-1]
    if _begins_line(text, last.start):
        return _insert_line(text, container, value, key)
    return _insert_in_line(text, container, value, key)


def _insert_in_line(text: str, container: Node, value: object, key: str | None) -> str:
    """Add a child to the line of the last one."""
    member = _member(key, _dump(value))
    last_end = container.children[-1].node.end
    trailing_comma = _after_comma(text, last_end, container.end - 1)
    if trailing_comma is None:
        return _splice(text, last_end, last_end, f", {member}")
    return _splice(text, trailing_comma, trailing_comma, f" {member},")


def _insert_line(text: str, container: Node, value: object, key: str | None) -> str:
    """Add a child in a line of its own; the last one keeps its comma and its comments."""
    style = _Style.of(text)
    last = container.children[-1]
    last_end = last.node.end
    closing = container.end - 1
    indent = _indent_of(text, last.start)
    member = _member(key, style.write(value, indent))
    line = style.newline + indent + member
    trailing_comma = _after_comma(text, last_end, closing)
    if trailing_comma is None:
        comments_end = _end_of_comments(text, last_end, closing)
        comments = text[last_end:comments_end]
        # Fault: behind `//` the comma would be a part of the comment, and the file no
        # JSON.
        return _splice(text, last_end, comments_end, f",{comments}{line}")
    comments_end = _end_of_comments(text, trailing_comma, closing)
    return _splice(text, comments_end, comments_end, f"{line},")


def _insert_first(text: str, container: Node, value: object, key: str | None) -> str:
    style = _Style.of(text)
    opened, closing = container.inside
    outer_indent = _indent_of(text, container.start)
    indent = outer_indent + style.indent
    member = _member(key, style.write(value, indent))
    comments_end = _end_of_comments(text, opened, closing)
    has_comments = comments_end > opened
    if style.is_one_line and not has_comments:
        return _splice(text, opened, closing, member)
    space = text[comments_end:closing]
    if not has_comments or "\n" not in space:
        space = style.newline + outer_indent
    line = style.newline + indent + member
    return _splice(text, comments_end, closing, line + space)


# --- Remove ---


def _cut(text: str, container: Node, index: int) -> str:
    """Remove one child, with the comma that it needed."""
    if index + 1 < len(container.children):
        return _cut_before_another(text, container, index)
    if index:
        return _cut_last(text, container)
    return _cut_only(text, container)


def _cut_before_another(text: str, container: Node, index: int) -> str:
    child, following = container.children[index : index + 2]
    comma = _after_comma(text, child.node.end, following.start)
    assert comma is not None
    if _begins_line(text, child.start):
        return _splice(text, _end_of_previous(text, child.start), comma)
    between = text[comma : following.start]
    has_comment = bool(between.strip())
    end = comma if has_comment else following.start
    return _splice(text, child.start, end)


def _cut_last(text: str, container: Node) -> str:
    previous, child = container.children[-2:]
    start = _end_of_previous(text, child.start)
    end = child.node.end
    trailing_comma = _after_comma(text, end, container.end - 1)
    # A file with trailing commas keeps the one before: it is the trailing comma now.
    if trailing_comma is not None:
        comments = text[end : trailing_comma - 1]
        return _splice(text, start, trailing_comma, comments)
    comma = _after_comma(text, previous.node.end, child.start)
    assert comma is not None
    comments = text[comma:start]
    return _splice(text, comma - 1, end, comments)


def _cut_only(text: str, container: Node) -> str:
    child = container.children[0]
    opened, closing = container.inside
    end = child.node.end
    trailing_comma = _after_comma(text, end, closing)
    comments = text[opened : _end_of_previous(text, child.start)]
    if trailing_comma is not None:
        comments += text[end : trailing_comma - 1]
        end = trailing_comma
    comments += text[end:closing]
    if not comments.strip():
        comments = ""
    return _splice(text, opened, closing, comments)


# --- Positions between values ---


def _splice(text: str, start: int, end: int, new: str = "") -> str:
    """Return the text with `new` in place of what is between two positions."""
    return text[:start] + new + text[end:]


def _after_comma(text: str, start: int, end: int) -> int | None:
    """Return the position behind the comma between two positions; None without a comma."""
    position = skip_space(text, start)
    if position < end and text[position] == ",":
        return position + 1
    return None


def _end_of_comments(text: str, start: int, end: int) -> int:
    """Return the position behind the last comment between two positions, or `start`."""
    between = text[start:end]
    return start + len(between.rstrip())


def _end_of_previous(text: str, position: int) -> int:
    """Return the position behind the last character before this one that is no space."""
    before = text[:position]
    return len(before.rstrip())


def _indent_of(text: str, position: int) -> str:
    """Return the indent of the line at this position."""
    line_start = text.rfind("\n", 0, position) + 1
    before = text[line_start:position]
    indent = before.removesuffix(before.lstrip())
    # Windows editors begin a file with a byte order mark.
    return indent.lstrip("\ufeff")


def _begins_line(text: str, position: int) -> bool:
    """Whether only space is before this position in its line, which is not the first line."""
    newline = text.rfind("\n", 0, position)
    if newline < 0:
        return False
    before = text[newline:position]
    return not before.strip()


def _unexpected(path: Sequence[str], expected: str) -> NotJson:
    name = ".".join(path) or "the whole"
    return NotJson(f"`{name}` is not {expected}")
