"""Taking a text out of a note, a transcript or an audit file. All other bytes stay as they are.

In a note the whole item goes that says it, with what is nested in it, as an op removes it; of other text the lines go
in which it stands. A heading stays, and says `…` instead, so that what stands below it does not move to another
section; but in FACTS.md a heading is the subject of its facts, and those go with it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from vault_memory.markdown.blocks.outline import Outline, outline
from vault_memory.markdown.document import line_starts
from vault_memory.rules.edits.audit_reader import read_line
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.forgetting.matcher import TextMatcher
from vault_memory.rules.forgetting.redact_audit import redact

INSTEAD = "…"
_ROUNDS = 20
_QUOTE = re.compile(r"(?m)^[ \t]{0,3}>[ \t>]*")
_FENCE = re.compile(rb"([ \t]*(?:`{3,}|~{3,})).*", re.DOTALL)
_HASHES = re.compile(rb"([ \t]{0,3}#{1,6}(?:[ \t]+|$)).*", re.DOTALL)
_UNDERLINE = re.compile(rb"[ \t]{0,3}(?:=+|-+)[ \t]*")
_KEPT = frozenset({"ts", "source", "device", "before", "after", "role"})
"""Of a record that a text is taken out of, these stay: without them it is none"""
_NAMES = frozenset({"id", "note", "session", "user", "user_id", "channel", "undoes"})
"""Names by which records belong together: of these only the text goes, so that equal names stay equal"""
_IDS = frozenset({"id", "undoes"})
_RANDOM = re.compile(r"[0-9a-z]{8,32}")
"""An id of our own making: what stands in it stands there by chance"""


@dataclass(frozen=True, slots=True)
class Redacted:
    """A file with a text taken out of it."""

    raw: bytes
    count: int = 0
    """in how many items, lines or records it stood"""


Revisions = Mapping[str, str]
"""Revisions of notes that held the text → those of the same notes without it"""


def cut_note(raw: bytes, sought: TextMatcher, *, facts: bool = False) -> Redacted:
    """A note without the text."""
    count = 0
    if not sought.may_stand_in(raw.decode("utf-8", "replace")):
        return Redacted(raw)
    for _ in range(_ROUNDS):  # lines that come to stand together may say it once more
        found = _Found(outline(raw), raw, sought, facts)
        if not found.gone and not found.emptied:
            break
        raw, count = found.rest(), count + found.count
    return Redacted(raw, count)


def cut_transcript(raw: bytes, sought: TextMatcher) -> Redacted:
    """A transcript whose turns that said the text say nothing; what else is known of them stays."""
    return _cut_lines(raw, sought, lambda line: _blanked(line, sought))


def cut_audit(raw: bytes, sought: TextMatcher, revisions: Revisions) -> Redacted:
    """An audit whose records tell nothing of the text, and name no revision of a note that held it."""

    def told(line: bytes) -> bytes | None:
        record = read_line(line)
        if record is None:
            return _blanked(line, sought)
        return _blanked(_line(redact(record, sought.hides)), sought)

    cut = _cut_lines(raw, sought, told, holds=lambda line: _tells(line, sought))
    return replace(cut, raw=_renamed(cut.raw, revisions)) if revisions else cut


def _cut_lines(
    raw: bytes,
    sought: TextMatcher,
    told: Callable[[bytes], bytes | None],
    holds: Callable[[bytes], bool] | None = None,
) -> Redacted:
    lines, count = raw.split(b"\n"), 0
    for number, line in enumerate(lines):
        if line.strip() and (holds(line) if holds else _says(line, sought)):
            instead = told(line)
            count += instead != line
            lines[number] = b"\0" if instead is None else instead
    return (
        Redacted(b"\n".join(line for line in lines if line != b"\0"), count)
        if count
        else Redacted(raw)
    )


def _says(line: bytes, sought: TextMatcher) -> bool:
    """Whether a line of JSON holds it, in any of its texts; a line that is no JSON, as it stands."""
    try:
        return any(map(sought.hides, _texts(json.loads(line))))
    except (ValueError, RecursionError):
        return sought.is_in_bytes(line)


def _tells(line: bytes, sought: TextMatcher) -> bool:
    """The same of a record, whose diff and bytes are to be understood first."""
    if _says(line, sought):
        return True
    record = read_line(line)
    return record is not None and redact(record, sought.hides) != record


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _blanked(line: bytes, sought: TextMatcher) -> bytes | None:
    """A line of JSON whose texts that hold it are empty; None when nothing can be made of it."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    names = {key: _masked(said[key], sought) for key in _NAMES & said.keys()}
    names |= {key: said[key] for key in _IDS & said.keys() if _is_random(said[key])}
    return _dumped(
        {
            **_without(said, sought),
            **{key: said[key] for key in _KEPT & said.keys()},
            **names,
        }
    )


def _masked(name: Any, sought: TextMatcher) -> Any:
    """A name without the text. No hash of it stays: a short name could be guessed from that."""
    return sought.masked(name) if isinstance(name, str) else name


