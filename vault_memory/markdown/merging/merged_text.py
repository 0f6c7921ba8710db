"""Writes the units of a merge as bytes, with the line ends, gaps, BOM and final newline of the user.

A gap is the run of blank lines between two units. Gaps are copied from the versions where they
have the same neighbours.
"""

from typing import NamedTuple

from vault_memory.markdown.merging.alignment import NONE, MergedUnit, MergeState
from vault_memory.markdown.merging.parsed_note import BOM, ParsedNote, parse_note

START = -1
LINE_ENDS = (b"\n", b"\r")


class _Position(NamedTuple):
    """The number of a unit in each version, NONE where a version does not have it."""

    kind: str
    base: int
    ours: int
    theirs: int


_AT_START = _Position("start", START, START, START)


class _Writer:
    """Writes one result. `style` is the version whose line ends and final newline are used."""

    def __init__(self, merge: MergeState) -> None:
        self.merge = merge
        self.style = merge.ours if _uses_our_newline(merge) else merge.theirs
        self.newline = self.style.newline or merge.ours.newline or b"\n"
        self.lines: list[bytes] = []

    def write(self, units: list[MergedUnit], front: bytes | None) -> bytes:
        merge = self.merge
        if front is not None:
            self._write_front(front)
        previous = None
        for unit in units:
            if previous is None or not self._follows(previous, unit):
                self._write_gap(self._position(previous), self._position(unit))
            if unit.source is None:
                self._write_text(unit.text)
            else:
                _, first, end, _ = unit.source.units[unit.unit]
                self._copy(unit.source, first, end)
            previous = unit
        versions = (merge.base, merge.ours, merge.theirs)
        counts = [len(version.units) for version in versions]
        at_end = _Position("end", *counts)
        self._write_gap(self._position(previous), at_end)
        raw = self._with_final_newline(b"".join(self.lines))
        bom = _merge_flags(merge.base.bom, merge.ours.bom, merge.theirs.bom)
        return BOM + raw if bom else raw

    def _follows(self, before: MergedUnit, after: MergedUnit) -> bool:
        """Return whether two units are neighbours without a gap in both versions."""
        if before.thread < 0 or after.thread < 0:
            return False
        if "heading" in (before.kind, after.kind):
            return False
        merge = self.merge
        our_numbers = merge.units.ours
        their_numbers = merge.units.theirs
        ours = our_numbers[after.thread]
        theirs = their_numbers[after.thread]
        if ours != our_numbers[before.thread] + 1:
            return False
        if theirs != their_numbers[before.thread] + 1:
            return False
        return not merge.ours.has_gap(ours) and not merge.theirs.has_gap(theirs)

    def _position(self, unit: MergedUnit | None) -> _Position:
        if unit is None:
            return _AT_START
        thread = unit.thread
        if thread < 0:
            return _Position(unit.kind, NONE, NONE, NONE)
        merge = self.merge
        if unit.kind != "heading":
            threads = merge.units
            return _Position(
                unit.kind, threads.base[thread], threads.ours[thread], threads.theirs[thread]
            )
        sections = merge.sections
        is_underlined = not unit.text.startswith((b"#", b" "))
        return _Position(
            "underlined" if is_underlined else "heading",
            _heading_unit(merge.base, sections.base[thread]),
            _heading_unit(merge.ours, sections.ours[thread]),
            _heading_unit(merge.theirs, sections.theirs[thread]),
        )

    def _write_front(self, text: bytes) -> None:
        """Copy the front matter from a version that has exactly this text, or write it."""
        for version in (self.style, self.merge.theirs, self.merge.ours):
            if version.front is None:
                continue
            lines = version.lines[: version.front.end]
            if b"".join(_with_newlines(lines, b"\n")) == text + b"\n":
                self._copy(version, 0, version.front.end)
                return
        self._write_text(text)

    def _write_text(self, text: bytes) -> None:
        self.lines += [line + self.newline for line in text.split(b"\n")]

    def _copy(self, version: ParsedNote, first: int, end: int) -> None:
        lines = version.lines[first:end]
        if version is self.style:
            # The last line of a note may have no newline, and stay last no longer.
            if not lines[-1].endswith(LINE_ENDS):
                lines[-1] += self.newline
            self.lines += lines
        elif self.newline == b"\n" and version.is_plain:
            if not lines[-1].endswith(b"\n"):
                lines[-1] += b"\n"
            self.lines += lines
        else:
            self.lines += _with_newlines(lines, self.newline)

    def _write_gap(self, before: _Position, after: _Position) -> None:
        """Write the gap that a version has between these units: theirs, or ours if only we changed it."""
        merge = self.merge
        ours = _gap_between(merge.ours, before.ours, after.ours)
        theirs = _gap_between(merge.theirs, before.theirs, after.theirs)
        if theirs is None:
            if ours is None:
                self._write_new_gap(before, after)
            else:
                self._write_blank(merge.ours, ours)
        elif ours is not None and self._is_gap_of_base(before, after, theirs):
            self._write_blank(merge.ours, ours)
        else:
            self._write_blank(merge.theirs, theirs)

    def _is_gap_of_base(self, before: _Position, after: _Position, gap: list[bytes]) -> bool:
        """Return whether the base has the same gap between these units, apart from line ends."""
        base = _gap_between(self.merge.base, before.base, after.base)
        if base is None:
            return False
        return _with_newlines(base, b"") == _with_newlines(gap, b"")

    def _write_new_gap(self, before: _Position, after: _Position) -> None:
        """Write a gap between units that no version has together."""
        gap = self._similar_gap(before, after)
        if gap is None:
            is_in_list = before.kind == after.kind == "item"
            is_at_edge = before.kind == "start" or after.kind == "end"
            gap = [] if is_in_list or is_at_edge else [self.newline]
        # Fault: without a blank line two paragraphs would be read as one.
        if not gap and not _may_touch(before.kind, after.kind):
            gap = [self.newline]
        self._write_blank(self.merge.theirs, gap)

    def _similar_gap(self, before: _Position, after: _Position) -> list[bytes] | None:
        """Return a gap that a version has beside one of these units, next to the other's kind."""
        merge = self.merge
        for version, first, second in (
            (merge.theirs, before.theirs, after.theirs),
            (merge.ours, before.ours, after.ours),
        ):
            if second != NONE and _kind_before(version, second) == before.kind:
                return version.gap(second)
            is_last = first == len(version.units) - 1
            if first == NONE or is_last:
                continue
            if version.units[first + 1].kind == after.kind:
                return version.gap(first + 1)
        return None

    def _write_blank(self, version: ParsedNote, lines: list[bytes]) -> None:
        if version is not self.style:
            lines = _with_newlines(lines, self.newline)
        self.lines += lines

    def _with_final_newline(self, raw: bytes) -> bytes:
        merge = self.merge
        flags = [
            version.ends_with_newline if version.lines else None
            for version in (merge.base, merge.ours, merge.theirs)
        ]
        has_newline = _merge_flags(*flags)
        if not raw.endswith(LINE_ENDS):
            return raw + self.newline if raw and has_newline else raw
        if has_newline or has_newline is None:
            return raw
        last_newline = 2 if raw.endswith(b"\r\n") else 1
        return raw[:-last_newline]


