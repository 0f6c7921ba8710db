"""The tools that change something: as the bot's act, which policy binds, the audit tells, and a person can undo."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType

from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module
from vault_memory.mcp import tool_arguments
from vault_memory.mcp.http_session import Serving
from vault_memory.rules.context.quotations import Answered, answered

if TYPE_CHECKING:
    from vault_memory.facts.entity_info import FactChange
    from vault_memory.vault.write import wait_reasons
else:
    wait_reasons = lazy_module("vault_memory.vault.write.wait_reasons")

WAITS = "it waits for the person's decision in INBOX"
REASONS = {
    "deleted_by_person": "a person deleted it; leave it out",
    "rejected_by_person": "a person turned this change down; leave it out",
    "waits_for_removal": "an older line has to go first, and that waits for the person",
    "would_change_structure": "lines around it would mean something else after it",
    "multiple_matches": "several items say that",
    "not_text": "the note is no text in UTF-8",
}
"""What a model reads instead of the code of a refusal"""


def remember(serving: Serving, asked: tool_arguments.Remember) -> Answered:
    kept = serving.memory.remember(
        asked.text,
        scope=serving.own,
        source="tool",
        expected=_given(asked.expected_revision),
    )
    reason = (
        WAITS
        if kept.outcome == "proposed" and not kept.reason
        else _explained(kept.reason)
    )
    message = f"{kept.outcome}: {kept.note}" + (f" ({reason})" if reason else "")
    return _in_words(
        message,
        {"outcome": kept.outcome, "id": kept.id, "note": kept.note, "reason": reason},
    )


def correct(serving: Serving, asked: tool_arguments.Correct) -> Answered:
    right = {
        name: _given(getattr(asked, name))
        for name in ("subject", "predicate", "object", "valid_from", "valid_until")
    }
    if all(value is None for value in right.values()):
        raise UsageError(
            "nothing says what is right",
            hint="give `object`, or another part of the fact",
        )
    return _told(
        serving.memory.correct_fact(
            asked.fact,
            scopes=serving.scopes,
            source="tool",
            expected=_given(asked.expected_revision),
            **right,
        )
    )


def confirm(serving: Serving, asked: tool_arguments.Confirm) -> Answered:
    return _told(
        serving.memory.facts.confirm(
            asked.fact,
            scopes=serving.scopes,
            source="tool",
            expected=_given(asked.expected_revision),
        )
    )


def forget(serving: Serving, asked: tool_arguments.Forget) -> Answered:
    if (asked.text is UNSET) == (asked.fact is UNSET):
        raise UsageError(
            "either `text` or `fact` says what to forget", hint="give one of them"
        )
    expected, note = _given(asked.expected_revision), _given(asked.note)
    note = note if note is None else serving.path_of(note)
    if not isinstance(asked.fact, UnsetType):
        if note is not None:
            raise UsageError("a fact is known by its id alone", hint="leave `note` out")
        change = serving.memory.facts.delete(
            asked.fact, scopes=serving.scopes, source="tool", expected=expected
        )
        return _fact_gone(serving, change)
    done = serving.memory.forgetting.take_back(
        str(asked.text), scopes=serving.scopes, note=note, expected=expected
    )
    return _counted(done.as_json())


def _told(change: "FactChange") -> Answered:
    """What became of a fact, without the text of the page on which it stands."""
    edit = change.edit
    reasons = [_explained(refused.reason) for refused in edit.rejected]
    reasons += [proposal.why for proposal in edit.proposed]
    reasons += [waiting.explanation for waiting in edit.pending]
    reason = "; ".join(reasons)
    message = f"{change.outcome}: {change.id} in {change.note}" + (
        f" ({reason})" if reason else ""
    )
    proposed = [{"id": proposal.id} for proposal in edit.proposed]
    answer = {
        "outcome": change.outcome,
        "id": change.id,
        "note": change.note,
        "reason": reason,
    }
    return _in_words(message, answer | {"proposed": proposed})


def _fact_gone(serving: Serving, change: "FactChange") -> Answered:
    """In the shape that a text has."""
    edit, gone = change.edit, change.outcome == "deleted"
    page = (
        serving.memory.edits.editor.inbox.page_of(change.note) if edit.proposed else ""
    )
    codes = [refused.reason for refused in edit.rejected] + [
        waiting.reason for waiting in edit.pending
    ]
    why = _explained(codes[0]) if codes else WAITS
    return _counted(
        {
            "matches": 1,
            "removed": [{"place": change.note, "count": 1}] if gone else [],
            "proposed": [{"place": change.note, "count": 1, "inbox": page}]
            if edit.proposed
            else [],
            "remaining": 0 if gone else [{"place": change.note, "why": why}],
        }
    )


def _counted(answer: Mapping[str, Any]) -> Answered:
    """How many items went, and where others stay."""
    removed = [
        {"place": place["place"], "count": place["count"]}
        for place in answer["removed"]
    ]
    remaining = answer["remaining"] or []
    lines = [f"removed {place['count']} from {place['place']}" for place in removed]
    lines += [
        f"proposed to remove {place['count']} from {place['place']}: the person decides in {place['inbox'] or 'INBOX'}"
        for place in answer["proposed"]
    ]
    lines += [f"still in {place['place']}: {place['why']}" for place in remaining]
    message = "\n".join(lines) or "nothing says that"
    counts = {
        "matches": answer["matches"],
        "removed": removed,
        "proposed": answer["proposed"],
    }
    return _in_words(message, counts | {"remaining": remaining})


def _explained(reason: str) -> str:
    """A code as a sentence; any other reason is words already."""
    words: dict[str, str] = {
        str(code): text for code, text in wait_reasons.WORDS.items()
    }
    explained = REASONS.get(reason) or words.get(reason, reason)
    return explained if " " in explained else explained.replace("_", " ")


def _in_words(message: str, answer: Mapping[str, Any]) -> Answered:
    """An answer that says first in words what happened."""
    return answered(message, {"message": message, **answer})


def _given(value: Any) -> Any:
    """What was said; None when nothing was."""
    return None if value is UNSET else value
