"""FACTS.md as a graph: one section per subject, one item per fact. Pure; reading never fails.

    ## alice
    - works_at: Acme Corp (since 2026-01-28, ref:1234)
    - ~~works_at: Initech~~ (2024-03-01 to 2026-01-28)

An item that is struck through is a fact that no longer holds. An item that does not parse stays in
the note and is no fact; `doctor` shows it.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import Any

from vault_memory.markdown.document import Section, SectionedDoc
from vault_memory.markdown.letters import folded_line
from vault_memory.markdown.note_items import NoteItem, items_of, short_hash

SINGLE = frozenset({"works_at", "lives_in", "has_role", "has_status"})
"""Predicates that have one value at a time"""
TEMPORARY = frozenset({"staying_in", "visiting"})
"""Predicates of temporary states, which do not end a permanent one"""
ALIAS, TYPE, SUMMARY = "also_known_as", "is_a", "summary"
"""Predicates that describe the subject itself"""

SUBJECT_LEVEL = 2
"""Level of the headings that are subjects"""
MOST_SECTIONS = 16_384
"""The number of sections whose facts are cached, and of facts"""

_FACT = re.compile(r"([^\W\d_][\w-]*)\s*[:：]\s*(?!//)(\S.*)")
_STRUCK = re.compile(r"~~(?!\s)(.*?)~~\s*(\([^()]*\))?")
_BRACKETS = re.compile(r"(.*?)(?<!\s)\s*+\(([^()]*)\)")
_BLOCK_ID = re.compile(r"(.*?)(\s+\^[A-Za-z0-9-]+)?")
_DAY = r"\d{4}(?:-\d{2}(?:-\d{2})?)?"
_SPAN = re.compile(rf"({_DAY})\s*(?:to|until|–|—|-|\.\.)\s*({_DAY})")
_EDGE = re.compile(rf"(since|from|until|till|to)?:?\s*({_DAY})")
_UNCLEAR = re.compile(r"[(,] ?unclear:\s*+([^\s,()]++)(?=[^()]*\)(?:\s+\^[\w-]+)?$)")
_KEYS = frozenset({"ref", "conf", "origin", "topic", "supersedes", "unclear"})
_FLAGS = frozenset({"temporary", "confirmed"})
_DATES = frozenset({"from", "until"})

Marks = dict[str, str]
"""The marks in the brackets of a fact, by name"""


@dataclass(frozen=True, slots=True)
class Fact:
    """An item of FACTS.md."""

    id: str
    subject: str
    predicate: str
    object: str
    valid_from: date | None = None
    valid_until: date | None = None
    """the last day on which it holds, or the first day of the fact that replaced it"""
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
    """the text of its item in one line, which identifies it in the note"""
    unclear: str = ""
    """the id of a fact that contradicts it, until a person decides"""

    @property
    def key(self) -> tuple[str, str]:
        """Folded subject and predicate: a single-valued predicate has one open fact per key."""
        return folded(self.subject), self.predicate

    def line(self) -> str:
        """Returns the fact as the line of an item."""
        text = f"{self.predicate}: {self.object}"
        if self.struck:
            text = f"~~{text}~~"
        marks = ", ".join(self._marks())
        if not marks and not self.struck and _BRACKETS.fullmatch(self.object):
            # Brackets at the end of the object would be read as marks.
            marks = "conf:1"
        if marks:
            text += f" ({marks})"
        # Links from other notes point to the id of the block, so a rewritten line keeps it.
        block_id = _BLOCK_ID.fullmatch(self.text)
        if block_id and block_id[2]:
            text += block_id[2]
        return text

    def _days(self) -> str:
        if self.valid_from and self.valid_until:
            return f"{self.valid_from} to {self.valid_until}"
        if self.valid_from:
            return f"since {self.valid_from}"
        if self.valid_until:
            return f"until {self.valid_until}"
        return ""

    def _marks(self) -> Iterator[str]:
        days = self._days()
        if days:
            yield days
        if self.temporary:
            yield "temporary"
        if self.ref:
            yield f"ref:{self.ref}"
        if self.origin != "owner":
            yield f"origin:{self.origin}"
        if self.confidence != 1:
            yield f"conf:{self.confidence:g}"
        if self.topic:
            yield f"topic:{self.topic}"
        if self.supersedes:
            yield f"supersedes:{self.supersedes}"
        if self.confirmed:
            yield "confirmed"
        if self.unclear:
            yield f"unclear:{self.unclear}"


STATED = tuple(field.name for field in fields(Fact) if field.name not in ("id", "scope", "text"))
"""The fields that say something; the others say where it stands"""
INDEXED = tuple(name for name in STATED if name != "unclear")
"""Those that the index keeps; that a fact is unclear follows from its text"""
_DAYS = ("valid_from", "valid_until")
_BOOLEANS = ("temporary", "struck", "confirmed")


def stated(fact: Fact) -> dict[str, Any]:
    """Returns what a fact says by the names of `STATED`, days as 2026-01-31."""
    values = {name: getattr(fact, name) for name in STATED}
    return values | {name: values[name] and values[name].isoformat() for name in _DAYS}


def restated(values: Mapping[str, Any], *, id: str = "", scope: str = "", text: str = "") -> Fact:
    """Returns the fact of the values that `stated` gave, or that SQLite made of them."""
    days = {name: date.fromisoformat(values[name]) if values[name] else None for name in _DAYS}
    said = {name: bool(values[name]) for name in _BOOLEANS}
    return Fact(id, scope=scope, text=text, **{**values, **days, **said})


folded = folded_line
"""Returns a name in the form in which names are compared: in one form, without case and extra blanks."""


def snake_case(predicate: str) -> str:
    """Returns a predicate as it is written: `works at` becomes `works_at`."""
    return "_".join(folded(predicate).split())


def fact_id(scope: str, subject: str, predicate: str, value: str, since: date | None) -> str:
    """Returns the id of a fact, computed from its content; case and blanks do not change it."""
    start = since.isoformat() if since else ""
    return short_hash(scope, _in_id(subject), predicate, _in_id(value), start)


def _in_id(text: str) -> str:
    """Returns a name as ids contain it. Ids are in audits and in INBOX.md, so this never changes."""
    return unicodedata.normalize("NFC", " ".join(text.split())).casefold()


def identified(fact: Fact) -> Fact:
    """Returns the fact with the id that follows from its content."""
    new_id = fact_id(fact.scope, fact.subject, fact.predicate, fact.object, fact.valid_from)
    return replace(fact, id=new_id)


# --- Reading ----------------------------------------------------------------------------------


def read_facts(doc: SectionedDoc, scope: str = "") -> list[Fact]:
    """Returns the facts of a note in its order."""
    return [fact for section in doc.sections for fact in section_facts(section, scope)]


@lru_cache(maxsize=MOST_SECTIONS)
def section_facts(section: Section, scope: str = "") -> tuple[Fact, ...]:
    """Returns the facts of a section. Cached, because most edits change one section of the page."""
    facts: list[Fact] = []
    for item in top_level_items(SectionedDoc(b"", (section,))):
        fact = read_fact(item.text, item.heading, scope)
        # An item that does not parse is a remark of a person.
        if fact is not None:
            facts.append(fact)
    return tuple(facts)


def top_level_items(doc: SectionedDoc) -> Iterator[NoteItem]:
    """Yields the items of a note below a subject that are nested in no other item."""
    return (
        item
        for item in items_of(doc)
        if item.depth == 1 and doc.sections[item.section].level == SUBJECT_LEVEL
    )


@lru_cache(maxsize=MOST_SECTIONS)
def read_fact(text: str, subject: str, scope: str = "") -> Fact | None:
    """Returns the fact in an item of this subject's section, or None."""
    block_id = _BLOCK_ID.fullmatch(text)
    statement = (block_id[1] if block_id else text).strip()
    outer_marks: Marks = {}
    strike = _STRUCK.fullmatch(statement)
    if strike:
        statement = strike[1]
        brackets = strike[2]
        if brackets:
            outer_marks, _ = _read_marks(brackets[1:-1])
            # Brackets without any mark are words of a person; nothing says when it ended.
            if not outer_marks:
                return None
    match = _FACT.fullmatch(statement)
    if not match or not subject.strip():
        return None
    value, inner_marks = _split_value(match[2])
    marks = inner_marks | outer_marks
    if not value or not _in_order(marks):
        return None
    predicate = folded(match[1])
    fact = Fact(
        id="",
        subject=subject,
        predicate=predicate,
        object=value,
        valid_from=_first_day(marks.get("from", "")),
        valid_until=_last_day(marks.get("until", "")),
        temporary="temporary" in marks or predicate in TEMPORARY,
        confidence=float(marks.get("conf", 1)),
        ref=marks.get("ref", ""),
        origin=marks.get("origin", "owner"),
        struck=bool(strike),
        supersedes=marks.get("supersedes", ""),
        confirmed="confirmed" in marks,
        topic=marks.get("topic", ""),
        scope=scope,
        text=text,
        unclear=marks.get("unclear", ""),
    )
    return identified(fact)


