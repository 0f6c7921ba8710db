"""Home: what the bot knows of a person, what is new since they looked, and what waits for them."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from vault_memory import places
from vault_memory.addons.page import wording
from vault_memory.addons.page.forms import AskedFields
from vault_memory.addons.page.page_answers import Answer, PageView, Redirect, page_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.about_view import sentences_of
from vault_memory.addons.page.views.inbox_view import ProposalRow, row_of_closed
from vault_memory.addons.page.views.outcome import not_remembered, own_path
from vault_memory.addons.page.views.record_views import (
    NIGHT_SOURCES,
    RecordGroup,
    RecordRow,
    grouped,
    record_named,
    records,
    row_of,
)
from vault_memory.config import state_file

if TYPE_CHECKING:
    from vault_memory.facts.known import Known
    from vault_memory.rules.edits.audit_record import Record

BY_HAND = 2
MOST_WAITING = 2
MOST_SENTENCES = 8
"""Lines that are new; the view of changes has the others"""
MOST_COUNTED = 1_000
"""New records that are counted"""
MOST_SEEN = 200
"""Seen records after which nothing new is expected"""
MOST_LINES = 4
MOST_RULES = 3
MOST_PEOPLE = 4
MOST_NOTES = 5


class HomeFields(msgspec.Struct):
    """The fields of `/`."""

    user: str = ""


class SeenFields(msgspec.Struct):
    """The form of *Mark all as seen*."""

    id: str
    """the newest record of the view: what came later is new still"""


class RememberFields(AskedFields):
    """The form of *Remember*."""

    text: str
    scope: str
    to: str = "/"

    def words(self) -> tuple[str, list[str]]:
        """Returns no heading, and what is to be remembered."""
        return "", [self.text]


class WaitingItems(NamedTuple):
    """What waits for a person, the most serious first."""

    orders: list[ProposalRow]
    conflicts: list[tuple[str, str]]
    """ids of copies, and the titles of their notes"""
    proposals: list[ProposalRow]
    total: int


class NewRecords(NamedTuple):
    """The records since the seen mark."""

    groups: list[RecordGroup]
    newest: str
    """its id; empty without new records"""
    since: str
    """the time of the last one that was seen, or else of the oldest new one"""
    learned: int
    """lines that the bot wrote"""
    left_out: int
    or_more: str
    """` or more` where not all were counted"""
    has_older: bool
    """whether there are records that were seen"""


class PersonCard(NamedTuple):
    """What is known of a person: counts, and the newest of each kind."""

    name: str
    scope: str
    lines: list[str]
    rules: list[str]
    people: list[str]
    total_lines: int
    total_facts: int


def show(viewer: Viewer, query: HomeFields) -> PageView:
    people = viewer.people()
    name = query.user if query.user in people else next(iter(people), "")
    first_run = viewer.first_run()
    data = {
        "people": people,
        "person": _person(viewer, name) if name else None,
        "first_run": first_run,
        "notes": [] if name else viewer.calls.notes()[:MOST_NOTES],
        "waits": _waiting(viewer),
        # Fault: a day later, `today` is another day.
        "new": viewer.shared.kept(
            "records", (*viewer.scopes, date.today().isoformat()), lambda: _new_records(viewer)
        ),
        "to": page_path("/", user=name if len(people) > 1 else ""),
    }
    if first_run:
        noun = "note is" if first_run.notes == 1 else "notes are"
        title = f"{first_run.notes} {noun} memory"
    else:
        title = f"What the bot knows of {wording.person(name)}" if name else "What the bot knows"
    return PageView("home.html", title, data)


def see_all(viewer: Viewer, form: SeenFields) -> Redirect:
    record = record_named(viewer, form.id).record
    SeenMarks(viewer).move(record.id)
    return Redirect("/")


def remember(viewer: Viewer, form: RememberFields) -> Answer:
    own_path(form.to)
    remembered = viewer.remember(form.text, form.scope)
    if remembered["outcome"] == "added":
        note = remembered["note"]
        newest = (record.id for record, _ in records(viewer) if record.note == note)
        return Redirect(form.to, next(newest, ""))
    return not_remembered(form.text, remembered, form.to)


# --- What waits ---


def _waiting(viewer: Viewer) -> WaitingItems:
    proposals = viewer.open_proposals()
    copies = viewer.conflict_copies()
    orders = [each for each in proposals if each.suspicious][:MOST_WAITING]
    room = MOST_WAITING - len(orders)
    conflicts = [(copy.id, wording.note_title(copy.note)) for copy in copies[:room]]
    harmless = [each for each in proposals if not each.suspicious][: room - len(conflicts)]
    return WaitingItems(
        [row_of_closed(each) for each in orders],
        conflicts,
        [row_of_closed(each) for each in harmless],
        len(proposals) + len(copies),
    )


# --- What is new ---


def _new_records(viewer: Viewer) -> NewRecords:
    # From conversations, by the bot in one, and by hand: the first are news, the last are known.
    kinds: tuple[list[tuple[Record, str]], ...] = ([], [], [])
    newest = since = ""
    learned = total = seen = 0
    mark = SeenMarks(viewer).mark()
    for record, undone_by in records(viewer):
        if record.id <= mark:
            since = since if seen else record.ts
            seen += 1
            # Fault: devices with different clocks write ids that are not in order.
            if seen == MOST_SEEN:
                break
            continue
        if total == MOST_COUNTED:
            break
        newest = max(newest, record.id)
        if record.before == record.after:
            continue
        total += 1
        since = since if seen else record.ts
        kind = _kind(record)
        kinds[kind].append((record, undone_by))
        learned += len(record.applied) if kind < BY_HAND else 0
    rows = list(_first(chain(*kinds)))
    return NewRecords(
        groups=grouped(rows),
        newest=newest,
        since=since,
        learned=learned,
        left_out=total - len(rows),
        or_more=" or more" if total == MOST_COUNTED else "",
        has_older=bool(seen),
    )


def _kind(record: "Record") -> int:
    if record.source in NIGHT_SOURCES:
        return 0
    return 1 if record.by_bot else BY_HAND


def _first(records: "Iterable[tuple[Record, str]]") -> "Iterator[tuple[Record, RecordRow]]":
    """Yields the first records, as many as have the lines of the card."""
    lines = 0
    for record, undone_by in records:
        if lines >= MOST_SENTENCES:
            return
        row = row_of(record, undone_by)
        lines += len(row.sentences)
        yield record, row


EVERYTHING = "*"
"""In place of the scopes of a session that sees all of the vault"""
FILE = "web-seen.json"
MOST_MARKS = 200


class SeenMarks:
    """In a file: digest of the scopes → id of the last record they saw. Several processes may use it."""

    def __init__(self, viewer: Viewer) -> None:
        self._file = viewer.state_folder / FILE
        # Fault: with the first note of a new person, all scopes are other scopes, and
        # everything would be new again.
        names = "\n".join([EVERYTHING] if viewer.sees_all else sorted(viewer.scopes))
        # A digest: the file shall not say who looks at whose notes.
        self._key = hashlib.sha256(names.encode("utf-8", "surrogatepass")).hexdigest()

    def mark(self) -> str:
        """Returns the id of the newest record that was seen; empty before the first mark."""
        return self._marks().get(self._key, "")

    def move(self, record_id: str) -> None:
        """Moves the mark forward to a record."""
        places.make_private(self._file.parent)
        with state_file.lock(self._file.with_name(f"{FILE}.lock")):
            marks = self._marks()
            # Fault: an old view that is still open in another tab would move the mark back.
            newest = max(marks.pop(self._key, ""), record_id)
            marks[self._key] = newest
            state_file.write(self._file, json.dumps(dict(list(marks.items())[-MOST_MARKS:])))

    def _marks(self) -> dict[str, str]:
        value = state_file.read_json(self._file)
        # Fault: a person may edit any file of the state folder. Then all records are new.
        if not isinstance(value, dict):
            return {}
        return {key: mark for key, mark in value.items() if isinstance(mark, str)}


# --- The person ---


def _person(viewer: Viewer, name: str) -> PersonCard:
    card: PersonCard
    card = viewer.shared.kept("person", (*viewer.scopes, name), lambda: _card(viewer, name))
    return card


def _card(viewer: Viewer, name: str) -> PersonCard:
    knowledge = viewer.calls.facts.about(name)
    lines = _lines(knowledge, "user")
    rules = _lines(knowledge, "rules")
    facts = [fact for fact in knowledge.entity.facts if fact.text]
    people = [
        each
        for each in viewer.calls.facts.entities()
        if each.type == "person" and each.name != knowledge.entity.name
    ]
    people.sort(key=lambda each: each.mentions, reverse=True)
    return PersonCard(
        name=name,
        scope=f"user:{name}",
        lines=lines[-MOST_LINES:][::-1],
        rules=rules[-MOST_RULES:][::-1],
        people=[each.name for each in people[:MOST_PEOPLE]],
        total_lines=len(lines) + len(rules),
        total_facts=len(facts),
    )


def _lines(knowledge: "Known", kind: str) -> list[str]:
    return [
        sentence.words
        for note in knowledge.notes
        if note.kind == kind
        for group in sentences_of(note.text).groups
        for sentence in group.sentences
    ]
