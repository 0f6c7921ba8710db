"""The tools that change notes. Policy limits what the bot does, and a person can undo it."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from vault_memory.contract import requests
from vault_memory.errors import UsageError
from vault_memory.mcp.http_session import Serving
from vault_memory.rules.context.quotations import Answered, answered, of_summary
from vault_memory.vault.write import wait_reasons

if TYPE_CHECKING:
    from vault_memory.contract import RemainingJson, RemovedJson
    from vault_memory.contract.answers import FactChangeJson, ProposedRemovalJson
    from vault_memory.contract.tool_answers import ToolFactChange, ToolForgotten, ToolRemembered

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
    "proposed": WAITS,
}
"""What a model reads instead of the code of a refusal"""


def remember(serving: Serving, arguments: requests.RememberArguments) -> Answered:
    """Keep a sentence for good."""
    request = requests.RememberRequest(arguments.text)
    remembered = serving.view.remember(request, arguments.expected_revision)
    reason = _explained(remembered["reason"])
    if remembered["outcome"] == "proposed" and not reason:
        reason = WAITS
    answer: ToolRemembered = {
        "message": _with_reason(f"{remembered['outcome']}: {remembered['note']}", reason),
        "outcome": remembered["outcome"],
        "id": remembered["id"],
        "note": remembered["note"],
        "reason": reason,
    }
    return answered(answer["message"], answer)


def compact(serving: Serving, arguments: requests.CompactArguments) -> Answered:
    """Sum a conversation up, and end it."""
    session = arguments.session or serving.open_conversation()
    if not session:
        raise UsageError("no conversation of this person is open", hint="give its `session`")
    compacted = serving.view.compact(requests.CompactRequest(session, arguments.text))
    return of_summary(compacted["id"], compacted["note"], compacted["preview"])


def correct(serving: Serving, arguments: requests.CorrectArguments) -> Answered:
    """Replace what is wrong in a fact."""
    return _changed(serving.view.correct_fact(arguments))


def confirm(serving: Serving, arguments: requests.ConfirmArguments) -> Answered:
    """Note that the person said a fact is right."""
    return _changed(serving.view.confirm_fact(arguments))


def forget(serving: Serving, arguments: requests.ForgetArguments) -> Answered:
    """Remove items by their words, or one fact."""
    if arguments.note is not None:
        arguments = replace(arguments, note=serving.path_of(arguments.note))
    retracted = serving.view.forget(arguments)
    removed: list[RemovedJson] = [
        {"place": place["place"], "count": place["count"]} for place in retracted["removed"]
    ]
    remaining: list[RemainingJson] = [
        {"place": place["place"], "why": _explained(place["why"])}
        for place in retracted["remaining"] or ()
    ]
    lines = _lines_about(removed, retracted["proposed"], remaining)
    answer: ToolForgotten = {
        "message": "\n".join(lines) or "nothing says that",
        "matches": retracted["matches"],
        "removed": removed,
        "proposed": [{**proposed} for proposed in retracted["proposed"]],
        "remaining": remaining,
    }
    return answered(answer["message"], answer)


def _changed(change: "FactChangeJson") -> Answered:
    """Returns what became of a change of a fact."""
    reasons = [_explained(op["reason"]) for op in change["rejected"]]
    reasons += [proposal["why"] for proposal in change["proposed"]]
    reasons += [pending["explanation"] for pending in change["pending"]]
    reason = "; ".join(reasons)
    message = f"{change['outcome']}: {change['id']} in {change['note']}"
    answer: ToolFactChange = {
        "message": _with_reason(message, reason),
        "outcome": change["outcome"],
        "id": change["id"],
        "note": change["note"],
        "reason": reason,
        "proposed": [{"id": proposal["id"]} for proposal in change["proposed"]],
    }
    return answered(answer["message"], answer)


def _lines_about(
    removed: "Iterable[RemovedJson]",
    proposed: "Iterable[ProposedRemovalJson]",
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
