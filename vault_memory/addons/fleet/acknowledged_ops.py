"""Operations as data: what a bot asked for, so that another host can do the same once more.

An operation is executed on the scratch and kept in the ledger before it is answered. It carries all
that its execution depends on: the time, and an id from which the ids of turns and audit records
follow. So two hosts that both execute it write the same bytes, and a merge sees one change.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal, assert_never

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.conversations.calls import MODES, NOTHING, Recorded, RecordOptions
from vault_memory.edits.calls import EditOptions, aware
from vault_memory.edits.commands import EditAction, MergeCopy, RestoreLines, id_by_clock
from vault_memory.edits.edit_result import Edit, edit_of
from vault_memory.learning.remember import Remembered
from vault_memory.markdown.note_items import item_id
from vault_memory.rules.conversations.turn import Turn, new_id
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.paths.scope_notes import places_of

Call = Literal["record", "remember", "apply"]
Answer = Recorded | Remembered | Edit
FORMAT = 1
LATEST = 32
"""Newest audit records of a note among which those of an operation are"""
CHANCE_BITS = 30
"""Random bits in the id of a turn"""
PREFIX = 17
"""Letters of an audit record's id that its operation gives: 12 of the time, 5 of the id"""


@dataclass(frozen=True, slots=True)
class OpOutcome:
    """What the execution of an operation wrote, so that a replay recognises it."""

    note: str = ""
    records: tuple[Mapping[str, Any], ...] = ()
    """audit records, as their lines have them"""

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"note": self.note, "records": list(self.records)}

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> "OpOutcome":
        """Return the outcome that a JSON object has."""
        return cls(str(value["note"]), tuple(value["records"]))


NO_OUTCOME = OpOutcome()


@dataclass(frozen=True, slots=True)
class AcknowledgedOp:
    """One operation of one caller."""

    op_id: str
    """chosen by the caller, or at random; the same again means the same operation"""
    call: Call
    arguments: Mapping[str, Any] = field(repr=False)
    """keywords of the call, as JSON values"""
    now: datetime
    outcome: OpOutcome = NO_OUTCOME

    def as_bytes(self) -> bytes:
        """Return the operation for the ledger."""
        fields = {
            "format": FORMAT,
            "op_id": self.op_id,
            "call": self.call,
            "arguments": dict(self.arguments),
            "now": self.now.isoformat(),
            "outcome": self.outcome.as_json(),
        }
        return json.dumps(fields).encode()

    @classmethod
    def read(cls, raw: bytes) -> "AcknowledgedOp":
        """Return an operation of the ledger. Raises ValueError for one of a newer version."""
        fields: dict[str, Any] = json.loads(raw)
        # Fault: an older host would replay a part of what a newer one acknowledged.
        if fields["format"] > FORMAT:
            raise ValueError(f"format {fields['format']}")
        return cls(
            fields["op_id"],
            fields["call"],
            fields["arguments"],
            datetime.fromisoformat(fields["now"]),
            OpOutcome.read(fields["outcome"]),
        )

    @property
    def chance(self) -> int:
        """The random bits of the turn's id."""
        return int(self._digest("turn")[:8], 16) & ((1 << CHANCE_BITS) - 1)

    @property
    def prefix(self) -> str:
        """The beginning of the ids of this operation's audit records."""
        milliseconds = max(0, int(self.now.timestamp() * 1000))
        return f"{milliseconds:012x}{self._digest('record')[:5]}"

    def command_id(self, action: EditAction) -> str:
        """The id of a command of this operation."""
        return self.prefix + self._digest(json.dumps(action.fields(), default=repr))[:3]

    def _digest(self, purpose: str) -> str:
        return sha256(f"{self.op_id}\0{purpose}".encode()).hexdigest()


def with_owner(memory: VaultMemory, op: AcknowledgedOp) -> AcknowledgedOp:
    """Return the operation with the person of its session. Raises OwnerUnknown."""
    # Fault: the session may be unknown, or that of another person, when the turn is replayed.
    if op.call != "record":
        return op
    turn = memory.conversations.with_owner(_turn(op))
    owner = {"user": turn.user, "channel": turn.channel}
    return replace(op, arguments={**op.arguments, **owner})


def execute(memory: VaultMemory, op: AcknowledgedOp, *, again: bool = False) -> Answer:
    """Execute an operation on an open vault. With `again`, it may have been executed before."""
    match op.call:
        case "record":
            return _record(memory, op, again=again)
        case "remember":
            text = str(op.arguments["text"])
            scope = str(op.arguments["scope"])
            options = _edit_options(op, again=again)
            with _ids_of(memory, op):
                return memory.learning.remember(text, scope=scope, options=options)
        case "apply":
            note = str(op.arguments["note"])
            options = _edit_options(op, again=again)
            with _ids_of(memory, op):
                return memory.edits.apply(note, op.arguments["ops"], options)
        case _:
            assert_never(op.call)


