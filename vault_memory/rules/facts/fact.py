"""FACTS.md as a graph: one section per subject, one item per fact. Reading is lenient and never fails; pure.

    ## alice
    - works_at: Acme Corp (since 2026-01-28, ref:1234)
    - ~~works_at: Initech~~ (2024-03-01 to 2026-01-28)

An item that is struck through is a fact that no longer holds. What does not parse is kept in the note, shown by
`doctor`, and is no fact.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from itertools import pairwise

from vault_memory.markdown.document import Section, SectionedDoc
from vault_memory.markdown.note_items import items_of, short_hash

SINGLE = frozenset({"works_at", "lives_in", "has_role", "has_status"})
"""Predicates that have one value at a time"""
TEMPORARY = frozenset({"staying_in", "visiting"})
"""Predicates of what holds for a while, beside what holds for good"""
ALIAS, TYPE, SUMMARY = "also_known_as", "is_a", "summary"
"""Predicates that describe the subject itself"""

MOST_SECTIONS = 16_384
"""So many sections are remembered"""

_FACT = re.compile(r"([^\W\d_][\w-]*)\s*[:：]\s*(?!//)(\S.*)")
_STRUCK = re.compile(r"~~(?!\s)(.*?)~~\s*(\([^()]*\))?")
_BRACKETS = re.compile(r"(.*?)\s*\(([^()]*)\)")
_BLOCK_ID = re.compile(r"(.*?)(\s+\^[A-Za-z0-9-]+)?")
_DAY = r"\d{4}(?:-\d{2}(?:-\d{2})?)?"
_SPAN = re.compile(rf"({_DAY})\s*(?:to|until|–|—|-|\.\.)\s*({_DAY})")
_EDGE = re.compile(rf"(since|from|until|till|to)?:?\s*({_DAY})")
_KEYS = frozenset({"ref", "conf", "origin", "topic", "supersedes"})


@dataclass(frozen=True, slots=True)
class Fact:
    """One item of FACTS.md."""

    id: str
    subject: str
    predicate: str
    object: str
    valid_from: date | None = None
    valid_until: date | None = None
    """the last day it holds, or the day from which another one does"""
    temporary: bool = False
    confidence: float = 1.0
    ref: str = ""
    origin: str = "owner"
    struck: bool = False
    """it no longer holds"""
    supersedes: str = ""
    confirmed: bool = False
    topic: str = ""
    scope: str = ""
    text: str = ""
    """what its item says, in one line; by that it is found again in the note"""

    @property
    def key(self) -> tuple[str, str]:
        """Of which only one may hold at a time, where the predicate has one value."""
        return folded(self.subject), self.predicate

    def line(self) -> str:
        """As it is written into an item."""
        said = f"{self.predicate}: {self.object}"
        said = f"~~{said}~~" if self.struck else said
        marks = ", ".join(mark for mark in self._marks() if mark)
        if not marks and not self.struck and _BRACKETS.fullmatch(self.object):
            marks = (
                "conf:1"  # so that brackets of the object's own are not taken for marks
            )
        block_id = _BLOCK_ID.fullmatch(self.text)
        return (
            said + (f" ({marks})" if marks else "") + ((block_id and block_id[2]) or "")
        )

    def _marks(self) -> Iterable[str]:
        if self.valid_from and self.valid_until:
            yield f"{self.valid_from} to {self.valid_until}"
        else:
            yield f"since {self.valid_from}" if self.valid_from else ""
            yield f"until {self.valid_until}" if self.valid_until else ""
        yield "temporary" if self.temporary else ""
        yield f"ref:{self.ref}" if self.ref else ""
        yield f"origin:{self.origin}" if self.origin != "owner" else ""
        yield f"conf:{self.confidence:g}" if self.confidence != 1 else ""
        yield f"topic:{self.topic}" if self.topic else ""
        yield f"supersedes:{self.supersedes}" if self.supersedes else ""
        yield "confirmed" if self.confirmed else ""


def folded(text: str) -> str:
    """As names are compared: case and blanks do not count."""
    if text.isascii():
        return " ".join(text.lower().split())
    return unicodedata.normalize(
        "NFC", unicodedata.normalize("NFC", " ".join(text.split())).casefold()
    )


def snake_case(predicate: str) -> str:
    """A predicate as it is written: `works at` becomes `works_at`."""
    return "_".join(folded(predicate).split())


def fact_id(
    scope: str, subject: str, predicate: str, said: str, since: date | None
) -> str:
    """The id of a fact; it needs no mark in the note, and case and blanks do not change it."""
    return short_hash(
        scope,
        folded(subject),
        predicate,
        folded(said),
        since.isoformat() if since else "",
    )


def identified(fact: Fact) -> Fact:
    """The fact with the id that follows from what it says."""
    return replace(
        fact,
        id=fact_id(
            fact.scope, fact.subject, fact.predicate, fact.object, fact.valid_from
        ),
    )


def read_facts(doc: SectionedDoc, scope: str = "") -> list[Fact]:
    """The facts of a note in its order, as they stand there."""
    return [fact for section in doc.sections for fact in section_facts(section, scope)]


@lru_cache(maxsize=MOST_SECTIONS)
def section_facts(section: Section, scope: str = "") -> tuple[Fact, ...]:
    """The facts of one section. Kept for a while: of a page that changes, all sections but one are as they were."""
    items = (
        item for item in items_of(SectionedDoc(b"", (section,))) if item.depth == 1
    )
    return tuple(
        fact
        for item in items
        if (fact := read_fact(item.text, item.heading, scope)) is not None
    )


def unread_lines(doc: SectionedDoc) -> list[str]:
    """What the items of a note say that are no facts."""
    return [
        f"{item.heading}: {item.text}"
        for item in items_of(doc)
        if item.depth == 1 and read_fact(item.text, item.heading) is None
    ]


def read_fact(text: str, subject: str, scope: str = "") -> Fact | None:
    """The fact that an item of this subject's section states; None when it states none."""
    block_id = _BLOCK_ID.fullmatch(text)
    said = (block_id[1] if block_id else text).strip()
    known: dict[str, str] = {}
    if strike := _STRUCK.fullmatch(said):
        said = strike[1]
        known = _read_marks(strike[2][1:-1])[0] if strike[2] else {}
        if strike[2] and not known:
            return None
    found = _FACT.fullmatch(said)
    if not found or not subject.strip():
        return None
    value, marks = _split(found[2])
    known = marks | known
    if not value or not _in_order(known):
        return None
    fact = Fact(
        "",
        subject,
        folded(found[1]),
        value,
        _first(known.get("from", "")),
        _last(known.get("until", "")),
        "temporary" in known or folded(found[1]) in TEMPORARY,
        float(known.get("conf", 1)),
        known.get("ref", ""),
        known.get("origin", "owner"),
        bool(strike),
        known.get("supersedes", ""),
        "confirmed" in known,
        known.get("topic", ""),
        scope,
        text,
    )
    return identified(fact)


