"""The tools that only read: each gives what a model reads, as text and as data."""

from collections.abc import Sequence

from msgspec.structs import asdict

from vault_memory.contract import requests
from vault_memory.mcp.http_session import Serving
from vault_memory.rules.context import quotations
from vault_memory.rules.context.quotations import Answered

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
    request = requests.SourceArguments(ref, arguments.around)
    return quotations.of_source(serving.view.source(request))


def stats(serving: Serving, arguments: requests.NoArguments) -> Answered:
    """Count the notes by kind."""
    answer = serving.view.stats(arguments)
    count = answer["sources"]["notes"]["notes"]
    kinds = [f"{counts['notes']} {kind}" for kind, counts in answer["kinds"].items()]
    by_kind = ", ".join(kinds) or "none"
    message = f"{count} notes ({by_kind}) in {', '.join(serving.view.reads)}"
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
