"""The tools that change notes. Policy limits what the bot does, and a person can undo it."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from vault_memory.contract import requests
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module
from vault_memory.mcp.http_session import Serving
from vault_memory.rules.context.quotations import Answered, answered
from vault_memory.rules.context.source_quotation import of_summary

if TYPE_CHECKING:
    from vault_memory.contract import RemainingJson, RemovedJson
    from vault_memory.contract.tool_answers import (
        ToolFactChange,
        ToolForgotten,
        ToolProposedRemoval,
        ToolRemembered,
    )
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
    "secret": "it tells a password, a key or a number that is kept nowhere",
    "safety_bypass": "it would keep you from asking whether the person is safe",
    "crisis": "a memory does not keep it; answer the person",
    "multiple_matches": "several items say that",
    "not_text": "the note is no text in UTF-8",
}
"""What a model reads instead of the code of a refusal"""


def remember(serving: Serving, arguments: requests.RememberArguments) -> Answered:
    """Keep a sentence for good."""
    remembered = serving.memory.remember(
        arguments.text,
        scope=serving.memory.learning.scope_to_remember(arguments.text, serving.caller),
        source="tool",
        expected=arguments.expected_revision,
    )
    reason = _explained(remembered.reason)
    if remembered.outcome == "proposed" and not remembered.reason:
        reason = WAITS
    message = f"{remembered.outcome}: {remembered.note}"
    answer: ToolRemembered = {
        "message": _with_reason(message, reason),
        "outcome": remembered.outcome,
        "id": remembered.id,
        "note": remembered.note,
        "reason": reason,
    }
    return answered(answer["message"], answer)


def compact(serving: Serving, arguments: requests.CompactArguments) -> Answered:
    """Sum a conversation up, and end it."""
    session = arguments.session or serving.open_conversation()
    if not session:
        raise UsageError("no conversation of this person is open", hint="give its `session`")
    compacted = serving.memory.learning.compact(
        session, arguments.text, user=serving.caller.user, channel=serving.caller.channel
    )
    return of_summary(compacted.id, compacted.note, compacted.preview)


def correct(serving: Serving, arguments: requests.CorrectArguments) -> Answered:
    """Replace what is wrong in a fact."""
    fields = ("subject", "predicate", "object", "valid_from", "valid_until")
    right = {name: getattr(arguments, name) for name in fields}
    if all(value is None for value in right.values()):
        raise UsageError(
            "nothing says what is right", hint="give `object`, or another part of the fact"
        )
    change = serving.memory.correct_fact(
        arguments.fact,
        scopes=serving.scopes,
        source="tool",
        expected=arguments.expected_revision,
        **right,
    )
    return _changed(change)


def confirm(serving: Serving, arguments: requests.ConfirmArguments) -> Answered:
    """Note that the person said a fact is right."""
    change = serving.memory.facts.confirm(
        arguments.fact, scopes=serving.scopes, source="tool", expected=arguments.expected_revision
    )
    return _changed(change)


def forget(serving: Serving, arguments: requests.ForgetArguments) -> Answered:
    """Remove items by their words, or one fact."""
    if (arguments.text is None) == (arguments.fact is None):
        raise UsageError("either `text` or `fact` says what to forget", hint="give one of them")
    if arguments.fact is not None:
        return _forget_fact(serving, arguments, arguments.fact)
    note = arguments.note
    retracted = serving.memory.forgetting.take_back(
        str(arguments.text),
        scopes=serving.scopes,
        note=None if note is None else serving.path_of(note),
        expected=arguments.expected_revision,
    )
    return _forgotten(
        matches=retracted.matches,
        removed=[{"place": removed.place, "count": removed.count} for removed in retracted.removed],
        proposed=[
            {"place": proposed.place, "count": proposed.count, "inbox": proposed.inbox}
            for proposed in retracted.proposed
        ],
        remaining=[{"place": place.place, "why": place.why} for place in retracted.remaining],
    )


def _forget_fact(serving: Serving, arguments: requests.ForgetArguments, fact: str) -> Answered:
    """Delete a fact, and answer in the shape that a removed text has."""
    if arguments.note is not None:
        raise UsageError("a fact is known by its id alone", hint="leave `note` out")
    change = serving.memory.facts.delete(
        fact, scopes=serving.scopes, source="tool", expected=arguments.expected_revision
    )
    note, edit = change.note, change.edit
    removed: list[RemovedJson] = []
    remaining: list[RemainingJson] = []
    proposed: list[ToolProposedRemoval] = []
    if change.outcome == "deleted":
        removed.append({"place": note, "count": 1})
    else:
        codes = [op.reason for op in edit.rejected]
        codes += [op.reason for op in edit.pending]
        why = _explained(codes[0]) if codes else WAITS
        remaining.append({"place": note, "why": why})
    if edit.proposed:
        page = serving.memory.edits.editor.inbox.page_of(note)
        proposed.append({"place": note, "count": 1, "inbox": page})
    return _forgotten(matches=1, removed=removed, proposed=proposed, remaining=remaining)


def _changed(change: "FactChange") -> Answered:
    """Returns the outcome of a change of a fact, without the text of its page."""
    edit = change.edit
    reasons = [_explained(op.reason) for op in edit.rejected]
    reasons += [proposal.why for proposal in edit.proposed]
    reasons += [pending.explanation for pending in edit.pending]
    reason = "; ".join(reasons)
    message = f"{change.outcome}: {change.id} in {change.note}"
    answer: ToolFactChange = {
        "message": _with_reason(message, reason),
        "outcome": change.outcome,
        "id": change.id,
        "note": change.note,
        "reason": reason,
        "proposed": [{"id": proposal.id} for proposal in edit.proposed],
    }
    return answered(answer["message"], answer)


def _forgotten(
    *,
    matches: int,
    removed: "list[RemovedJson]",
    proposed: "list[ToolProposedRemoval]",
    remaining: "list[RemainingJson]",
) -> Answered:
    """Returns how many items were removed, and where others remain."""
    lines = _lines_about(removed, proposed, remaining)
    answer: ToolForgotten = {
        "message": "\n".join(lines) or "nothing says that",
        "matches": matches,
        "removed": removed,
        "proposed": proposed,
        "remaining": remaining,
    }
    return answered(answer["message"], answer)


def _lines_about(
    removed: "Iterable[RemovedJson]",
    proposed: "Iterable[ToolProposedRemoval]",
    remaining: "Iterable[RemainingJson]",
) -> list[str]:
    """Returns one line for each place."""
    lines = [f"removed {place['count']} from {place['place']}" for place in removed]
    lines += [
        f"proposed to remove {place['count']} from {place['place']}: "
        f"the person decides in {place['inbox'] or 'INBOX'}"
        for place in proposed
    ]
    lines += [f"still in {place['place']}: {place['why']}" for place in remaining]
    return lines


def _explained(reason: str) -> str:
    """Returns a code as a sentence; any other reason is a sentence already."""
    words: Mapping[Any, str] = wait_reasons.WORDS
    explained = REASONS.get(reason) or words.get(reason, reason)
    return explained if " " in explained else explained.replace("_", " ")


def _with_reason(message: str, reason: str) -> str:
    return f"{message} ({reason})" if reason else message
