"""Finds the lines that a night learned, as the notes have them now.

A report names what was written by its id alone. So a line that a person deleted is shown nowhere.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vault_memory.markdown.document import parse
from vault_memory.markdown.items import parse_text
from vault_memory.markdown.note_items import item_id, items_of
from vault_memory.rules.facts.fact import read_facts

if TYPE_CHECKING:
    from vault_memory.contract.setup_answers import LearnedLineJson
    from vault_memory.edits.calls import EditCalls
    from vault_memory.learning.checkpoint import CheckpointStore
    from vault_memory.rules.facts.fact import Fact


def lines_of(edits: "EditCalls", store: "CheckpointStore", night: str) -> "list[LearnedLineJson]":
    """Returns the lines of all scopes, each with its note and the turn that says it."""
    lines: list[LearnedLineJson] = []
    for last in store.lasts():
        if last.outcome.get("night") != night:
            continue
        committed = last.outcome.get("committed") or ()
        notes = dict.fromkeys(str(entry["note"]) for entry in committed)
        for note in notes:
            ids = {entry["id"] for entry in committed if entry["note"] == note}
            lines += [
                {"scope": last.scope, "note": note, "text": text, "ref": ref}
                for id_, text, ref in _texts(edits, note)
                if id_ in ids
            ]
    return lines


def _texts(edits: "EditCalls", note: str) -> Iterator[tuple[str, str, str]]:
    """Yields the id, the text and the turn of each item of a note."""
    place = edits.vault.layout.place(note)
    current = edits.editor.there(note)
    # A person removed the note, or the layout has changed.
    if place is None or current is None:
        return
    doc = parse(current.raw)
    if place.kind == "facts":
        for fact in read_facts(doc, place.scope):
            yield fact.id, _in_words(fact), fact.ref
        return
    for item in items_of(doc):
        fields = parse_text(item.text)
        yield item_id(place.scope, place.kind, item.text), fields.text, fields.ref


def _in_words(fact: "Fact") -> str:
    return f"{fact.subject} · {fact.predicate}: {fact.object}"
