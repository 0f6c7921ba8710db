"""Removes a text from notes, from boards of Obsidian and from audit records.

An audit record stays with its time and author; its words go. Of a board only texts change.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from vault_memory.markdown import encodings
from vault_memory.markdown.blocks.outline import Outline, outline
from vault_memory.markdown.document import line_starts
from vault_memory.rules.edits.audit_reader import read_line
from vault_memory.rules.edits.audit_record import Proposal, Record, RecordedOp, plain
from vault_memory.rules.edits.ops import OP_NAMES, Rejected
from vault_memory.rules.edits.text_edits import NAMES as TEXT_EDITS
from vault_memory.rules.forgetting.matcher import TextMatcher
from vault_memory.rules.paths.canvas import TEXT

NAMES = frozenset({*OP_NAMES, "undo", "lift", "restore", "save", "forget", *TEXT_EDITS})
"""Names of ops that a redacted record may still show"""

Hides = Callable[[str], bool]
"""Decides whether a text contains the words to forget"""


def redact(record: Record, hides: Hides) -> Record:
    """Returns the record without the texts for which `hides` is true; itself when there are none.

    When only the diff contains the words, among the lines around the edit, only the diff goes.
    """
    if not any(map(hides, _texts_of_record(record))):
        if any(map(hides, _texts_of_diff(record.diff))):
            return replace(record, diff=b"")
        return record
    return replace(
        record,
        applied=tuple(_redact_applied(applied, hides) for applied in record.applied),
        rejected=tuple(_redact_rejected(op, hides) for op in record.rejected),
        proposed=tuple(_redact_proposal(item, hides) for item in record.proposed),
        diff=b"",
        why="" if hides(record.why) else record.why,
        redacted=True,
    )


def _texts_of_record(record: Record) -> Iterator[str]:
    """Yields all texts of a record except its diff."""
    yield record.why
    for applied in record.applied:
        yield from _texts_of_applied(applied)
    for rejected in record.rejected:
        yield from _texts_of_rejected(rejected)
    for proposal in record.proposed:
        yield from _texts_of_proposal(proposal)


def _texts_of_diff(diff: bytes) -> Iterator[str]:
    """Yields the old and the new text: a sentence may continue on the next line."""
    rows = diff.decode("utf-8", "replace").split("\n")
    for signs in (" -", " +"):
        yield "\n".join(row[1:] for row in rows if row.startswith(tuple(signs)))


def _texts_of_applied(applied: RecordedOp) -> Iterator[str]:
    yield from strings_in(applied.op)
    yield applied.removed.decode("utf-8", "replace")
    yield applied.added.decode("utf-8", "replace")
    yield applied.remark


def _texts_of_rejected(rejected: Rejected) -> Iterator[str]:
    yield from strings_in(plain(rejected.op, longest=0))
    yield from rejected.headings


def _texts_of_proposal(proposal: Proposal) -> Iterator[str]:
    yield from strings_in(proposal.op)
    yield proposal.why
    yield proposal.reason


def strings_in(value: object) -> Iterator[str]:
    """Yields all strings in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from strings_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings_in(item)


def _redact_applied(applied: RecordedOp, hides: Hides) -> RecordedOp:
    if not any(map(hides, _texts_of_applied(applied))):
        return applied
    return RecordedOp({"op": _name(applied.op)}, applied.outcome)


def _redact_rejected(rejected: Rejected, hides: Hides) -> Rejected:
    if not any(map(hides, _texts_of_rejected(rejected))):
        return rejected
    return Rejected({"op": _name(rejected.op)}, rejected.reason)


def _redact_proposal(proposal: Proposal, hides: Hides) -> Proposal:
    if not any(map(hides, _texts_of_proposal(proposal))):
        return proposal
    return replace(
        proposal, op={"op": _name(proposal.op)}, why="", reason="forgotten", state="expired"
    )


def _name(op: object) -> str:
    """Returns the name of an op; an unknown name may contain the words to forget."""
    value = plain(op)
    name = value.get("op") if isinstance(value, Mapping) else None
    return name if isinstance(name, str) and name in NAMES else "unknown"


