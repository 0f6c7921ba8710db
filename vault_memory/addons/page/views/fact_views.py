"""Facts, people and things: what holds, what has ended, where it comes from, and the buttons."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from vault_memory.addons.page.forms import AskedFields
from vault_memory.addons.page.page_answers import Answer, NotHere, PageView, page_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.outcome import answer_of, own_path
from vault_memory.addons.page.wording import PERSON, cut_label, person, said_in
from vault_memory.api.json_contract import of_source
from vault_memory.errors import NoteNotFound, NoteUnreadable, UsageError
from vault_memory.facts.entity_finder import EntityInfo
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.properties.note_properties import Sort, note_properties
from vault_memory.markdown.visible_text import shown
from vault_memory.rules.facts.fact import Fact, folded
from vault_memory.rules.facts.relevance import unclear_values

if TYPE_CHECKING:
    from vault_memory.facts.entity_info import FactChange
    from vault_memory.search.results import Hit


MOST_ROWS = 40
"""Facts in one part of the list"""
MOST_ENDED = 40
MOST_SPANS = 20
MOST_CONNECTED = 40
MOST_MENTIONS = 3
"""Mentions that are shown of one note"""


class FactRow(NamedTuple):
    """A fact, and what the page says of it."""

    fact: Fact
    origin: str
    """who wrote or said it: `by hand`, `you said it`"""
    remarks: Sequence[str]

    @property
    def sentence(self) -> str:
        """What it says"""
        return f"{self.fact.subject} {self._predicate} {self.fact.object}"

    @property
    def label(self) -> str:
        """The beginning of the sentence, for the names of buttons"""
        return cut_label(self.sentence)

    @property
    def key(self) -> str:
        """Names it in a view"""
        return self.fact.id

    @property
    def _predicate(self) -> str:
        return self.fact.predicate.replace("_", " ")

    def words_about(self, name: str) -> str:
        """Returns what is before the object, without this subject: `Works at`, `Mira works at`."""
        words = self._predicate
        if folded(self.fact.subject) == folded(name):
            return words[:1].upper() + words[1:]
        return f"{person(self.fact.subject)} {words}"


def _origin(fact: Fact, you: str) -> str:
    if not fact.text:
        return "follows from another fact"
    return said_in(fact.scope, you) if fact.ref else PERSON


def _remarks(fact: Fact, choices: tuple[str, ...]) -> Iterator[str]:
    if choices:
        yield f"unclear: {' or '.join(choices)}"
    if fact.confirmed:
        yield "confirmed"
    # What a person wrote is certain, and needs no number.
    if fact.confidence != 1:
        yield f"{fact.confidence:.0%} certain"
    if fact.temporary:
        yield "for a while"
    if fact.origin != "owner":
        yield f"from {fact.origin}"


def fact_rows(viewer: Viewer, facts: "Iterable[Fact]") -> list[FactRow]:
    """Returns facts for a template."""
    facts = list(facts)
    choices = unclear_values(facts)
    you = viewer.reader()
    return [
        FactRow(fact, _origin(fact, you), list(_remarks(fact, choices.get(fact.id, ()))))
        for fact in facts
    ]


def current_facts(viewer: Viewer, entity: str = "") -> list[FactRow]:
    """Returns the facts that hold now; with a name, those about it."""
    return fact_rows(viewer, viewer.calls.facts(entity=entity or None))


def past_facts(viewer: Viewer, entity: str, current: "Iterable[FactRow]") -> list[FactRow]:
    """Returns the facts that hold no longer, or not yet, the newest first."""
    # A fact that a newer one replaced is not struck through on its page, and one of next
    # month holds later: only the list of current facts tells both.
    ids = {row.key for row in current}
    rows = fact_rows(viewer, viewer.calls.timeline(entity))
    return [row for row in reversed(rows) if row.key not in ids]


Start = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
"""How many facts are before the table"""


class FactsFields(msgspec.Struct):
    """The fields of `/facts`."""

    entity: str = ""
    start: Start = 0
    edit: str = ""
    """the key of the fact that is edited"""
    ended: bool = False
    """whether those that ended are shown, too"""


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


def show_facts(viewer: Viewer, query: FactsFields) -> PageView:
    if query.entity.strip():
        return _show_entity(viewer, query.entity.strip(), query)
    rows = current_facts(viewer)
    rows.sort(key=lambda row: row.fact.subject.casefold())
    end = query.start + MOST_ROWS
    data = {
        "facts": rows[query.start : end],
        "total": len(rows),
        "next": page_path("/facts", start=end) if end < len(rows) else "",
        "edit": query.edit,
        "scopes": viewer.scopes,
        "to": page_path("/facts", start=query.start or ""),
        "tab": "/people",
    }
    return PageView("facts.html", "Facts", data)


def _show_entity(viewer: Viewer, name: str, query: FactsFields, to: str = "") -> PageView:
    """Returns the view of a person or a thing."""
    entity = viewer.calls.facts.entity(name)
    facts = fact_rows(viewer, entity.facts)
    past = past_facts(viewer, name, facts)
    path = to or page_path("/facts", entity=name)
    end = query.start + MOST_ROWS
    data = {
        "entity": entity,
        "name": entity.name,
        "facts": facts[query.start : end],
        "next": page_path("/facts", entity=name, start=end) if end < len(facts) else "",
        "past": past[:MOST_ENDED] if query.ended else [],
        "ended": len(past),
        "spans": _spans([*past, *facts]),
        "last": max([date.today(), *filter(None, (row.fact.valid_until for row in past))]),
        "connections": _connections(viewer, entity.name, facts),
        "mentions": _mentions(entity.hits),
        "own": f"user:{entity.name}" in viewer.scopes,
        "edit": query.edit,
        "scopes": viewer.scopes,
        "to": path,
        "tab": "/people",
        "person_path": person_path,
    }
    is_unknown = not (facts or past or entity.mentions)
    title = "Not here" if is_unknown else person(entity.name)
    return PageView("entity.html", title, data, 404 if to and is_unknown else 200)


def _spans(facts: list[FactRow]) -> list[tuple[FactRow, float, float]]:
    """Returns facts with a first day: each with its start and its length on an axis of 100."""
    dated = [(row.fact.valid_from, row) for row in facts if row.fact.valid_from]
    dated = sorted(dated, key=itemgetter(0))[-MOST_SPANS:]
    if len(dated) < 2:
        return []
    today = date.today()
    starts = [first.toordinal() for first, _ in dated]
    ends = [(row.fact.valid_until or max(first, today)).toordinal() for first, row in dated]
    scale = 100 / max(1, max(ends) - starts[0])
    return [
        (row, (start - starts[0]) * scale, max(1, (end - start) * scale))
        for (_, row), start, end in zip(dated, starts, ends, strict=True)
    ]


def _connections(viewer: Viewer, name: str, facts: list[FactRow]) -> dict[str, list[str]]:
    """Returns the names in these facts that have a view of their own, each with its relations."""
    named = {folded(entity.name) for entity in viewer.calls.facts.entities()} - {folded(name)}
    connections: dict[str, list[str]] = {}
    for row in facts:
        if folded(row.fact.object) in named:
            connections.setdefault(row.fact.object, []).append(row.words_about(name))
        elif folded(row.fact.subject) in named:
            connections.setdefault(row.fact.subject, []).append(row.sentence)
    return dict(list(connections.items())[:MOST_CONNECTED])


def _mentions(hits: "Sequence[Hit]") -> dict[str, list[tuple[int, str]]]:
    """Returns the lines and words that name an entity, by note; facts are shown apart."""
    by_note: dict[str, list[tuple[int, str]]] = {}
    for hit in hits:
        if hit.kind != "facts":
            words = shown(parse_item(hit.text).text)
            by_note.setdefault(hit.note, []).append((hit.lines[0], words))
    return {note: mentions[:MOST_MENTIONS] for note, mentions in by_note.items()}


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
    # Fault: without the scopes, the fact might go to the page of another person.
    scope = form.scope or viewer.calls.facts.scope_for(form.subject)
    return answer_of(viewer.add_fact(fact, scope), form.to)


def confirm(viewer: Viewer, form: FactButtonFields) -> Answer:
    return _press(viewer.calls.facts.confirm, form)


def end(viewer: Viewer, form: FactButtonFields) -> Answer:
    return _press(viewer.calls.facts.invalidate, form)


def delete(viewer: Viewer, form: FactButtonFields) -> Answer:
    return _press(viewer.calls.facts.delete, form)


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
            "the form does not say what is right",
            hint="write the right words, or choose Never true",
        )
    return answer_of(viewer.calls.correct_fact(form.id, **right).edit, form.to)


def _press(call: "Callable[[str], FactChange]", form: FactButtonFields) -> Answer:
    # Fault: after the call, an error about the path would hide what was done.
    own_path(form.to)
    return answer_of(call(form.id).edit, form.to)


def _day(text: str) -> date | None:
    """Returns a day of a form; None for an empty field. Raises UsageError."""
    if not text.strip():
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"{text!r} is not a date", hint="write it like 2026-01-31") from None


PEOPLE_LENGTH = 50
"""Names in one part of the list"""
MOST_READ = 1_000
"""Notes that are read for their links"""
_FILE_NAME = re.compile(r"\.\w{1,5}$")
"""The end of the name of a picture or another file"""


class PeopleFields(msgspec.Struct):
    """The fields of `/people`."""

    q: str = ""
    """a word of a name or an alias"""
    type: str = ""
    start: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0


class PersonFields(FactsFields, kw_only=True):
    """The fields of `/people/NAME`."""

    name: str


def show_people(viewer: Viewer, query: PeopleFields) -> PageView:
    entities = _named(viewer)
    matches = [entity for entity in entities if _is_wanted(entity, query)]
    end = query.start + PEOPLE_LENGTH
    data = {
        "query": query,
        "types": sorted({entity.type for entity in entities}),
        "any": bool(entities),
        "names": matches[query.start : end],
        "next": page_path("/people", q=query.q, type=query.type, start=end)
        if end < len(matches)
        else "",
        "person_path": person_path,
    }
    return PageView("people.html", "People and things", data)


def _named(viewer: Viewer) -> "list[EntityInfo]":
    """Returns people and things, and names that notes link to; the most named first."""
    entities: list[EntityInfo] = viewer.calls.facts.entities()
    names = {folded(name) for entity in entities for name in (entity.name, *entity.aliases)}
    entities += [
        EntityInfo(name, "other", (), 0, count)
        for name, count in _linked_names(viewer).items()
        if folded(name) not in names
    ]
    return sorted(entities, key=lambda info: (-info.facts - info.mentions, folded(info.name)))


def _linked_names(viewer: Viewer) -> Counter[str]:
    """Returns the names that notes link to, whether a note has them or not, with their number."""
    names: Counter[str] = Counter()
    # Fault: a vault of 100,000 notes would be read from end to end for one list.
    for info in viewer.calls.notes()[:MOST_READ]:
        if info.kind != "transcript":
            with suppress(NoteNotFound, NoteUnreadable):
                names.update(_link_names(viewer.note(info.note).read().raw))
    return names


def _link_names(raw: bytes) -> set[str]:
    """Returns the names that a note links to."""
    links = [each.value for each in note_properties(raw) if each.sort == Sort.LINK]
    names = {link.rpartition("/")[2].removesuffix(".md") for link in links}
    return {name for name in names if name and not _FILE_NAME.search(name)}


def _is_wanted(entity: "EntityInfo", query: PeopleFields) -> bool:
    if query.type and entity.type != query.type:
        return False
    word = query.q.strip().casefold()
    names = (entity.name, *entity.aliases)
    return any(word in name.casefold() for name in names)


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
    return _show_entity(viewer, name, query, person_path(name))


MOST_AROUND = 50
ROLES = {"user": "a person", "assistant": "the bot", "tool": "a tool"}
"""Role of a turn → who spoke, when the turn names no person"""


OPTIONS = {"user": "--user", "channel": "--channel", "group": "--group"}
"""Kind of a scope → the option that names it"""


def _scope_option(scope: str) -> list[str]:
    """Returns the option that names a scope."""
    kind, _, name = scope.partition(":")
    # Fault: a name that begins with a dash would be read as another option.
    return [f"{OPTIONS[kind]}={name}"] if name.startswith("-") else [OPTIONS[kind], name]


def forget_command(text: str, scope: str) -> str:
    """Returns the command that removes a text of a scope from everything; it asks first."""
    return shlex.join(["vault-memory", "forget", *_scope_option(scope), "--", text])


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
        "origin": of_source(viewer.calls.source(ref, around=query.around)) if ref else None,
        "forget_command": forget_command,
    }
    return PageView("source.html", "Where it comes from", data)
