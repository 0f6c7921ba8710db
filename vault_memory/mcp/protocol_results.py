"""Results that need the vault, as the JSON of the protocol: calls of tools, and notes as resources.

An example of the URI of a note is `vault:///Users/alice/memories/garden.md`.
"""

import logging
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from vault_memory.contract.requests import NoteRequest
from vault_memory.errors import BadPath, NoteNotFound, UsageError, VaultMemoryError
from vault_memory.mcp import tool_calls
from vault_memory.mcp.http_session import Serving
from vault_memory.mcp.tools import MARKDOWN, PLAIN_TEXT, SCHEME, TEMPLATE, TOOLS, read_arguments
from vault_memory.rules.context import quotations
from vault_memory.rules.paths.filenames import inside
from vault_memory.search.note_reports import NoteInfo

Json = dict[str, Any]
logger = logging.getLogger(__name__)

FUNCTIONS: Mapping[str, Any] = {
    name: getattr(tool_calls, name.removeprefix("memory_")) for name in TOOLS
}
"""Tool → the function of `tool_calls` that has its name"""


def of_resources(serving: Serving, cursor: str | None) -> Json:
    """The result of `resources/list`."""
    notes, following = page(serving, cursor)
    resources = {"resources": list(map(listed, notes))}
    return resources | ({"nextCursor": following} if following else {})


def of_resource(serving: Serving, uri: str) -> Json:
    """The result of `resources/read`. Raises ResourceUnknown."""
    note, text = read(serving, uri)
    return {"contents": [{"uri": uri, "mimeType": mime_type(note), "text": text}]}


# --- Tool calls ---


def of_call(serving: Serving, name: str, arguments: Mapping[str, Any]) -> Json:
    """The result of `tools/call`: an answer of the contract with its text, or an error in words."""
    try:
        answer, text = FUNCTIONS[name](serving, read_arguments(TOOLS[name], arguments))
    except VaultMemoryError as error:
        return failed(serving.explain(error))
    except Exception as error:
        # Its message may be text of a note, which must not be in a log.
        logger.error(
            "%s failed: %s", name, type(error).__name__, exc_info=logger.isEnabledFor(logging.INFO)
        )
        return failed(
            "the memory cannot do this now\n\nhint: try again later; the server's log says why"
        )
    return {"content": [_text(text)], "structuredContent": answer, "isError": False}


def failed(reason: str) -> Json:
    """The result of a call that failed. The model reads why."""
    return {"content": [_text(f"error: {reason}")], "isError": True}


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


# --- Resources ---

ON_A_PAGE = 200


class ResourceUnknown(UsageError):
    """There is no such resource, or it is not the caller's."""

    def __init__(self, uri: str) -> None:
        super().__init__(f"there is no resource {uri!r}", hint=f"resources are notes: {TEMPLATE}")


def page(serving: Serving, cursor: str | None) -> tuple[tuple[NoteInfo, ...], str | None]:
    """Returns the notes of the caller after `cursor`, and the cursor of the next page.

    A cursor is the last note of a page; None when there is no next one.
    """
    notes = serving.view.notes()
    start = bisect_right(notes, cursor, key=lambda note: note.note) if cursor else 0
    notes_of_page = tuple(notes[start : start + ON_A_PAGE])
    return notes_of_page, notes_of_page[-1].note if start + ON_A_PAGE < len(notes) else None


def read(serving: Serving, uri: str) -> tuple[str, str]:
    """Returns the path of the note of a URI, and its text between tags. Raises ResourceUnknown."""
    if not uri.startswith(SCHEME):
        raise ResourceUnknown(uri)
    try:
        path = inside(uri.removeprefix(SCHEME).removeprefix("/"), encoded=True)
        note = serving.view.read_note(NoteRequest(serving.path_of(path)))
    except (BadPath, NoteNotFound):
        raise ResourceUnknown(uri) from None
    count = len(quotations.lines_of(note["text"])) if note["text"] else 0
    answer = {**note, "lines": [min(1, count), count], "total_lines": count}
    return note["note"], quotations.of_note(answer).text


def listed(note: NoteInfo) -> dict[str, Any]:
    """Returns the entry of a note in a list of resources."""
    return {
        "uri": uri_of(note.note),
        "name": quotations.shown_name(note.note),
        "description": quotations.shown_name(f"{note.kind} of {note.scope}"),
        "mimeType": mime_type(note.note),
        "size": note.bytes,
    }


def uri_of(note: str) -> str:
    return f"{SCHEME}/{quote(note)}"


def mime_type(note: str) -> str:
    return PLAIN_TEXT if note.endswith(".jsonl") else MARKDOWN
