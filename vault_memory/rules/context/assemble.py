"""Assembles the memory block of a prompt: quotations in a fixed order, within a budget. Pure.

When the block is too long, the least important lines go first: recalled lines, then facts, dated
notes, the episode, the reflection, MEMORY.md, rules, and texts of the caller. USER.md and CHANNEL.md are never
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
    "episode",
    "recalled",
    "confirmation",
)
"""The kinds of quotations in the order of the block"""
CUT_FIRST = (
    "recalled",
    "facts",
    "dated",
    "episode",
    "reflection",
    "memory",
    "rules",
    "confirmation",
)
"""The order in which kinds are cut; other kinds are never cut"""
GAP = "\n\n"
"""Between two quotations"""
ANSWERING = "lines that answer the prompt"
FROM_THE_TOP = "lines from the top"
"""Remarks on a long MEMORY.md after the number of its lines: for a prompt, and without a prompt"""


class LineGroup(NamedTuple):
    """Lines that go into a prompt together or not at all."""

    text: str
    """quoted, so that it cannot write a tag"""
    worth: float = 0.0
    """the group of the least worth is cut first; of equal worth the last"""


class Quotation(NamedTuple):
    """The quoted lines of a note."""

    kind: str
    """one of `ORDER`"""
    note: str
    """empty for a text of the caller"""
    groups: tuple[LineGroup, ...]
    about: Mapping[str, str] = MappingProxyType({})
    """further attributes of its tag, e.g. the date"""

    @property
    def opening(self) -> str:
        """The opening tag."""
        # Each recalled line is labelled with its note, so the tag does not repeat it.
        if self.note and self.kind != "recalled":
            return opening(self.kind, note=self.note, **self.about)
        return opening(self.kind, **self.about)

    def text(self, groups: Iterable[LineGroup]) -> str:
        """Returns the quotation with these groups of lines between its tags."""
        lines = [group.text for group in groups]
        return "\n".join([self.opening, *lines, CLOSING])


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
    copies: int = 1
    """how many lines of the notes say this"""

    @property
    def place(self) -> str:
        """Its place as ``note:line`` or ``note:first-last``."""
        if self.last == self.first:
            return f"{self.note}:{self.first}"
        return f"{self.note}:{self.first}-{self.last}"

    def labelled(self) -> LineGroup:
        """Returns the lines behind a label that names their place, author, day and heading."""
        copies = f"{self.copies} copies" if self.copies > 1 else ""
        fields = (f"{self.place} {self.origin}", self.date, self.heading, copies)
        label = one_line(" · ".join(filter(None, fields)))
        [quoted_label] = quoted([f"[{label}]"])
        lines = quoted([one_line(line) for line in self.text.split("\n")])
        # Further lines are indented, so that none of them can pose as a label.
        text = "\n  ".join(lines)
        return LineGroup(f"{quoted_label} {text}", self.score)


class Assembled(NamedTuple):
    """The block, and what was left out of it."""

    text: str
    lengths: tuple[tuple[str, str, int], ...]
    """kind, note and length of each quotation, in the order of the text"""
    cut: tuple[tuple[str, str], ...]
    """kind and reason"""


def whole_note(
    kind: str, note: str, text: str, *, worth: float = 0.0, **about: str
) -> Quotation | None:
    """Returns a note that can be cut item by item from its end; None for an empty note."""
    # Windows editors put a byte order mark before the first letter.
    lines = _without_blank_ends(text.removeprefix("\ufeff").split("\n"))
    items: list[list[str]] = []
    for line in quoted(lines):
        continues_item = not line.strip() or line.startswith((" ", "\t"))
        if items and continues_item:
            items[-1].append(line)
        else:
            items.append([line])
    if not items:
        return None
    groups = tuple(LineGroup("\n".join(item), worth) for item in items)
    return Quotation(kind, note, groups, about)


def _without_blank_ends(lines: list[str]) -> list[str]:
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if not filled:
        return []
    first, last = filled[0], filled[-1]
    return lines[first : last + 1]


def beginning(quotation: Quotation, budget: int) -> Quotation:
    """Returns the first lines of a quotation that fit into the budget."""
    length = -1  # no line break goes before the first line
    count = 0
    for group in quotation.groups:
        length += len(group.text) + 1
        if length > budget:
            break
        count += 1
    return quotation._replace(groups=quotation.groups[:count])


def recalled(
    lines: Iterable[RecalledLine], budget: int, kind: str = "recalled", **about: str
) -> tuple[list[Quotation], int]:
    """Returns the best lines that fit into the budget, by note, and the number of others."""
    by_note: dict[str, list[tuple[int, LineGroup]]] = {}
    room = budget
    left_out = 0
    for line in sorted(lines, key=attrgetter("score"), reverse=True):
        group = line.labelled()
        length = len(group.text) + 1
        if line.note not in by_note:
            tags = Quotation(kind, line.note, (), about).text(())
            length += len(tags) + len(GAP)
        if length > room:
            left_out += 1
            continue
        room -= length
        by_note.setdefault(line.note, []).append((line.first, group))
    quotations: list[Quotation] = []
    for note, numbered in by_note.items():
        numbered.sort(key=itemgetter(0))
        groups = tuple(group for _, group in numbered)
        quotations.append(Quotation(kind, note, groups, about))
    return quotations, left_out


def assemble(quotations: Iterable[Quotation], budget: int = 0) -> Assembled:
    """Returns the block of these quotations, in at most `budget` characters; 0 sets no limit.

    The block is longer only when USER.md and CHANNEL.md alone are longer.
    """
    drafts = [_Draft(quotation) for quotation in quotations if quotation.groups]
    drafts.sort(key=lambda draft: ORDER.index(draft.quotation.kind))
    if budget:
        _fit(drafts, budget)
    texts: list[str] = []
    lengths: list[tuple[str, str, int]] = []
    for draft in drafts:
        if draft.groups:
            text = draft.text()
            texts.append(text)
            lengths.append((draft.quotation.kind, draft.quotation.note, len(text)))
    block = GAP.join([INTRO, *texts]) if texts else ""
    return Assembled(block, tuple(lengths), tuple(_cuts(drafts, budget)))


class _Draft:
    """A quotation with the groups of lines that are left of it, by number."""

    def __init__(self, quotation: Quotation) -> None:
        self.quotation = quotation
        self.groups = dict(enumerate(quotation.groups))

    def text(self) -> str:
        """Returns the quotation with its remaining lines."""
        return self.quotation.text(self.groups.values())


def _fit(drafts: Sequence[_Draft], budget: int) -> None:
    """Cuts the drafts until they fit into the budget, or only kinds are left that are never cut."""
    room = budget - _length(drafts)
    for kind in CUT_FIRST:
        if room >= 0:
            return
        room = _cut(drafts, kind, room)


def _length(drafts: Sequence[_Draft]) -> int:
    if not drafts:
        return 0
    return len(INTRO) + sum(len(GAP) + len(draft.text()) for draft in drafts)


def _cut(drafts: Sequence[_Draft], kind: str, room: int) -> int:
    """Cuts lines of one kind until there is room; returns the room after that."""
    for index, number in _cutting_order(drafts, kind):
        if room >= 0:
            break
        draft = drafts[index]
        group = draft.groups.pop(number)
        room += len(group.text) + 1
        if not draft.groups:
            tags = draft.quotation.text(())
            room += len(tags) + len(GAP)
            if not any(draft.groups for draft in drafts):
                room += len(INTRO)
    return room


def _cutting_order(drafts: Iterable[_Draft], kind: str) -> list[tuple[int, int]]:
    """Lists the groups of one kind, by draft and number, in the order in which they are cut."""
    # Negative numbers: of equal worth the last group sorts first.
    ranked: list[tuple[float, int, int]] = []
    for index, draft in enumerate(drafts):
        if draft.quotation.kind == kind:
            ranked += [(group.worth, -index, -number) for number, group in draft.groups.items()]
    return [(-index, -number) for _, index, number in sorted(ranked)]


def _cuts(drafts: Iterable[_Draft], budget: int) -> Iterator[tuple[str, str]]:
    """Yields kind and reason of each quotation that was cut."""
    for draft in drafts:
        total = len(draft.quotation.groups)
        missing = total - len(draft.groups)
        if not missing:
            continue
        amount = f"{missing} of {total} pieces" if draft.groups else "all"
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


def without_chat_prefixes(prompt: str) -> str:
    """Returns a prompt without the times and names of a chat; of a chat log only its last lines."""
    lines = prompt.splitlines()
    prefixes = [_PREFIX.match(line) for line in lines]
    texts = [
        line[prefix.end() :] if prefix else line
        for line, prefix in zip(lines, prefixes, strict=True)
    ]
    # A single prefix may be a sentence of the person.
    is_log = sum(prefix is not None for prefix in prefixes) > 1
    if is_log:
        filled = [text for text in texts if text.strip()]
        texts = filled[-LOG_LINES:]
    return "\n".join(texts)
