"""Changes a configuration in JSON where it must, and leaves all other bytes: order, comments, indents.

A path is the sequence of keys from the outermost object.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vault_memory.hosts.jsonc_reader import Node, NotJson, read, skip_space

_FIRST_INDENT = re.compile(r"[{\[][^\S\n]*\r?\n([ \t]+)\S")


def node_at(text: str, path: Sequence[str]) -> Node | None:
    """Return the value at a path; None when there is none.

    Raises NotJson, also for something else than an object on the way.
    """
    node = read(text)
    for depth, key in enumerate(path):
        if not node.is_object:
            raise _unexpected(path[:depth], "an object")
        child = node.child(key)
        if child is None:
            return None
        node = child.node
    return node


def put(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with this value at the path; missing objects on the way are created."""
    node = read(text)
    for depth, key in enumerate(path):
        if not node.is_object:
            raise _unexpected(path[:depth], "an object")
        child = node.child(key)
        if child is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _insert(text, node, value, key)
        node = child.node
    written = _Style.of(text).write(value, _indent_of(text, node.start))
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


# ---- how the file is written -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Style:
    """How the file is written, so that what is added looks the same."""

    newline: str
    indent: str
    """one step: that of the first line that is indented"""
    is_one_line: bool

    @classmethod
    def of(cls, text: str) -> "_Style":
        first = _FIRST_INDENT.search(text)
        has_content = bool(re.search(r"[\w\"']", text))
        return cls(
            newline="\r\n" if "\r\n" in text else "\n",
            indent=first.group(1) if first else "  ",
            is_one_line=has_content and "\n" not in text.strip(),
        )

    def write(self, value: object, indent: str) -> str:
        """Return the value as JSON; its lines after the first begin with `indent`."""
        if self.is_one_line:
            return json.dumps(value, ensure_ascii=False)
        written = json.dumps(value, ensure_ascii=False, indent=self.indent)
        return written.replace("\n", self.newline + indent)


def _member(key: str | None, written: str) -> str:
    """Return the text of a member; of an item, which has no key."""
    if key is None:
        return written
    return f"{json.dumps(key, ensure_ascii=False)}: {written}"


# ---- insert ----------------------------------------------------------------------------------


def _insert(text: str, container: Node, value: object, key: str | None = None) -> str:
    """Add a child behind the last one, which keeps its comma and the comments behind that."""
    if not container.children:
        return _insert_first(text, container, value, key)
    style = _Style.of(text)
    closing = container.end - 1
    last = container.children[-1]
    end = last.node.end
    comma = _after_comma(text, end, closing)
    if not _begins_line(text, last.start):
        member = _member(key, json.dumps(value, ensure_ascii=False))
        if comma is None:
            return _splice(text, end, end, f", {member}")
        return _splice(text, comma, comma, f" {member},")
    indent = _indent_of(text, last.start)
    line = style.newline + indent + _member(key, style.write(value, indent))
    if comma is None:
        comments_end = _end_of_comments(text, end, closing)
        comments = text[end:comments_end]
        return _splice(text, end, comments_end, f",{comments}{line}")
    comments_end = _end_of_comments(text, comma, closing)
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


# ---- remove ----------------------------------------------------------------------------------


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
    has_comment = bool(text[comma : following.start].strip())
    return _splice(text, child.start, comma if has_comment else following.start)


def _cut_last(text: str, container: Node) -> str:
    previous, child = container.children[-2:]
    start, end = _end_of_previous(text, child.start), child.node.end
    comma = _after_comma(text, end, container.end - 1)
    # A file with trailing commas keeps the one before: it is the trailing comma now.
    if comma is not None:
        before_comma = text[end : comma - 1]
        return _splice(text, start, comma, before_comma)
    comma = _after_comma(text, previous.node.end, child.start)
    assert comma is not None
    comments = text[comma:start]
    return _splice(text, comma - 1, end, comments)


def _cut_only(text: str, container: Node) -> str:
    child = container.children[0]
    opened, closing = container.inside
    end = child.node.end
    comma = _after_comma(text, end, closing)
    remaining = text[opened : _end_of_previous(text, child.start)]
    if comma is not None:
        remaining += text[end : comma - 1]
        end = comma
    remaining += text[end:closing]
    if not remaining.strip():
        remaining = ""
    return _splice(text, opened, closing, remaining)


# ---- places between values -------------------------------------------------------------------


def _splice(text: str, start: int, end: int, new: str = "") -> str:
    """Return the text with `new` in place of what is between two positions."""
    return text[:start] + new + text[end:]


def _after_comma(text: str, start: int, end: int) -> int | None:
    """Return the position behind the comma between two positions; None when there is none."""
    position = skip_space(text, start)
    if position < end and text[position] == ",":
        return position + 1
    return None


def _end_of_comments(text: str, start: int, end: int) -> int:
    """Return the position behind the last comment between two positions, or `start`."""
    return start + len(text[start:end].rstrip())


def _end_of_previous(text: str, position: int) -> int:
    """Return the position behind the last character before this one that is no space."""
    return len(text[:position].rstrip())


def _indent_of(text: str, position: int) -> str:
    """Return the indent of the line at this position."""
    before = text[text.rfind("\n", 0, position) + 1 : position]
    indent = before[: len(before) - len(before.lstrip())]
    return indent.lstrip("\ufeff")


def _begins_line(text: str, position: int) -> bool:
    """Whether only space is before this position in its line, which is not the first line."""
    newline = text.rfind("\n", 0, position)
    return newline >= 0 and not text[newline:position].strip()


def _unexpected(path: Sequence[str], expected: str) -> NotJson:
    name = ".".join(path) or "the whole"
    return NotJson(f"`{name}` is not {expected}")