def _split(value: str) -> tuple[str, dict[str, str]]:
    """An object and its marks; brackets that hold something else are a person's words."""
    found = _BRACKETS.fullmatch(value)
    known, unknown = _read_marks(found[2]) if found else ({}, [])
    if (
        not found
        or not known
        or not _in_order(known)
        or (unknown and not {"from", "until"} & known.keys())
    ):
        return value.strip(), {}
    rest = f" ({', '.join(unknown)})" if unknown else ""
    return (found[1] + rest).strip(), known


def _read_marks(inner: str) -> tuple[dict[str, str], list[str]]:
    known: dict[str, str] = {}
    return known, [
        part for part in map(str.strip, inner.split(",")) if not _take(part, known)
    ]


def _take(part: str, known: dict[str, str]) -> bool:
    """Whether a part of the brackets is a mark, and not yet known."""
    fresh: dict[str, str] = {}
    if span := _SPAN.fullmatch(part):
        fresh = {"from": span[1], "until": span[2]}
    elif edge := _EDGE.fullmatch(part):
        fresh = {"from" if edge[1] in (None, "since", "from") else "until": edge[2]}
    elif part in ("temporary", "confirmed"):
        fresh = {part: part}
    else:
        key, colon, value = part.partition(":")
        if key in _KEYS and colon and value.strip():
            fresh = {key: value.strip()}
    if (
        not fresh
        or fresh.keys() & known.keys()
        or not all(_checks(key, value) for key, value in fresh.items())
    ):
        return False
    known.update(fresh)
    return True


def _checks(key: str, value: str) -> bool:
    if key == "conf":
        try:
            return 0 <= float(value) <= 1
        except ValueError:
            return False
    return key not in ("from", "until") or (
        _first(value) is not None and _last(value) is not None
    )


def _first(text: str) -> date | None:
    """The first day of a day, month or year."""
    return _date(text + {4: "-01-01", 7: "-01"}.get(len(text), ""))


