"""Changes of FACTS.md as ops: a fact is added, corrected, ended, deleted or confirmed. Pure.

Each change is computed from the page as it is at that moment. So a page that a person saves
meanwhile gets the change that fits it, and the same fact stated twice is one fact.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal, assert_never

from vault_memory.markdown.document import Section, SectionedDoc
from vault_memory.rules.edits.ops import AddHeading, Append, Op, Remove, Replace
from vault_memory.rules.facts.fact import (
    ALIAS,
    SINGLE,
    SUBJECT_LEVEL,
    TEMPORARY,
    Fact,
    begins,
    canonical,
    current,
    ends,
    folded,
    has_ended,
    identified,
    read_fact,
    read_facts,
    section_facts,
    snake_case,
    top_level_items,
)
from vault_memory.rules.facts.inference import known_since
from vault_memory.rules.facts.values import are_alike, same_value, words_of

LOSES = 0.3
"""The confidence of a fact that a rival statement replaced"""
ANOTHER_VALUE = "another value was stated (fact {})"
"""Why a person is asked about a fact; names the fact with the other value"""

Resolution = Literal["temporal", "keep_existing", "use_new", "merge", "ask"]


@dataclass(frozen=True, slots=True)
class FactRules:
    """How statements with the same subject and predicate are combined."""

    today: date
    single: frozenset[str] = SINGLE
    conflicts: Resolution = "temporal"
    modes: Mapping[str, Resolution] = field(default_factory=dict)
    """by predicate; of the others `conflicts`"""

    def mode_of(self, predicate: str) -> Resolution:
        """Returns how two values of a predicate are combined."""
        return self.modes.get(snake_case(predicate), self.conflicts)


@dataclass(frozen=True, slots=True)
class Change:
    """What a change does to the page."""

    outcome: str
    """added, duplicate, refined, superseded, kept; corrected, invalidated, deleted, confirmed;
    without any op: unknown, or unreadable (the line would not be read as this fact)"""
    id: str
    """of the fact after the change"""
    ops: tuple[Op, ...] = ()
    """in order; the result of the last op is the result of the change"""
    asks: tuple[Op, ...] = field(default=())
    """ops that a person decides about"""
    ended: tuple[str, ...] = ()
    """the ids of facts that this fact ended"""


# --- Adding -----------------------------------------------------------------------------------


def add_fact(doc: SectionedDoc, statement: Fact, rules: FactRules) -> Change:
    """Returns the change of the page when `statement` is added."""
    page = _SubjectPage.of(doc, statement)
    new = _as_written(statement, page, rules.today)
    if not is_writable(new):
        return Change("unreadable", new.id)
    comparable = _without_replaced(page, new, rules)
    twin = _find_twin(comparable, new)
    if twin:
        return _unchanged(twin)
    shorter = _find_shorter(comparable, new)
    if shorter:
        refined = replace(shorter, object=new.object, ref=new.ref or shorter.ref)
        refined = identified(refined)
        return Change("refined", refined.id, (rewrite(shorter, refined),))
    if new.predicate in rules.single and not new.temporary:
        return _add_single_value(page, new, rules)
    return _added(page, replace(new, struck=ends(new) < rules.today))


def is_said(doc: SectionedDoc, statement: Fact) -> bool:
    """Returns whether the page has an equal fact that does not end before `statement` begins.

    A statement without a first day is equal to a fact of any time.
    """
    return bool(equal_facts(doc, statement))


def equal_facts(doc: SectionedDoc, statement: Fact) -> list[Fact]:
    """Returns the facts of the page for which `is_said` is true."""
    words = words_of(statement.object)
    equal: list[Fact] = []
    for fact in _SubjectPage.of(doc, statement).same:
        fact_words = words_of(fact.object)
        is_equal = words <= fact_words or are_alike(words, fact_words)
        if is_equal and ends(fact) >= begins(statement):
            equal.append(fact)
    return equal


@dataclass(frozen=True, slots=True)
class _SubjectPage:
    """The sections of the note that are about one subject."""

    heading: str
    """the heading for new facts of the subject"""
    exists: bool
    same: tuple[Fact, ...]
    """the facts of the subject with the predicate"""

    @classmethod
    def of(cls, doc: SectionedDoc, statement: Fact) -> "_SubjectPage":
        """Returns the sections of the statement's subject, its aliases included."""
        sections = _sections_about(doc, statement.subject)
        predicate = snake_case(statement.predicate)
        same = tuple(
            fact
            for section in sections
            for fact in section_facts(section, statement.scope)
            if fact.predicate == predicate
        )
        if sections:
            return cls(sections[0].name, True, same)
        return cls(" ".join(statement.subject.split()), False, same)


