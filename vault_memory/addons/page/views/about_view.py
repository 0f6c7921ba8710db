"""Memory: everything that is known of a person, or in a channel, on one page."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from vault_memory.addons.page.page_answers import Answer, NotHere, PageView, Redirect, page_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.views.fact_views import current_facts, past_facts
from vault_memory.addons.page.wording import author_of, cut_label, day, said_in, whose
from vault_memory.errors import NoteNotFound, NoteUnreadable
from vault_memory.markdown.document import parse
from vault_memory.markdown.encodings import as_utf8
from vault_memory.markdown.items import ItemFields, normalised_text, parse_item
from vault_memory.markdown.note_items import section_items, short_hash
from vault_memory.markdown.visible_text import shown
from vault_memory.rules.edits.blame import added_lines

if TYPE_CHECKING:
    from vault_memory.addons.page.views.fact_views import FactRow
    from vault_memory.rules.edits.audit_record import Record
    from vault_memory.search.note_reports import NoteInfo, NoteText

MOST_ROWS = 40
"""Rows in a card; the note, or the view of facts, has the others"""
LONGEST = 32 << 10
"""Characters of a note that are read"""
MOST_DAYS = 3
MOST_EPISODES = 5
_HEADING = re.compile(r"(#{1,6})[ \t]++((?:.*[^ \t#\n])?)[ \t#]*+")
_ITEM = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(?:\[[ xX]\][ \t]++)?(.*)")


# --- Note sentences ---


class NoteSentence(NamedTuple):
    """An item or a line of a note."""

    line: int
    """the number of its first line, from 1"""
    words: str
    """without the marks of its brackets"""
    is_item: bool = False
    """ops address it, and `source` tells where it comes from"""


class SentenceGroup(NamedTuple):
    """The sentences below a heading."""

    heading: str
    sentences: list[NoteSentence]


class NoteSentences(NamedTuple):
    """A note as sentences."""

    groups: list[SentenceGroup]
    is_cut: bool
    """the note has more text"""


def sentences_of(text: str) -> NoteSentences:
    """Returns a note as groups of sentences; headings without sentences are left out."""
    is_cut = len(text) > LONGEST
    groups = [SentenceGroup("", [])]
    level = 0
    # Fault: a note of 30,000 letters may have 10,000 items, and a view of megabytes.
    rows = MOST_ROWS
    for block in _blocks(text[:LONGEST]):
        heading = _HEADING.fullmatch(block.words)
        if heading:
            level = len(heading[1])
            groups.append(SentenceGroup(heading[2] if level > 1 else "", []))
        elif rows:
            rows -= 1
            # An item may have nothing but marks, which are its text then.
            words = shown(parse_item(block.words).text or block.words)
            # Ops and `source` address the items right below a heading of level 2.
            is_item = block.is_item and level == 2
            groups[-1].sentences.append(NoteSentence(block.line, words, is_item))
        else:
            is_cut = True
    return NoteSentences([group for group in groups if group.sentences], is_cut)


def _blocks(text: str) -> list[NoteSentence]:
    """Returns headings, items and lines; a line right below one of the last two continues it."""
    blocks: list[NoteSentence] = []
    is_open = False
    for number, line in enumerate(re.split("\r\n|\r|\n", text), start=1):
        heading, item = _HEADING.fullmatch(line), _ITEM.fullmatch(line)
        words = (item[1] if item else line).strip()
        begins = heading or item
        if is_open and words and not begins:
            blocks[-1] = blocks[-1]._replace(words=f"{blocks[-1].words} {words}")
        elif words:
            blocks.append(NoteSentence(number, words, bool(item)))
        is_open = bool(words) and not heading
    return blocks


# --- Items ---


class ShownItem(NamedTuple):
    """An item with what the buttons beside it need."""

    heading: str
    text: str
    line: int
    """in the note, from 1"""
    author: str
    """who wrote or said it: `by hand`, `the bot`, `you said it`"""
    key: str
    """names it in a view, as long as it says the same"""
    words: str
    """its text without the marks of its brackets"""
    day: str
    """when it was written down, ISO 8601; empty when that is not known"""
    remarks: tuple[str, ...]

    @property
    def label(self) -> str:
        """The beginning of its words, for the names of buttons."""
        return cut_label(self.words)


def shown_items(
    note: str, raw: bytes, records: "Iterable[Record]", speaker: str
) -> Iterator[ShownItem]:
    """Yields the items of a note that ops can address; `records` are those of the note.

    `speaker` says who said what comes from a turn.
    """
    doc = parse(raw)
    # The records are in order, so the last one that added a text remains.
    added_by = {
        normalised_text(text): record.source for record in records for text in added_lines(record)
    }
    line = 1 + count_lines(doc.preamble)
    for number, section in enumerate(doc.sections):
        line += count_lines(section.heading)
        start = 0
        for item in section_items(doc, number):
            line += count_lines(section.body[start : item.start])
            start = item.start
            author = author_of(added_by.get(normalised_text(item.text), ""))
            fields = parse_item(item.text)
            yield ShownItem(
                item.heading,
                item.text,
                line,
                speaker if fields.ref else author,
                key=short_hash(note, item.heading, item.text),
                # An item may have nothing but marks, which are its text then.
                words=shown(fields.text or item.text),
                day=fields.date.isoformat() if fields.date else "",
                remarks=tuple(_remarks(fields)),
            )
        line += count_lines(section.body[start:])


def _remarks(item: ItemFields) -> Iterator[str]:
    if item.until:
        yield f"until {day(item.until.isoformat())}"
    if item.unclear:
        yield "unclear: another line contradicts it"
    if item.confirmed:
        yield "confirmed"
    if item.conf != 1:
        yield f"{item.conf:.0%} certain"
    if item.origin != "owner":
        yield f"from {item.origin}"
    if item.evidence:
        yield f"“{item.evidence}”"


def count_lines(raw: bytes) -> int:
    """Returns how many line ends there are: CRLF, LF or CR."""
    return raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")


def items_of(viewer: Viewer, note: "NoteText") -> list[ShownItem]:
    """Returns the items that the ops can address, with their authors."""
    speaker = said_in(viewer.vault.scope_of(note.note), viewer.reader())
    records = viewer.note(note.note).log()
    return list(shown_items(note.note, as_utf8(note.raw), records, speaker))


# --- Memory view ---


class AboutFields(msgspec.Struct):
    """The fields of `/about`."""

    name: str = ""
    channel: str = ""
    edit: str = ""
    """the key of the row that is edited"""


class NoteCard(NamedTuple):
    """A note as rows."""

    note: str
    revision: str
    groups: "list[tuple[str, list[NoteSentence | ShownItem]]]"
    """each heading with its rows"""
    is_cut: bool


def show(viewer: Viewer, query: AboutFields) -> Answer:
    scope = _scope(viewer, query)
    if scope:
        return PageView("about.html", whose(scope), _memory(viewer, scope, query.edit))
    if query.name.strip():
        return Redirect(page_path("/facts", entity=query.name.strip()))
    if query.channel:
        raise NotHere
    data = {"people": viewer.people(), "channels": viewer.names("channel")}
    return PageView("about_whom.html", "Memory", data)


def _scope(viewer: Viewer, query: AboutFields) -> str:
    """Returns the scope of a person or a channel that this session sees; empty for another one."""
    name = query.name.strip()
    if query.channel:
        names = [f"channel:{query.channel}"]
    elif name:
        # People write a name in any case, or an alias.
        names = [f"user:{called}" for called in (name, viewer.calls.facts.entity(name).name)]
    else:
        people = viewer.people()
        names = [f"user:{viewer.owner()}", *(f"user:{name}" for name in people if len(people) == 1)]
    folded = {name.casefold() for name in names}
    return next((scope for scope in viewer.scopes if scope.casefold() in folded), "")


def _memory(viewer: Viewer, scope: str, edit: str) -> dict[str, Any]:
    """Returns what is remembered in the scope of a person or a channel."""
    kind, _, name = scope.partition(":")
    to = page_path("/about", **{"name" if kind == "user" else kind: name})
    notes = [note for note in viewer.calls.notes() if note.scope == scope]
    kinds = {info.kind: [note for note in notes if note.kind == info.kind] for info in notes}
    facts, ended = _facts(viewer, scope)
    return {
        "name": name,
        "scope": scope,
        "scopes": [scope],
        "to": to,
        "tab": to,
        "edit": edit,
        "profile": [
            *_cards(viewer, kinds.get("user", [])),
            *_cards(viewer, kinds.get("channel", [])),
        ],
        "facts": facts[:MOST_ROWS],
        "more_facts": max(0, len(facts) - MOST_ROWS),
        "ended": ended,
        "rules": _cards(viewer, kinds.get("rules", [])),
        "days": _cards(viewer, kinds.get("dated", [])[: -MOST_DAYS - 1 : -1]),
        "held": [item for item in viewer.held() if item["scope"] == scope],
        "episodes": kinds.get("episode", [])[: -MOST_EPISODES - 1 : -1],
        "total": len(notes),
    }


def _facts(viewer: Viewer, scope: str) -> "tuple[list[FactRow], int]":
    """Returns the facts about a person, or of a channel, and how many about the person ended."""
    kind, _, name = scope.partition(":")
    if kind != "user":
        return [row for row in current_facts(viewer) if row.fact.scope == scope], 0
    facts = current_facts(viewer, name)
    return facts, len(past_facts(viewer, name, facts))


def _cards(viewer: Viewer, notes: "list[NoteInfo]") -> list[NoteCard]:
    cards = []
    for info in notes:
        try:
            note = viewer.note(info.note).read()
        except (NoteNotFound, NoteUnreadable):
            # Fault: a person removed or locked the note after it was listed. The others
            # are shown.
            continue
        items = {item.line: item for item in items_of(viewer, note)}
        text = sentences_of(note.text)
        groups = [
            (
                group.heading,
                [items.get(row.line, row) if row.is_item else row for row in group.sentences],
            )
            for group in text.groups
        ]
        cards.append(NoteCard(info.note, note.revision, groups, text.is_cut))
    return cards
