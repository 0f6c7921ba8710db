"""Memory: everything that is known of a person, or in a channel, on one page."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from vault_memory.addons.page.page_answers import Answer, NotHere, PageView, Redirect, page_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.wording import whose
from vault_memory.errors import NoteNotFound, NoteUnreadable
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.visible_text import shown

if TYPE_CHECKING:
    from vault_memory.addons.page.viewers.fact_viewer import FactRow
    from vault_memory.addons.page.viewers.note_viewer import ShownItem
    from vault_memory.search.note_reports import NoteInfo

MOST_ROWS = 40
"""Rows in a card; the note, or the view of facts, has the others"""
LONGEST = 32 << 10
"""Characters of a note that are read"""
MOST_DAYS = 3
MOST_EPISODES = 5
_HEADING = re.compile(r"(#{1,6})[ \t]++((?:.*[^ \t#\n])?)[ \t#]*+")
_ITEM = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(?:\[[ xX]\][ \t]++)?(.*)")


# --- Note sentences ---

# The text of a note as sentences, each with its line, its days and how certain it is. Pure.


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
    count = 0
    groups = [SentenceGroup("", [])]
    level = 0
    for block in _blocks(text[:LONGEST]):
        heading = _HEADING.fullmatch(block.words)
        # Fault: a note of 30,000 letters may have 10,000 items, and a view of megabytes.
        if count == MOST_ROWS:
            is_cut = True
            break
        if heading:
            level = len(heading[1])
            groups.append(SentenceGroup(heading[2] if level > 1 else "", []))
        else:
            # Ops and `source` address the items right below a heading of level 2.
            is_item = block.is_item and level == 2
            count += 1
            # An item may have nothing but marks, which are its text then.
            words = parse_item(block.words).text or block.words
            groups[-1].sentences.append(block._replace(words=shown(words), is_item=is_item))
    return NoteSentences([group for group in groups if group.sentences], is_cut)


def _blocks(text: str) -> Iterator[NoteSentence]:
    """Yields headings, items and lines; a line right below one of them continues it."""
    block = None
    for number, line in enumerate(re.split("\r\n|\r|\n", text), start=1):
        start = _start(number, line)
        if start is None and block and line.strip():
            block = block._replace(words=f"{block.words} {line.strip()}")
            continue
        if block:
            yield block
        block = start or (NoteSentence(number, line.strip()) if line.strip() else None)
        if _HEADING.fullmatch(line):
            yield NoteSentence(number, line)
            block = None
    if block:
        yield block


def _start(number: int, line: str) -> NoteSentence | None:
    """Returns the block that a heading or an item begins."""
    item = _ITEM.fullmatch(line)
    if item:
        return NoteSentence(number, item[1].strip(), is_item=True)
    return NoteSentence(number, line) if _HEADING.fullmatch(line) else None


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
    notes = [note for note in viewer.notes.all() if note.scope == scope]
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
        "held": viewer.facts.held([scope]),
        "episodes": kinds.get("episode", [])[: -MOST_EPISODES - 1 : -1],
        "total": len(notes),
    }


def _facts(viewer: Viewer, scope: str) -> "tuple[list[FactRow], int]":
    """Returns the facts about a person, or of a channel, and how many about the person ended."""
    kind, _, name = scope.partition(":")
    if kind != "user":
        return [row for row in viewer.facts.current("") if row.fact.scope == scope], 0
    facts = viewer.facts.current(name)
    return facts, len(viewer.facts.past(name, facts))


def _cards(viewer: Viewer, notes: "list[NoteInfo]") -> list[NoteCard]:
    cards = []
    for info in notes:
        try:
            note = viewer.notes.read(info.note)
        except (NoteNotFound, NoteUnreadable):
            # Fault: a person removed or locked the note after it was listed. The others
            # are shown.
            continue
        items = {item.line: item for item in viewer.notes.items(note)}
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
