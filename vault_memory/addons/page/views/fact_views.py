"""Facts, people and things: what holds, what has ended, where it comes from, and the buttons."""

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from vault_memory.addons.page.forms import AskedFields
from vault_memory.addons.page.page_answers import Answer, NotHere, PageView, page_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.viewers.fact_viewer import FactRow, fact_rows
from vault_memory.addons.page.views.outcome import answer_of, own_path
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.edits.edit_result import Edit
    from vault_memory.facts.entity_finder import EntityInfo


TABLE_LENGTH = 50
"""Facts in one part of the table"""
MOST_ENDED = 50
MOST_IN_TIMELINE = 200

Start = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
"""How many facts are before the table"""


class FactsFields(msgspec.Struct):
    """The fields of `/facts`."""

    entity: str = ""
    start: Start = 0


class AddFactFields(AskedFields):
    """The form of the button Add."""

    subject: str
    predicate: str
    object: str
    scope: str = ""
    since: str = ""
    until: str = ""
    temporary: bool = False
    to: str = "/facts"


class FactButtonFields(msgspec.Struct):
    """The form of a button on one fact."""

    id: str
    to: str = "/facts"


class CorrectFactFields(AskedFields):
    """The form of the button Correct; an empty field is right as it is."""

    id: str
    object: str = ""
    predicate: str = ""
    since: str = ""
    until: str = ""
    to: str = "/facts"


class FactTable(NamedTuple):
    """One part of the facts that hold now."""

    rows: list[FactRow]
    total: int
    first: int
    """the number of the first of them, from 1"""
    previous: str
    """path of the part before; empty for the first"""
    next: str


def show_facts(viewer: Viewer, query: FactsFields) -> PageView:
    entity = query.entity.strip()
    current = viewer.facts.current(entity)
    timeline = viewer.facts.timeline(entity) if entity else []
    ended = _ended(timeline, current)
    data = {
        "entity": entity,
        "table": _table(current, query.entity, query.start),
        "ended": ended[-MOST_ENDED:],
        "ended_total": len(ended),
        "timeline": timeline[-MOST_IN_TIMELINE:],
        "timeline_total": len(timeline),
        "scopes": viewer.scopes,
        "to": _path_of(entity, query.start),
    }
    title = f"Facts about {entity}" if entity else "Facts"
    return PageView("facts.html", title, data)


def _ended(timeline: list[FactRow], current: list[FactRow]) -> list[FactRow]:
    """Returns the facts that hold no longer, or not yet, oldest first."""
    # A fact that a newer one replaced is not struck through on its page, and one of next
    # month holds later: only the list of current facts tells both.
    ids = {row.id for row in current}
    return [row for row in timeline if row.id not in ids]


def _table(rows: list[FactRow], entity: str, start: int) -> FactTable:
    end = start + TABLE_LENGTH
    previous = following = ""
    if start:
        previous = _path_of(entity, max(0, start - TABLE_LENGTH))
    if end < len(rows):
        following = _path_of(entity, end)
    return FactTable(rows[start:end], len(rows), start + 1, previous, following)


def _path_of(entity: str, start: int) -> str:
    return page_path("/facts", entity=entity, start=start or "")


# ---- buttons ---------------------------------------------------------------------------


def add(viewer: Viewer, form: AddFactFields) -> Answer:
    # Fault: after the call, an error about the path would hide what was done.
    own_path(form.to)
    # Fault: a fact in a scope of others would be read by them.
    if form.scope and form.scope not in viewer.scopes:
        raise NotHere(f"there are no notes of {form.scope!r}", hint="choose a page of the list")
    fact = {
        "subject": form.subject,
        "predicate": form.predicate,
        "object": form.object,
        "valid_from": _day(form.since),
        "valid_until": _day(form.until),
        "temporary": form.temporary,
    }
    return answer_of(viewer.facts.add(fact, form.scope), form.to)


def confirm(viewer: Viewer, form: FactButtonFields) -> Answer:
    return _press(viewer.facts.confirm, form)


def end(viewer: Viewer, form: FactButtonFields) -> Answer:
    return _press(viewer.facts.end, form)


def delete(viewer: Viewer, form: FactButtonFields) -> Answer:
    return _press(viewer.facts.delete, form)


