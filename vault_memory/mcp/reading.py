"""The tools that only read: each gives what a model reads, as text and as data."""

from typing import Any

import msgspec

from vault_memory.app import contract, quotations
from vault_memory.app.quotations import Answered
from vault_memory.mcp import arguments
from vault_memory.mcp.serving import Serving

LONGEST = 40_000
"""Characters of a note in one answer; the rest is had by asking from the next line on"""


def search(serving: Serving, asked: arguments.Search) -> Answered:
    from vault_memory.daemon import asking

    given: dict[str, Any] = msgspec.to_builtins(asked)
    query = given.pop("query")
    # A host does not say which conversation asks. Its hook has recorded the prompt just now, and
    # the model would find its own question.
    if session := serving.open_conversation():
        given["session"] = session
    answer = serving.shown(asking.search(serving.memory, query, scopes=serving.reads, arguments=given))
    return quotations.of_search(answer)


def context(serving: Serving, asked: arguments.Context) -> Answered:
    from vault_memory.daemon import asking

    given: dict[str, Any] = msgspec.to_builtins(asked)
    prompt, given["private"] = given.pop("prompt"), serving.caller.private
    if session := serving.open_conversation():
        given["session"] = session
    answer = serving.shown(asking.context(serving.memory, prompt, scopes=serving.reads, arguments=given))
    return quotations.of_context(answer)


def get(serving: Serving, asked: arguments.Get) -> Answered:
    """A missing note is empty; so is one of somebody else."""
    note = serving.read(asked.note)
    if note is None:
        return quotations.of_note({"note": asked.note, "revision": "", "text": "", "lines": [0, 0], "total_lines": 0})
    answer = contract.of_note(note)
    lines = _lines(note.text)
    last = len(lines) if asked.last_line is msgspec.UNSET else min(asked.last_line, len(lines))
    last = _within(lines, asked.first_line, last)
    text = "".join(lines[asked.first_line - 1 : last])
    # A line may be as long as a note, and a model has no room for a million characters.
    answer["text"], answer["cut"] = text[:LONGEST], max(0, len(text) - LONGEST)
    answer["lines"] = [asked.first_line, last] if answer["text"] else [0, 0]
    answer["total_lines"] = len(lines)
    return quotations.of_note(answer)


def entity(serving: Serving, asked: arguments.Entity) -> Answered:
    from vault_memory.app import telling

    memory, scopes = serving.memory, serving.reads
    answer = telling.of_about(memory.entity(asked.name, scopes=scopes))
    if asked.past:
        past = [one for one in memory.timeline(asked.name, scopes=scopes) if one.struck or one.valid_until]
        answer["timeline"] = telling.of_facts(past)["facts"]
    return quotations.of_entity(asked.name, answer)


def stats(serving: Serving, asked: arguments.Stats) -> Answered:
    answer: dict[str, Any] = serving.memory.stats(serving.reads)
    kinds = ", ".join(f"{counts['notes']} {kind}" for kind, counts in answer["kinds"].items())
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
