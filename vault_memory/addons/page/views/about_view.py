"""About me: everything that is known of a person, on the page that one shows to them."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from vault_memory.addons.page.facts.fact_sentences import fact_rows
from vault_memory.addons.page.facts.note_sentences import NoteSentences, sentences_of
from vault_memory.addons.page.page_answers import PageView, page_path
from vault_memory.addons.page.shell_commands import forget_command, scope_options, shell_command
from vault_memory.addons.page.viewer import Viewer
from vault_memory.rules.edits.op_words import in_words

if TYPE_CHECKING:
    from vault_memory.facts.known import KnownNote
    from vault_memory.rules.edits.audit_record import Proposal

DESCRIBING = {"user": "Who {name} is", "rules": "Rules for the bot"}
"""Kinds of notes that say who a person is, and what the bot has to keep to → their titles"""


MOST_FACTS = 100
"""Facts in the view; the view of facts has all"""


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
