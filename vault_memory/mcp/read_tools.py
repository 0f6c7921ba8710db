"""The tools that only read: each gives what a model reads, as text and as data."""

from typing import TYPE_CHECKING, Any

import msgspec

from vault_memory.api import json_contract
from vault_memory.lazy import lazy_module
from vault_memory.mcp import tool_arguments
from vault_memory.mcp.http_session import Serving
from vault_memory.rules.context import quotations
from vault_memory.rules.context.quotations import Answered

if TYPE_CHECKING:
    from vault_memory.api import facts_json
    from vault_memory.daemon import query_or_local
else:
    facts_json = lazy_module("vault_memory.api.facts_json")
    query_or_local = lazy_module("vault_memory.daemon.query_or_local")

LONGEST = 40_000
"""Characters of a note in one answer; the rest is had by asking from the next line on"""


def search(serving: Serving, asked: tool_arguments.Search) -> Answered:
    given: dict[str, Any] = msgspec.to_builtins(asked)
    query = given.pop("query")
    # A host does not say which conversation asks. Its hook has recorded the prompt just now, and
    # the model would find its own question.
    if session := serving.open_conversation():
        given["session"] = session
    answer = serving.shown(
        query_or_local.search(
            serving.memory, query, scopes=serving.reads, arguments=given
        )
    )
    return quotations.of_search(answer)


def context(serving: Serving, asked: tool_arguments.Context) -> Answered:
    given: dict[str, Any] = msgspec.to_builtins(asked)
    prompt, given["private"] = given.pop("prompt"), serving.caller.private
    if session := serving.open_conversation():
        given["session"] = session
    answer = serving.shown(
        query_or_local.context(
            serving.memory, prompt, scopes=serving.reads, arguments=given
        )
    )
    return quotations.of_context(answer)


def get(serving: Serving, asked: tool_arguments.Get) -> Answered:
    """A missing note is empty; so is one of somebody else."""
    note = serving.read(asked.note)
    if note is None:
        return quotations.of_note(
            {
                "note": asked.note,
                "revision": "",
                "text": "",
                "lines": [0, 0],
                "total_lines": 0,
            }
        )
    answer = json_contract.of_note(note)
    lines = _lines(note.text)
    last = (
        len(lines)
        if asked.last_line is msgspec.UNSET
        else min(asked.last_line, len(lines))
    )
    last = _within(lines, asked.first_line, last)
    text = "".join(lines[asked.first_line - 1 : last])
    # A line may be as long as a note, and a model has no room for a million characters.
    answer["text"], answer["cut"] = text[:LONGEST], max(0, len(text) - LONGEST)
    answer["lines"] = [asked.first_line, last] if answer["text"] else [0, 0]
    answer["total_lines"] = len(lines)
    return quotations.of_note(answer)


def entity(serving: Serving, asked: tool_arguments.Entity) -> Answered:
    memory, scopes = serving.memory, serving.reads
    answer = facts_json.of_about(memory.facts.entity(asked.name, scopes=scopes))
    if asked.past:
        past = [
            one
            for one in memory.timeline(asked.name, scopes=scopes)
            if one.struck or one.valid_until
        ]
        answer["timeline"] = facts_json.of_facts(past)["facts"]
    return quotations.of_entity(asked.name, answer)


def stats(serving: Serving, asked: tool_arguments.Stats) -> Answered:
    answer: dict[str, Any] = serving.memory.searcher.stats(serving.reads)
    kinds = ", ".join(
        f"{counts['notes']} {kind}" for kind, counts in answer["kinds"].items()
    )
    message = f"{answer['sources']['notes']['notes']} notes ({kinds or 'none'}) in {', '.join(serving.reads)}"
    return quotations.answered(message, {"message": message, **answer})


def _lines(text: str) -> list[str]:
    """With their ends, counted as in hits."""
    import re

    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", text)


def _within(lines: list[str], first: int, last: int) -> int:
    """The last line that has room in an answer, but at least one."""
    room = LONGEST
    for number in range(first, last + 1):
        room -= len(lines[number - 1])
        if room < 0 and number > first:
            return number - 1
    return last
