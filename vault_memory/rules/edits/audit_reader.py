"""Reading the audit back. A person may edit its files, so it never fails: what is not understood is left out."""

import json
import sys
from collections.abc import Mapping

from vault_memory.markdown.note_items import short_hash
from vault_memory.rules.edits.audit_record import STATES, Proposal, Record, RecordedOp
from vault_memory.rules.edits.json_safe import plain, unpacked
from vault_memory.rules.edits.ops import Rejected


def read_line(line: bytes) -> Record | None:
    """The record on one line of a file; None when it is none."""
    try:
        return read_record(json.loads(line))
    except (ValueError, RecursionError):
        return None


def read_record(value: object) -> Record | None:
    """The record that a JSON value means; None when it is none. Never raises."""
    if not isinstance(value, Mapping) or not (_text(value, "id") or _text(value, "ts")):
        return None
    ts, note = _text(value, "ts"), _name(value, "note")
    return Record(
        _text(value, "id")
        or f"{ts}-{short_hash(json.dumps(plain(value), sort_keys=True))}",
        ts,
        _name(value, "user_id"),
        _name(value, "source"),
        note,
        tuple(map(_read_done, _entries(value, "applied"))),
        tuple(map(_read_rejected, _entries(value, "rejected"))),
        tuple(
            _read_proposal(entry, note, ts)
            for entry in _entries(value, "proposed")
            if _text(entry, "id")
        ),
        _text(value, "before"),
        _text(value, "after"),
        unpacked(value.get("diff")),
        _text(value, "why"),
        _text(value, "undoes"),
        value.get("redacted") is True,
        _name(value, "device"),
    )


def _text(value: Mapping[object, object], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _name(value: Mapping[object, object], name: str) -> str:
    """A text that many records share, such as the note's path: it is in memory once."""
    return sys.intern(_text(value, name))


def _entries(
    value: Mapping[object, object], name: str
) -> list[Mapping[object, object]]:
    found = value.get(name)
    return (
        [entry for entry in found if isinstance(entry, Mapping)]
        if isinstance(found, list | tuple)
        else []
    )


def _op(entry: Mapping[object, object]) -> dict[str, object]:
    """The op of an entry, where it stands under `op`, or is spread over the entry itself."""
    found = entry.get("op")
    said = (
        found if isinstance(found, Mapping) else entry if isinstance(found, str) else {}
    )
    return {
        sys.intern(key): sys.intern(value)
        if key in ("op", "heading") and isinstance(value, str)
        else value
        for key, value in said.items()
        if isinstance(key, str)
    }


def _read_done(entry: Mapping[object, object]) -> RecordedOp:
    removed, added = unpacked(entry.get("removed")), unpacked(entry.get("added"))
    return RecordedOp(
        _op(entry), _name(entry, "outcome"), removed, added, _text(entry, "remark")
    )


def _read_rejected(entry: Mapping[object, object]) -> Rejected:
    headings = entry.get("headings")
    names = (
        tuple(name for name in headings if isinstance(name, str))
        if isinstance(headings, list | tuple)
        else ()
    )
    op = entry.get("op")
    return Rejected(
        _op(entry) if isinstance(op, Mapping | str) else op,
        _text(entry, "reason"),
        names,
    )


def _read_proposal(entry: Mapping[object, object], note: str, ts: str) -> Proposal:
    state = _text(entry, "state")
    return Proposal(
        _text(entry, "id"),
        note,
        _op(entry),
        _text(entry, "why"),
        state if state in STATES else "open",
        ts,
        _text(entry, "reason"),
        entry.get("suspicious") is True,
    )