def answer_ahead(memory: VaultMemory, op: AcknowledgedOp) -> Answer | None:
    """Return the answer of an operation that is executed later; None: it depends on the text then.

    A turn whose person is named is only added to a transcript, whatever that has.
    """
    if op.call != "record" or op.arguments.get("mode", MODES[0]) != MODES[0]:
        return None
    turn = _turn(op)
    if not turn.user:
        return None
    conversations = memory.conversations
    is_hidden = conversations.is_incognito(turn.session, turn.user)
    if op.arguments.get("silent") or is_hidden:
        return NOTHING
    moment = aware(op.now)
    turn_id = new_id(moment, op.chance)
    turn = turn._replace(id=turn_id, ts=moment.isoformat())
    return Recorded(turn_id, conversations.transcripts.path_of(turn))


def recorded_answer(memory: VaultMemory, op: AcknowledgedOp) -> Answer | None:
    """Return the answer of an operation that the audit has; None when it does not have it."""
    for note in _notes_of(memory, op):
        records = records_of(memory, op, note)
        if records and op.call == "apply":
            return edit_of(records[-1], recorded=True)
        if records:
            return _remembered(op, records[-1])
    return None


def outcome_of(memory: VaultMemory, op: AcknowledgedOp, note: str) -> OpOutcome:
    """Return what an operation has written so far; a write may wait for its note."""
    records = records_of(memory, op, note)
    return OpOutcome(note, tuple(dict(record.as_json()) for record in records))


def current_outcome(memory: VaultMemory, op: AcknowledgedOp) -> OpOutcome:
    """Return the outcome with the records that the audit has by now, else the one of before."""
    notes = [op.outcome.note] if op.outcome.note else _notes_of(memory, op)
    for note in notes:
        outcome = outcome_of(memory, op, note)
        if outcome.records:
            return outcome
    return op.outcome


def records_of(memory: VaultMemory, op: AcknowledgedOp, note: str) -> list[Record]:
    """Return the audit records of an operation that the audit of a note has."""
    with memory.edits.transaction():
        trail = memory.edits.editor.trail
        latest = trail.latest(note, LATEST)
        if len(latest) == LATEST:
            latest = trail.of(note)
    return [record for record in latest if record.id.startswith(op.prefix)]


def _notes_of(memory: VaultMemory, op: AcknowledgedOp) -> list[str]:
    """The notes that an operation may change."""
    match op.call:
        case "record":
            return []
        case "apply":
            return [str(op.arguments["note"])]
        case "remember":
            paths = list(memory.vault.folder.listing().entries)
            scope = str(op.arguments["scope"])
            places = places_of(scope, paths, memory.vault.layout)
            return [note for note in (places.profile, places.rules) if note]
        case _:
            assert_never(op.call)


def _remembered(op: AcknowledgedOp, record: Record) -> Remembered:
    """The answer to a text that was remembered before."""
    words = " ".join(str(op.arguments["text"]).split())
    id_ = item_id(str(op.arguments["scope"]), "user", words)
    if record.proposed:
        return Remembered("proposed", id_, record.note, record.proposed[0].why)
    return Remembered("duplicate", id_, record.note)


def _record(memory: VaultMemory, op: AcknowledgedOp, *, again: bool) -> Recorded:
    arguments = op.arguments
    options = RecordOptions(
        mode=arguments.get("mode", "persistent"),
        silent=bool(arguments.get("silent")),
        now=op.now,
        chance=op.chance,
        again=again,
    )
    return memory.conversations.record(_turn(op), options)


def _turn(op: AcknowledgedOp) -> Turn:
    arguments = op.arguments
    return Turn(
        id="",
        ts="",
        session=arguments["session"],
        role=arguments["role"],
        user=arguments.get("user") or "",
        channel=arguments.get("channel") or "",
        text=arguments["text"],
        origin=arguments.get("origin", "owner"),
        source=arguments.get("source", "talk"),
        automated=bool(arguments.get("automated")),
    )


def _edit_options(op: AcknowledgedOp, *, again: bool) -> EditOptions:
    arguments = op.arguments
    expected = arguments.get("expected")
    return EditOptions(
        source=arguments.get("source", "tool"),
        # Fault: the note has changed since. An acknowledged operation is applied to the newer text.
        expected=None if again else expected,
        merge=bool(arguments.get("merge")),
        why=arguments.get("why", ""),
        origin=arguments.get("origin", "owner"),
        now=op.now,
    )


@contextmanager
def _ids_of(memory: VaultMemory, op: AcknowledgedOp) -> Iterator[None]:
    """Give the commands of an operation the ids that follow from it."""

    def make_id(now: datetime, action: EditAction) -> str:
        # Other commands that happen to run in between are not part of the operation.
        if isinstance(action, RestoreLines | MergeCopy):
            return id_by_clock(now, action)
        return op.command_id(action)

    with memory.edits.transaction():
        editor = memory.edits.editor
        editor.make_id = make_id
        try:
            yield
        finally:
            editor.make_id = id_by_clock