def _is_random(value: Any) -> bool:
    return isinstance(value, str) and _RANDOM.fullmatch(value) is not None


def _without(value: Any, sought: TextMatcher) -> Any:
    if isinstance(value, str):
        return "" if sought.hides(value) else value
    if isinstance(value, Mapping):
        return {
            key: _without(item, sought)
            for key, item in value.items()
            if not sought.hides(str(key))
        }
    return (
        [_without(item, sought) for item in value] if isinstance(value, list) else value
    )


def _line(record: Record) -> bytes:
    return _dumped(record.as_json())


def _dumped(value: object) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _renamed(raw: bytes, revisions: Revisions) -> bytes:
    """Revisions are hex digits that stand nowhere by chance."""
    known = re.compile(
        rb'"(before|after)":"(' + b"|".join(map(str.encode, revisions)) + rb')"'
    )
    return known.sub(
        lambda hit: b'"%s":"%s"' % (hit[1], revisions[hit[2].decode()].encode()), raw
    )


class _Found:
    """Where the text stands in a note: lines to take out, and lines to leave without their words."""

    def __init__(
        self, page: Outline, raw: bytes, sought: TextMatcher, facts: bool
    ) -> None:
        self._page, self._raw, self._sought, self._facts = page, raw, sought, facts
        self._starts = line_starts(raw)
        self.gone: set[int] = set()
        self.emptied: dict[int, bytes] = {}
        self.count = 0
        hit = self._hit_lines()
        self._take_items(hit)
        self._take_headings(hit)
        self._take_lines(hit)

    def rest(self) -> bytes:
        """The note without them."""
        edges = enumerate(zip(self._starts, self._starts[1:], strict=False))
        kept = (
            self.emptied.get(at, self._raw[start:end])
            for at, (start, end) in edges
            if at not in self.gone
        )
        return self._raw[: self._starts[0]] + b"".join(kept)

    def _hit_lines(self) -> set[int]:
        """The lines that a match touches, also one that goes on in the next."""
        text = "\n".join(self._page.lines)
        unquoted = _QUOTE.sub(lambda mark: " " * len(mark[0]), text)
        spans = {
            *self._sought.spans(text),
            *(self._sought.spans(unquoted) if unquoted != text else ()),
        }
        hit: set[int] = set()
        for start, end in spans:
            first = text.count("\n", 0, start)
            hit.update(range(first, first + text.count("\n", start, end) + 1))
        return hit

    def _take_items(self, hit: set[int]) -> None:
        lines, items = (
            self._page.lines,
            [block for block in self._page.blocks if block.kind == "item"],
        )
        inner: dict[int, set[int]] = {number: set() for number in range(len(items))}
        above: list[int] = []
        for number, item in enumerate(items):
            while above and items[above[-1]].end <= item.first:
                above.pop()
            for outer in above:
                inner[outer].update(range(item.first, item.end))
            above.append(number)
        for number, item in enumerate(items):
            own = [
                line
                for line in range(item.first, item.end)
                if line not in inner[number]
            ]
            if item.first in self.gone:
                continue
            if not hit.isdisjoint(own) or self._sought.hides(
                " ".join(lines[line] for line in own)
            ):
                self.gone.update(range(item.first, item.end))
                self.count += 1

    def _take_headings(self, hit: set[int]) -> None:
        headings = [block for block in self._page.blocks if block.kind == "heading"]
        for number, heading in enumerate(headings):
            own = range(heading.first, heading.end)
            if hit.isdisjoint(own) and not self._sought.hides(heading.name):
                continue
            self.count += 1
            if self._facts and heading.level == 2:
                ends = (
                    later.first
                    for later in headings[number + 1 :]
                    if later.level <= heading.level
                )
                self.gone.update(
                    range(heading.first, next(ends, len(self._page.lines)))
                )
            else:
                self._empty_heading(heading.first, heading.end)

    def _empty_heading(self, first: int, end: int) -> None:
        line, close = self._bytes(first)
        marks = _HASHES.fullmatch(line)
        self.emptied[first] = (marks[1] if marks else b"") + INSTEAD.encode() + close
        for number in range(first + 1, end):
            if not _UNDERLINE.fullmatch(self._bytes(number)[0]):
                self.gone.add(number)

    def _take_lines(self, hit: set[int]) -> None:
        """What is neither item nor heading: a paragraph's line, a row, a line of code or of the front matter."""
        for number in sorted(hit - self.gone - self.emptied.keys()):
            line, close = self._bytes(number)
            fence = _FENCE.fullmatch(line)
            if fence and fence[1] != line:
                self.emptied[number] = fence[1] + close
            else:
                self.gone.add(number)
            self.count += 1

    def _bytes(self, number: int) -> tuple[bytes, bytes]:
        """A line and its end."""
        line = self._raw[self._starts[number] : self._starts[number + 1]]
        bare = line.rstrip(b"\r\n")
        return bare, line[len(bare) :]
