"""The tools that only read: each gives what a model reads, as text and as data."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vault_memory.api import json_contract, read_request
from vault_memory.contract import requests
from vault_memory.errors import NoteNotFound
from vault_memory.lazy import lazy_module
from vault_memory.mcp.http_session import Serving
from vault_memory.rules.context import quotations
from vault_memory.rules.context.quotations import Answered

if TYPE_CHECKING:
    from vault_memory.api import facts_json, said_secrets, source_json
    from vault_memory.context import calls as context_calls
    from vault_memory.daemon import query_or_local
    from vault_memory.rules.context import source_quotation
else:
    facts_json = lazy_module("vault_memory.api.facts_json")
    said_secrets = lazy_module("vault_memory.api.said_secrets")
    source_json = lazy_module("vault_memory.api.source_json")
    context_calls = lazy_module("vault_memory.context.calls")
    query_or_local = lazy_module("vault_memory.daemon.query_or_local")
    source_quotation = lazy_module("vault_memory.rules.context.source_quotation")

LONGEST = 40_000
"""Characters of notes in one answer.

A model gets more of a note by a call from the next line on, and other hits by a narrower search.
"""


def search(serving: Serving, arguments: requests.SearchArguments) -> Answered:
    """Find lines that answer a question."""
    # A host does not say which conversation asks. Its hook has recorded the prompt just now, and
    # the model would find its own question.
    session = serving.open_conversation() or None
    options = read_request.question_options(arguments)._replace(session=session)
    answer = query_or_local.search(
        serving.memory, arguments.query, scopes=serving.reads, options=options
    )
    data = dict(serving.shown(answer))
    data["hits"] = said_secrets.masked_hits(serving.memory, data["hits"])
    # A thousand hits would take the room of a conversation.
    return quotations.of_search(data, LONGEST)


def context(serving: Serving, arguments: requests.ContextArguments) -> Answered:
    """Compose the memory block for a prompt."""
    options = context_calls.ContextOptions(
        purpose=arguments.purpose,
        budget=arguments.budget,
        session=serving.open_conversation() or None,
        private=serving.caller.private,
        as_of=arguments.as_of,
    )
    answer = query_or_local.context(
        serving.memory, arguments.prompt, scopes=serving.reads, options=options
    )
    return quotations.of_context(serving.shown(answer))


def get(serving: Serving, arguments: requests.NoteLinesArguments) -> Answered:
    """Read a note or some of its lines. Raises NoteNotFound, for a note of another person, too."""
    note = serving.read(arguments.note)
    if note is None:
        raise NoteNotFound(arguments.note)
    lines = _lines(note.text)
    first, last = arguments.first_line, len(lines)
    if arguments.last_line is not None:
        last = min(arguments.last_line, last)
    last = _last_that_fits(lines, first, last)
    text = "".join(lines[first - 1 : last])
    if note.note.endswith(".jsonl"):
        text = said_secrets.masked_lines(serving.memory, text)
    answer: dict[str, Any] = dict(json_contract.of_note(note))
    # A line may be as long as a note, and a model has no room for a million characters.
    answer["text"], answer["cut"] = text[:LONGEST], max(0, len(text) - LONGEST)
    answer["lines"] = [first, last] if answer["text"] else [0, 0]
    answer["total_lines"] = len(lines)
    return quotations.of_note(answer)


def entity(serving: Serving, arguments: requests.EntityArguments) -> Answered:
    """Return the facts and mentions of a person or a thing."""
    memory, scopes = serving.memory, serving.reads
    about = memory.facts.entity(arguments.name, scopes=scopes)
    answer: dict[str, Any] = dict(facts_json.of_about(about))
    answer["hits"] = said_secrets.masked_hits(serving.memory, answer["hits"])
    if arguments.on is not None:
        listed = memory.facts(scopes=scopes, entity=arguments.name, on=arguments.on)
        answer["facts"] = facts_json.of_facts(listed)["facts"]
    if arguments.past:
        past = [
            fact
            for fact in memory.timeline(arguments.name, scopes=scopes)
            if fact.struck or fact.valid_until
        ]
        answer["timeline"] = facts_json.of_facts(past)["facts"]
    return quotations.of_entity(arguments.name, answer)


def source(serving: Serving, arguments: requests.SourceArguments) -> Answered:
    """Follow a line, a fact or an id back to the turns behind it."""
    note, colon, line = arguments.ref.rpartition(":")
    ref = f"{serving.path_of(note)}:{line}" if colon else arguments.ref
    origin = serving.memory.source(ref, scopes=serving.reads, around=arguments.around)
    answer = source_json.of_source(origin)
    return source_quotation.of_source(said_secrets.masked_source(serving.memory, answer))


def stats(serving: Serving, arguments: requests.NoArguments) -> Answered:
    """Count the notes by kind."""
    answer = serving.memory.searcher.stats(serving.reads)
    count = answer["sources"]["notes"]["notes"]
    kinds = [f"{counts['notes']} {kind}" for kind, counts in answer["kinds"].items()]
    by_kind = ", ".join(kinds) or "none"
    message = f"{count} notes ({by_kind}) in {', '.join(serving.reads)}"
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
