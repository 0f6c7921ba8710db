"""Ops: the five small edits that a bot may make to a person's note. Pure; reads any JSON value.

An op names a section by a heading of any level, and by an empty text what is above the first
heading. A section ends at the next heading of any level.

Each op is checked by itself: good ops apply while bad ones are collected. Text that an op does not
name stays byte for byte. After each op the note is parsed again. The op is refused unless the note
then says exactly what the op named.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, assert_never

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.item_text import split_box, without_dash

LONGEST_LINE = 2_000
"""In characters: of a line or a match"""
LONGEST_HEADING = 200
MOST_LINES = 100
"""In one `add_heading`"""

JsonObject = Mapping[object, object]


@dataclass(frozen=True, slots=True)
class Append:
    """Adds an item to the list of a section, or a list at the end of its text."""

    heading: str
    line: str


@dataclass(frozen=True, slots=True)
class AddHeading:
    """Adds a section at the end of the note, with its first items."""

    heading: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remove:
    """Removes the only item whose text contains `match`."""

    heading: str
    match: str
    exact: bool = False
    """`match` is the complete text of the item; of equal items, the first is removed"""


@dataclass(frozen=True, slots=True)
class Replace:
    """Rewrites the only item whose text contains `match`; its nested items stay."""

    heading: str
    match: str
    line: str
    exact: bool = False
    """as in `Remove`"""


@dataclass(frozen=True, slots=True)
class Archive:
    """Moves the only item whose text contains `match`, with its nested items, to the archive."""

    heading: str
    match: str
    exact: bool = False
    """as in `Remove`"""


Op = Append | AddHeading | Remove | Replace | Archive
ItemOp = Remove | Replace | Archive
"""Ops that name an item by its text"""


@dataclass(frozen=True, slots=True)
class NewText:
    """The text that an op writes."""

    heading: str
    """of the section that gets it"""
    lines: tuple[str, ...] = ()
    """of the items"""
    place: Literal["end", "section", "item"] = "end"
    """at the end of the section · as a new section · over an item"""

    @property
    def texts(self) -> tuple[str, ...]:
        """The lines, and the heading of a new section"""
        return (*self.lines, self.heading) if self.place == "section" else self.lines


@dataclass(frozen=True, slots=True)
class Applied:
    """An op that was carried out, or had nothing to do."""

    op: Op
    outcome: str
    """applied, noop_dup or noop_no_match"""
    removed: bytes = b""
    """the bytes that the op removed or replaced"""
    remark: str = ""
    """for the audit, e.g. that two sections have the same heading and the first was used"""


@dataclass(frozen=True, slots=True)
class Rejected:
    """An op that was not carried out, as it was passed in."""

    op: object
    reason: str
    headings: tuple[str, ...] = ()
    """with `heading_missing`: the headings of the note"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The note after the ops, and the result of each op."""

    doc: SectionedDoc
    applied: tuple[Applied, ...] = ()
    rejected: tuple[Rejected, ...] = ()

    @property
    def has_applied(self) -> bool:
        """Whether at least one op changed the note."""
        return "applied" in [applied.outcome for applied in self.applied]


@dataclass(slots=True)
class OpRefused(Exception):
    """Why an op is not carried out. Stays inside this package."""

    reason: str
    headings: tuple[str, ...] = field(default=())


_LINE_BREAKS = re.compile("[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\0]")
_SURROGATES = re.compile("[\\ud800-\\udfff]")
_HASHES = re.compile(r"#{1,6}(?:[ \t]|$)")


def read_op(value: object) -> Op:
    """Reads an op from a JSON value. Raises OpRefused when the value is not a valid op."""
    if not isinstance(value, Mapping):
        raise OpRefused("wrong_type")
    if "op" not in value:
        raise OpRefused("missing_field")
    name = value["op"]
    if not isinstance(name, str):
        raise OpRefused("wrong_type")
    reader = _READERS.get(name)
    if reader is None:
        raise OpRefused("unknown_op")
    return reader(value)


def op_of(value: object) -> Op | None:
    """Returns the op in a JSON value, or None."""
    try:
        return value if isinstance(value, Op) else read_op(value)
    except OpRefused:
        return None


def new_text(op: Op) -> NewText:
    """Returns what an op would write, and where."""
    match op:
        case Append(heading, line):
            return NewText(heading, (line,))
        case AddHeading(heading, lines):
            return NewText(heading, lines, "section")
        case Remove(heading) | Archive(heading):
            return NewText(heading)
        case Replace(heading, _, line):
            return NewText(heading, (line,), "item")
        case _:
            assert_never(op)


