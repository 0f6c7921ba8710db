"""Reads audit records. People may edit the files, so unknown values are left out, without errors."""

import json
import sys
from collections.abc import Mapping

from vault_memory.markdown.note_items import short_hash
from vault_memory.rules.edits.audit_record import (
    STATES,
    Proposal,
    Record,
    RecordedOp,
    plain,
    unpacked,
)
from vault_memory.rules.edits.ops import Rejected

JsonObject = Mapping[object, object]


def read_line(line: bytes) -> Record | None:
    """Returns the record on one line of a file, or None."""
    try:
        return read_record(json.loads(line))
    except (ValueError, RecursionError):
        return None


def read_record(value: object) -> Record | None:
    """Returns the record in a JSON value, or None. Never raises."""
    if not isinstance(value, Mapping):
        return None
    record_id = _text(value, "id")
    ts = _text(value, "ts")
    if not record_id and not ts:
        return None
    if not record_id:
        content = json.dumps(plain(value), sort_keys=True)
        record_id = f"{ts}-{short_hash(content)}"
    note = _shared_text(value, "note")
    proposals = [entry for entry in _entries(value, "proposed") if _text(entry, "id")]
    return Record(
        id=record_id,
        ts=ts,
        user_id=_shared_text(value, "user_id"),
        source=_shared_text(value, "source"),
        note=note,
        applied=tuple(map(_read_applied, _entries(value, "applied"))),
        rejected=tuple(map(_read_rejected, _entries(value, "rejected"))),
        proposed=tuple(_read_proposal(entry, note, ts) for entry in proposals),
        before=_text(value, "before"),
        after=_text(value, "after"),
        diff=unpacked(value.get("diff")),
        why=_text(value, "why"),
        undoes=_text(value, "undoes"),
        redacted=value.get("redacted") is True,
        device=_shared_text(value, "device"),
        folded=_texts(value, "folded"),
    )


def _text(value: JsonObject, name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""


def _texts(value: JsonObject, name: str) -> tuple[str, ...]:
    texts = value.get(name)
    if not isinstance(texts, list):
        return ()
    return tuple(text for text in texts if isinstance(text, str))


def _shared_text(value: JsonObject, name: str) -> str:
    """Returns a text that many records share, such as a path: it is in memory once."""
    return sys.intern(_text(value, name))


def _entries(value: JsonObject, name: str) -> list[JsonObject]:
    entries = value.get(name)
    if not isinstance(entries, list | tuple):
        return []
    return [entry for entry in entries if isinstance(entry, Mapping)]


def _op(entry: JsonObject) -> dict[str, object]:
    """Returns the op of an entry, which is its value `op`, or the entry itself."""
    op = entry.get("op")
    fields: JsonObject = {}
    if isinstance(op, Mapping):
        fields = op
    elif isinstance(op, str):
        fields = entry
    op_fields = {sys.intern(key): value for key, value in fields.items() if isinstance(key, str)}
    # Many records share these texts, so each is in memory once.
    for key in ("op", "heading"):
        text = op_fields.get(key)
        if isinstance(text, str):
            op_fields[key] = sys.intern(text)
    return op_fields


def _read_applied(entry: JsonObject) -> RecordedOp:
    return RecordedOp(
        op=_op(entry),
        outcome=_shared_text(entry, "outcome"),
        removed=unpacked(entry.get("removed")),
        added=unpacked(entry.get("added")),
        remark=_text(entry, "remark"),
    )


def _read_rejected(entry: JsonObject) -> Rejected:
    headings = entry.get("headings")
    names: tuple[str, ...] = ()
    if isinstance(headings, list | tuple):
        names = tuple(name for name in headings if isinstance(name, str))
    op = entry.get("op")
    if isinstance(op, Mapping | str):
        op = _op(entry)
    return Rejected(op, _text(entry, "reason"), names)


def _read_proposal(entry: JsonObject, note: str, ts: str) -> Proposal:
    state = _text(entry, "state")
    return Proposal(
        id=_text(entry, "id"),
        note=note,
        op=_op(entry),
        why=_text(entry, "why"),
        state=state if state in STATES else "open",
        ts=ts,
        reason=_text(entry, "reason"),
        suspicious=entry.get("suspicious") is True,
    )
