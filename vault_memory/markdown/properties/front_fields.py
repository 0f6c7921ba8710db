"""Reads the fields of front matter as texts. Any text is front matter; no YAML library is used."""

import re
from collections.abc import Iterator, Sequence

_FIELD = re.compile(
    r"(?P<indent>[ ]*)(?P<key>[^\s:#\-][^:]{0,99}?)[ ]*+:(?:[ \t]++(?P<value>.*)|[ \t]*+)$"
)
_ELEMENT = re.compile(r"[ \t]*+-(?:[ \t]++(?P<value>.*)|[ \t]*+)$")
_BLOCK_TEXT = re.compile(r"[|>][+-]?\d?$")
_COMMENT = re.compile(r"(?:^|[ \t])#(?:[ \t].*)?$")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^']|'')*)'")
_ENTRY = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|\[\[[^\[\]]*\]\]|[^,\"']+|[\"']")

Field = tuple[str, str]
"""The key of a field, and one of its values"""


def front_fields(lines: Sequence[str]) -> Iterator[Field]:
    """Yield each value of the lines between the edges of front matter.

    A list yields one field for each element. The key of a field in a mapping is `outer.inner`.
    A key without a value yields an empty text.
    """
    number = 0
    outer = ""
    while number < len(lines):
        line = lines[number]
        number += 1
        element = _ELEMENT.match(line)
        if element:
            if outer:
                yield from _values(outer, element["value"] or "")
            continue
        field = _FIELD.match(line)
        if field is None:
            continue
        key = _key(field, outer)
        if not field["indent"]:
            outer = key
        value = (field["value"] or "").strip()
        if _BLOCK_TEXT.match(value):
            value, number = _block_text(lines, number)
            yield key, value
        elif value or not _has_elements(lines, number):
            yield from _values(key, value)


def _key(field: re.Match[str], outer: str) -> str:
    """Return the key of a field; within a mapping it follows the key of the mapping."""
    name = _plain(field["key"])
    return f"{outer}.{name}" if field["indent"] and outer else name


def _has_elements(lines: Sequence[str], number: int) -> bool:
    """Return whether elements or inner fields follow a key."""
    if number >= len(lines):
        return False
    line = lines[number]
    return line.startswith(" ") or _ELEMENT.match(line) is not None


def _block_text(lines: Sequence[str], number: int) -> tuple[str, int]:
    """Return the indented lines from `number` on as one text, and the number of the next line."""
    texts: list[str] = []
    while number < len(lines):
        line = lines[number]
        if line.strip() and not line.startswith((" ", "\t")):
            break
        texts.append(line.strip())
        number += 1
    return " ".join(filter(None, texts)), number


def _values(key: str, text: str) -> Iterator[Field]:
    """Yield the value of a field, or each element of a list in brackets."""
    text = text.strip()
    # A link of Obsidian begins as a list does.
    if text.startswith("[[") or not text.startswith("["):
        yield key, _plain(text)
        return
    without_comment = text if text.endswith("]") else _COMMENT.sub("", text)
    inner = without_comment.strip().removeprefix("[").removesuffix("]")
    values = map(_plain, _ENTRY.findall(inner))
    for value in filter(None, values):
        yield key, value


def _plain(text: str) -> str:
    """Return a value without quotes and comment."""
    text = text.strip()
    # Fault: a sign of a comment within quotes would cut the value.
    quoted = _QUOTED.match(text)
    if quoted is None:
        return _COMMENT.sub("", text).strip()
    if quoted[1] is not None:
        return re.sub(r"\\(.)", r"\1", quoted[1]).strip()
    return quoted[2].replace("''", "'").strip()
