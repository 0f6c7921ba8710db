"""Commands of the editor: who asks for which change of one note, when and why.

The action of a command is one of a few small classes. A command waits in the journal as JSON until
its audit record is written. So each action has its `fields` in that JSON, and `EditCommand` writes
and reads it.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import starmap
from typing import Any, NamedTuple, get_args

from vault_memory.contract import Source
from vault_memory.errors import UsageError
from vault_memory.rules.edits.ops import Op, as_json, op_of

SOURCES: tuple[Source, ...] = get_args(Source)
"""Who may ask for an edit: a person or the bot"""
FORGET = "forget"
"""Source of commands that redact a text; no command holds the text itself"""
RETENTION = "retention"
"""Source of commands that throw a note, or items of it, away because of their age"""

JsonFields = dict[str, object]
_TEXTS = ("id", "ts", "note", "kind", "source", "user_id", "why", "origin", "planned_after")
"""Fields of a command that JSON has under the same name"""


class ProposalDecision(NamedTuple):
    """A decision on one open proposal."""

    proposal_id: str
    state: str
    """approved, rejected or expired"""
    reason: str


class SectionMove(NamedTuple):
    """One section with its heading, on its way from one note to another."""

    text: str
    """undecodable bytes as lone surrogates"""
    source: str
    target: str


class OpForPerson(NamedTuple):
    """An op that a person decides about, whatever policy allows."""

    op: Op
    why: str


@dataclass(frozen=True, slots=True)
class ApplyOps:
    """Applies ops to the note; the ops are unchecked JSON values."""

    ops: tuple[object, ...] = ()
    asks: tuple[OpForPerson, ...] = ()
    """proposals for the note as the ops leave it"""

    def fields(self) -> JsonFields:
        """Returns the fields of the action in the journal."""
        ops = [as_json(op) if isinstance(op, Op) else op for op in self.ops]
        asks = [(as_json(ask.op), ask.why) for ask in self.asks]
        return {"ops": ops, "asks": asks} if asks else {"ops": ops}


@dataclass(frozen=True, slots=True)
class EditText:
    """Edits the note as a text, for the memory tool; see `rules.edits.text_edits`."""

    edit: object

    def fields(self) -> JsonFields:
        """Returns the fields of the action in the journal."""
        return {"ops": [self.edit], "as_text": True}


@dataclass(frozen=True, slots=True)
class SaveText:
    """Writes a whole note that a person edited as a text."""

    text: str
    base: str
    """what the person opened; empty for a new note"""
    op: Mapping[str, object] | None = None
    """in the audit log; None: a save"""

    def fields(self) -> JsonFields:
        """Returns the fields of the action in the journal."""
        return {"saves": [self.text, self.base, self.op]}


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """Takes back what one audit record did."""

    record_id: str

    def fields(self) -> JsonFields:
        """Returns the fields of the action in the journal."""
        return {"undoes": self.record_id}


@dataclass(frozen=True, slots=True)
class RestoreVersion:
    """Writes an earlier version of the note again."""

    revision: str

    def fields(self) -> JsonFields:
        """Returns the fields of the action in the journal."""
        return {"restores": self.revision}


@dataclass(frozen=True, slots=True)
class DecideProposals:
    """Records decisions on proposals, and applies those that were approved."""

    decisions: tuple[ProposalDecision, ...]

    def fields(self) -> JsonFields:
        """Returns the fields of the action in the journal."""
        return {"decides": self.decisions}


@dataclass(frozen=True, slots=True)
class RestoreLines:
    """Writes lines again that a stale save overwrote. The fields are revisions."""

    loaded: str
    """what the user's editor had loaded"""
    overwritten: str
    """what the save replaced"""
    saved: str

    def fields(self) -> JsonFields:
        """Returns the fields of the action in the journal."""
        return {"rejoins": [self.loaded, self.overwritten, self.saved]}


@dataclass(frozen=True, slots=True)
class MergeCopy:
    """Merges a conflict copy into its note."""

    path: str
    """of the copy"""
    revision: str
    base: str
    """revision of the common ancestor, empty when there is none"""
    day: str
    """ISO date for marks at lines that both sides changed"""
    keep_both: bool = False
    """keeps both lines where both sides changed one"""

    def fields(self) -> JsonFields:
        """Returns the fields of the action in the journal."""
        how = "both" if self.keep_both else "clean"
        return {"folds": [self.path, self.revision, self.base, self.day, how]}


@dataclass(frozen=True, slots=True)
class MoveSections:
    """Moves sections: puts them into their target, or takes them out of their source."""

    moves: tuple[SectionMove, ...]

    def fields(self) -> JsonFields:
        """Returns the fields of the action in the journal."""
        return {"moves": self.moves}


@dataclass(frozen=True, slots=True)
class ChangeFacts:
    """Changes a page of facts; see `plans.fact_edits` for the form of a wish."""

    wishes: tuple[Mapping[str, Any], ...]

    def fields(self) -> JsonFields:
        """Returns the fields of the action in the journal."""
        return {"facts": self.wishes}


@dataclass(frozen=True, slots=True)
class RedactText:
    """Records that a text was forgotten in `count` places; `forgetting` writes the note."""

    count: int

    def fields(self) -> JsonFields:
        """Returns the fields of the action in the journal."""
        return {"ops": [{"op": FORGET}] * self.count}


@dataclass(frozen=True, slots=True)
class RecordDuplicates:
    """Records texts that items of the note say already; see `rules.edits.skipped_duplicates`."""

    skips: tuple[Mapping[str, Any], ...]

    def fields(self) -> JsonFields:
        """Returns the fields of the action in the journal."""
        return {"skips": self.skips}