def _sections_about(doc: SectionedDoc, name: str) -> list[Section]:
    """Returns the sections of a subject: those under its own name, then those of its aliases."""
    names = aliases_in(doc)
    key = folded(name)
    subject = names.get(key, key)
    own_sections: list[Section] = []
    alias_sections: list[Section] = []
    for section in doc.sections:
        if section.level != SUBJECT_LEVEL:
            continue
        key = folded(section.name)
        if key == subject:
            own_sections.append(section)
        elif names.get(key, key) == subject:
            alias_sections.append(section)
    return own_sections + alias_sections


def unread_lines(doc: SectionedDoc) -> list[str]:
    """Returns the items of a note that are no facts, each with its subject."""
    return [
        f"{item.heading}: {item.text}"
        for item in top_level_items(doc)
        if read_fact(item.text, item.heading) is None
    ]


def aliases_in(doc: SectionedDoc) -> dict[str, str]:
    """Returns the folded subject for each alias on the page."""
    alias_bytes = ALIAS.encode()
    # Most sections have no alias; a search in the bytes is cheaper than reading their facts.
    sections = (section for section in doc.sections if alias_bytes in section.body.lower())
    return canonical(fact for section in sections for fact in section_facts(section))


def _as_written(statement: Fact, page: _SubjectPage, today: date) -> Fact:
    """Returns the fact as it would be read from the page."""
    predicate = snake_case(statement.predicate)
    new = identified(
        replace(
            statement,
            subject=page.heading,
            predicate=predicate,
            object=" ".join(statement.object.split()),
            struck=False,
            text="",
            temporary=statement.temporary or predicate in TEMPORARY,
        )
    )
    is_open = ends(new) >= today
    # A fact that ended and is stated again begins again today; else it would be the old fact.
    if new.valid_from is None and is_open and _ended_before(page, new, today):
        return identified(replace(new, valid_from=today))
    return new


def _ended_before(page: _SubjectPage, new: Fact, today: date) -> bool:
    """Returns whether the page has an ended fact with the same value."""
    value = folded(new.object)
    return any(folded(fact.object) == value and has_ended(fact, today) for fact in page.same)


def _without_replaced(page: _SubjectPage, new: Fact, rules: FactRules) -> _SubjectPage:
    """Returns the page without the open values that a line below them has replaced."""
    today = rules.today
    if new.predicate not in rules.single or new.valid_from not in (None, today):
        return page
    ids = {fact.id for fact in current(page.same, today, rules.single)}
    # Fault: a person who writes the new value below strikes the old one not through.
    comparable = (
        fact for fact in page.same if fact.struck or begins(fact) > today or fact.id in ids
    )
    return replace(page, same=tuple(comparable))


def _find_twin(page: _SubjectPage, new: Fact) -> Fact | None:
    """Returns the fact on the page that states the same."""
    for fact in page.same:
        if fact.id == new.id:
            return fact
    open_facts = list(_overlapping(page, new))
    for fact in open_facts:
        if same_value(fact.object, new.object):
            return fact
    words = words_of(new.object)
    for fact in open_facts:
        fact_words = words_of(fact.object)
        if words < fact_words:
            return fact
        if not fact_words < words and are_alike(words, fact_words):
            return fact
    return None


def _find_shorter(page: _SubjectPage, new: Fact) -> Fact | None:
    """Returns the fact on the page that states the same with fewer words."""
    words = words_of(new.object)
    for fact in _overlapping(page, new):
        if words_of(fact.object) < words:
            return fact
    return None


def _overlapping(page: _SubjectPage, new: Fact) -> Iterator[Fact]:
    """Yields the open facts whose days overlap with those of the new fact."""
    for fact in page.same:
        if not fact.struck and _overlap(fact, new):
            yield fact


