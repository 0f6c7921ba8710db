"""The JSON contract: what each call gives back, as one object with stable keys."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vault_memory.errors import UsageError, VaultMemoryError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from vault_memory.context.blocks import ContextBlock
    from vault_memory.conversations.calls import Recorded
    from vault_memory.edits.conflict_copy import ConflictCopy, Resolved
    from vault_memory.edits.edit_result import Edit
    from vault_memory.edits.reports import Check, Ended, ThrownNote
    from vault_memory.edits.versions import NoteVersion
    from vault_memory.forgetting.forget_text import Forgotten
    from vault_memory.rules.edits.audit_record import Proposal, Record
    from vault_memory.search.freshness import Freshness, SearchAnswer
    from vault_memory.search.note_reports import IndexReport, NoteInfo, NoteText
    from vault_memory.search.results import Hit

ADVICE = {
    "identical": "discard",
    "contained": "discard",
    "mergeable": "merge",
    "conflict": "merge",
    "orphan": "take",
}
"""What is to be done about a conflict copy, by its state"""
HEADING_STEP = " › "
"""Between the names of a heading path"""


def of_search(answer: "SearchAnswer") -> dict[str, Any]:
    """`search`: `hits` and `freshness`, and with `--why` what the filters left out."""
    found: dict[str, Any] = {
        "hits": [of_hit(hit) for hit in answer.hits],
        "freshness": of_freshness(answer.freshness),
    }
    if answer.left_out:
        found["left_out"] = dict(answer.left_out)
    return found | of_unknown_scopes(answer)


def of_unknown_scopes(answer: object) -> dict[str, list[str]]:
    """The scopes of a question that have no note, where there are any."""
    unknown_scopes = getattr(answer, "unknown_scopes", ())
    return {"unknown_scopes": list(unknown_scopes)} if unknown_scopes else {}


def of_hit(hit: "Hit") -> dict[str, Any]:
    """One hit; paths are relative to the vault, lines are 1-based and inclusive."""
    found: dict[str, Any] = {
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
        found["pending"] = True
    if hit.why is not None:
        found["why"] = hit.why.as_json()
    return found


def of_context(block: "ContextBlock") -> dict[str, Any]:
    """`context`: the text for the prompt, its parts in order, and what was cut."""
    return {
        "text": block.text,
        "parts": [part._asdict() for part in block.parts],
        "cut": [cut._asdict() for cut in block.cut],
        "freshness": of_freshness(block.freshness),
    } | of_unknown_scopes(block)


def of_freshness(freshness: "Freshness") -> dict[str, Any]:
    return {**freshness._asdict(), "stale_files": list(freshness.stale_files)}


def of_index(report: "IndexReport") -> dict[str, Any]:
    return _as_dict(report)


def of_note(note: "NoteText") -> dict[str, Any]:
    return {**_as_dict(note), "sections": list(note.sections)}


def of_notes(notes: "Sequence[NoteInfo]") -> dict[str, Any]:
    return {"notes": [_as_dict(note) for note in notes]}


def of_doctor(checks: "Sequence[Check]") -> dict[str, Any]:
    return {"checks": [_as_dict(check) for check in checks]}


def of_edit(edit: "Edit") -> dict[str, Any]:
    """`append`, `add-heading`, `remove`, `replace`, `apply`, `undo`, `restore`."""
    return {
        "note": edit.note,
        "before": edit.before,
        "after": edit.after,
        "applied": [_without_empty(_as_dict(done), "remark") for done in edit.applied],
        "rejected": [
            _without_empty(_as_dict(refused), "headings") for refused in edit.rejected
        ],
        "proposed": [_as_dict(proposal) for proposal in edit.proposed],
        "pending": [_as_dict(waiting) for waiting in edit.pending],
        "audit_id": edit.audit_id,
        "diff": edit.diff,
        "summary": edit.summary,
    }


def of_log(records: "Iterable[Record]") -> dict[str, Any]:
    return {"records": [record.as_json() for record in records]}


def of_inbox(proposals: "Iterable[Proposal]") -> dict[str, Any]:
    return {
        "items": [
            {
                "id": one.id,
                "note": one.note,
                "op": dict(one.op),
                "why": one.why,
                "state": one.state,
            }
            for one in proposals
        ]
    }


def of_conflicts(copies: "Iterable[ConflictCopy]") -> dict[str, Any]:
    """`conflicts`: what waits, and what would be done about it."""
    return {
        "items": [
            _copy(copy) | {"diff": copy.diff.decode("utf-8", "replace")}
            for copy in copies
        ]
    }


def of_resolved(resolved: "Iterable[Resolved]") -> dict[str, Any]:
    """`conflicts merge`, `take`, `discard`: what became of each."""
    return {
        "items": [
            _copy(one.copy)
            | {"outcome": one.outcome, "why": one.why or one.copy.why}
            | {
                "audit_id": one.edit.audit_id if one.edit else None,
                "diff": one.edit.diff if one.edit else "",
            }
            for one in resolved
        ]
    }


def _copy(copy: "ConflictCopy") -> dict[str, Any]:
    said = copy.conflicts
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
                "section": one.section,
                "note": one.kept.decode("utf-8", "replace"),
                "copy": one.other.decode("utf-8", "replace"),
                "reason": one.reason,
            }
            for one in said
        ],
    }


def of_trash(thrown: "Iterable[ThrownNote]") -> dict[str, Any]:
    return {"items": [_as_dict(one) for one in thrown]}


def of_history(versions: "Sequence[NoteVersion]") -> dict[str, Any]:
    return {"versions": [_as_dict(version) for version in versions]}


def of_forgotten(forgotten: "Forgotten") -> dict[str, Any]:
    """`forget`: the receipt says nothing of the text."""
    return {
        "matches": forgotten.matches,
        "removed": [_as_dict(one) for one in forgotten.removed],
        "remaining": [_as_dict(one) for one in forgotten.remaining] or 0,
        "receipt": _as_dict(forgotten.receipt) if forgotten.receipt else None,
        "alike": [_as_dict(one) for one in forgotten.alike],
        "in_memory": [_as_dict(one) for one in forgotten.in_memory],
    }


def of_recorded(recorded: "Recorded") -> dict[str, Any]:
    """`record`: null twice when the turn was not to be recorded."""
    return recorded._asdict()


def of_ended(ended: "Ended") -> dict[str, Any]:
    """`end-session`: ids of turns."""
    return {name: list(ids) for name, ids in _as_dict(ended).items()}


def read_ops(text: str | bytes) -> list[object]:
    """The ops in a JSON text: a list of them, or an object with the list under `ops`. Raises UsageError."""
    import json

    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"the ops are no JSON: {error}", hint='write [{"op": "append", …}, …]'
        ) from None
    ops = said.get("ops") if isinstance(said, dict) else said
    if not isinstance(ops, list):
        raise UsageError(
            "the ops are no list", hint='write [{"op": "append", …}, …] or {"ops": […]}'
        )
    return ops


def _without_empty(entry: dict[str, Any], name: str) -> dict[str, Any]:
    return (
        entry
        if entry[name]
        else {key: value for key, value in entry.items() if key != name}
    )


def of_error(error: VaultMemoryError) -> dict[str, Any]:
    return {"error": error.as_json()}


ARGUMENTS = {
    "query": str,
    "scopes": list,
    "mode": str,
    "limit": int,
    "now": str,
    "topic": str,
    "entity": str,
    "since": str,
    "until": str,
    "kinds": list,
    "why": bool,
    "session": str,
}
"""Of a search, with their types in JSON; lists are of text, and what is not needed may be null"""
CONTEXT_ARGUMENTS = {
    "prompt": str,
    "scopes": list,
    "purpose": str,
    "budget": int,
    "session": str,
    "confirmation": str,
    "automatic": bool,
    "private": bool,
    "now": str,
}
"""Of the memory block for a prompt, likewise"""


def _is(value: object, kind: type) -> bool:
    if isinstance(value, list):
        return kind is list and all(isinstance(part, str) for part in value)
    return value is None or (
        isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    )


def search_arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `VaultMemory.search` from JSON, where dates and times are ISO 8601."""
    return _arguments(args, ARGUMENTS, "search")


def context_arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `VaultMemory.context` from JSON; those that are null are left out."""
    found = _arguments(args, CONTEXT_ARGUMENTS, "context")
    return {name: value for name, value in found.items() if value is not None}


def _arguments(
    args: Mapping[str, Any], known: Mapping[str, type], call: str
) -> dict[str, Any]:
    from datetime import date, datetime

    found = dict(args)
    if unknown := sorted(set(found) - set(known)):
        raise UsageError(f"`{call}` takes {', '.join(known)}, not {', '.join(unknown)}")
    for name, kind in known.items():
        if not _is(found.get(name), kind):
            raise UsageError(
                f"`{name}` is {found.get(name)!r}, which is no {kind.__name__}"
            )
    try:
        for name in ("since", "until"):
            if found.get(name):
                found[name] = date.fromisoformat(found[name])
        if found.get("now"):
            found["now"] = datetime.fromisoformat(found["now"])
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"a date is not ISO 8601: {error}", hint="write 2026-01-31"
        ) from None
    return found


def _as_dict(value: "DataclassInstance") -> dict[str, Any]:
    """The fields of a dataclass, by name."""
    from dataclasses import asdict  # only here: a hook would wait 7 ms for it

    return asdict(value)