def _split_value(value: str) -> tuple[str, Marks]:
    """Splits an object from its marks; brackets without marks are a person's words."""
    match = _BRACKETS.fullmatch(value)
    if not match:
        return value.strip(), {}
    marks, words = _read_marks(match[2])
    if not marks or not _in_order(marks):
        return value.strip(), {}
    # Only a date proves that brackets with other words in them hold marks, too.
    if words and _DATES.isdisjoint(marks):
        return value.strip(), {}
    remaining_brackets = f" ({', '.join(words)})" if words else ""
    return (match[1] + remaining_brackets).strip(), marks


def _read_marks(inner: str) -> tuple[Marks, list[str]]:
    """Returns the marks in a pair of brackets, and the words that are no marks."""
    marks: Marks = {}
    words: list[str] = []
    for text in map(str.strip, inner.split(",")):
        mark = _read_mark(text)
        # A mark that is repeated or impossible is kept as words, so that no text is lost.
        is_new = marks.keys().isdisjoint(mark)
        is_valid = all(map(_is_valid, mark, mark.values()))
        if mark and is_new and is_valid:
            marks.update(mark)
        else:
            words.append(text)
    return marks, words


def _read_mark(text: str) -> Marks:
    """Returns the mark in a text, or an empty mapping; a span of days is two marks."""
    span = _SPAN.fullmatch(text)
    if span:
        return {"from": span[1], "until": span[2]}
    edge = _EDGE.fullmatch(text)
    if edge:
        word, day = edge.groups()
        name = "from" if word in (None, "since", "from") else "until"
        return {name: day}
    if text in _FLAGS:
        return {text: text}
    key, _, value = text.partition(":")
    if key in _KEYS and value.strip():
        return {key: value.strip()}
    return {}