def write(merge: MergeState, units: list[MergedUnit], front: bytes | None = None) -> bytes | None:
    """Return the bytes of the result; None where they would not be read as these units."""
    raw = _Writer(merge).write(units, front)
    # Fault (A21): units that no version has together may change their meaning. A line
    # after a paragraph can become its continuation.
    note = parse_note(raw)
    if note is None or (note.front is None) != (front is None):
        return None
    if [unit.text for unit in note.units] != [unit.text for unit in units]:
        return None
    return raw


def _uses_our_newline(merge: MergeState) -> bool:
    """Return whether the line ends are ours: they have none, or only we changed them."""
    base = merge.base.newline
    ours = merge.ours.newline
    theirs = merge.theirs.newline
    if not ours:
        return False
    return not theirs or (theirs == base and ours != base)


def _merge_flags(base: bool | None, ours: bool | None, theirs: bool | None) -> bool | None:
    """Return their value, or ours if only we changed it. None is a version without lines."""
    if theirs is None or (theirs == base and ours is not None):
        return ours if ours is not None else base
    return theirs


def _gap_between(version: ParsedNote, before: int, after: int) -> list[bytes] | None:
    """Return the gap between two units; None where the version does not have them together."""
    return version.gap(after) if before + 1 == after else None


def _heading_unit(version: ParsedNote, section: int) -> int:
    return version.sections[section].unit if section != NONE else NONE


def _with_newlines(lines: list[bytes], newline: bytes) -> list[bytes]:
    return [line.rstrip(b"\r\n") + newline for line in lines]


def _kind_before(version: ParsedNote, unit: int) -> str:
    return version.units[unit - 1].kind if unit else "start"


def _may_touch(before: str, after: str) -> bool:
    """Return whether two units may follow each other without a blank line."""
    if before in ("start", "heading", "underlined") or after in ("end", "heading"):
        return True
    return after == "start" or before == after == "item"
