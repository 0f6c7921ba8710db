"""Changes of FACTS.md as ops: what becomes of the page when a fact is added, corrected, ended, deleted or confirmed.

Pure. Each change is worked out on the page as it is at that moment, so that a page which somebody saves meanwhile gets
the change that fits it: the same fact said twice is one, whoever says it.
"""

from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from vault_memory.markdown.document import SectionedDoc
from vault_memory.rules.edits.ops import AddHeading, Append, Op, Remove, Replace
from vault_memory.rules.facts.fact import (
    ALIAS,
    SINGLE,
    TEMPORARY,
    Fact,
    begins,
    canonical,
    folded,
    has_ended,
    identified,
    read_fact,
    read_facts,
    section_facts,
    snake_case,
)
from vault_memory.rules.search.tokens import is_run, pairs, without_last_letters

ALIKE = 0.7
"""Jaccard, from which on two facts say the same"""
LOSES = 0.3
"""The confidence of what another statement won over"""
_TRIMMED = ".,;:!?…。，、；：！？\"'“”„«»()[]{}"

Resolution = Literal["temporal", "keep_existing", "use_new", "merge", "ask"]


@dataclass(frozen=True, slots=True)
class FactRules:
    """How statements about one thing go together."""

    today: date
    single: frozenset[str] = SINGLE
    conflicts: Resolution = "temporal"


@dataclass(frozen=True, slots=True)
class Change:
    """What a change does to the page."""

    outcome: str
    """added, duplicate, refined, superseded, kept; corrected, invalidated, deleted, confirmed; without any op unknown,
    or unreadable: it could not be told apart from other text"""
    id: str
    """of the fact as it is then"""
    ops: tuple[Op, ...] = ()
    """in order; the last one says whether it came to pass"""
    asks: tuple[Op, ...] = field(default=())
    """what a person is to decide"""
    ended: tuple[str, ...] = ()
    """the ids of facts that another one ended"""


def words_of(text: str) -> frozenset[str]:
    """The words of a text by which facts are compared; of scripts without spaces the pairs of letters."""
    found: list[str] = []
    for word in folded(text).split():
        trimmed = word.strip(_TRIMMED) or word
        found += pairs(trimmed) if is_run(trimmed) else [trimmed]
    return frozenset(without_last_letters(found))


def add_fact(doc: SectionedDoc, said: Fact, rules: FactRules) -> Change:
    """What becomes of the page when `said` is stated: nothing when it says so already."""
    page = _Page.of(doc, said)
    new = _written_as(said, page, rules.today)
    if not is_writable(new):
        return Change("unreadable", new.id)
    if twin := _twin(page, new):
        return _unchanged(twin)
    if older := _less_said(page, new):
        finer = identified(replace(older, object=new.object, ref=new.ref or older.ref))
        return Change("refined", finer.id, (_rewrite(older, finer),))
    if new.predicate in rules.single and not new.temporary:
        return _one_value(page, new, rules)
    return _added(page, _struck_if_past(new, rules.today))


def is_said(doc: SectionedDoc, said: Fact) -> bool:
    """Whether the page says it as well, or has said it of a time that is over and in which this one begins.

    When an undated one begins is not known: any time will do.
    """
    words, since = words_of(said.object), said.valid_from
    for old in _Page.of(doc, said).same:
        over = (
            since is not None
            and old.valid_until is not None
            and old.valid_until < since
        )
        if not over and (
            words <= words_of(old.object) or _alike(words, words_of(old.object))
        ):
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Page:
    """The part of the note that is about one subject."""

    heading: str
    """under which new facts of the subject go"""
    exists: bool
    same: tuple[Fact, ...]
    """the facts of the subject with the predicate"""

    @classmethod
    def of(cls, doc: SectionedDoc, said: Fact) -> "_Page":
        names = aliases_in(doc)
        wanted = folded(said.subject)
        wanted = names.get(wanted, wanted)
        headings = [section.name for section in doc.sections]
        keys = list(map(folded, headings))
        mine = [at for at, key in enumerate(keys) if names.get(key, key) == wanted]
        mine.sort(key=lambda at: keys[at] != wanted)
        facts = [
            fact for at in mine for fact in section_facts(doc.sections[at], said.scope)
        ]
        heading = headings[mine[0]] if mine else " ".join(said.subject.split())
        predicate = snake_case(said.predicate)
        return cls(
            heading,
            bool(mine),
            tuple(fact for fact in facts if fact.predicate == predicate),
        )


