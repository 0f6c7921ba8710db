"""A question to the person within a call of a tool, about what would wait in the INBOX else.

The change is proposed first, as without a question. So it waits for the person whatever becomes of
the question, and an answer can approve nothing but what was shown: the call is held under a token
that only its client gets, that one answer uses up, and that holds for ten minutes.
"""

import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from vault_memory.edits.edit_result import Edit
from vault_memory.errors import VaultMemoryError
from vault_memory.mcp import protocol_results
from vault_memory.mcp.http_session import Serving
from vault_memory.mcp.protocol import (
    CAPABILITIES_KEY,
    INVALID_PARAMS,
    VERSION_KEY,
    ProtocolError,
    meta_of,
)
from vault_memory.rules.context.quotations import safe
from vault_memory.rules.edits.audit_record import Proposal
from vault_memory.rules.edits.inbox_page import describe
from vault_memory.rules.paths.scopes import Caller

Json = dict[str, Any]

KEY = "confirm"
"""Of the only question of a call, and of its answer"""
SECONDS = 600.0
"""How long a question can be answered"""
MOST = 1000
"""Questions that are open at once in this process. The oldest is given up for one more."""
_OUTCOMES = {
    "memory_remember": "added",
    "memory_correct": "corrected",
    "memory_confirm": "confirmed",
}
"""Tool → the outcome of a change that the person agreed to"""
_FORM = {"type": "object", "properties": {}}
"""Asks for nothing but yes or no"""


class OpenQuestion(NamedTuple):
    """A call whose changes were shown to the person."""

    caller: Caller
    vault: str
    request: Json
    """the name and the arguments of the call"""
    proposals: tuple[str, ...]
    """the ids of the changes that were shown"""
    result: Json
    """of the call without an answer"""
    until: float


class OpenQuestions:
    """The questions of this process that wait for an answer. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_token: dict[str, OpenQuestion] = {}

    def put(self, question: OpenQuestion) -> str:
        """Keep a question; return its token."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            # Fault: a client that answers nothing would fill the memory.
            if len(self._by_token) >= MOST:
                del self._by_token[next(iter(self._by_token))]
            self._by_token[token] = question
        return token

    def take(self, token: object, serving: Serving, request: Json) -> OpenQuestion:
        """Return the question of a token, which is used up. Raises ProtocolError."""
        with self._lock:
            question = self._by_token.pop(token, None) if isinstance(token, str) else None
        # Fault: another client, or the same one with another change, would be taken to have asked.
        if (
            question is None
            or time.monotonic() > question.until
            or question.caller != serving.view.caller
            or question.vault != _vault_of(serving)
            or question.request != request
        ):
            problem = "this question was answered, is too old, or belongs to another call"
            raise ProtocolError(INVALID_PARAMS, f"{problem}; the change waits in INBOX")
        return question


_OPEN = OpenQuestions()


def of_call(serving: Serving, name: str, arguments: Json, params: Json) -> Json:
    """Return the result of `tools/call`, or the question to ask first. Raises ProtocolError."""
    request = {"name": name, "arguments": arguments}
    if "requestState" in params:
        question = _OPEN.take(params["requestState"], serving, request)
        return _answered(serving, question, params.get("inputResponses"))
    result = protocol_results.of_call(serving, name, arguments)
    if not _asks_the_person(params):
        return result
    proposals = _proposals(serving, result.get("structuredContent", {}))
    if not proposals:
        return result
    ids = tuple(proposal.id for proposal in proposals)
    until = time.monotonic() + SECONDS
    caller = serving.view.caller
    question = OpenQuestion(caller, _vault_of(serving), request, ids, result, until)
    form = {"mode": "form", "message": _message(proposals), "requestedSchema": _FORM}
    return {
        "resultType": "input_required",
        "inputRequests": {KEY: {"method": "elicitation/create", "params": form}},
        "requestState": _OPEN.put(question),
    }


def _vault_of(serving: Serving) -> str:
    return str(serving.memory.vault.folder.root)