def _overlap(first: Fact, second: Fact) -> bool:
    return begins(first) <= ends(second) and begins(second) <= ends(first)


# --- Predicates with one value ----------------------------------------------------------------


def _add_single_value(page: _SubjectPage, new: Fact, rules: FactRules) -> Change:
    if ends(new) < rules.today:
        return _added(page, replace(new, struck=True))
    since = new.valid_from or rules.today
    permanent = [fact for fact in page.same if not fact.temporary]
    rivals = [fact for fact in permanent if _is_open_on(fact, since)]
    if rivals and rules.mode_of(new.predicate) != "temporal":
        return _resolve(page, new, rivals, rules)
    until = _first_start_after(permanent, since)
    # A statement about the past ends where the page has a later value.
    if until is not None:
        until = min(until, ends(new))
        new = replace(new, valid_until=until, struck=until <= rules.today)
    return _supersede(page, new, rivals, since, rules.today)


def _first_start_after(facts: Iterable[Fact], day: date) -> date | None:
    return min((on for on in map(known_since, facts) if on > day), default=None)


def _is_open_on(fact: Fact, day: date) -> bool:
    if fact.struck:
        return False
    return known_since(fact) <= day <= ends(fact)


def _supersede(
    page: _SubjectPage, new: Fact, rivals: list[Fact], since: date, today: date
) -> Change:
    """Ends the rivals on the day on which the new value begins."""
    if not rivals:
        return _added(page, new)
    new = identified(replace(new, valid_from=since, supersedes=rivals[-1].id))
    ops = [rewrite(fact, _ended(fact, since, today)) for fact in rivals]
    added = _added(page, new)
    return replace(
        added, outcome="superseded", ops=(*ops, *added.ops), ended=tuple(fact.id for fact in rivals)
    )


def _resolve(page: _SubjectPage, new: Fact, rivals: list[Fact], rules: FactRules) -> Change:
    """Resolves a conflict as the setting `conflicts` says."""
    since = new.valid_from or rules.today
    mode = rules.mode_of(new.predicate)
    match mode:
        case "keep_existing":
            return _keep_existing(page, new)
        case "merge":
            return _merge_values(rivals[-1], new)
        case "ask":
            return _ask(page, new, rivals, since, rules.today)
        case "use_new" | "temporal":
            return _use_new(page, new, rivals, rules.today)
        case _:
            assert_never(mode)


def _keep_existing(page: _SubjectPage, new: Fact) -> Change:
    value = folded(new.object)
    for fact in page.same:
        if fact.confidence <= LOSES and folded(fact.object) == value:
            return _unchanged(fact)
    rejected = replace(new, struck=True, confidence=LOSES)
    return replace(_added(page, rejected), outcome="kept")


def _ask(page: _SubjectPage, new: Fact, rivals: list[Fact], since: date, today: date) -> Change:
    """Adds the new value with a mark. A person decides which of the values ends."""
    marked = replace(new, unclear=rivals[-1].id)
    written = replace(marked, text=marked.line())
    retracted = replace(written, struck=True, confidence=LOSES, unclear="")
    asks = [rewrite(fact, _ended(fact, since, today)) for fact in rivals]
    return replace(_added(page, marked), asks=(*asks, rewrite(written, retracted)))


def _merge_values(existing: Fact, new: Fact) -> Change:
    value = f"{existing.object}, {new.object}"
    merged = replace(existing, object=value, ref=new.ref or existing.ref)
    merged = identified(merged)
    return Change("refined", merged.id, (rewrite(existing, merged),))


def _use_new(page: _SubjectPage, new: Fact, rivals: list[Fact], today: date) -> Change:
    """Lets the new value win, even over values that began later than it."""
    starts = [begins(fact) for fact in page.same if not fact.temporary]
    past_starts = [start for start in starts if start <= today]
    own_start = new.valid_from or today
    newest = max([own_start, *past_starts])
    return _supersede(page, replace(new, valid_from=newest), rivals, newest, today)