INSTEAD = "…"
_ROUNDS = 20
_QUOTE = re.compile(r"(?m)^[ \t]{0,3}>[ \t>]*")
_FENCE = re.compile(rb"([ \t]*(?:`{3,}|~{3,})).*", re.DOTALL)
_HASHES = re.compile(rb"([ \t]{0,3}#{1,6}(?:[ \t]+|$)).*", re.DOTALL)
_UNDERLINE = re.compile(rb"[ \t]{0,3}(?:=+|-+)[ \t]*")
_UNTOUCHED = frozenset({"ts", "source", "device", "before", "after", "role"})
"""Keys of a record that stay: without them it is not a record"""
_NAMES = frozenset({"id", "note", "session", "user", "user_id", "channel", "undoes"})
"""Keys that connect records: only the text itself is masked, so that equal names stay equal"""
_IDS = frozenset({"id", "undoes"})
_RANDOM = re.compile(r"[0-9a-z]{8,32}")
"""An id made by this program; a match in it is a coincidence"""


@dataclass(frozen=True, slots=True)
class Redacted:
    """A file without the text."""

    raw: bytes
    count: int = 0
    """the number of items, lines or records that contained it"""


Revisions = Mapping[str, str]
"""Revisions of notes that contained the text → revisions of the same notes without it"""

_LineRedactor = Callable[[bytes], bytes | None]


def cut_note(raw: bytes, matcher: TextMatcher, *, facts: bool = False) -> Redacted:
    """Returns a note without the text; `facts` says that it is a page of facts."""
    if not matcher.may_stand_in(encodings.text_of(raw)):
        return Redacted(raw)
    if encodings.encoding_of(raw) == encodings.UTF_16:
        redacted = cut_note(encodings.as_utf8(raw), matcher, facts=facts)
        if not redacted.count:
            return Redacted(raw)
        return replace(redacted, raw=encodings.in_encoding_of(raw, redacted.raw))
    count = 0
    # Lines that become neighbours by the removal may contain the text again.
    for _ in range(_ROUNDS):
        redaction = _NoteRedaction(outline(raw), raw, matcher, facts)
        if not redaction.removed and not redaction.emptied:
            break
        raw = redaction.render()
        count += redaction.count
    return Redacted(raw, count)


def cut_transcript(raw: bytes, matcher: TextMatcher) -> Redacted:
    """Returns a transcript in which the turns with the text are empty; their other data stays."""

    def redact_line(line: bytes) -> bytes | None:
        return _blank_texts(line, matcher)

    return _redact_lines(raw, redact_line, lambda line: _contains(line, matcher))


def cut_ledger(raw: bytes, matcher: TextMatcher) -> Redacted:
    """Returns a ledger without the records that contain the text."""
    return _redact_lines(raw, lambda line: None, lambda line: _contains(line, matcher))


def cut_audit(raw: bytes, matcher: TextMatcher, revisions: Revisions) -> Redacted:
    """Returns an audit file without the text and without the revisions of notes that had it."""

    def redact_line(line: bytes) -> bytes | None:
        record = read_line(line)
        if record is not None:
            line = _dump(redact(record, matcher.hides).as_json())
        return _blank_texts(line, matcher)

    redacted = _redact_lines(raw, redact_line, lambda line: _record_contains(line, matcher))
    if not revisions:
        return redacted
    return replace(redacted, raw=_replace_revisions(redacted.raw, revisions))


def _redact_lines(
    raw: bytes, redact_line: _LineRedactor, contains: Callable[[bytes], bool]
) -> Redacted:
    """Redacts the lines that contain the text; a line without a redacted form goes."""
    new_lines: list[bytes] = []
    count = 0
    for line in raw.split(b"\n"):
        if not line.strip() or not contains(line):
            new_lines.append(line)
            continue
        new_line = redact_line(line)
        count += new_line != line
        if new_line is not None:
            new_lines.append(new_line)
    return Redacted(b"\n".join(new_lines), count) if count else Redacted(raw)


# --- Lines of JSON ----------------------------------------------------------------------------


