"""Reads the properties of a note: fields, tags, aliases, and links to other notes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import takewhile
from typing import NamedTuple

from vault_memory.markdown.blocks.outline import decode, front_matter_end
from vault_memory.markdown.letters import without_case

MOST = 2000
"""Properties of one note"""
LONGEST = 500
"""Letters of a key or a value"""

_TAGS = frozenset({"tag", "tags"})
_ALIASES = frozenset({"alias", "aliases"})
_TAG = re.compile(
    r"(?<![^\s(,;\"'*|>])(?<!\]\()#(?:\[\[([^\[\]\n]{1,200})\]\]|([\w/-]*[^\W\d_][\w/-]*))"
)
_SIGNS = (b"[[", b".md", b".markdown", b"::")
"""One of them is in each note with links or with fields of Logseq"""
_FRONT = (b"---", b"\xef\xbb\xbf---")
_SIGN_OF_TAG = re.compile(rb"#[^\s#]")
_WIKI_LINK = re.compile(r"\[\[([^\[\]\n]{1,500})\]\]")
_FILE_LINK = re.compile(
    r"\]\((?:<([^<>\n]{1,500}?\.(?:md|markdown))(?:#[^<>\n]*)?>"
    r"|([^()<>\s]{1,500}?\.(?:md|markdown))(?:#[^()\s]*)?)(?:[ \t]+\"[^\"\n]*\")?\)",
    re.IGNORECASE,
)
_LINE_FIELD = re.compile(r"[ \t]*+(?:-[ \t]++)?([\w-]{1,99})::[ \t]*+(.*)$")
_FENCE = re.compile(r"[ \t>]*(```|~~~)")
_SIGN = re.compile(r"[#\[]")
_INLINE_CODE = re.compile(r"`[^`\n]+`|%%[^%\n]*%%")
_ESCAPED = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_ATTACHMENTS = (
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".svg",
    ".webp",
    ".bmp",
    ".avif",
    ".heic",
    ".pdf",
    ".mp3",
    ".mp4",
    ".wav",
    ".m4a",
    ".ogg",
    ".flac",
    ".mov",
    ".webm",
    ".mkv",
    ".zip",
    ".csv",
    ".txt",
    ".html",
    ".doc",
    ".docx",
    ".xls",
    ".xlsx",
    ".ppt",
    ".pptx",
)
"""What links also lead to, and is no note"""
_EXTENSION = re.compile(r"\.(?:md|markdown)$", re.IGNORECASE)
_AROUND_TAGS = " \t,;-*+"
"""What a line of tags alone has beside them"""
_SEPARATORS = re.compile(r"[\s,]+")
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


class Sort(IntEnum):
    """What a property is."""

    FIELD = 0
    """A field of front matter, or a line such as ``key:: value`` at the top"""
    TAG = 1
    """A tag of the note: in front matter, or in a line of tags alone"""
    TEXT_TAG = 2
    """A tag within a text"""
    ALIAS = 3
    LINK = 4
    ENCODING = 5
    """The encoding of a note that is no UTF-8"""
    FRONT = 6
    """The number of lines of front matter"""


class Property(NamedTuple):
    """One thing that is written about a note."""

    sort: int
    """One of `Sort`"""
    name: str
    """The folded key of a field; else empty"""
    key: str
    """The folded value, by which it is compared; of a link the name of its note"""
    value: str
    """As it is written"""


def note_properties(raw: bytes) -> tuple[Property, ...]:
    """Return the properties of a note, each once, in order."""
    # Most notes have none of these signs, and splitting a note into lines takes longer.
    has_sign = any(map(raw.__contains__, _SIGNS))
    if not (has_sign or raw.startswith(_FRONT) or _SIGN_OF_TAG.search(raw)):
        return ()
    lines = decode(raw)
    body = front_matter_end(lines)
    # Fault: a hostile note has a hundred thousand tags, each of them a row.
    properties = dict.fromkeys(_properties(lines, body))
    return tuple(properties)[:MOST]


def in_encoding(encoding: str) -> Property:
    """Return the property of a note that is no UTF-8."""
    return Property(Sort.ENCODING, "", "", encoding)


def front_lines(raw: bytes) -> tuple[Property, ...]:
    """Return the property of a note with front matter: how many lines that has."""
    end = front_matter_end(decode(raw))
    return (Property(Sort.FRONT, "", "", str(end)),) if end else ()


def _properties(lines: list[str], body: int) -> Iterator[Property]:
    for key, value in _fields(lines, body):
        yield from _of_field(key, value)
        yield from _links(value)
    for line in _without_code(lines[body:]):
        if "#" in line:
            yield from _tags(line)
        if "[" in line:
            yield from _links(line)


def _fields(lines: list[str], body: int) -> Iterator[tuple[str, str]]:
    """Yield the fields of front matter, and those of the lines ``key:: value`` at the top."""
    if body:
        yield from front_fields(lines[1 : body - 1])
    top = map(_LINE_FIELD.match, lines[body:])
    for field in takewhile(bool, top):
        assert field is not None
        for value in _listed(field[1], field[2]):
            yield field[1], value


def _listed(key: str, value: str) -> list[str]:
    """Return the elements of ``tags:: a, b``; any other value is one text."""
    if key.casefold() in _TAGS | _ALIASES:
        elements = map(str.strip, value.split(","))
        return list(filter(None, elements))
    return [value.strip()]


def _of_field(key: str, value: str) -> Iterator[Property]:
    name = folded_value(key)
    yield Property(Sort.FIELD, name, folded_value(value), value[:LONGEST])
    if name in _TAGS:
        for tag in filter(None, map(clean_tag, _SEPARATORS.split(value))):
            yield _tag(Sort.TAG, tag)
    elif name in _ALIASES:
        for alias in filter(None, map(str.strip, value.split(","))):
            yield Property(Sort.ALIAS, "", folded_value(alias), alias)


def _tag(sort: Sort, text: str) -> Property:
    tag = clean_tag(text)
    return Property(sort, "", folded_value(tag), tag[:LONGEST])


def _tags(line: str) -> Iterator[Property]:
    tags = text_tags(line)
    if not tags:
        return
    # A line of tags alone is about the note, as front matter is.
    begins_with_tag = line.lstrip(_AROUND_TAGS).startswith("#")
    is_alone = begins_with_tag and not _TAG.sub("", line).strip(_AROUND_TAGS)
    sort = Sort.TAG if is_alone else Sort.TEXT_TAG
    for tag in tags:
        yield _tag(sort, tag)


def text_tags(text: str) -> list[str]:
    """Return the tags within a text, without their sign."""
    tags = [linked or plain for linked, plain in _TAG.findall(text)]
    return list(filter(None, map(clean_tag, tags)))


def _links(line: str) -> Iterator[Property]:
    for target in link_targets(line):
        yield Property(Sort.LINK, "", link_key(target), target[:LONGEST])


def link_targets(line: str) -> Iterator[str]:
    """Yield the notes that a line links to, as they are written, without heading and shown text."""
    for inner in _WIKI_LINK.findall(line):
        target = inner.partition("|")[0].partition("#")[0].rstrip("\\").strip()
        if target and not target.lower().endswith(_ATTACHMENTS):
            yield target
    if "](" in line:
        for quoted, plain in _FILE_LINK.findall(line):
            target = quoted or plain
            if "://" not in target:
                yield _ESCAPED.sub(_unescaped, target).removeprefix("./")


def _unescaped(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")


def link_key(target: str) -> str:
    """Return the folded name of the note that a link leads to: its last part, without extension."""
    name = target.rstrip("/").rpartition("/")[2]
    if "." in name:
        name = _EXTENSION.sub("", name)
    return folded_value(name)


def clean_tag(text: str) -> str:
    """Return a tag without its sign."""
    return text.strip().strip("\"'").lstrip("#").strip("/-[] ")


def folded_value(text: str) -> str:
    """Return a value as values are compared: without case, extra blanks, and marks of a link."""
    if "[[" in text:
        text = _WIKI_LINK.sub(r"\1", text)
    return without_case(" ".join(text.split())[:LONGEST])


def _without_code(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that may have tags or links, without code and comments."""
    fence = ""
    for line in lines:
        start = _FENCE.match(line)
        if start is None:
            if not fence and _SIGN.search(line):
                has_code = "`" in line or "%%" in line
                yield _INLINE_CODE.sub(" ", line) if has_code else line
        elif not fence:
            fence = start[1]
        elif fence == start[1]:
            fence = ""


# --- Front fields ---

# Reads the fields of front matter as texts. Any text is front matter; no YAML library is used.


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
