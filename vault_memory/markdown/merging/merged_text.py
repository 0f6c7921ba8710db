"""The merged pieces as bytes: line ends, blank lines between them, BOM and final newline as the person has them."""

from typing import TYPE_CHECKING, NamedTuple

from vault_memory.markdown.merging.alignment import NONE
from vault_memory.markdown.merging.parsed_note import BOM, Page, read_page

if TYPE_CHECKING:
    from vault_memory.markdown.merging.structural import Piece, StructuralMerge

START = -1


class _At(NamedTuple):
    """Where a piece stands in the versions."""

    kind: str
    base: int
    ours: int
    theirs: int


class _Writer:
    """Writes one result. `style` is the version whose line ends, BOM and final newline hold."""

    def __init__(self, merged: "StructuralMerge") -> None:
        self.merged = merged
        base, ours, theirs = merged.base, merged.ours, merged.theirs
        mine = ours.newline and (
            not theirs.newline
            or (theirs.newline == base.newline and ours.newline != base.newline)
        )
        self.style = ours if mine else theirs
        self.newline = self.style.newline or ours.newline or b"\n"
        self.lines: list[bytes] = []

    def write(self, pieces: "list[Piece]", front: bytes | None) -> bytes:
        merged = self.merged
        if front is not None:
            self._front(front)
        before = None
        for piece in pieces:
            if before is None or not self._follows(before, piece):
                self._gap(self._at(before), self._at(piece))
            if piece.page is None:
                self._text(piece.text)
            else:
                self._copy(piece.page, *piece.page.units[piece.unit][1:3])
            before = piece
        counts = [len(page.units) for page in (merged.base, merged.ours, merged.theirs)]
        self._gap(self._at(before), _At("end", *counts))
        raw = self._with_end(b"".join(self.lines))
        bom = _three(merged.base.bom, merged.ours.bom, merged.theirs.bom)
        return BOM + raw if bom else raw

    def _follows(self, before: "Piece", after: "Piece") -> bool:
        """Whether two units are neighbours without a blank line in both versions."""
        if (
            before.thread < 0
            or after.thread < 0
            or before.kind == "heading"
            or after.kind == "heading"
        ):
            return False
        ours, theirs = self.merged.units.ours, self.merged.units.theirs
        o, t = ours[after.thread], theirs[after.thread]
        if o != ours[before.thread] + 1 or t != theirs[before.thread] + 1:
            return False
        return not self.merged.ours.has_gap(o) and not self.merged.theirs.has_gap(t)

    def _at(self, piece: "Piece | None") -> _At:
        merged = self.merged
        if piece is None:
            return _At("start", START, START, START)
        if piece.thread < 0:
            return _At(piece.kind, NONE, NONE, NONE)
        if piece.kind != "heading":
            units = merged.units
            return _At(
                piece.kind,
                units.base[piece.thread],
                units.ours[piece.thread],
                units.theirs[piece.thread],
            )
        places = []
        for page, numbers in (
            (merged.base, merged.sections.base),
            (merged.ours, merged.sections.ours),
            (merged.theirs, merged.sections.theirs),
        ):
            section = numbers[piece.thread]
            places.append(page.sections[section].unit if section != NONE else NONE)
        return _At(
            "heading" if piece.text.startswith((b"#", b" ")) else "underlined", *places
        )

    def _front(self, text: bytes) -> None:
        for page in (self.style, self.merged.theirs, self.merged.ours):
            if (
                page.front
                and b"".join(
                    _ended(line, b"\n") for line in page.lines[: page.front.end]
                )
                == text + b"\n"
            ):
                self._copy(page, 0, page.front.end)
                return
        self._text(text)

    def _text(self, text: bytes) -> None:
        self.lines += [line + self.newline for line in text.split(b"\n")]

    def _copy(self, page: Page, first: int, end: int) -> None:
        lines = page.lines[first:end]
        if page is self.style:
            if not lines[-1].endswith((b"\n", b"\r")):
                lines[-1] += self.newline
            self.lines += lines
        elif self.newline == b"\n" and page.is_plain:
            self.lines += [
                line if line.endswith(b"\n") else line + b"\n" for line in lines
            ]
        else:
            self.lines += [_ended(line, self.newline) for line in lines]

    def _gap(self, before: _At, after: _At) -> None:
        merged = self.merged
        ours = merged.ours.gap(after.ours) if before.ours + 1 == after.ours else None
        theirs = (
            merged.theirs.gap(after.theirs)
            if before.theirs + 1 == after.theirs
            else None
        )
        if ours is None and theirs is None:
            self._made_gap(before, after)
        elif theirs is None:
            self._blank(merged.ours, ours or [])
        elif (
            ours is not None
            and before.base + 1 == after.base
            and _same(merged.base.gap(after.base), theirs)
        ):
            self._blank(merged.ours, ours)
        else:
            self._blank(merged.theirs, theirs)

    def _made_gap(self, before: _At, after: _At) -> None:
        """Blank lines between what was never together: as there were before or after something alike."""
        gap = None
        for page, one, other in (
            (self.merged.theirs, before.theirs, after.theirs),
            (self.merged.ours, before.ours, after.ours),
        ):
            if (
                gap is None
                and other != NONE
                and _kind_before(page, other) == before.kind
            ):
                gap = page.gap(other)
            if (
                gap is None
                and one not in (NONE, len(page.units) - 1)
                and page.units[one + 1].kind == after.kind
            ):
                gap = page.gap(one + 1)
        if gap is None:
            listed = before.kind == after.kind == "item"
            gap = (
                [] if listed or "start" in before or "end" in after else [self.newline]
            )
        if not gap and not _may_touch(before.kind, after.kind):
            gap = [self.newline]
        self._blank(self.merged.theirs, gap)

    def _blank(self, page: Page, lines: list[bytes]) -> None:
        if lines:
            self.lines += (
                lines
                if page is self.style
                else [_ended(line, self.newline) for line in lines]
            )

    def _with_end(self, raw: bytes) -> bytes:
        ends = _three(
            *(
                p.ends_with_newline if p.lines else None
                for p in (self.merged.base, self.merged.ours, self.merged.theirs)
            )
        )
        if not raw.endswith((b"\n", b"\r")):
            return raw + self.newline if raw and ends else raw
        if ends or ends is None:
            return raw
        return raw[: -2 if raw.endswith(b"\r\n") else -1]