@dataclass(frozen=True, slots=True)
class RetireNote:
    """Throws the note away because of its age."""

    def fields(self) -> JsonFields:
        """Returns the fields of the action in the journal."""
        # The source of the command names the action.
        return {}


EditAction = (
    ApplyOps
    | EditText
    | SaveText
    | UndoRecord
    | RestoreVersion
    | DecideProposals
    | RestoreLines
    | MergeCopy
    | MoveSections
    | ChangeFacts
    | RedactText
    | RecordDuplicates
    | RetireNote
)


@dataclass(frozen=True, slots=True)
class EditCommand:
    """One change that a program asks for, of one note."""

    id: str
    """of its future audit record"""
    ts: str
    """ISO 8601 with offset"""
    note: str
    kind: str
    """of the note, as the layout names it"""
    source: str
    action: EditAction
    user_id: str = ""
    why: str = ""
    origin: str = "owner"
    """whose words the change goes back to"""
    owner_words: tuple[str, ...] = ()
    """keys of what the owner said in this session; see `rules.context.standing_rules`"""
    spoken: Mapping[str, str] | None = None
    """when the person said the turns that the bot learns from, by turn id; None: a person asks

    What a person deleted comes back by a later turn alone.
    """
    planned_after: str | None = None
    """id of the newest audit record that the plan used, empty when there was none; None: it used none"""

    @property
    def decided_proposals(self) -> frozenset[str]:
        """Ids of the proposals that this command decides."""
        if not isinstance(self.action, DecideProposals):
            return frozenset()
        return frozenset(decision.proposal_id for decision in self.action.decisions)

    def with_provenance(self, origin: str, owner_words: tuple[str, ...] = ()) -> "EditCommand":
        """Returns the command with the speaker that it goes back to, and the keys of what the owner said."""
        return replace(self, origin=origin, owner_words=owner_words)

    def as_bytes(self) -> bytes:
        """Returns the command as JSON, for the journal."""
        fields: JsonFields = {name: getattr(self, name) for name in _TEXTS}
        fields |= {"said": self.owner_words, **self.action.fields()}
        if self.spoken is not None:
            fields["spoken"] = dict(self.spoken)
        # Fault: a caller may send any value as an op. `repr` makes a text of a value
        # that JSON lacks, so that the record is kept.
        return json.dumps(fields, default=repr, skipkeys=True).encode()

    @classmethod
    def read(cls, raw: bytes) -> "EditCommand | None":
        """Reads a command from the journal; None when this version does not know its form."""
        try:
            fields: dict[str, Any] = json.loads(raw)
            return cls(
                action=_read_action(fields),
                owner_words=tuple(fields.get("said", ())),
                spoken=fields.get("spoken"),
                **{name: fields[name] for name in _TEXTS if name in fields},
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


class RunOptions(NamedTuple):
    """How a command is executed."""

    expected: str | None = None
    """the revision that the ops were made for: another one raises NoteChanged, unless `merge`"""
    merge: bool = False
    dry_run: bool = False
    patient: bool = True
    """waits a moment for a note that is in use"""
    idle: bool = True
    """records a command, too, that neither changes nor proposes anything"""


DEFAULT_RUN = RunOptions()


def new_command_id(now: datetime) -> str:
    """Returns an id that sorts by time."""
    milliseconds = max(0, int(now.timestamp() * 1000))
    # Fault (B50): a clock may be set back, and a caller may give several commands one
    # time. The second half keeps their order.
    order = time.time_ns() // 1000 & 0xFFFFFFFF
    return f"{milliseconds:012x}{order:08x}"


MakeId = Callable[[datetime, EditAction], str]
"""Makes the id of a command, from its time and action"""


def id_by_clock(now: datetime, action: EditAction) -> str:
    """Returns a new id; the same command asked for again gets another one."""
    return new_command_id(now)


def check_source(source: str, subject: str) -> None:
    """Raise UsageError for a source that is not one of SOURCES."""
    if source not in SOURCES:
        raise UsageError(
            f"{source!r} is not a source of {subject}", hint=f"the sources are {', '.join(SOURCES)}"
        )


def _read_action(fields: Mapping[str, Any]) -> EditAction:
    ops = tuple(fields.get("ops", ()))
    # The source names these two: their JSON has no field of its own.
    if fields["source"] == FORGET:
        return RedactText(len(ops))
    if fields["source"] == RETENTION and not ops:
        return RetireNote()
    for name, read in _ACTION_READERS.items():
        # Earlier versions wrote all fields, most of them empty.
        if fields.get(name):
            return read(fields[name])
    if fields.get("as_text"):
        return EditText(ops[0] if ops else None)
    asks = fields.get("asks")
    return ApplyOps(ops, _read_questions(asks) if asks else ())


def _read_questions(values: Any) -> tuple[OpForPerson, ...]:
    pairs = ((op_of(value), why) for value, why in values)
    return tuple(OpForPerson(op, why) for op, why in pairs if op is not None)


def _read_merge(value: Any) -> MergeCopy:
    path, revision, base, day, how = value
    return MergeCopy(path, revision, base, day, keep_both=how == "both")


_ACTION_READERS: dict[str, Callable[[Any], EditAction]] = {
    "undoes": UndoRecord,
    "saves": lambda texts: SaveText(*texts),
    "restores": RestoreVersion,
    "decides": lambda values: DecideProposals(tuple(starmap(ProposalDecision, values))),
    "rejoins": lambda revisions: RestoreLines(*revisions),
    "folds": _read_merge,
    "moves": lambda values: MoveSections(tuple(starmap(SectionMove, values))),
    "facts": lambda wishes: ChangeFacts(tuple(wishes)),
    "skips": lambda skips: RecordDuplicates(tuple(skips)),
}
