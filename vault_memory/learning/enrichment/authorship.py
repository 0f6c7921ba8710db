"""Reads from the audit of a note who wrote each statement, when, and what was asked about it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import said
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.conflicts.contradictions import Authorship, Statement
from vault_memory.rules.edits.audit_record import Record, known_proposals
from vault_memory.rules.edits.ops import new_text, op_of
from vault_memory.rules.edits.ownership import replay
from vault_memory.rules.facts.fact import read_fact

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

TOLD = "talk"
"""Source of edits in a person's own words"""

Pair = tuple[str, str]
"""The ids of a marked statement and of its rival"""


class NoteAuthors(NamedTuple):
    """What the audit of one note says."""

    written: frozenset[tuple[str, str]]
    """headings and texts of the bot's items, as they are now"""
    told: frozenset[str]
    """ids of statements in a person's own words from a conversation"""
    learned: dict[str, str]
    """days by id"""
    asked: frozenset[Pair]
    """marks that were once written"""
    proposed: frozenset[str]
    """ids of the proposals, in whatever state"""


class AuthorLookup:
    """Looks up authorship, and reads the audit of each note once."""

    def __init__(self, cycle: "LearningCycle") -> None:
        self._cycle = cycle
        self._by_note: dict[str, NoteAuthors] = {}

    def of(self, statement: Statement) -> Authorship:
        """Returns who wrote a statement, and when."""
        note = self.note(statement.note)
        return Authorship(
            (statement.heading, statement.text) in note.written,
            statement.id in note.told,
            note.learned.get(statement.id, ""),
        )

    def note(self, path: str) -> NoteAuthors:
        """Returns what the audit of a note says, as it was when the step began."""
        if path not in self._by_note:
            self._by_note[path] = self._read(path)
        return self._by_note[path]

    def rewritten(self, note: str, heading: str, line: str) -> None:
        """Notes that the bot is about to write an item."""
        authors = self.note(note)
        written = authors.written | {(heading, said(line))}
        self._by_note[note] = authors._replace(written=written)

    def _read(self, path: str) -> NoteAuthors:
        editor = self._cycle.deps.editor
        place = editor.place(path)
        records = editor.trail.of(path)
        items = replay(records).bots_items(self._cycle.doc(path))
        written = frozenset((item.heading, item.text) for item in items)
        learned: dict[str, str] = {}
        asked: set[Pair] = set()
        told: set[str] = set()
        is_facts = place.kind == "facts"
        for record, heading, line in _lines(records):
            if is_facts:
                fact = read_fact(said(line), heading, place.scope)
                # Fault: the line is damaged, or no fact. It has no id to look up.
                if fact is None:
                    continue
                id_, rival = fact.id, fact.unclear
            else:
                id_ = content_key(place.scope, line)
                rival = parse_item(line).unclear
            # Fault: a line that was moved is written again. The first record has the day on which
            # it was learned.
            learned.setdefault(id_, record.ts[:10])
            if rival:
                asked.add((id_, rival))
            if record.source == TOLD:
                told.add(id_)
        proposed = frozenset(known_proposals(records, path))
        return NoteAuthors(written, frozenset(told), learned, frozenset(asked), proposed)


def _lines(records: Iterable[Record]) -> Iterable[tuple[Record, str, str]]:
    """Yields each line that was written to the note, with its record and its section."""
    for record in records:
        for applied in record.applied:
            op = op_of(applied.op)
            # Fault: a line that policy refused was never in the note.
            if applied.outcome != "applied" or op is None:
                continue
            text = new_text(op)
            for line in text.lines:
                yield record, text.heading, line
