"""Ops: the four small edits that a bot may make to a person's note. Pure, and never failing on anything JSON can hold.

Each op is read and checked by itself: good ones apply while bad ones collect. What an op does not name stays byte for
byte, and after each op the note is parsed again: it must say exactly what the op named, or the op is refused.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from vault_memory.markdown.document import SectionedDoc

LONGEST_LINE = 2_000
"""In characters: of a line or a match"""
LONGEST_HEADING = 200
MOST_LINES = 100
"""In one `add_heading`"""


@dataclass(frozen=True, slots=True)
class Append:
    """Adds an item at the end of the top region of a section."""

    heading: str
    line: str


@dataclass(frozen=True, slots=True)
class AddHeading:
    """Adds a section at the end of the note, with its first items."""

    heading: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remove:
    """Removes the one item whose text contains `match`."""

    heading: str
    match: str
    exact: bool = False
    """`match` is all that the item says; of several that say the same, the first is meant"""


@dataclass(frozen=True, slots=True)
class Replace:
    """Rewrites the one item whose text contains `match`; its nested items stay."""

    heading: str
    match: str
    line: str
    exact: bool = False
    """as in `Remove`"""


Op = Append | AddHeading | Remove | Replace


@dataclass(frozen=True, slots=True)
class Applied:
    """An op that was carried out, or had nothing to do."""

    op: Op
    outcome: str
    """applied, noop_dup or noop_no_match"""
    removed: bytes = b""
    """what stood in the place of the op before"""
    remark: str = ""
    """for the audit, e.g. that the heading stands twice and the first was meant"""


@dataclass(frozen=True, slots=True)
class Rejected:
    """An op that was not carried out, as it was given."""

    op: object
    reason: str
    headings: tuple[str, ...] = ()
    """with `heading_missing`: the headings that there are"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The note after the ops, and what became of each of them."""

    doc: SectionedDoc
    applied: tuple[Applied, ...] = ()
    rejected: tuple[Rejected, ...] = ()


@dataclass(slots=True)
class OpRefused(Exception):
    """Inside this room: why one op is not carried out."""

    reason: str
    headings: tuple[str, ...] = field(default=())


_BREAKS = re.compile("[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\0]")
_HALVES = re.compile("[\\ud800-\\udfff]")
_HASHES = re.compile(r"#{1,6}(?:[ \t]|$)")
_MARKER = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")


def read_op(said: object) -> Op:
    """The op that a JSON value means. Raises Refusal."""
    if not isinstance(said, Mapping):
        raise OpRefused("wrong_type")
    if "op" not in said:
        raise OpRefused("missing_field")
    name = said["op"]
    if not isinstance(name, str):
        raise OpRefused("wrong_type")
    reader = _READERS.get(name)
    if reader is None:
        raise OpRefused("unknown_op")
    return reader(said)


def _append(said: Mapping[object, object]) -> Op:
    heading, line = _text(said, "heading"), _text(said, "line")
    return Append(_heading(heading), _line(line))


def _add_heading(said: Mapping[object, object]) -> Op:
    heading = _text(said, "heading")
    if "lines" not in said:
        raise OpRefused("missing_field")
    lines = said["lines"]
    if not isinstance(lines, Sequence) or isinstance(lines, str | bytes):
        raise OpRefused("wrong_type")
    if not lines:
        raise OpRefused("empty_lines")
    if len(lines) > MOST_LINES:
        raise OpRefused("too_long")
    name = _heading(heading)
    if name.startswith("#"):
        raise OpRefused("heading_starts_with_hash")
    return AddHeading(name, tuple(_line(_checked(line)) for line in lines))


def _remove(said: Mapping[object, object]) -> Op:
    heading, match = _text(said, "heading"), _text(said, "match")
    return Remove(_heading(heading), _match(match), said.get("exact") is True)


def _replace(said: Mapping[object, object]) -> Op:
    heading, match, line = (
        _text(said, "heading"),
        _text(said, "match"),
        _text(said, "line"),
    )
    return Replace(
        _heading(heading), _match(match), _line(line), said.get("exact") is True
    )


_READERS: dict[str, Callable[[Mapping[object, object]], Op]] = {
    "append": _append,
    "add_heading": _add_heading,
    "remove": _remove,
    "replace": _replace,
}


def _text(said: Mapping[object, object], name: str) -> str:
    if name not in said:
        raise OpRefused("missing_field")
    return _checked(said[name])


def _checked(value: object) -> str:
    """A text that could stand on one line of a note."""
    if not isinstance(value, str):
        raise OpRefused("wrong_type")
    if _BREAKS.search(value):
        raise OpRefused("line_breaks")
    if len(value) > LONGEST_LINE:
        raise OpRefused("too_long")
    if not value.isascii() and _HALVES.search(value):
        raise OpRefused("not_text")
    return value


def _heading(text: str) -> str:
    name = text.strip()
    if not name:
        raise OpRefused("empty_heading")
    if len(name) > LONGEST_HEADING:
        raise OpRefused("too_long")
    return name


def _match(text: str) -> str:
    if not text.strip():
        raise OpRefused("empty_match")
    return text


def _line(text: str) -> str:
    """What an item is to say, without a marker."""
    line = text.strip()
    marker = _MARKER.match(line)
    line = line[marker.end() :].strip() if marker else line
    if not line:
        raise OpRefused("empty_line")
    if _HASHES.match(line):
        raise OpRefused("line_starts_with_hash")
    return line


def as_json(op: Op) -> dict[str, object]:
    """The op as it is written into the audit, and read again by `read_op`."""
    match op:
        case Append(heading, line):
            return {"op": "append", "heading": heading, "line": line}
        case AddHeading(heading, lines):
            return {"op": "add_heading", "heading": heading, "lines": list(lines)}
        case Remove(heading, match_, exact):
            return {"op": "remove", "heading": heading, "match": match_} | (
                {"exact": True} if exact else {}
            )
        case Replace(heading, match_, line, exact):
            said = {"op": "replace", "heading": heading, "match": match_, "line": line}
            return said | ({"exact": True} if exact else {})
