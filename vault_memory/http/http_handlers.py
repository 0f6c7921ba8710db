"""The call of VaultMemory behind each route, with the scopes of the caller and no others."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vault_memory.api import json_contract, read_request
from vault_memory.api.redact_paths import folders_of, without_paths
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.contract import requests
from vault_memory.errors import NoteNotFound
from vault_memory.lazy import lazy_module
from vault_memory.rules.paths.caller import Caller
from vault_memory.rules.paths.filenames import inside

if TYPE_CHECKING:
    from vault_memory.api import facts_json, said_secrets, source_json
    from vault_memory.contract import answers
    from vault_memory.daemon import query_or_local
    from vault_memory.learning.policy import feedback as policy_feedback
else:
    facts_json = lazy_module("vault_memory.api.facts_json")
    said_secrets = lazy_module("vault_memory.api.said_secrets")
    source_json = lazy_module("vault_memory.api.source_json")
    query_or_local = lazy_module("vault_memory.daemon.query_or_local")
    policy_feedback = lazy_module("vault_memory.learning.policy.feedback")

Answer = Mapping[str, Any]


def search(memory: VaultMemory, caller: Caller, request: requests.SearchRequest) -> Answer:
    answer = query_or_local.search(
        memory,
        request.query,
        scopes=caller.reads(memory.layout),
        options=read_request.search_options(request),
    )
    hits = said_secrets.masked_hits(memory, answer["hits"])
    return _for_caller(memory, caller, {**answer, "hits": hits})


def context(memory: VaultMemory, caller: Caller, request: requests.ContextBody) -> Answer:
    options = read_request.context_options(request)
    scopes = caller.reads(memory.layout)
    memory.learning.commit_before(options.session, scopes)
    answer = query_or_local.context(
        memory, request.prompt, scopes=scopes, options=options._replace(private=caller.private)
    )
    return _for_caller(memory, caller, answer)


def turns(
    memory: VaultMemory, caller: Caller, request: requests.TurnRequest
) -> "answers.RecordedJson":
    recorded = memory.record_turn(
        user=caller.user,
        channel=caller.channel or None,
        session=request.session,
        role=request.role,
        text=request.text,
        source=request.source,
        origin=request.origin,
        mode=request.mode,
        silent=request.silent,
        automated=request.automated,
    )
    return json_contract.of_recorded(recorded)


def end_session(
    memory: VaultMemory, caller: Caller, request: requests.SessionRequest
) -> "answers.EndedJson":
    ended = memory.end_session(request.session, user=caller.user, channel=caller.channel or None)
    return json_contract.of_ended(ended)


def compact(
    memory: VaultMemory, caller: Caller, request: requests.CompactRequest
) -> "answers.CompactedJson":
    compacted = memory.learning.compact(
        request.session, request.text, user=caller.user, channel=caller.channel
    )
    return compacted.as_json()


def notes(
    memory: VaultMemory, caller: Caller, request: requests.NoArguments
) -> "answers.NotesJson":
    return json_contract.of_notes(memory.notes(caller.reads(memory.layout)))


def note(
    memory: VaultMemory, caller: Caller, request: requests.NoteRequest
) -> "answers.NoteTextJson":
    path = inside(request.note)
    # Fault (H124): another error than for a missing note would tell which notes other
    # people have.
    if not caller.may_read(path, memory.layout):
        raise NoteNotFound(path)
    answer = json_contract.of_note(memory.read(path))
    if path.endswith(".jsonl"):
        answer["text"] = said_secrets.masked_lines(memory, answer["text"])
    return answer


def remember(
    memory: VaultMemory, caller: Caller, request: requests.RememberRequest
) -> "answers.RememberedJson":
    scope = memory.learning.scope_to_remember(request.text, caller)
    remembered = memory.remember(request.text, scope=scope, source="tool")
    return json_contract.of_remembered(remembered)


def held(
    memory: VaultMemory, caller: Caller, request: requests.NoArguments
) -> "answers.HeldListJson":
    return {"held": memory.learning.held(caller.scopes(memory.layout))}


def feedback(
    memory: VaultMemory, caller: Caller, request: requests.FeedbackRequest
) -> "answers.FeedbackJson":
    feedback = policy_feedback.Feedback(
        request.verdict,
        scope=caller.scopes(memory.layout)[0],
        user=caller.user,
        about=request.about,
        text=request.text,
    )
    memory.learning.log_feedback(feedback, caller.reads(memory.layout))
    return {"ok": True}


def facts(
    memory: VaultMemory, caller: Caller, request: requests.FactsRequest
) -> "answers.FactsJson":
    listed = memory.facts(
        scopes=caller.reads(memory.layout),
        entity=request.entity,
        on=request.on,
        below=request.below,
    )
    return facts_json.of_facts(listed)


def source(memory: VaultMemory, caller: Caller, request: requests.SourceArguments) -> Answer:
    origin = memory.source(request.ref, scopes=caller.reads(memory.layout), around=request.around)
    return said_secrets.masked_source(memory, source_json.of_source(origin))


def _for_caller(memory: VaultMemory, caller: Caller, answer: Answer) -> Answer:
    """The answer without names of notes of others, and without folders of the machine."""
    payload = caller.shown(answer, memory.layout)
    freshness = payload["freshness"]
    # Fault: folders of the machine contain names of its users.
    reason = without_paths(freshness["reason"], folders_of(memory))
    return {**payload, "freshness": {**freshness, "reason": reason}}