def correct(viewer: Viewer, form: CorrectFactFields) -> Answer:
    own_path(form.to)
    right: dict[str, Any] = {
        "object": form.object.strip() or None,
        "predicate": form.predicate.strip() or None,
        "valid_from": _day(form.since),
        "valid_until": _day(form.until),
    }
    if all(value is None for value in right.values()):
        raise UsageError(
            "the form does not say what is right", hint="write the right value, or press Delete"
        )
    return answer_of(viewer.facts.correct(form.id, right), form.to)


def _press(call: "Callable[[str], Edit]", form: FactButtonFields) -> Answer:
    # Fault: after the call, an error about the path would hide what was done.
    own_path(form.to)
    return answer_of(call(form.id), form.to)


def _day(text: str) -> date | None:
    """Returns a day of a form; None for an empty field. Raises UsageError."""
    if not text.strip():
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"{text!r} is not a date", hint="write it like 2026-01-31") from None


PEOPLE_LENGTH = 100
"""Entities in one part of the table"""
MOST_FACTS = 50
"""Facts in the view of an entity; the view of facts has all"""


class PeopleFields(msgspec.Struct):
    """The fields of `/people`."""

    q: str = ""
    """a word of a name or an alias"""
    type: str = ""
    start: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0


class PersonFields(msgspec.Struct):
    """The fields of `/people/NAME`."""

    name: str


def show_people(viewer: Viewer, query: PeopleFields) -> PageView:
    entities = viewer.facts.entities()
    matches = [entity for entity in entities if _is_wanted(entity, query)]
    end = query.start + PEOPLE_LENGTH
    data = {
        "query": query,
        "types": sorted({entity.type for entity in entities}),
        "any": bool(entities),
        "rows": matches[query.start : end],
        "total": len(matches),
        "previous": _people_path(query, query.start - PEOPLE_LENGTH) if query.start else "",
        "next": _people_path(query, end) if end < len(matches) else "",
        "person_path": person_path,
    }
    return PageView("people.html", "People", data)


def _is_wanted(entity: "EntityInfo", query: PeopleFields) -> bool:
    if query.type and entity.type != query.type:
        return False
    word = query.q.strip().casefold()
    names = (entity.name, *entity.aliases)
    return any(word in name.casefold() for name in names)


def _people_path(query: PeopleFields, start: int) -> str:
    first = max(0, start)
    return page_path("/people", q=query.q, type=query.type, start=first or "")


def person_path(name: str) -> str:
    """Returns the path of the view of a person or a thing."""
    # Fault: a browser takes `..` in a path for the folder above, however it is written.
    if {".", ".."} & set(name.split("/")):
        return page_path("/facts", entity=name)
    return page_path(f"/people/{name}")


def show_person(viewer: Viewer, query: PersonFields) -> PageView:
    name = query.name.strip()
    if not name:
        raise NotHere("there is no name in the path", hint="choose a name of the list")
    entity = viewer.facts.entity(name)
    if not entity.facts and not entity.mentions:
        # No error: the notice of the change that took the last fact away is shown here.
        return PageView("person_unknown.html", "Not here", {"name": name}, 404)
    data = {
        "entity": entity,
        # Fault: a town may be in thousands of facts, each with its buttons.
        "facts": fact_rows(entity.facts)[:MOST_FACTS],
        "facts_total": len(entity.facts),
        "to": person_path(entity.name),
        "scopes": viewer.scopes,
        "person_path": person_path,
    }
    return PageView("person.html", entity.name, data)


MOST_AROUND = 50
ROLES = {"user": "a person", "assistant": "the bot", "tool": "a tool"}
"""Role of a turn → who spoke, when the turn names no person"""


class SourceFields(msgspec.Struct):
    """The fields of `/source`."""

    ref: str = ""
    """`NOTE:LINE`, or the id of a turn, a fact, a held candidate, a change or an item"""
    around: Annotated[int, msgspec.Meta(ge=0, le=MOST_AROUND)] = 2
    """how many turns before and after"""


def show_source(viewer: Viewer, query: SourceFields) -> PageView:
    ref = query.ref.strip()
    data = {
        "ref": ref,
        "around": query.around,
        "most_around": MOST_AROUND,
        "roles": ROLES,
        "origin": viewer.source(ref, query.around) if ref else None,
    }
    return PageView("source.html", "Source", data)