def _is_valid(key: str, value: str) -> bool:
    if key == "conf":
        try:
            return 0 <= float(value) <= 1
        except ValueError:
            return False
    if key in _DATES:
        return _first_day(value) is not None and _last_day(value) is not None
    return True


def _first_day(text: str) -> date | None:
    """Returns the first day of a day, month or year."""
    suffix = {4: "-01-01", 7: "-01"}.get(len(text), "")
    return _read_date(text + suffix)


def _last_day(text: str) -> date | None:
    """Returns the last day of a day, month or year."""
    if len(text) == 4:
        return _read_date(f"{text}-12-31")
    if len(text) != 7:
        return _read_date(text)
    ends = (_read_date(f"{text}-{end}") for end in (31, 30, 29, 28))
    return next(filter(None, ends), None)


def _read_date(text: str) -> date | None:
    # `fromisoformat` accepts digits of other scripts.
    if not text.isascii():
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _in_order(marks: Mapping[str, str]) -> bool:
    first = _first_day(marks.get("from", ""))
    last = _last_day(marks.get("until", ""))
    if first is None or last is None:
        return True
    return first <= last


# --- The graph --------------------------------------------------------------------------------


def has_ended(fact: Fact, day: date) -> bool:
    """Returns whether the fact no longer holds on this day."""
    if fact.struck:
        return True
    return ends(fact) < day


def begins(fact: Fact) -> date:
    """Returns the first day of the fact; `date.min` where the page does not say it."""
    return fact.valid_from or date.min


def ends(fact: Fact) -> date:
    """Returns the last day of the fact; `date.max` where the page does not say it."""
    return fact.valid_until or date.max


def folded_facts(facts: Iterable[Fact], day: date, single: Iterable[str] = SINGLE) -> list[Fact]:
    """Returns the facts of one scope as they hold on this day, each once.

    Of several values of a single-valued predicate the latest holds. The others are returned as
    ended by it, even where the page does not strike them through.
    """
    by_id = _unique_facts(facts)
    for rivals in _rivals(by_id.values(), day, frozenset(single)):
        # A stable sort: where the days are equal, the later fact on the page wins.
        rivals.sort(key=begins)
        for fact, newer in pairwise(rivals):
            until = fact.valid_until
            if until is None:
                until = newer.valid_from
            by_id[fact.id] = replace(fact, struck=True, valid_until=until)
    return list(by_id.values())