def aliases_in(doc: SectionedDoc) -> dict[str, str]:
    """What each alias on the page stands for."""
    bare = ALIAS.encode()
    return canonical(
        fact
        for section in doc.sections
        if bare in section.body.lower()
        for fact in section_facts(section)
    )


def _written_as(said: Fact, page: _Page, today: date) -> Fact:
    """The fact as it would stand on the page."""
    new = replace(
        said,
        subject=page.heading,
        predicate=snake_case(said.predicate),
        object=" ".join(said.object.split()),
        struck=False,
        text="",
    )
    new = identified(
        replace(new, temporary=new.temporary or new.predicate in TEMPORARY)
    )
    ended = any(
        folded(old.object) == folded(new.object) and has_ended(old, today)
        for old in page.same
    )
    again = (
        ended
        and new.valid_from is None
        and (new.valid_until is None or new.valid_until >= today)
    )
    return identified(replace(new, valid_from=today)) if again else new


def _twin(page: _Page, new: Fact) -> Fact | None:
    """The fact on the page that says it already."""
    if known := next((old for old in page.same if old.id == new.id), None):
        return known
    words = words_of(new.object)
    alive = [old for old in page.same if not old.struck and _overlap(old, new)]
    for old in alive:
        if folded(old.object) == folded(new.object):
            return old
    for old in alive:
        theirs = words_of(old.object)
        if words < theirs or (not theirs < words and _alike(words, theirs)):
            return old
    return None


def _less_said(page: _Page, new: Fact) -> Fact | None:
    """The fact on the page that says the same with fewer words."""
    words = words_of(new.object)
    alive = (old for old in page.same if not old.struck and _overlap(old, new))
    return next((old for old in alive if words_of(old.object) < words), None)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """By their words and the predicate that they share; what differs in a number is not the same."""
    if any(any(letter.isdigit() for letter in word) for word in one ^ other):
        return False
    return (len(one & other) + 1) / (len(one | other) + 1) >= ALIKE


def _overlap(one: Fact, other: Fact) -> bool:
    return begins(one) <= (other.valid_until or date.max) and begins(other) <= (
        one.valid_until or date.max
    )


# ---- predicates with one value --------------------------------------------------------------------------------------


def _one_value(page: _Page, new: Fact, rules: FactRules) -> Change:
    others = [old for old in page.same if not old.temporary]
    since = new.valid_from or rules.today
    if new.valid_until is not None and new.valid_until < rules.today:
        return _added(page, replace(new, struck=True))
    open_ = [
        old
        for old in others
        if not old.struck and begins(old) <= since <= (old.valid_until or date.max)
    ]
    newer = [begins(old) for old in others if old.valid_from and old.valid_from > since]
    if open_ and rules.conflicts != "temporal":
        return _settled(page, new, open_, rules)
    if newer:
        until = min([*newer, *([new.valid_until] if new.valid_until else [])])
        new = replace(new, valid_until=until, struck=until <= rules.today)
    return _superseding(page, new, open_, since, rules)


def _superseding(
    page: _Page, new: Fact, ended: list[Fact], since: date, rules: FactRules
) -> Change:
    """The new value ends the others from the day on which it begins to hold."""
    if not ended:
        return _added(page, new)
    new = identified(replace(new, valid_from=since, supersedes=ended[-1].id))
    ops = [_rewrite(old, _ended(old, since, rules.today, LOSES)) for old in ended]
    added = _added(page, new)
    return replace(
        added,
        outcome="superseded",
        ops=(*ops, *added.ops),
        ended=tuple(old.id for old in ended),
    )


def _settled(page: _Page, new: Fact, standing: list[Fact], rules: FactRules) -> Change:
    """As the person who set `conflicts` wants it."""
    last = standing[-1]
    match rules.conflicts:
        case "keep_existing":
            known = (
                old
                for old in page.same
                if old.confidence <= LOSES and folded(old.object) == folded(new.object)
            )
            if before := next(known, None):
                return _unchanged(before)
            lost = replace(new, struck=True, confidence=LOSES)
            return replace(_added(page, lost), outcome="kept")
        case "merge":
            both = identified(
                replace(
                    last, object=f"{last.object}, {new.object}", ref=new.ref or last.ref
                )
            )
            return Change("refined", both.id, (_rewrite(last, both),))
        case "ask":
            since = new.valid_from or rules.today
            asks = tuple(
                _rewrite(old, _ended(old, since, rules.today, LOSES))
                for old in standing
            )
            return replace(
                _added(page, identified(replace(new, valid_from=since))), asks=asks
            )
    since = new.valid_from or rules.today
    newest = max(
        [
            since,
            *(
                begins(old)
                for old in page.same
                if not old.temporary and begins(old) <= rules.today
            ),
        ]
    )
    return _superseding(page, replace(new, valid_from=newest), standing, newest, rules)


