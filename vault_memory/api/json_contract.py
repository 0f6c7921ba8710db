"""Turns results of calls whose JSON has other keys than their fields into answers of the contract.

All others are as `contract.as_json` makes them.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from vault_memory.contract import as_json
from vault_memory.rules.edits import record_sentences

if TYPE_CHECKING:
    from vault_memory.contract import answers, edit_answers, source_answers
    from vault_memory.conversations.turn_lookup import FoundTurn
    from vault_memory.edits.conflict_copy import ConflictCopy, ResolvedConflict
    from vault_memory.forgetting.forget_text import Forgotten
    from vault_memory.learning.provenance import Provenance
    from vault_memory.learning.remember import Remembered
    from vault_memory.learning.runner import Slept
    from vault_memory.rules.conversations.turn import Turn
    from vault_memory.rules.edits.audit_record import Proposal, Record
    from vault_memory.search.freshness import SearchAnswer
    from vault_memory.search.note_reports import NoteList
    from vault_memory.search.results import Hit
    from vault_memory.sync.report import SyncReport

ADVICE = {
    "identical": "discard",
    "contained": "discard",
    "mergeable": "merge",
    "conflict": "merge",
    "orphan": "take",
}
"""The op that `conflicts` advises for a copy, by its state"""
HEADING_STEP = " › "
"""Between the names of a heading path"""
SECRET_HINT = "leave it out; only the person keeps a secret, with `vault-memory remember --yes`"
"""What to do about a text to remember that has a secret"""
MOST_ALSO = 5
"""Places of copies that an answer lists"""


# ---- search and context --------------------------------------------------------------


def of_search(answer: "SearchAnswer") -> "answers.SearchAnswerJson":
    """Return the answer of `search`; it has `left_out` if anything was left out."""
    payload: answers.SearchAnswerJson = {
        "hits": [of_hit(hit) for hit in answer.hits],
        "freshness": as_json(answer.freshness),
    }
    if answer.left_out:
        payload["left_out"] = dict(answer.left_out)
    if answer.unknown_scopes:
        payload["unknown_scopes"] = list(answer.unknown_scopes)
    if answer.unknown_filters:
        payload["unknown_filters"] = as_json(answer.unknown_filters)
    if answer.words_missing:
        payload["words_missing"] = True
    if answer.unsure:
        payload["unsure"] = True
    if (survey := answer.survey) and survey.unclaimed:
        payload["not_memory"] = {"files": survey.unclaimed, "of": survey.total}
    return payload


def of_hit(hit: "Hit") -> "answers.HitJson":
    """Return one hit of an answer."""
    payload: answers.HitJson = {
        "note": hit.note,
        "lines": list(hit.lines),
        "heading": HEADING_STEP.join(hit.heading),
        "date": hit.date,
        "scope": hit.scope,
        "kind": hit.kind,
        "text": hit.text,
        "score": hit.score,
    }
    if hit.pending:
        payload["pending"] = True
    if hit.ended:
        payload["ended"] = True
    if hit.copies > 1:
        payload["copies"] = hit.copies
        payload["also"] = as_json(hit.also[:MOST_ALSO])
    if hit.state:
        payload["state"] = hit.state
    if hit.why is not None:
        terms = {name: round(term, 4) for name, term in hit.why.terms.items()}
        payload["why"] = {"terms": terms, "arms": dict(hit.why.arms)}
    return payload


# ---- notes ---------------------------------------------------------------------------


def of_notes(notes: "NoteList") -> "answers.NotesJson":
    """Return the answer of `notes`."""
    payload: answers.NotesJson = {"notes": as_json(notes)}
    if notes.unknown_scopes:
        payload["unknown_scopes"] = list(notes.unknown_scopes)
    return payload


# ---- edits ---------------------------------------------------------------------------


def of_log(records: "Iterable[Record]", lost: list[str]) -> "edit_answers.LogJson":
    """Return the answer of `log`: the records with their sentences; the notes that are gone."""
    return {
        "records": [
            {**record.as_json(), "sentences": as_json(record_sentences.sentences_of(record))}
            for record in records
        ],
        "lost": lost,
    }


def of_inbox(proposals: "Iterable[Proposal]") -> "edit_answers.InboxJson":
    """Return the answer of `inbox`."""
    return {
        "items": [
            {
                "id": proposal.id,
                "note": proposal.note,
                "op": dict(proposal.op),
                "why": proposal.why,
                "state": proposal.state,
            }
            for proposal in proposals
        ]
    }


# ---- conflict copies -----------------------------------------------------------------


def of_conflicts(copies: "Iterable[ConflictCopy]") -> "edit_answers.ConflictsJson":
    """Return the answer of `conflicts`: the copies that wait, each with the advised op."""
    return {"items": [_copy(copy) for copy in copies]}


def of_resolved(resolutions: "Iterable[ResolvedConflict]") -> "edit_answers.ResolvedJson":
    """Return the answer of `conflicts merge`, `take` and `discard`."""
    return {"items": [_resolved(resolution) for resolution in resolutions]}


def _resolved(resolution: "ResolvedConflict") -> "edit_answers.ResolvedCopyJson":
    copy = _copy(resolution.copy)
    edit = resolution.edit
    if resolution.why:
        copy["why"] = resolution.why
    return {
        **copy,
        "outcome": resolution.outcome,
        "audit_id": edit.audit_id if edit else None,
        "diff": edit.diff if edit else "",
    }


def _copy(copy: "ConflictCopy") -> "edit_answers.CopyJson":
    return {
        "id": copy.id,
        "note": copy.note,
        "op": {"op": ADVICE[copy.state], "copy": copy.path},
        "why": copy.why,
        "state": copy.state,
        "copy": copy.path,
        "program": copy.program,
        "date": copy.date,
        "sure": copy.sure,
        "revision": copy.revision,
        "conflicts": [
            {
                "section": conflict.section,
                "note": conflict.kept.decode("utf-8", "replace"),
                "copy": conflict.other.decode("utf-8", "replace"),
                "reason": conflict.reason,
            }
            for conflict in copy.conflicts
        ],
        "places": as_json(copy.places),
        "diff": copy.diff.decode("utf-8", "replace"),
    }


# ---- sources -------------------------------------------------------------------------


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


# ---- conversations and memory --------------------------------------------------------


def of_remembered(remembered: "Remembered") -> "answers.RememberedJson":
    """Return the answer of `remember`."""
    answer: answers.RememberedJson = as_json(remembered)
    if remembered.reason == "secret":
        answer["hint"] = SECRET_HINT
    return answer


def of_slept(slept: "Slept") -> "answers.SleepJson":
    """Return the answer of `sleep`."""
    return {
        "scopes": list(slept.scopes),
        "night": slept.night or None,
        "report": slept.kept or None,
    }


def of_forgotten(forgotten: "Forgotten") -> dict[str, Any]:
    """Return the answer of `forget`. The receipt contains nothing of the text."""
    answer: dict[str, Any] = as_json(forgotten)
    answer["remaining"] = as_json(forgotten.remaining) or 0
    return answer


# ---- sync ----------------------------------------------------------------------------


def of_sync(report: "SyncReport") -> dict[str, Any]:
    """Return the answer of `sync`."""
    answer: dict[str, Any] = as_json(report)
    answer["planned"] = [{"path": act.path, "action": act.reason} for act in report.planned]
    return answer
