"""The audit records that a session may see: how they read, their groups, and how one is undone."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vault_memory import places
from vault_memory.addons.page.diffs import DiffLine, recorded
from vault_memory.addons.page.wording import day, night
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config import state_file
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.markdown.note_items import resolve
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.blame import added_lines
from vault_memory.rules.edits.op_words import in_words
from vault_memory.rules.edits.record_sentences import RecordSentence, outcome_of, sentences_of

if TYPE_CHECKING:
    from vault_memory.edits.edit_result import Edit
    from vault_memory.rules.edits.audit_record import Record


WHO: Mapping[str, str] = {
    "nightly": "learned at night",
    "tool": "the bot",
    "cli": "by hand",
    "inbox": "approved by you",
    "undo": "by Undo",
    "forget": "forgotten by hand",
    "retention": "the rule for old notes",
    "proposal": "proposed by the bot",
    "merge": "merged",
    "talk": "you asked for it",
}
"""Source of a record → who that is"""
MOST_TURNS = 20
_CITED = re.compile(r"\bref:([^\s,;)\]'\"]+)")


def turns_in(texts: Iterable[str]) -> list[str]:
    """Return the ids of the first turns that texts cite."""
    turns = dict.fromkeys(turn for text in texts for turn in _CITED.findall(text))
    return list(turns)[:MOST_TURNS]


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One audit record, and what the page says of it."""

    record: Record
    undone_by: str
    """the id of the record that undid it; empty when it is in effect"""
    sentences: Sequence[RecordSentence]
    """what became of each line"""
    diff: Sequence[DiffLine] = ()
    """empty in a list of records"""
    from_disk: Sequence[DiffLine] = ()
    """what others had saved before a text was saved, which was merged with it"""

    @property
    def summary(self) -> str:
        """What it came to"""
        return outcome_of(self.record, self.sentences)

    @property
    def who(self) -> str:
        """Whose doing it was"""
        return WHO.get(self.record.source, self.record.source)

    @property
    def turns(self) -> list[str]:
        """The ids of the turns behind it"""
        turns = (applied.op.get("turn") for applied in self.record.applied)
        cited = [f"ref:{turn}" for turn in turns if turn]
        return turns_in([*added_lines(self.record), *cited])

    @property
    def remarks(self) -> list[str]:
        """What the diff does not show: refused, proposed and idle ops"""
        record = self.record
        idle = [applied.op for applied in record.applied if applied.outcome != "applied"]
        return [
            *(f"nothing to do: {in_words(op)}" for op in idle),
            *(f"proposed, {each.state}: {in_words(each.op)}" for each in record.proposed),
            *(f"refused, {each.reason}: {in_words(each.op)}" for each in record.rejected),
        ]

    @property
    def has_changed(self) -> bool:
        """Whether its note is another one since"""
        return self.record.before != self.record.after

    @property
    def can_undo(self) -> bool:
        """Whether it is in effect, and kept as it was"""
        record = self.record
        return self.has_changed and not (record.redacted or record.folded or self.undone_by)


def row_of(record: Record, undone_by: str, *, complete: bool = False) -> RecordRow:
    """Return a record for a template; with `complete` also its diff, which lists do not show."""
    diff = recorded(record.diff) if complete else ()
    return RecordRow(record, undone_by, sentences_of(record), diff)


class Undoing:
    """Which records are undone now. It must get the records newest first."""

    def __init__(self) -> None:
        self._undone_by: dict[str, str] = {}

    def add(self, record: Record) -> str:
        """Return the id of the record that undid this one; empty when it is in effect."""
        undone_by = self._undone_by.get(record.id, "")
        has_changed = record.before != record.after
        # An undo that was undone itself undoes nothing.
        if record.undoes and has_changed and not undone_by:
            self._undone_by.setdefault(record.undoes, record.id)
        return undone_by


EVERYTHING = "*"
"""In place of the scopes of a session that sees all of the vault"""
HINT = "the log lists the records with their ids"
FILE = "web-seen.json"
MOST_MARKS = 200