def _ended(old: Fact, since: date, today: date, confidence: float) -> Fact:
    """It ends on the day on which the other begins; while that is to come, it is not struck through."""
    return replace(
        old,
        valid_until=max(since, begins(old)),
        struck=since <= today,
        confidence=min(confidence, old.confidence),
    )


def _struck_if_past(new: Fact, today: date) -> Fact:
    return replace(new, struck=new.valid_until is not None and new.valid_until < today)


def _added(page: _Page, new: Fact) -> Change:
    new = identified(new)
    op = (
        Append(page.heading, new.line())
        if page.exists
        else AddHeading(page.heading, (new.line(),))
    )
    return Change("added", new.id, (op,))


def _rewrite(old: Fact, new: Fact) -> Op:
    return Replace(old.subject, old.text, new.line(), exact=True)


def _unchanged(known: Fact) -> Change:
    """The page says it already; the op tells the audit so, and does nothing."""
    return Change(
        "duplicate",
        known.id,
        (Replace(known.subject, known.text, known.text, exact=True),),
    )


# ---- changes by id --------------------------------------------------------------------------------------------------


def invalidate_fact(doc: SectionedDoc, fact: str, scope: str, ended: date) -> Change:
    """Strike the fact through: it no longer holds from this day on."""
    known = _with_id(doc, fact, scope)
    if not known:
        return Change("unknown", fact)
    standing = [old for old in known if not old.struck]
    if not standing:
        return _unchanged(known[0])
    ops = []
    for old in standing:
        until = max(begins(old), min(ended, old.valid_until or date.max))
        ops.append(_rewrite(old, replace(old, struck=True, valid_until=until)))
    return Change("invalidated", fact, tuple(ops))


def delete_fact(doc: SectionedDoc, fact: str, scope: str) -> Change:
    """Take the fact out of the page, as if it had never been said."""
    known = _with_id(doc, fact, scope)
    ops = tuple(Remove(old.subject, old.text, exact=True) for old in known)
    return Change("deleted" if known else "unknown", fact, ops)


def confirm_fact(doc: SectionedDoc, fact: str, scope: str) -> Change:
    """A person says that it is so: it does not fade."""
    known = _with_id(doc, fact, scope)
    if not known:
        return Change("unknown", fact)
    if all(old.confirmed for old in known):
        return _unchanged(known[0])
    return Change(
        "confirmed",
        fact,
        tuple(
            _rewrite(old, replace(old, confirmed=True, confidence=1.0))
            for old in known
            if not old.confirmed
        ),
    )


def correct_fact(doc: SectionedDoc, fact: str, right: Fact, rules: FactRules) -> Change:
    """Put what is right in the place of what was wrong from the start."""
    known = _with_id(doc, fact, right.scope)
    if not known:
        return Change("unknown", fact)
    old = known[0]
    new = identified(
        replace(right, predicate=snake_case(right.predicate), text=old.text)
    )
    page = _Page.of(doc, new)
    new = identified(replace(new, subject=page.heading))
    if new.id == old.id and new == replace(old, id=new.id):
        return _unchanged(old)
    if any(other.id == new.id and other.id != old.id for other in page.same):
        return Change("corrected", new.id, (Remove(old.subject, old.text, exact=True),))
    if page.exists and page.heading == old.subject:
        return Change("corrected", new.id, (_rewrite(old, new),))
    added = _added(page, replace(new, text=""))
    return Change(
        "corrected", new.id, (Remove(old.subject, old.text, exact=True), *added.ops)
    )


def _with_id(doc: SectionedDoc, fact: str, scope: str) -> list[Fact]:
    """The lines that state it; more than one where a person wrote it twice."""
    return [one for one in read_facts(doc, scope) if one.id == fact]


def is_writable(fact: Fact) -> bool:
    """Whether the fact, written as a line, reads as the same fact."""
    read = read_fact(fact.line(), fact.subject, fact.scope)
    meant = replace(
        identified(fact),
        text="",
        temporary=fact.temporary or fact.predicate in TEMPORARY,
    )
    return read is not None and replace(read, text="") == meant
