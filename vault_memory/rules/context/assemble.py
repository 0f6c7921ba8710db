"""What a prompt gets of the memory: one block of quotations in a fixed order, within a budget. Pure.

When the block is too long, the least worth goes first: recalled lines, then facts, dated notes, the reflection,
MEMORY.md, rules, and what the caller gave. USER.md and CHANNEL.md are never cut.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from vault_memory.rules.context.quoting import CLOSING, INTRO, one_line, opening, quoted

ORDER = (
    "user",
    "facts",
    "channel",
    "memory",
    "rules",
    "dated",
    "reflection",
    "recalled",
    "confirmation",
)
"""The kinds of parts as they follow one another"""
CUT_FIRST = (
    "recalled",
    "facts",
    "dated",
    "reflection",
    "memory",
    "rules",
    "confirmation",
)
"""What goes first when there is too little room; what is not named here never goes"""
GAP = "\n\n"
"""Between two parts"""
ANSWERING = "lines that answer the prompt"
"""What the mark of a long MEMORY.md says of its lines; the same mark without a prompt says `beginning`"""


class Piece(NamedTuple):
    """Lines that go into a prompt together or not at all."""

    text: str
    """as it goes in: unable to write a mark"""
    worth: float = 0.0
    """the least goes first; of the same worth the last one"""


class Quotation(NamedTuple):
    """What is quoted of one note."""

    kind: str
    """one of `ORDER`"""
    note: str
    """empty for what the caller gave"""
    pieces: tuple[Piece, ...]
    about: Mapping[str, str] = MappingProxyType({})
    """what its mark says besides, e.g. the date"""

    @property
    def opening(self) -> str:
        note = {"note": self.note} if self.note and self.kind != "recalled" else {}
        return opening(self.kind, **note, **self.about)

    def text(self, pieces: Iterable[Piece]) -> str:
        return "\n".join([self.opening, *(piece.text for piece in pieces), CLOSING])


class RecalledLine(NamedTuple):
    """Lines of a note that answer the prompt."""

    note: str
    first: int
    last: int
    date: str
    """ISO 8601; empty when it is not known"""
    origin: str
    """who wrote it, e.g. ``person``, ``bot`` or ``mira (user)``"""
    heading: str
    text: str
    score: float

    @property
    def place(self) -> str:
        """Where it stands: ``note:line``."""
        return f"{self.note}:{self.first}" + (
            f"-{self.last}" if self.last != self.first else ""
        )

    def piece(self) -> Piece:
        """The lines behind a label; further lines are set in, so that none of them can pose as a label."""
        label = one_line(
            " · ".join(
                filter(None, (f"{self.place} {self.origin}", self.date, self.heading))
            )
        )
        [said] = quoted([f"[{label}]"])
        lines = quoted([one_line(line) for line in self.text.split("\n")])
        return Piece(f"{said} " + "\n  ".join(lines), self.score)


class Assembled(NamedTuple):
    """The block."""

    text: str
    parts: tuple[tuple[str, str, int], ...]
    """kind, note and length of each, in the order of the text"""
    cut: tuple[tuple[str, str], ...]
    """kind and reason"""


def whole_note(
    kind: str, note: str, text: str, *, worth: float = 0.0, **about: str
) -> Quotation | None:
    """A note, to be cut item by item from its end; None when nothing stands in it."""
    lines = text.removeprefix("\ufeff").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    pieces: list[list[str]] = []
    for line in quoted(lines):
        if pieces and (not line.strip() or line[0] in " \t"):
            pieces[-1].append(line)
        else:
            pieces.append([line])
    return (
        Quotation(
            kind, note, tuple(Piece("\n".join(one), worth) for one in pieces), about
        )
        if pieces
        else None
    )


def beginning(whole: Quotation, budget: int) -> Quotation:
    """The first pieces of a quotation that the budget has room for."""
    room, count = budget + 1, 0
    for piece in whole.pieces:
        room -= len(piece.text) + 1
        if room < 0:
            break
        count += 1
    return whole._replace(pieces=whole.pieces[:count])


def recalled(
    lines: Iterable[RecalledLine], budget: int, kind: str = "recalled", **about: str
) -> tuple[list[Quotation], int]:
    """The best lines that the budget has room for, by note, and how many it has no room for."""
    groups: dict[str, list[tuple[int, Piece]]] = {}
    room, left_out = budget, 0
    for line in sorted(lines, key=lambda one: -one.score):
        piece = line.piece()
        needs = len(piece.text) + 1
        if line.note not in groups:
            needs += len(Quotation(kind, line.note, (), about).text(())) + len(GAP)
        if needs > room:
            left_out += 1
            continue
        room -= needs
        groups.setdefault(line.note, []).append((line.first, piece))
    for group in groups.values():
        group.sort(key=itemgetter(0))
    return [
        Quotation(kind, note, tuple(piece for _, piece in group), about)
        for note, group in groups.items()
    ], left_out


def assemble(quotations: Iterable[Quotation], budget: int = 0) -> Assembled:
    """The block of these quotations, no longer than `budget` characters unless it is 0, or USER.md and CHANNEL.md alone
    are longer."""
    ordered = sorted(
        (one for one in quotations if one.pieces), key=lambda one: ORDER.index(one.kind)
    )
    kept = [dict(enumerate(one.pieces)) for one in ordered]
    room = budget - _length(ordered) if budget else 0
    for kind in CUT_FIRST:
        if room < 0:
            room = _cut(ordered, kept, kind, room)
    parts = [
        (one, one.text(pieces.values()))
        for one, pieces in zip(ordered, kept, strict=True)
        if pieces
    ]
    return Assembled(
        GAP.join([INTRO, *(text for _, text in parts)]) if parts else "",
        tuple((one.kind, one.note, len(text)) for one, text in parts),
        tuple(_missing(ordered, kept, budget)),
    )


def _length(quotations: Sequence[Quotation]) -> int:
    return (
        len(INTRO) + sum(len(GAP) + len(one.text(one.pieces)) for one in quotations)
        if quotations
        else 0
    )


def _cut(
    ordered: Sequence[Quotation], kept: Sequence[dict[int, Piece]], kind: str, room: int
) -> int:
    """Take pieces of one kind away until there is room; how much there is then."""
    least = sorted(
        (piece.worth, -at, -number)
        for at, one in enumerate(ordered)
        if one.kind == kind
        for number, piece in kept[at].items()
    )
    for _, at, number in least:
        if room >= 0:
            break
        room += len(kept[-at].pop(-number).text) + 1
        if not kept[-at]:
            room += len(ordered[-at].text(())) + len(GAP)
            room += 0 if any(kept) else len(INTRO)
    return room


def _missing(
    ordered: Sequence[Quotation], kept: Sequence[Mapping[int, Piece]], budget: int
) -> Iterable[tuple[str, str]]:
    for one, pieces in zip(ordered, kept, strict=True):
        if missing := len(one.pieces) - len(pieces):
            what = f"{missing} of {len(one.pieces)} pieces" if pieces else "all"
            yield (
                one.kind,
                f"{what} of `{one.note or 'what was given'}`: the block has room for {budget:,} characters",
            )


_DAY = r"(?:\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})"
_CLOCK = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[AaPp][Mm])?"
_TIME = rf"(?:{_DAY},?[ T])?{_CLOCK}(?:, {_DAY})?"
_WHO = r"(?:<[^<>\n]{1,40}>|[^\s:\[\]<>][^:\[\]<>\n]{0,39}:(?=\s|$))"
_PREFIX = re.compile(rf"[ \t]*(?:\[{_TIME}\]|{_TIME} ?[-–—]?|(?=<))[ \t]*{_WHO}[ \t]*")
LOG_LINES = 6
"""Of a chat log, so many lines are the prompt, the last ones"""


def asked(prompt: str) -> str:
    """What a prompt says, without the times and names of a chat; of a log only its last lines."""
    lines = prompt.splitlines()
    found = [_PREFIX.match(line) for line in lines]
    said = [
        line[match.end() :] if match else line
        for line, match in zip(lines, found, strict=True)
    ]
    if sum(match is not None for match in found) > 1:
        said = [line for line in said if line.strip()][-LOG_LINES:]
    return "\n".join(said)