class RecordViewer:
    """The audit of a vault, as one session may see it."""

    def __init__(
        self, memory: VaultMemory, scopes: Sequence[str], *, sees_all: bool = False
    ) -> None:
        """`sees_all`: also records of notes that are in no scope any more."""
        self._memory = memory
        self._scopes = scopes
        self._chosen_scopes = None if sees_all else scopes
        # Fault: with the first note of a new person, all scopes are other scopes, and
        # everything would be new again.
        self._rights = (EVERYTHING,) if sees_all else scopes
        self._seen = SeenMarks(memory.vault.state.path)

    def newest_first(self) -> "Iterator[Record]":
        """Yield the records of the session's scopes."""
        yield from reversed(self._memory.log(scopes=self._chosen_scopes))

    def with_undoing(self) -> "Iterator[tuple[Record, str]]":
        """Yield the same records, each with the id of the record that undid it, or ""."""
        undoing = Undoing()
        for record in self.newest_first():
            yield record, undoing.add(record)

    def find(self, prefix: str) -> "Record":
        """Return the only record whose id begins so. Raises UnclearId."""
        record, _ = self._find(prefix)
        return record

    def newest_of(self, note: str) -> str:
        """Return the id of the newest record of a note; empty without one."""
        return next((record.id for record in self.newest_first() if record.note == note), "")

    def row(self, prefix: str) -> RecordRow:
        """Return the only record whose id begins so, with all of its diff. Raises UnclearId."""
        record, undone_by = self._find(prefix)
        return row_of(record, undone_by, complete=True)

    def _find(self, prefix: str) -> "tuple[Record, str]":
        records = {
            record_id: (record, undone_by)
            for record, undone_by in self.with_undoing()
            for record_id in (*record.folded, record.id)
        }
        # Fault: the ids of other scopes among the candidates would show what others did.
        match = resolve(prefix, records)
        if not match.id:
            raise UnclearId("record", prefix, match.candidates, HINT)
        return records[match.id]

    def undo(self, prefix: str, *, dry_run: bool = False) -> "Edit":
        """Take back what a record did. Raises UnclearId, NotUndoable, Folded."""
        return self._memory.undo(prefix, dry_run=dry_run, scopes=self._chosen_scopes)

    def seen_mark(self) -> str:
        """Return the id of the newest record that was seen; empty before the first mark."""
        return self._seen.mark(self._rights)

    def mark_seen(self, record_id: str) -> None:
        """Move the seen mark forward to a record."""
        self._seen.move(self._rights, record_id)


# --- Seen marks ---


class SeenMarks:
    """In a file: digest of the scopes → id of the last record they saw. Several processes may use it."""

    def __init__(self, state: Path) -> None:
        self._file = state / FILE
        self._lock = state / f"{FILE}.lock"

    def mark(self, scopes: Collection[str]) -> str:
        """Return the id of the newest record that was seen; empty before the first mark."""
        return self._marks().get(_digest(scopes), "")

    def move(self, scopes: Collection[str], record_id: str) -> None:
        """Move the mark forward to a record."""
        key = _digest(scopes)
        places.make_private(self._lock.parent)
        with state_file.lock(self._lock):
            marks = self._marks()
            # Fault: an old view that is still open in another tab would move the mark back.
            newest = max(marks.pop(key, ""), record_id)
            marks[key] = newest
            recent = dict(list(marks.items())[-MOST_MARKS:])
            state_file.write(self._file, json.dumps(recent))

    def _marks(self) -> dict[str, str]:
        value = state_file.read_json(self._file)
        # Fault: a person may edit any file of the state folder. Then all records are new.
        if not isinstance(value, dict):
            return {}
        return {key: mark for key, mark in value.items() if isinstance(mark, str)}


def _digest(scopes: Collection[str]) -> str:
    """Return a digest: the file shall not say who looks at whose notes."""
    names = "\n".join(sorted(scopes))
    return hashlib.sha256(names.encode("utf-8", "surrogatepass")).hexdigest()


NIGHT_SOURCES = frozenset({"nightly", "talk", "retention"})
"""Sources of what a night does: it also writes what people asked for"""
_NIGHT = re.compile(r"\bnight of ([0-9]{4}-[0-9]{2}-[0-9]{2})")


class RecordGroup(NamedTuple):
    """Records of a night or a day, newest first."""

    title: str
    night: str
    """its date; empty for a day"""
    rows: list[RecordRow]

    @property
    def can_undo(self) -> bool:
        """Whether anything of it can be undone"""
        return any(row.can_undo for row in self.rows)


def night_of(record: Record) -> str:
    """Return the date of the night that made a record; empty for any other record."""
    # Fault: a bot gives its own reasons, and could call any edit a night's.
    if record.source not in NIGHT_SOURCES:
        return ""
    match = _NIGHT.search(record.why)
    return match[1] if match else ""


def grouped(records: Iterable[tuple[Record, RecordRow]]) -> list[RecordGroup]:
    """Return groups in the order of their newest records."""
    groups: dict[str, RecordGroup] = {}
    for record, row in records:
        date = night_of(record)
        title = night(date) if date else day(record.ts) or "At an unknown time"
        groups.setdefault(title, RecordGroup(title, date, [])).rows.append(row)
    return list(groups.values())
