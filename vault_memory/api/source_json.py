"""Turns the answer about a source into the JSON contract."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vault_memory.contract import source_answers
    from vault_memory.conversations.turn_lookup import FoundTurn
    from vault_memory.learning.provenance.calls import Provenance
    from vault_memory.rules.conversations.turn import Turn
    from vault_memory.rules.edits.audit_record import Record


def of_source(origin: "Provenance") -> "source_answers.SourceJson":
    """Return the answer of `source`."""
    return {
        "ref": origin.ref,
        "kind": origin.kind,
        "id": origin.id,
        "note": origin.note,
        "lines": list(origin.lines) if origin.lines else None,
        "scope": origin.scope,
        "text": origin.text,
        "written": _written(origin.record) if origin.record else None,
        "turns": [_turn(turn) for turn in origin.turns],
        "reason": origin.reason,
    }


def _written(record: "Record") -> "source_answers.WrittenJson":
    return {"id": record.id, "ts": record.ts, "source": record.source, "why": record.why}


def _turn(match: "FoundTurn") -> "source_answers.SourceTurnJson":
    return {
        "id": match.id,
        "gone": match.gone or None,
        "note": match.transcript,
        "turn": _spoken(match.turn) if match.turn else None,
        "before": [_spoken(turn) for turn in match.before],
        "after": [_spoken(turn) for turn in match.after],
        "closed": match.closed or None,
    }


def _spoken(turn: "Turn") -> "source_answers.SpokenJson":
    return {
        "id": turn.id,
        "ts": turn.ts,
        "session": turn.session,
        "role": turn.role,
        "user": turn.user,
        "text": turn.text,
        "automated": turn.is_automated,
    }