def _rivals(facts: Collection[Fact], day: date, single: frozenset[str]) -> list[list[Fact]]:
    """Groups the facts that hold on this day by subject and single-valued predicate."""
    names = canonical(facts)
    unclear = unclear_ids(facts, day)
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        if fact.temporary or fact.predicate not in single:
            continue
        # A person decides which of two unclear values holds.
        if fact.id in unclear:
            continue
        if begins(fact) <= day and not has_ended(fact, day):
            subject, predicate = fact.key
            key = (names.get(subject, subject), predicate)
            groups.setdefault(key, []).append(fact)
    return list(groups.values())


def unclear_ids(facts: Iterable[Fact], day: date) -> frozenset[str]:
    """Returns the ids of facts that contradict each other until a person decides.

    One mark is enough for both. A mark whose fact is gone or has ended does not count.
    """
    by_id = {fact.id: fact for fact in facts if not has_ended(fact, day)}
    pairs = ((fact.id, fact.unclear) for fact in by_id.values() if fact.unclear in by_id)
    return frozenset(id_ for pair in pairs for id_ in pair)


def unclear_mark(text: str) -> str:
    """Returns the id in the mark `unclear` of an item's text, or ``""``."""
    match = _UNCLEAR.search(text)
    return match[1] if match else ""


def _unique_facts(facts: Iterable[Fact]) -> dict[str, Fact]:
    """Returns each fact once, by id; a fact that holds wins over its struck copy."""
    by_id: dict[str, Fact] = {}
    for fact in facts:
        previous = by_id.get(fact.id)
        if previous is None or not fact.struck:
            # Fault: who moves back writes the first value once more, below the others.
            by_id.pop(fact.id, None)
            by_id[fact.id] = fact
    return by_id


def current(facts: Iterable[Fact], day: date, single: Iterable[str] = SINGLE) -> list[Fact]:
    """Returns the facts of one scope that hold on this day, and those that begin later.

    A fact that another fact replaced after this day still holds, although it is struck through now.
    """
    single_predicates = frozenset(single)
    unstruck = _without_later_strikes(list(facts), day)
    valid: list[Fact] = []
    for fact in folded_facts(unstruck, day, single_predicates):
        # A later value of a single-valued predicate does not hold beside the present one.
        is_later_value = fact.predicate in single_predicates and begins(fact) > day
        if not has_ended(fact, day) and not is_later_value:
            valid.append(fact)
    return valid


def _without_later_strikes(facts: list[Fact], day: date) -> list[Fact]:
    """Returns the facts, with those open that a fact beginning after `day` replaced."""
    if not any(_was_true(fact, day) for fact in facts):
        return facts
    starts = _starts(facts)
    unstruck: list[Fact] = []
    for fact in facts:
        if _was_true(fact, day) and fact.valid_until in starts(fact):
            fact = replace(fact, struck=False)
        unstruck.append(fact)
    return unstruck


def valid_on(facts: Iterable[Fact], day: date, single: Iterable[str] = SINGLE) -> list[Fact]:
    """Returns the facts of one scope that held on this day, by what the page says today.

    A fact that is struck through counts within its days, and not at all without a last day.
    """
    unstruck = [replace(fact, struck=False) if _was_true(fact, day) else fact for fact in facts]
    return [
        fact
        for fact in folded_facts(unstruck, day, single)
        if not has_ended(fact, day) and begins(fact) <= day
    ]


def _was_true(fact: Fact, day: date) -> bool:
    """Returns whether a struck fact held on this day; its last day belongs to its successor."""
    if not fact.struck or fact.valid_until is None:
        return False
    return begins(fact) <= day < fact.valid_until


def _starts(facts: Iterable[Fact]) -> Callable[[Fact], set[date | None]]:
    """Returns a lookup: the first days of all facts with the same subject and predicate."""
    all_facts = list(facts)
    names = canonical(all_facts)

    def key(fact: Fact) -> tuple[str, str]:
        subject, predicate = fact.key
        return names.get(subject, subject), predicate

    starts: dict[tuple[str, str], set[date | None]] = {}
    for fact in all_facts:
        starts.setdefault(key(fact), set()).add(fact.valid_from)
    return lambda fact: starts[key(fact)]


def canonical(facts: Iterable[Fact]) -> dict[str, str]:
    """Returns the folded name of the subject for each alias."""
    subjects: dict[str, str] = {}
    for fact in facts:
        if fact.predicate == ALIAS and not fact.struck:
            subjects.setdefault(folded(fact.object), folded(fact.subject))
    return subjects
