"""Assembles the memory block of a prompt: quotations in a fixed order, within a budget. Pure.

When the block is too long, the least important lines go first: recalled lines, then facts, dated
notes, the reflection, MEMORY.md, rules, and texts of the caller. USER.md and CHANNEL.md are never
cut.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
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
"""The kinds of quotations in the order of the block"""
CUT_FIRST = (
    "recalled",
    "facts",
    "dated",
    "reflection",
    "memory",
    "rules",
    "confirmation",
)
"""The order in which kinds are cut; other kinds are never cut"""
GAP = "\n\n"
"""Between two quotations"""
ANSWERING = "lines that answer the prompt"
"""The remark on a long MEMORY.md for a prompt; without a prompt the remark is `beginning`"""


class Piece(NamedTuple):
    """Lines that go into a prompt together or not at all."""

    text: str
    """quoted, so that it cannot write a tag"""
    worth: float = 0.0
    """the least goes first; of equal worth the last"""


class Quotation(NamedTuple):
    """The quoted lines of a note."""

    kind: str
    """one of `ORDER`"""
    note: str
    """empty for a text of the caller"""
    pieces: tuple[Piece, ...]
    about: Mapping[str, str] = MappingProxyType({})
    """further attributes of its tag, e.g. the date"""

    @property
    def opening(self) -> str:
        """The opening tag."""
        if self.note and self.kind != "recalled":
            return opening(self.kind, note=self.note, **self.about)
        return opening(self.kind, **self.about)

    def text(self, pieces: Iterable[Piece]) -> str:
        """Returns the quotation with these pieces between its tags."""
        return "\n".join([self.opening, *(piece.text for piece in pieces), CLOSING])


class RecalledLine(NamedTuple):
    """Lines of a note that answer the prompt."""

    note: str
    first: int
    last: int
    date: str
    """ISO 8601, or empty"""
    origin: str
    """the author, e.g. ``person``, ``bot`` or ``mira (user)``"""
    heading: str
    text: str
    score: float

    @property
    def place(self) -> str:
        """Its place as ``note:line`` or ``note:first-last``."""
        if self.last == self.first:
            return f"{self.note}:{self.first}"
        return f"{self.note}:{self.first}-{self.last}"

    def piece(self) -> Piece:
        """Returns the lines behind a label."""
        fields = (f"{self.place} {self.origin}", self.date, self.heading)
        label = one_line(" · ".join(filter(None, fields)))
        [quoted_label] = quoted([f"[{label}]"])
        lines = quoted([one_line(line) for line in self.text.split("\n")])
        # Further lines are indented, so that none of them can pose as a label.
        return Piece(f"{quoted_label} " + "\n  ".join(lines), self.score)


class Assembled(NamedTuple):
    """The block, and what was left out of it."""

    text: str
    parts: tuple[tuple[str, str, int], ...]
    """kind, note and length of each quotation, in the order of the text"""
    cut: tuple[tuple[str, str], ...]
    """kind and reason"""


def whole_note(
    kind: str, note: str, text: str, *, worth: float = 0.0, **about: str
) -> Quotation | None:
    """Returns a note that can be cut item by item from its end; None for an empty note."""
    lines = _without_blank_ends(text.removeprefix("\ufeff").split("\n"))
    blocks: list[list[str]] = []
    for line in quoted(lines):
        continues_block = not line.strip() or line.startswith((" ", "\t"))
        if blocks and continues_block:
            blocks[-1].append(line)
        else:
            blocks.append([line])
    if not blocks:
        return None
    pieces = tuple(Piece("\n".join(block), worth) for block in blocks)
    return Quotation(kind, note, pieces, about)


def _without_blank_ends(lines: list[str]) -> list[str]:
    numbers = [number for number, line in enumerate(lines) if line.strip()]
    return lines[numbers[0] : numbers[-1] + 1] if numbers else []


def beginning(quotation: Quotation, budget: int) -> Quotation:
    """Returns the first pieces of a quotation that fit into the budget."""
    length = -1
    count = 0
    for piece in quotation.pieces:
        length += len(piece.text) + 1
        if length > budget:
            break
        count += 1
    return quotation._replace(pieces=quotation.pieces[:count])


def recalled(
    lines: Iterable[RecalledLine], budget: int, kind: str = "recalled", **about: str
) -> tuple[list[Quotation], int]:
    """Returns the best lines that fit into the budget, by note, and the number of others."""
    groups: dict[str, list[tuple[int, Piece]]] = {}
    room = budget
    left_out = 0
    for line in sorted(lines, key=attrgetter("score"), reverse=True):
        piece = line.piece()
        length = len(piece.text) + 1
        if line.note not in groups:
            length += len(Quotation(kind, line.note, (), about).text(())) + len(GAP)
        if length > room:
            left_out += 1
            continue
        room -= length
        groups.setdefault(line.note, []).append((line.first, piece))
    quotations: list[Quotation] = []
    for note, group in groups.items():
        group.sort(key=itemgetter(0))
        pieces = tuple(piece for _, piece in group)
        quotations.append(Quotation(kind, note, pieces, about))
    return quotations, left_out


def assemble(quotations: Iterable[Quotation], budget: int = 0) -> Assembled:
    """Returns the block of these quotations, in at most `budget` characters; 0 sets no limit.

    The block is longer only when USER.md and CHANNEL.md alone are longer.
    """
    drafts = [_Draft(quotation) for quotation in quotations if quotation.pieces]
    drafts.sort(key=lambda draft: ORDER.index(draft.quotation.kind))
    room = budget - _length(drafts) if budget else 0
    for kind in CUT_FIRST:
        if room < 0:
            room = _cut(drafts, kind, room)
    texts = [(draft.quotation, draft.text()) for draft in drafts if draft.pieces]
    block = GAP.join([INTRO, *(text for _, text in texts)]) if texts else ""
    parts = [(quotation.kind, quotation.note, len(text)) for quotation, text in texts]
    return Assembled(block, tuple(parts), tuple(_cuts(drafts, budget)))


class _Draft:
    """A quotation with the pieces that are left of it, by number."""

    def __init__(self, quotation: Quotation) -> None:
        self.quotation = quotation
        self.pieces = dict(enumerate(quotation.pieces))

    def text(self) -> str:
        """Returns the quotation with its remaining pieces."""
        return self.quotation.text(self.pieces.values())


def _length(drafts: Sequence[_Draft]) -> int:
    if not drafts:
        return 0
    return len(INTRO) + sum(len(GAP) + len(draft.text()) for draft in drafts)


def _cut(drafts: Sequence[_Draft], kind: str, room: int) -> int:
    """Cuts pieces of one kind until there is room; returns the room after that."""
    candidates = [
        (piece.worth, -index, -number)
        for index, draft in enumerate(drafts)
        if draft.quotation.kind == kind
        for number, piece in draft.pieces.items()
    ]
    for _, index, number in sorted(candidates):
        if room >= 0:
            break
        draft = drafts[-index]
        room += len(draft.pieces.pop(-number).text) + 1
        if not draft.pieces:
            room += len(draft.quotation.text(())) + len(GAP)
            if not any(draft.pieces for draft in drafts):
                room += len(INTRO)
    return room


def _cuts(drafts: Iterable[_Draft], budget: int) -> Iterator[tuple[str, str]]:
    """Yields kind and reason of each quotation that was cut."""
    for draft in drafts:
        total = len(draft.quotation.pieces)
        missing = total - len(draft.pieces)
        if not missing:
            continue
        amount = f"{missing} of {total} pieces" if draft.pieces else "all"
        source = draft.quotation.note or "what was given"
        yield (
            draft.quotation.kind,
            f"{amount} of `{source}`: the block has room for {budget:,} characters",
        )


# --- Prompts ----------------------------------------------------------------------------------

_DAY = r"(?:\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})"
_CLOCK = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[AaPp][Mm])?"
_TIME = rf"(?:{_DAY},?[ T])?{_CLOCK}(?:, {_DAY})?"
_WHO = r"(?:<[^<>\n]{1,40}>|[^\s:\[\]<>][^:\[\]<>\n]{0,39}:(?=\s|$))"
_PREFIX = re.compile(rf"[ \t]*(?:\[{_TIME}\]|{_TIME} ?[-–—]?|(?=<))[ \t]*{_WHO}[ \t]*")
LOG_LINES = 6
"""The number of last lines of a chat log that are its prompt"""


def asked(prompt: str) -> str:
    """Returns a prompt without the times and names of a chat; of a chat log only its last lines."""
    lines = prompt.splitlines()
    prefixes = [_PREFIX.match(line) for line in lines]
    texts = [
        line[prefix.end() :] if prefix else line
        for line, prefix in zip(lines, prefixes, strict=True)
    ]
    # A single prefix may be a sentence of the person.
    if sum(prefix is not None for prefix in prefixes) > 1:
        texts = [text for text in texts if text.strip()][-LOG_LINES:]
    return "\n".join(texts)