def _ended(fact: Fact, since: date, today: date) -> Fact:
    """Returns the fact as it ends on `since`; it is struck through once that day has come."""
    return replace(
        fact,
        valid_until=max(since, begins(fact)),
        struck=since <= today,
        confidence=min(LOSES, fact.confidence),
        unclear="",
    )


def _added(page: _SubjectPage, new: Fact) -> Change:
    new = identified(new)
    op: Op
    if page.exists:
        op = Append(page.heading, new.line())
    else:
        op = AddHeading(page.heading, (new.line(),))
    return Change("added", new.id, (op,))


def rewrite(old: Fact, new: Fact) -> Op:
    """Returns the op that gives the line of a fact another text."""
    return Replace(old.subject, old.text, new.line(), exact=True)


def _unchanged(fact: Fact) -> Change:
    """Returns a change whose op does nothing, so that the audit records the statement."""
    op = Replace(fact.subject, fact.text, fact.text, exact=True)
    return Change("duplicate", fact.id, (op,))


# --- Changes by id ----------------------------------------------------------------------------


def invalidate_fact(doc: SectionedDoc, fact: str, scope: str, ended: date) -> Change:
    """Strikes the fact through: it does not hold from the day `ended` on."""
    copies = _with_id(doc, fact, scope)
    if not copies:
        return Change("unknown", fact)
    open_copies = [copy for copy in copies if not copy.struck]
    if not open_copies:
        return _unchanged(copies[0])
    ops: list[Op] = []
    for copy in open_copies:
        last_day = min(ended, ends(copy))
        until = max(begins(copy), last_day)
        ops.append(rewrite(copy, replace(copy, struck=True, valid_until=until)))
    return Change("invalidated", fact, tuple(ops))


def delete_fact(doc: SectionedDoc, fact: str, scope: str) -> Change:
    """Removes the fact from the page, as if it had never been stated."""
    copies = _with_id(doc, fact, scope)
    ops = tuple(Remove(copy.subject, copy.text, exact=True) for copy in copies)
    return Change("deleted" if copies else "unknown", fact, ops)


def confirm_fact(doc: SectionedDoc, fact: str, scope: str) -> Change:
    """Marks the fact as confirmed by a person, so that it does not fade."""
    copies = _with_id(doc, fact, scope)
    if not copies:
        return Change("unknown", fact)
    unconfirmed = [copy for copy in copies if not copy.confirmed]
    if not unconfirmed:
        return _unchanged(copies[0])
    ops = tuple(
        rewrite(copy, replace(copy, confirmed=True, confidence=1.0)) for copy in unconfirmed
    )
    return Change("confirmed", fact, ops)


def correct_fact(doc: SectionedDoc, fact: str, right: Fact, rules: FactRules) -> Change:
    """Replaces a fact that was wrong from the start by the right one."""
    copies = _with_id(doc, fact, right.scope)
    if not copies:
        return Change("unknown", fact)
    old = copies[0]
    new = replace(right, predicate=snake_case(right.predicate), text=old.text)
    page = _SubjectPage.of(doc, identified(new))
    new = identified(replace(new, subject=page.heading))
    if new == old:
        return _unchanged(old)
    removal = Remove(old.subject, old.text, exact=True)
    # The right fact is on the page already, so that only the wrong one has to go.
    if new.id != old.id and new.id in {same.id for same in page.same}:
        return Change("corrected", new.id, (removal,))
    if page.exists and page.heading == old.subject:
        return Change("corrected", new.id, (rewrite(old, new),))
    added = _added(page, replace(new, text=""))
    return Change("corrected", new.id, (removal, *added.ops))


def _with_id(doc: SectionedDoc, fact: str, scope: str) -> list[Fact]:
    """Returns the lines that state a fact; several where a person wrote it twice."""
    return [copy for copy in read_facts(doc, scope) if copy.id == fact]


def is_writable(fact: Fact) -> bool:
    """Returns whether the fact, written as a line, is read back as the same fact."""
    copy = read_fact(fact.line(), fact.subject, fact.scope)
    if copy is None:
        return False
    temporary = fact.temporary or fact.predicate in TEMPORARY
    expected = replace(identified(fact), text="", temporary=temporary)
    return replace(copy, text="") == expected
