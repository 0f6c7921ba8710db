"""Turns the results of calls into the answers of the JSON contract.

The functions build plain dictionaries, because a hook cannot wait until msgspec is loaded. The
types of the answers are in `vault_memory.contract`: the type checker finds a key that is missing,
misspelt or too much.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    import dataclasses

    from vault_memory.context.blocks import ContextBlock
    from vault_memory.contract import (
        FreshnessJson,
        RemainingJson,
        answers,
        edit_answers,
        status_answers,
    )
    from vault_memory.conversations.calls import Recorded
    from vault_memory.edits.conflict_copy import ConflictCopy, ResolvedConflict
    from vault_memory.edits.edit_result import AppliedOp, Edit, RejectedOp
    from vault_memory.edits.reports import Check, Ended, ThrownNote
    from vault_memory.edits.versions import NoteVersion
    from vault_memory.forgetting.forget_text import Forgotten
    from vault_memory.learning.remember import Remembered
    from vault_memory.learning.runner import Slept
    from vault_memory.rules.edits.audit_record import Proposal, Record
    from vault_memory.search.freshness import Freshness, SearchAnswer
    from vault_memory.search.note_reports import IndexReport, NoteInfo, NoteText
    from vault_memory.search.results import Hit
    from vault_memory.sync.report import Remark, SyncReport
else:
    dataclasses = lazy_module("dataclasses")

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
        "freshness": of_freshness(answer.freshness),
    }
    if answer.left_out:
        payload["left_out"] = dict(answer.left_out)
    if answer.unknown_scopes:
        payload["unknown_scopes"] = list(answer.unknown_scopes)
    if answer.unknown_filters:
        payload["unknown_filters"] = [row.as_json() for row in answer.unknown_filters]
    if answer.words_missing:
        payload["words_missing"] = True
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
        payload["also"] = [
            {"note": copy.note, "lines": list(copy.lines), "date": copy.date}
            for copy in hit.also[:MOST_ALSO]
        ]
    if hit.state:
        payload["state"] = hit.state
    if hit.why is not None:
        terms = {name: round(term, 4) for name, term in hit.why.terms.items()}
        payload["why"] = {"terms": terms, "arms": dict(hit.why.arms)}
    return payload


def of_context(block: "ContextBlock") -> "answers.ContextBlockJson":
    """Return the answer of `context`."""
    payload: answers.ContextBlockJson = {
        "text": block.text,
        "parts": [
            {"kind": section.kind, "note": section.note, "chars": section.chars}
            for section in block.parts
        ],
        "cut": [{"kind": cut.kind, "reason": cut.reason} for cut in block.cut],
        "freshness": of_freshness(block.freshness),
    }
    if block.unknown_scopes:
        payload["unknown_scopes"] = list(block.unknown_scopes)
    return payload


def of_freshness(freshness: "Freshness") -> "FreshnessJson":
    """Return how current an answer is."""
    payload: FreshnessJson = {
        "stale_files": list(freshness.stale_files),
        "semantic": freshness.semantic,
        "reason": freshness.reason,
    }
    if freshness.missing_notes:
        payload["missing_notes"] = freshness.missing_notes
    return payload


# ---- notes and the index -------------------------------------------------------------


def of_index(report: "IndexReport") -> "status_answers.IndexReportJson":
    """Return the answer of `index`."""
    return cast("status_answers.IndexReportJson", dataclasses.asdict(report))


def of_note(note: "NoteText") -> "answers.NoteTextJson":
    """Return the answer of `read`."""
    return {
        "note": note.note,
        "revision": note.revision,
        "text": note.text,
        "sections": list(note.sections),
    }


def of_notes(
    notes: "Iterable[NoteInfo]", unknown_scopes: Sequence[str] = ()
) -> "answers.NotesJson":
    """Return the answer of `notes`."""
    payload: answers.NotesJson = {
        "notes": [
            {
                "note": note.note,
                "scope": note.scope,
                "kind": note.kind,
                "revision": note.revision,
                "bytes": note.bytes,
            }
            for note in notes
        ]
    }
    if unknown_scopes:
        payload["unknown_scopes"] = list(unknown_scopes)
    return payload


def of_doctor(checks: "Sequence[Check]") -> "status_answers.DoctorJson":
    """Return the answer of `doctor`."""
    return {
        "checks": [
            {"name": check.name, "state": check.state, "reason": check.reason, "fix": check.fix}
            for check in checks
        ]
    }


# ---- edits ---------------------------------------------------------------------------


def of_edit(edit: "Edit") -> "edit_answers.EditJson":
    """Return the answer of the commands that edit a note, such as `append` and `undo`."""
    return {
        "note": edit.note,
        "before": edit.before,
        "after": edit.after,
        "applied": [_applied(op) for op in edit.applied],
        "rejected": [_rejected(op) for op in edit.rejected],
        "proposed": [
            {"op": dict(proposal.op), "id": proposal.id, "why": proposal.why}
            for proposal in edit.proposed
        ],
        "pending": [
            {
                "op": dict(pending.op),
                "reason": pending.reason,
                "id": pending.id,
                "explanation": pending.explanation,
            }
            for pending in edit.pending
        ],
        "audit_id": edit.audit_id,
        "diff": edit.diff,
        "summary": edit.summary,
    }


def _applied(op: "AppliedOp") -> "edit_answers.AppliedJson":
    payload: edit_answers.AppliedJson = {"op": dict(op.op), "outcome": op.outcome}
    if op.remark:
        payload["remark"] = op.remark
    return payload


def _rejected(op: "RejectedOp") -> "edit_answers.RejectedJson":
    payload: edit_answers.RejectedJson = {"op": op.op, "reason": op.reason}
    if op.headings:
        payload["headings"] = list(op.headings)
    return payload


def of_log(records: "Iterable[Record]", lost: list[str]) -> "edit_answers.LogJson":
    """Return the answer of `log`: the records as in the audit log; the notes that are gone."""
    return {"records": [record.as_json() for record in records], "lost": lost}


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


def of_history(versions: "Sequence[NoteVersion]") -> "edit_answers.HistoryJson":
    """Return the answer of `history`."""
    return {
        "versions": [
            {
                "revision": version.revision,
                "ts": version.ts,
                "by": version.by,
                "bytes": version.bytes,
            }
            for version in versions
        ]
    }


def of_trash(notes: "Iterable[ThrownNote]") -> "edit_answers.TrashJson":
    """Return the answer of `trash`."""
    return {
        "items": [
            {
                "id": note.id,
                "note": note.note,
                "ts": note.ts,
                "bytes": note.bytes,
                "revision": note.revision,
                "outcome": note.outcome,
                "why": note.why,
            }
            for note in notes
        ]
    }


# ---- conflict copies -----------------------------------------------------------------


def of_conflicts(copies: "Iterable[ConflictCopy]") -> "edit_answers.ConflictsJson":
    """Return the answer of `conflicts`: the copies that wait, each with the advised op."""
    return {
        "items": [{**_copy(copy), "diff": copy.diff.decode("utf-8", "replace")} for copy in copies]
    }


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
    }


# ---- conversations and memory --------------------------------------------------------


def of_recorded(recorded: "Recorded") -> "answers.RecordedJson":
    """Return the answer of `record`."""
    return {"id": recorded.id, "note": recorded.note}


def of_ended(ended: "Ended") -> "answers.EndedJson":
    """Return the answer of `end-session`."""
    return {
        "committed": list(ended.committed),
        "held": list(ended.held),
        "dropped": list(ended.dropped),
        "waiting": list(ended.waiting),
    }


def of_remembered(remembered: "Remembered") -> "answers.RememberedJson":
    """Return the answer of `remember`."""
    answer: answers.RememberedJson = {
        "outcome": remembered.outcome,
        "id": remembered.id,
        "note": remembered.note,
        "reason": remembered.reason,
    }
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


def of_forgotten(forgotten: "Forgotten") -> "answers.ForgottenJson":
    """Return the answer of `forget`. The receipt contains nothing of the text."""
    remaining: list[RemainingJson] = [
        {"place": place.place, "why": place.why} for place in forgotten.remaining
    ]
    receipt: answers.ReceiptJson | None = None
    if forgotten.receipt:
        receipt = {
            "id": forgotten.receipt.id,
            "ts": forgotten.receipt.ts,
            "places": forgotten.receipt.places,
            "count": forgotten.receipt.count,
        }
    return {
        "matches": forgotten.matches,
        "removed": [
            {"place": removed.place, "count": removed.count} for removed in forgotten.removed
        ],
        "remaining": remaining or 0,
        "receipt": receipt,
        "alike": [{"place": alike.place, "count": alike.count} for alike in forgotten.alike],
        "in_memory": [{"pid": process.pid, "why": process.why} for process in forgotten.in_memory],
    }


# ---- sync ----------------------------------------------------------------------------


def of_sync(report: "SyncReport") -> "status_answers.SyncReportJson":
    """Return the answer of `sync`."""
    return {
        "uploaded": report.uploaded,
        "downloaded": report.downloaded,
        "merged": report.merged,
        "deleted_local": report.deleted_local,
        "deleted_remote": report.deleted_remote,
        "renamed_local": report.renamed_local,
        "renamed_remote": report.renamed_remote,
        "conflicts": report.conflicts,
        "copies": list(report.copies),
        "requests": report.requests,
        "skipped": _remarks(report.skipped),
        "held": _remarks(report.held),
        "waiting": _remarks(report.waiting),
        "failed": _remarks(report.failed),
        "notes": _remarks(report.notes),
        "open_conflicts": list(report.open_conflicts),
        "planned": [{"path": act.path, "action": act.reason} for act in report.planned],
    }


def _remarks(remarks: "Iterable[Remark]") -> "list[status_answers.PathRemarkJson]":
    return [{"path": remark.path, "reason": remark.reason} for remark in remarks]


# ---- errors --------------------------------------------------------------------------