def takes_nested(op: ItemOp) -> bool:
    """Returns whether the items nested in an op's item leave their place with it."""
    match op:
        case Remove() | Archive():
            return True
        case Replace():
            return False
        case _:
            assert_never(op)


def as_json(op: Op) -> dict[str, object]:
    """Returns an op as JSON for the audit; `read_op` reads it again."""
    entry: dict[str, object]
    match op:
        case Append(heading, line):
            return {"op": "append", "heading": heading, "line": line}
        case AddHeading(heading, lines):
            return {"op": "add_heading", "heading": heading, "lines": list(lines)}
        case Remove(heading, match_, exact):
            entry = {"op": "remove", "heading": heading, "match": match_}
        case Replace(heading, match_, line, exact):
            entry = {"op": "replace", "heading": heading, "match": match_, "line": line}
        case Archive(heading, match_, exact):
            entry = {"op": "archive", "heading": heading, "match": match_}
        case _:
            assert_never(op)
    if exact:
        entry["exact"] = True
    return entry


# --- Reading ----------------------------------------------------------------------------------


def _read_append(value: JsonObject) -> Op:
    heading = _field_text(value, "heading")
    line = _field_text(value, "line")
    return Append(_clean_heading(heading), _clean_line(line))


def _read_add_heading(value: JsonObject) -> Op:
    heading = _field_text(value, "heading")
    if "lines" not in value:
        raise OpRefused("missing_field")
    lines = value["lines"]
    if not isinstance(lines, Sequence) or isinstance(lines, str | bytes):
        raise OpRefused("wrong_type")
    if not lines:
        raise OpRefused("empty_lines")
    if len(lines) > MOST_LINES:
        raise OpRefused("too_long")
    name = _clean_heading(heading)
    if not name:
        raise OpRefused("empty_heading")
    if name.startswith("#"):
        raise OpRefused("heading_starts_with_hash")
    return AddHeading(name, tuple(_clean_line(_single_line(line)) for line in lines))


def _read_remove(value: JsonObject) -> Op:
    heading = _field_text(value, "heading")
    match_ = _field_text(value, "match")
    exact = value.get("exact") is True
    return Remove(_clean_heading(heading), _clean_match(match_), exact)


def _read_replace(value: JsonObject) -> Op:
    heading = _field_text(value, "heading")
    match_ = _field_text(value, "match")
    line = _field_text(value, "line")
    exact = value.get("exact") is True
    return Replace(_clean_heading(heading), _clean_match(match_), _clean_line(line), exact)


def _read_archive(value: JsonObject) -> Op:
    heading = _field_text(value, "heading")
    match_ = _field_text(value, "match")
    exact = value.get("exact") is True
    return Archive(_clean_heading(heading), _clean_match(match_), exact)


_READERS: dict[str, Callable[[JsonObject], Op]] = {
    "append": _read_append,
    "add_heading": _read_add_heading,
    "remove": _read_remove,
    "replace": _read_replace,
    "archive": _read_archive,
}
OP_NAMES = frozenset(_READERS)


def _field_text(value: JsonObject, name: str) -> str:
    if name not in value:
        raise OpRefused("missing_field")
    return _single_line(value[name])


def _single_line(value: object) -> str:
    """Returns the value when it is a text that fits on one line of a note."""
    if not isinstance(value, str):
        raise OpRefused("wrong_type")
    # Fault: a line break in an item would begin a second line, which may be a heading
    # or a fence.
    if _LINE_BREAKS.search(value):
        raise OpRefused("line_breaks")
    if len(value) > LONGEST_LINE:
        raise OpRefused("too_long")
    # Fault: JSON can hold half of a surrogate pair, which UTF-8 cannot encode. The note
    # could not be written.
    if not value.isascii() and _SURROGATES.search(value):
        raise OpRefused("not_text")
    return value


def _clean_heading(text: str) -> str:
    name = text.strip()
    if len(name) > LONGEST_HEADING:
        raise OpRefused("too_long")
    return name


def _clean_match(text: str) -> str:
    # Fault: an empty match is contained in every item.
    if not text.strip():
        raise OpRefused("empty_match")
    return text


def _clean_line(text: str) -> str:
    """Returns the text of an item. Whether another marker than a dash is meant says its list."""
    line = without_dash(text.strip())
    # Fault: a box alone would take the words of the task that it ticks.
    if not split_box(line)[1]:
        raise OpRefused("empty_line")
    # Fault: an item with a heading in it would be a section to other Markdown programs.
    if _HASHES.match(line):
        raise OpRefused("line_starts_with_hash")
    return line