def write(
    merged: "StructuralMerge", pieces: "list[Piece]", front: bytes | None = None
) -> bytes | None:
    """The bytes of the result; None where they would be read as something else than these pieces."""
    raw = _Writer(merged).write(pieces, front)
    page = read_page(raw)
    if page is None or (page.front is None) != (front is None):
        return None
    return (
        raw
        if [unit.text for unit in page.units] == [piece.text for piece in pieces]
        else None
    )


def _three(base: bool | None, ours: bool | None, theirs: bool | None) -> bool | None:
    """What only one side changed is as that side has it; a side without lines has no say."""
    if theirs is None or (theirs == base and ours is not None):
        return ours if ours is not None else base
    return theirs


def _ended(line: bytes, newline: bytes) -> bytes:
    return line.rstrip(b"\r\n") + newline


def _same(one: list[bytes], other: list[bytes]) -> bool:
    return len(one) == len(other) and [line.rstrip(b"\r\n") for line in one] == [
        line.rstrip(b"\r\n") for line in other
    ]


def _kind_before(page: Page, unit: int) -> str:
    return page.units[unit - 1].kind if unit else "start"


def _may_touch(before: str, after: str) -> bool:
    return (
        "start" in (before, after)
        or after in ("end", "heading")
        or before in ("heading", "underlined", "start")
        or before == after == "item"
    )