def _contains(line: bytes, matcher: TextMatcher) -> bool:
    """Returns whether a line of JSON contains the text; any other line is searched as bytes."""
    try:
        return any(map(matcher.hides, strings_in(json.loads(line))))
    except (ValueError, RecursionError):
        return matcher.is_in_bytes(line)


def _record_contains(line: bytes, matcher: TextMatcher) -> bool:
    """Returns whether an audit record contains the text, also in its diff or its packed bytes."""
    if _contains(line, matcher):
        return True
    record = read_line(line)
    return record is not None and redact(record, matcher.hides) != record


def _blank_texts(line: bytes, matcher: TextMatcher) -> bytes | None:
    """Empties the texts of a JSON line that contain the text; None when it is no JSON object."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    blanked = _without(value, matcher)
    blanked |= {key: value[key] for key in _UNTOUCHED & value.keys()}
    blanked |= {key: _masked(value[key], matcher) for key in _NAMES & value.keys()}
    blanked |= {key: value[key] for key in _IDS & value.keys() if _is_random(value[key])}
    return _dump(blanked)


def _masked(name: Any, matcher: TextMatcher) -> Any:
    """Returns a name without the text."""
    # No hash takes its place: a short name could be guessed from its hash.
    return matcher.masked(name) if isinstance(name, str) else name


def _is_random(value: Any) -> bool:
    return isinstance(value, str) and _RANDOM.fullmatch(value) is not None


def _without(value: Any, matcher: TextMatcher) -> Any:
    """Returns a JSON value with empty strings in place of those that contain the text."""
    if isinstance(value, str):
        return "" if matcher.hides(value) else value
    if isinstance(value, Mapping):
        return {
            key: _without(item, matcher)
            for key, item in value.items()
            if not matcher.hides(str(key))
        }
    if isinstance(value, list):
        return [_without(item, matcher) for item in value]
    return value


def _dump(value: object) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair has no UTF-8 form, only an escape.
        return json.dumps(value, separators=(",", ":")).encode()


def _replace_revisions(raw: bytes, revisions: Revisions) -> bytes:
    """Replaces revisions. A hash of a note with the text would confirm a guess of it."""
    hashes = b"|".join(map(str.encode, revisions))
    pattern = re.compile(rb'"(before|after)":"(' + hashes + rb')"')

    def new_field(match: re.Match[bytes]) -> bytes:
        new_revision = revisions[match[2].decode()].encode()
        return b'"%s":"%s"' % (match[1], new_revision)

    return pattern.sub(new_field, raw)


# --- Notes ------------------------------------------------------------------------------------


class _NoteRedaction:
    """The lines of a note to remove, and the lines to leave without their words."""

    def __init__(self, page: Outline, raw: bytes, matcher: TextMatcher, facts: bool) -> None:
        self._page = page
        self._raw = raw
        self._matcher = matcher
        self._facts = facts
        self._starts = line_starts(raw)
        self.removed: set[int] = set()
        self.emptied: dict[int, bytes] = {}
        self.count = 0
        hit_lines = self._hit_lines()
        self._remove_items(hit_lines)
        self._remove_headings(hit_lines)
        self._remove_other_lines(hit_lines)

    def render(self) -> bytes:
        """Returns the note without the removed lines."""
        lines = [self._raw[: self._starts[0]]]
        for number in range(len(self._starts) - 1):
            if number in self.removed:
                continue
            line = self._raw[self._starts[number] : self._starts[number + 1]]
            lines.append(self.emptied.get(number, line))
        return b"".join(lines)

    def _hit_lines(self) -> set[int]:
        """Returns the lines that a match touches, also one that continues on the next line."""
        text = "\n".join(self._page.lines)
        spans = set(self._matcher.spans(text))
        # The quote marks of a wrapped quotation interrupt its sentences.
        unquoted = _QUOTE.sub(lambda mark: " " * len(mark[0]), text)
        if unquoted != text:
            spans.update(self._matcher.spans(unquoted))
        line_ends = [line_break.start() for line_break in re.finditer("\n", text)]
        hit_lines: set[int] = set()
        for start, end in spans:
            first = bisect_left(line_ends, start)
            last = bisect_left(line_ends, end)
            hit_lines.update(range(first, last + 1))
        return hit_lines

    def _remove_items(self, hit_lines: set[int]) -> None:
        lines = self._page.lines
        for lines_of_item, own in self._items():
            if lines_of_item.start in self.removed:
                continue
            text = " ".join(lines[number] for number in own)
            if not hit_lines.isdisjoint(own) or self._matcher.hides(text):
                self.removed.update(lines_of_item)
                self.count += 1

    def _items(self) -> Iterator[tuple[range, list[int]]]:
        """Yields all lines of each item, and those that belong to no nested item."""
        items = [block for block in self._page.blocks if block.kind == "item"]
        nested: list[set[int]] = [set() for _ in items]
        outer_items: list[int] = []
        for index, item in enumerate(items):
            while outer_items and items[outer_items[-1]].end <= item.first:
                outer_items.pop()
            for outer in outer_items:
                nested[outer].update(range(item.first, item.end))
            outer_items.append(index)
        for item, nested_lines in zip(items, nested, strict=True):
            all_lines = range(item.first, item.end)
            own = [number for number in all_lines if number not in nested_lines]
            yield all_lines, own

    def _remove_headings(self, hit_lines: set[int]) -> None:
        headings = [block for block in self._page.blocks if block.kind == "heading"]
        for index, heading in enumerate(headings):
            own = range(heading.first, heading.end)
            if hit_lines.isdisjoint(own) and not self._matcher.hides(heading.name):
                continue
            self.count += 1
            if self._facts and heading.level == 2:
                section_ends = (
                    later.first for later in headings[index + 1 :] if later.level <= heading.level
                )
                end = next(section_ends, len(self._page.lines))
                self.removed.update(range(heading.first, end))
            else:
                self._empty_heading(heading.first, heading.end)

    def _empty_heading(self, first: int, end: int) -> None:
        line, line_end = self._line(first)
        hashes = _HASHES.fullmatch(line)
        marker = hashes[1] if hashes else b""
        self.emptied[first] = marker + INSTEAD.encode() + line_end
        # The underline of a heading stays, else the section would lose its heading.
        for number in range(first + 1, end):
            if not _UNDERLINE.fullmatch(self._line(number)[0]):
                self.removed.add(number)

    def _remove_other_lines(self, hit_lines: set[int]) -> None:
        """Removes lines of paragraphs, tables, code and front matter."""
        for number in sorted(hit_lines - self.removed - self.emptied.keys()):
            line, line_end = self._line(number)
            fence = _FENCE.fullmatch(line)
            # Without its fence, code would become Markdown, so only its language goes.
            if fence and fence[1] != line:
                self.emptied[number] = fence[1] + line_end
            else:
                self.removed.add(number)
            self.count += 1

    def _line(self, number: int) -> tuple[bytes, bytes]:
        """Returns a line and its line end."""
        line = self._raw[self._starts[number] : self._starts[number + 1]]
        bare = line.rstrip(b"\r\n")
        return bare, line[len(bare) :]


def cut_canvas(raw: bytes, matcher: TextMatcher) -> Redacted:
    """Returns a board without the text. Each of its cards is redacted like a note."""
    count = 0

    def redact(match: "re.Match[str]") -> str:
        nonlocal count
        try:
            card = str(json.loads(match[1]))
        except ValueError:
            # Fault: another program wrote an invalid escape. What is left is reported.
            return match[0]
        clean = cut_note(card.encode("utf-8", "surrogatepass"), matcher, facts=False)
        if not clean.count:
            return match[0]
        count += clean.count
        text = clean.raw.decode("utf-8", "surrogatepass")
        # Fault: a line that is removed from JSON, as from a note, leaves no valid board.
        return match[0].removesuffix(match[1]) + json.dumps(text, ensure_ascii=False)

    board = TEXT.sub(redact, raw.decode("utf-8", "surrogateescape"))
    return Redacted(board.encode("utf-8", "surrogateescape"), count)
