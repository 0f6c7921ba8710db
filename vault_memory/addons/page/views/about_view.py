"""About me: everything that is known of a person, on the page that one shows to them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from vault_memory.addons.page.page_answers import PageView, page_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.viewers.fact_viewer import fact_rows
from vault_memory.addons.page.views.search_views import forget_command, scope_options, shell_command
from vault_memory.markdown.items import ItemFields, parse_item
from vault_memory.rules.edits.op_words import in_words

if TYPE_CHECKING:
    from vault_memory.facts.known import KnownNote
    from vault_memory.rules.edits.audit_record import Proposal

DESCRIBING = {"user": "Who {name} is", "rules": "Rules for the bot"}
"""Kinds of notes that say who a person is, and what the bot has to keep to → their titles"""


MOST_FACTS = 100
"""Facts in the view; the view of facts has all"""
LONGEST = 32 << 10
"""Characters of a note that are read"""
MOST_SENTENCES = 300
_HEADING = re.compile(r"(#{1,6})[ \t]++((?:.*[^ \t#\n])?)[ \t#]*+")
_ITEM = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(?:\[[ xX]\][ \t]++)?(.*)")


# --- Note sentences ---

# The text of a note as sentences, each with its line, its days and how certain it is. Pure.


class NoteSentence(NamedTuple):
    """An item or a line of a note."""

    line: int
    """the number of its first line, from 1"""
    text: str
    """without the marks of its brackets"""
    since: str
    """the day on which it was written down, ISO 8601; empty when it is not known"""
    until: str
    ref: str
    """the id of the turn that it comes from; empty for what a person wrote"""
    remarks: tuple[str, ...]
    is_item: bool
    """`source` tells where it comes from"""


class SentenceGroup(NamedTuple):
    """The sentences below a heading."""

    heading: str
    sentences: list[NoteSentence]


class NoteSentences(NamedTuple):
    """A note as sentences."""

    groups: list[SentenceGroup]
    is_cut: bool
    """the note has more text"""


class _TextBlock(NamedTuple):
    """An item or a line with the lines that continue it."""

    line: int
    text: str
    is_item: bool = False


def sentences_of(text: str) -> NoteSentences:
    """Returns a note as groups of sentences; headings without sentences are left out."""
    is_cut = len(text) > LONGEST
    count = 0
    groups = [SentenceGroup("", [])]
    level = 0
    for block in _blocks(text[:LONGEST]):
        heading = _HEADING.fullmatch(block.text)
        # Fault: a note of 30,000 letters may have 10,000 items, and a view of megabytes.
        if count == MOST_SENTENCES:
            is_cut = True
            break
        if heading:
            level = len(heading[1])
            groups.append(SentenceGroup(heading[2], []))
        else:
            # Ops and `source` address the items right below a heading of level 2.
            is_item = block.is_item and level == 2
            count += 1
            groups[-1].sentences.append(_sentence(block._replace(is_item=is_item)))
    return NoteSentences([group for group in groups if group.sentences], is_cut)


def _blocks(text: str) -> Iterator[_TextBlock]:
    """Yields headings, items and lines; a line right below one of them continues it."""
    block = None
    for number, line in enumerate(text.splitlines(), start=1):
        start = _start(number, line)
        if start is None and block and line.strip():
            block = block._replace(text=f"{block.text} {line.strip()}")
            continue
        if block:
            yield block
        block = start or (_TextBlock(number, line.strip()) if line.strip() else None)
        if _HEADING.fullmatch(line):
            yield _TextBlock(number, line)
            block = None
    if block:
        yield block


def _start(number: int, line: str) -> _TextBlock | None:
    """Returns the block that a heading or an item begins."""
    item = _ITEM.fullmatch(line)
    if item:
        return _TextBlock(number, item[1].strip(), is_item=True)
    return _TextBlock(number, line) if _HEADING.fullmatch(line) else None


def _sentence(block: _TextBlock) -> NoteSentence:
    item = parse_item(block.text)
    return NoteSentence(
        line=block.line,
        # An item may have nothing but marks, which are its text then.
        text=item.text or block.text,
        since=item.date.isoformat() if item.date else "",
        until=item.until.isoformat() if item.until else "",
        ref=item.ref,
        remarks=tuple(_remarks(item)),
        is_item=block.is_item,
    )


def _remarks(item: ItemFields) -> Iterator[str]:
    if item.type:
        yield item.type
    if item.unclear:
        yield "unclear: another line contradicts it"
    if item.confirmed:
        yield "confirmed by a person"
    if item.conf != 1:
        yield f"{item.conf:.0%} certain"
    if item.origin != "owner":
        yield f"from {item.origin}"
    if item.evidence:
        yield f"said: “{item.evidence}”"


# --- About view ---


class AboutFields(msgspec.Struct):
    """The fields of `/about`."""

    name: str = ""


class AboutNote(NamedTuple):
    """A note about a person, as sentences."""

    note: str
    scope: str
    title: str
    text: NoteSentences


class OpenProposal(NamedTuple):
    """A change that waits for a person's decision."""

    id: str
    note: str
    change: str
    why: str


def show(viewer: Viewer, query: AboutFields) -> PageView:
    people = viewer.names("user")
    name = query.name.strip()
    if not name and len(people) == 1:
        name = people[0]
    if not name:
        return PageView("about_whom.html", "About me", {"people": people})
    data = {
        "name": name,
        "people": people,
        "to": page_path("/about", name=name),
        "scopes": viewer.scopes,
        "forget_command": forget_command,
        "held_command": _held_command,
        "forget_example": shell_command("forget", "--dry-run", "TEXT"),
        **_known_of(viewer, name),
    }
    return PageView("about.html", f"About {name}", data)


def _known_of(viewer: Viewer, name: str) -> dict[str, Any]:
    """Returns what the session may see of a person or a thing."""
    knowledge = viewer.facts.about(name)
    entity = knowledge.entity
    own = _own_scopes(viewer, (name, entity.name))
    kinds = Counter(note.kind for note in viewer.notes.all() if note.scope in own)
    return {
        "entity": entity,
        "own": own,
        "facts": fact_rows(entity.facts)[:MOST_FACTS],
        "facts_total": len(entity.facts),
        "notes": [
            _about_note(viewer, note, title.format(name=entity.name))
            for kind, title in DESCRIBING.items()
            for note in knowledge.notes
            if note.kind == kind
        ],
        "recent": [_about_note(viewer, note) for note in knowledge.recent if own],
        "kinds": sorted(kinds.items()),
        "held": viewer.facts.held(own),
        "proposals": [
            _proposal(proposal)
            for proposal in viewer.records.proposals()
            if viewer.notes.scope_of(proposal.note) in own
        ],
    }


def _own_scopes(viewer: Viewer, names: Iterable[str]) -> list[str]:
    """Returns the scope of a person; nothing for a thing."""
    # People write a name in any case, or an alias.
    scopes = {f"user:{name}".casefold() for name in names}
    return [own for own in viewer.scopes if own.casefold() in scopes]


def _about_note(viewer: Viewer, note: "KnownNote", title: str = "") -> AboutNote:
    file_name = note.note.rpartition("/")[2]
    return AboutNote(
        note.note,
        viewer.notes.scope_of(note.note),
        title or file_name.removesuffix(".md"),
        sentences_of(note.text),
    )


def _proposal(proposal: "Proposal") -> OpenProposal:
    return OpenProposal(proposal.id, proposal.note, in_words(proposal.op), proposal.why)


def _held_command(candidate_id: str, scope: str) -> str:
    return shell_command("held", "promote", candidate_id, *scope_options([scope]))