def _last(text: str) -> date | None:
    """The last day of a day, month or year."""
    if len(text) == 7:
        return next(
            (day for end in (31, 30, 29, 28) if (day := _date(f"{text}-{end}"))), None
        )
    return _date(text + "-12-31" if len(text) == 4 else text)


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text.isascii() else None
    except ValueError:
        return None


def _in_order(known: Mapping[str, str]) -> bool:
    first, last = _first(known.get("from", "")), _last(known.get("until", ""))
    return first is None or last is None or first <= last


# ---- the graph ------------------------------------------------------------------------------------------------------


def has_ended(fact: Fact, day: date) -> bool:
    """Whether the fact no longer holds on this day."""
    return fact.struck or (fact.valid_until is not None and fact.valid_until < day)


def begins(fact: Fact) -> date:
    """When it began to hold, as far as that is known."""
    return fact.valid_from or date.min


def folded_facts(
    facts: Iterable[Fact], day: date, single: Iterable[str] = SINGLE
) -> list[Fact]:
    """The facts of one scope as they hold on this day: each once, and of several values of a predicate that has one
    the latest; the others read as ended by it, whatever the page says."""
    known: dict[str, Fact] = {}
    for fact in facts:
        if fact.id not in known or (known[fact.id].struck and not fact.struck):
            known[fact.id] = fact
    names = canonical(known.values())
    values: dict[tuple[str, str], list[Fact]] = {}
    ones = frozenset(single)
    for fact in known.values():
        if (
            fact.predicate in ones
            and not fact.temporary
            and not has_ended(fact, day)
            and begins(fact) <= day
        ):
            subject, predicate = fact.key
            values.setdefault((names.get(subject, subject), predicate), []).append(fact)
    for several in values.values():
        several.sort(
            key=begins
        )  # the later one on the page, where the days do not tell
        for fact, newer in pairwise(several):
            until = newer.valid_from if fact.valid_until is None else fact.valid_until
            known[fact.id] = replace(fact, struck=True, valid_until=until)
    return list(known.values())


def current(
    facts: Iterable[Fact], day: date, single: Iterable[str] = SINGLE
) -> list[Fact]:
    """The facts of one scope that hold on this day, and what is known to come beside them.

    On a day before another fact replaced it, a fact that is struck through by now still holds.
    """
    ones = frozenset(single)
    known = list(facts)
    if any(_held(fact, day) for fact in known):
        starts = _starts(known)
        replaced = [
            _held(fact, day) and fact.valid_until in starts(fact) for fact in known
        ]
        known = [
            replace(fact, struck=fact.struck and not is_held)
            for fact, is_held in zip(known, replaced, strict=True)
        ]
    return [
        fact
        for fact in folded_facts(known, day, ones)
        if not has_ended(fact, day)
        and (fact.predicate not in ones or begins(fact) <= day)
    ]


def valid_on(
    facts: Iterable[Fact], day: date, single: Iterable[str] = SINGLE
) -> list[Fact]:
    """The facts of one scope that held on this day, by what is known now.

    A fact that is struck through counts within its days, and without a last day not at all.
    """
    known = [
        replace(fact, struck=False) if _held(fact, day) else fact for fact in facts
    ]
    return [
        fact
        for fact in folded_facts(known, day, single)
        if not has_ended(fact, day) and begins(fact) <= day
    ]


def _held(fact: Fact, day: date) -> bool:
    """Whether a fact that is struck through held on this day; on its last day another one did."""
    return (
        fact.struck
        and fact.valid_until is not None
        and begins(fact) <= day < fact.valid_until
    )


def _starts(facts: Iterable[Fact]) -> Callable[[Fact], set[date | None]]:
    """For a fact the days on which facts of the same subject and predicate begin."""
    known = list(facts)
    names = canonical(known)

    def key(fact: Fact) -> tuple[str, str]:
        subject, predicate = fact.key
        return names.get(subject, subject), predicate

    starts: dict[tuple[str, str], set[date | None]] = {}
    for fact in known:
        starts.setdefault(key(fact), set()).add(fact.valid_from)
    return lambda fact: starts[key(fact)]


def canonical(facts: Iterable[Fact]) -> dict[str, str]:
    """What each alias stands for: the folded name of the subject that is also known so."""
    found: dict[str, str] = {}
    for fact in facts:
        if fact.predicate == ALIAS and not fact.struck:
            found.setdefault(folded(fact.object), folded(fact.subject))
    return found
