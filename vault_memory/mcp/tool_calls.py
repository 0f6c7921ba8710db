"""The tools that read, and those that change notes: policy limits them, a person can undo them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from vault_memory.contract import requests
from vault_memory.errors import UsageError
from vault_memory.mcp.http_session import Serving
from vault_memory.rules.context import quotations
from vault_memory.rules.context.quotations import Answered, answered, of_summary
from vault_memory.vault.write import wait_reasons

if TYPE_CHECKING:
    from vault_memory.contract import RemainingJson, RemovedJson
    from vault_memory.contract.answers import FactChangeJson, ProposedRemovalJson
    from vault_memory.contract.tool_answers import ToolFactChange, ToolForgotten, ToolRemembered


LONGEST = 40_000
"""Characters of notes in one answer.

A model gets more of a note by a call from the next line on, and other hits by a narrower search.
"""


def search(serving: Serving, arguments: requests.SearchArguments) -> Answered:
    """Find lines that answer a question."""
    # A host does not say which conversation asks. Its hook has recorded the prompt just now, and
    # the model would find its own question.
    session = serving.open_conversation() or None
    request = requests.SearchRequest(**asdict(arguments), session=session)
    # A thousand hits would take the room of a conversation.
    return quotations.of_search(serving.view.search(request), LONGEST)


def context(serving: Serving, arguments: requests.ContextArguments) -> Answered:
    """Compose the memory block for a prompt."""
    session = serving.open_conversation() or None
    request = requests.ContextBody(**asdict(arguments), session=session)
    return quotations.of_context(serving.view.context(request))


def get(serving: Serving, arguments: requests.NoteLinesArguments) -> Answered:
    """Read a note or some of its lines. Raises NoteNotFound, for a note of another person, too."""
    note = serving.view.read_note(requests.NoteRequest(serving.path_of(arguments.note)))
    lines = _lines(note["text"])
    first, last = arguments.first_line, len(lines)
    if arguments.last_line is not None:
        last = min(arguments.last_line, last)
    last = _last_that_fits(lines, first, last)
    text = "".join(lines[first - 1 : last])
    return quotations.of_note(
        {
            **note,
            # A line may be as long as a note, and a model has no room for a million characters.
            "text": text[:LONGEST],
            "cut": max(0, len(text) - LONGEST),
            "lines": [first, last] if text else [0, 0],
            "total_lines": len(lines),
        }
    )


def entity(serving: Serving, arguments: requests.EntityArguments) -> Answered:
    """Return the facts and mentions of a person or a thing."""
    return quotations.of_entity(arguments.name, serving.view.entity(arguments))


def source(serving: Serving, arguments: requests.SourceArguments) -> Answered:
    """Follow a line, a fact or an id back to the turns behind it."""
    note, colon, line = arguments.ref.rpartition(":")
    ref = f"{serving.path_of(note)}:{line}" if colon else arguments.ref
    return quotations.of_source(
        serving.view.source(requests.SourceArguments(ref, arguments.around))
    )


def stats(serving: Serving, arguments: requests.NoArguments) -> Answered:
    """Count the notes by kind."""
    answer = serving.view.stats(arguments)
    kinds = [f"{counts['notes']} {kind}" for kind, counts in answer["kinds"].items()] or ["none"]
    message = (
        f"{answer['sources']['notes']['notes']} notes ({', '.join(kinds)})"
        f" in {', '.join(serving.view.reads)}"
    )
    return quotations.answered(message, {"message": message, **answer})


def _lines(text: str) -> list[str]:
    """Returns the lines with their ends, counted as in hits."""
    import re

    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", text)


def _last_that_fits(lines: Sequence[str], first: int, last: int) -> int:
    """Returns the last line that fits into an answer, which has at least one line."""
    remaining = LONGEST
    for number in range(first, last + 1):
        remaining -= len(lines[number - 1])
        if remaining < 0 and number > first:
            return number - 1
    return last


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
