"""People: who and what the notes are about, and all that is known of each."""

from typing import TYPE_CHECKING, Annotated

import msgspec

from vault_memory.addons.page.facts.fact_sentences import fact_rows
from vault_memory.addons.page.page_answers import NotHere, PageView, page_path
from vault_memory.addons.page.viewer import Viewer

if TYPE_CHECKING:
    from vault_memory.facts.entity_finder import EntityInfo

TABLE_LENGTH = 100
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


def show_all(viewer: Viewer, query: PeopleFields) -> PageView:
    entities = viewer.facts.entities()
    matches = [entity for entity in entities if _is_wanted(entity, query)]
    end = query.start + TABLE_LENGTH
    data = {
        "query": query,
        "types": sorted({entity.type for entity in entities}),
        "any": bool(entities),
        "rows": matches[query.start : end],
        "total": len(matches),
        "previous": _path_of(query, query.start - TABLE_LENGTH) if query.start else "",
        "next": _path_of(query, end) if end < len(matches) else "",
        "person_path": person_path,
    }
    return PageView("people.html", "People", data)


def _is_wanted(entity: "EntityInfo", query: PeopleFields) -> bool:
    if query.type and entity.type != query.type:
        return False
    word = query.q.strip().casefold()
    names = (entity.name, *entity.aliases)
    return any(word in name.casefold() for name in names)


def _path_of(query: PeopleFields, start: int) -> str:
    first = max(0, start)
    return page_path("/people", q=query.q, type=query.type, start=first or "")


def person_path(name: str) -> str:
    """Returns the path of the view of a person or a thing."""
    # Fault: a browser takes `..` in a path for the folder above, however it is written.
    if {".", ".."} & set(name.split("/")):
        return page_path("/facts", entity=name)
    return page_path(f"/people/{name}")


def show(viewer: Viewer, query: PersonFields) -> PageView:
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
        "graph": viewer.facts.neighbourhood(entity.name),
        "to": person_path(entity.name),
        "scopes": viewer.scopes,
        "person_path": person_path,
    }
    return PageView("person.html", entity.name, data)