def _asks_the_person(params: Json) -> bool:
    """Return whether the client shows its person questions, in a version that has them."""
    meta = meta_of(params)
    if VERSION_KEY not in meta:
        return False
    elicitation = meta[CAPABILITIES_KEY].get("elicitation")
    return elicitation == {} or (isinstance(elicitation, Mapping) and "form" in elicitation)


def _proposals(serving: Serving, answer: Json) -> list[Proposal]:
    """Return what this call proposed; nothing unless the person may decide about all of it."""
    ids: set[str] = set()
    for entry in answer.get("proposed", ()):
        ids.update(entry["ids"] if "ids" in entry else [entry["id"]])
    if answer.get("outcome") == "proposed" and not ids:
        ids.add(answer["id"])
    if not ids:
        return []
    # What reads like an order to the bot is for the INBOX, where the reason stands beside it.
    proposals = [
        proposal
        for proposal in serving.memory.inbox(_own_scopes(serving))
        if proposal.id in ids and not proposal.suspicious
    ]
    # Fault: the answer after a yes would say that nothing waits.
    return proposals if len(proposals) == len(ids) else []


def _own_scopes(serving: Serving) -> Sequence[str]:
    """Return the scopes about which the person decides alone."""
    caller = serving.view.caller
    # Fault: the question is read by all members of a channel, and anybody there would answer it.
    if caller.channel:
        return ()
    return Caller(caller.user).scopes(serving.memory.layout)


def _message(proposals: Sequence[Proposal]) -> str:
    lines = [f"- {_shown(proposal.note)}: {describe(proposal)}" for proposal in proposals]
    return "\n".join(
        [
            "The bot asks to change your notes:",
            *lines,
            "If you accept, it is done now, and can be undone. Else it waits in INBOX.",
        ]
    )


def _shown(note: str) -> str:
    """Return the path of a note, with a sign for each letter that is not seen."""
    # Fault (H123): hidden letters would let a person approve another change than they read.
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in note)


def _answered(serving: Serving, question: OpenQuestion, responses: object) -> Json:
    """Return the result after the person's answer."""
    response = responses.get(KEY) if isinstance(responses, Mapping) else None
    if not (isinstance(response, Mapping) and response.get("action") == "accept"):
        return _with_message(question.result, "the person did not agree now: it waits in INBOX")
    edits: list[Edit] = []
    problems: list[str] = []
    for id_ in question.proposals:
        try:
            edit = serving.memory.approve(id_, scopes=_own_scopes(serving))
        except VaultMemoryError as error:
            # The person decided about it elsewhere meanwhile, or the note cannot be written.
            problems.append(serving.explain(error))
            continue
        edits.append(edit)
        problems += [f"{edit.note}: {op.reason}" for op in edit.rejected]
        problems += [f"{edit.note}: {op.explanation}" for op in edit.pending]
    message = "; ".join(["the person agreed", *filter(None, [edit.summary for edit in edits])])
    if problems:
        return _with_message(question.result, "\n".join([message, *problems]))
    return _with_message(_done(question, edits), message)


def _done(question: OpenQuestion, edits: Sequence[Edit]) -> Json:
    """Return the result of a call whose changes are made."""
    answer = {**question.result["structuredContent"]}
    if "proposed" in answer:
        answer["proposed"] = []
    if outcome := _OUTCOMES.get(question.request["name"]):
        answer |= {"outcome": outcome, "reason": ""}
    else:
        removed = [{"place": edit.note, "count": len(edit.applied)} for edit in edits]
        notes = {edit.note for edit in edits}
        answer["removed"] = [*answer["removed"], *removed]
        answer["remaining"] = [
            place for place in answer["remaining"] if place["place"] not in notes
        ]
    return {**question.result, "structuredContent": answer}


def _with_message(result: Json, message: str) -> Json:
    text = safe(message)
    answer = {**result["structuredContent"], "message": text}
    return {**result, "content": [{"type": "text", "text": text}], "structuredContent": answer}
